"""The whole call that loads a metric with the files that a user has brought."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlgauge.encoders.pairs.models import BASE, BASE_REVISION, PINNED_BASE
from vlgauge.prefetching.sorting import Sorted
from vlgauge.text.noun_phrases import paper_pipeline_is_here

# Metric -> what is brought -> the setting that takes it.
_GRAPHS = {"pipeline": "pipeline", "sentences": "encoder"}
_JUDGE = {"judge": "model"}
_REGIONS = {"detector": "detector_weights"}
SETTINGS: Mapping[str, Mapping[str, str]] = {
    "aloha": _GRAPHS,
    "capture": _GRAPHS,
    "clair": _JUDGE,
    "clip_s": {"clip": "weights"},
    "fleur": _JUDGE,
    "frechet_bert": {"sentences": "encoder"},
    "groovist": {"clip": "weights", "ratings": "concreteness_path", "pipeline": "noun_phrases", **_REGIONS},
    "mmd_bert": {"sentences": "encoder"},
    "pac_s": {"clip": "weights", "pac_s": "checkpoint"},
    "polos": {"clip": "weights", "layers": "text_encoder", "polos": "checkpoint", "rated": "checkpoint"},
    "rovist_c": {"order": "model", "base": "base", "classifier": "model"},
    "rovist_vg": {
        **{"grounding": "checkpoint", "vectors": "glove_path", "idf": "idf", "pickle": "idf", "pipeline": "nouns"},
        **_REGIONS,
    },
    "soft_spice": _GRAPHS,
    "specs": {"long": "weights"},
    "spice": {"pipeline": "pipeline"},
    "spider": {"pipeline": "pipeline"},
    "vqascore": _JUDGE,
}
# Settings of the whole call that no file brings.
MORE: Mapping[str, Mapping[str, str]] = {"groovist": {"dataset": "VIST"}}
# What a metric cannot do without, where neither the Hub nor a package brings it: each one of the kinds.
NEEDED: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "clair": (("judge",),),
    "pac_s": (("pac_s",),),
    "polos": (("polos", "rated"),),
    "rovist_c": (("order", "classifier"),),
    "rovist_vg": (("grounding",), ("vectors",), ("idf", "pickle")),
}


# How the settings of a part are given.
PARTS: Mapping[str, Mapping[str, str]] = {"rovist": {"vg": "rovist_vg", "c": "rovist_c"}}
TAKING = tuple(sorted([*SETTINGS, *PARTS]))


@dataclass(frozen=True)
class LoadCall:
    """How a metric is loaded: what is run before, the keywords of `vlgauge.load`, and what cannot be done without."""

    metric: str
    settings: Mapping[str, Any]
    first: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"    {name}={value!r},\n" for name, value in self.settings.items()]
        return f"vlgauge.load(\n    {self.metric!r},\n{''.join(lines)})".replace("'", '"')


def load_call(metric: str, found: Sequence[Sorted]) -> LoadCall:
    """The call for a metric; of several files of a kind the first is taken."""
    if metric in PARTS:
        parts = {part: load_call(name, found) for part, name in PARTS[metric].items()}
        return LoadCall(
            metric,
            {part: dict(call.settings) for part, call in parts.items()},
            tuple(command for call in parts.values() for command in call.first),
            tuple(told for call in parts.values() for told in call.missing),
        )
    taken: dict[str, Path] = {}
    for one in found:
        if one.kind in SETTINGS[metric]:
            taken.setdefault(one.kind, one.path)
    if "order" in taken:
        taken.pop("classifier", None)
    else:
        taken.pop("base", None)
    settings = {SETTINGS[metric][kind]: str(path) for kind, path in taken.items()}
    first: list[str] = []
    missing = [_WHAT[kinds[0]] for kinds in NEEDED.get(metric, ()) if not taken.keys() & set(kinds)]
    if "pickle" in taken and "idf" not in taken:
        table = taken["pickle"].with_suffix(".json")
        settings["idf"] = str(table)
        first.append(f"vlgauge idf {table} --pickle {taken['pickle']}")
    elif "idf" in taken:
        settings["idf"] = str(taken["idf"])
    if "order" in taken and "base" not in taken:
        settings["base"] = PINNED_BASE
        if not _base_is_here():
            missing.append(f"configuration and tokenizer of {BASE}: vlgauge prefetch rovist_c")
    if "polos" in taken:
        settings["checkpoint"] = str(taken["polos"])
    elif "rated" in taken:
        head = taken["rated"].with_suffix(".safetensors")
        settings["checkpoint"] = str(head)
        given = (("clip", "--base"), ("layers", "--text-encoder"))
        encoders = "".join(f" {option} {taken[kind]}" for kind, option in given if kind in taken)
        first.append(f"vlgauge convert {taken['rated']} --kind polos{encoders} --output {head}")
    pipeline = SETTINGS[metric].get("pipeline")
    if pipeline and "pipeline" not in taken and not paper_pipeline_is_here():
        settings[pipeline] = "embedded"
    return LoadCall(metric, {**settings, **MORE.get(metric, {})}, tuple(first), tuple(missing))


_WHAT = {
    "grounding": "checkpoint of RoViST-VG",
    "idf": "table of idf",
    "judge": "folder of a model that writes",
    "order": "checkpoint of RoViST-C",
    "pac_s": "weights of PAC-S",
    "polos": "checkpoint of Polos",
    "vectors": "word vectors of RoViST-VG",
}


def _base_is_here() -> bool:
    """Whether the configuration of ALBERT was fetched, by its commit."""
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(BASE, "config.json", revision=BASE_REVISION), str)
