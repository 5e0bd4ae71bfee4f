"""Requirements of every metric, with one check per requirement."""

import ast
import configparser
import doctest
import importlib
import inspect
import json
import math
import re
import zlib
from unittest.mock import patch

import numpy as np
import pytest
import yaml
from datasets import Features
from folders import DEMO_METRICS, ROOT
from packaging.version import Version

import vlgauge
from vlgauge.core import catalog
from vlgauge.core.lean_imports import lean_import
from vlgauge.core.validation import setting_names
from vlgauge.families import base, caption_sets, clip_score, grounding, judged, scene_graphs, style
from vlgauge.families.base.metric import FACTS_OF_CARDS, REPOSITORY
from vlgauge.families.ngram.cider import DocumentFrequency

evaluate = lean_import("evaluate")
STORY_DEMO = DEMO_METRICS / "story_demo"
SETUP = configparser.ConfigParser()
SETUP.read(ROOT / "setup.cfg", encoding="utf-8")
ROOMS = (base, caption_sets, clip_score, grounding, judged, scene_graphs, style)
FAMILIES = [
    found for room in ROOMS for found in vars(room).values() if inspect.isclass(found) and "columns" in vars(found)
]
EXTRAS = {extra.replace("_", "-") for extra in SETUP["options.extras_require"]}
SETS = {
    "predictions": [["a dog runs", "a dog ran", "the dog runs"], ["a cat", "one cat", "cats"], ["x"]],
    "references": [["a dog runs", "two dogs", "dogs run fast"], ["a plane", "one jet", "a red plane"], ["y", "z"]],
}
IMAGES = [np.full((8, 8, 3), value, dtype=np.uint8) for value in (20, 120, 220)]


def parts(groovist, rovist_c, rovist_nr):
    return {"groovist": groovist, "rovist_c": rovist_c, "rovist_nr": rovist_nr}


# One row of each is likely to be undefined.
ROWS = {
    "ComponentMetric": {
        "predictions": [parts(1.0, 0.5, 0.5), parts(0.3, 0.2, 0.9), parts(None, 1.0, 1.0)],
        "references": [parts(0.5, 0.7, 0.9), parts(1.0, 1.0, 1.0), parts(1.0, 1.0, 1.0)],
    },
    "BackboneMetric": {"predictions": ["a dog runs", "a small red circle", "two cats"], "images": IMAGES},
    "Polos": {
        "predictions": ["a dog runs", "a small red circle", "two cats"],
        "references": [["a dog"], ["a red circle", "a disc"], []],
        "images": IMAGES,
    },
    "ClipScoreMetric": {"predictions": ["a dog runs", "a small red circle", "two cats"], "images": IMAGES},
    "JudgeMetric": {"predictions": ["a dog runs", "a small red circle", "two cats"], "images": IMAGES},
    "Vqascore": {"predictions": ["a dog runs", "a small red circle", "two cats"], "images": IMAGES},
    "Dsg": {"predictions": ["a dog runs", "a small red circle", "two cats"], "images": IMAGES},
    "GroundingMetric": {
        "predictions": [["A small red circle is here."], ["It ran.", "The big star is blue."], [""]],
        "images": [[image] for image in IMAGES],
    },
    "StoryMetric": {"predictions": [["We ran home.", "The dog ran too."], ["One.", "Two, two."], [""]]},
    "CaptionSetMetric": SETS,
    "Diversity": {"predictions": SETS["predictions"]},
    "CaptionMetric": {
        "predictions": ["a dog runs on the grass", "two cats", "a red plane"],
        "references": [["a dog is running on the grass", "dogs run"], ["two cats sleep"], []],
    },
    "SceneGraphMetric": {
        "predictions": ["a brown dog runs on the grass", "two cats", "a red plane"],
        "references": [["a dog is running on the grass", "dogs run"], ["two cats sleep"], []],
    },
    "ObjectMetric": {
        "predictions": ["a dog on a bench", "two cats", "a red thing"],
        "references": [["a dog is running on the grass", "dogs run"], ["two cats sleep"], []],
    },
    "StyleMetric": {
        "predictions": ["the sea sings", "damn rain", ""],
        "styles": ["romantic", "angry", "plain"],
        "references": [["the sea sang", "a song of the sea"], ["damn this rain"], ["rain"]],
    },
}
ROWS |= dict.fromkeys(("TokenMetric", "Clair"), ROWS["CaptionMetric"])
ROWS["Rovist"] = ROWS["GroundingMetric"]
EMBEDDED = {"profile": "embedded", "device": "cpu"}
SETTINGS = {
    "StyleMetric": {"config_name": "demo"},
    "BackboneMetric": EMBEDDED,
    "Polos": EMBEDDED,
    "ClipScoreMetric": EMBEDDED,
    "JudgeMetric": EMBEDDED,
    "Vqascore": EMBEDDED,
    "Dsg": EMBEDDED,
    "Clair": EMBEDDED,
    "GroundingMetric": EMBEDDED,
    "Rovist": EMBEDDED,
    "SceneGraphMetric": {"profile": "embedded"},
    "rovist_c": EMBEDDED,
    "bertscore": EMBEDDED,
    # The documents of a call would be other ones for each part of it.
    "cider": {"df": DocumentFrequency({("a",): 90}, 100)},
    "diversity": {"df": DocumentFrequency({("a",): 90}, 100)},
    "spider": {"profile": "embedded", "df": DocumentFrequency({("a",): 90}, 100)},
}
FRONT_MATTER = (
    *("title", "emoji", "colorFrom", "colorTo", "sdk", "sdk_version", "python_version", "app_file", "pinned"),
    *("short_description", "group", "input", "languages", "paper", "reading", "scores"),
    *("tags", "models", "datasets", "license"),
)
SCORE_FACTS = ("key", "title", "direction", "range", "bounds", "bounds_with", "value", "references")
INTERVAL = re.compile(r"[\[(](-inf|-?[\d./]+), (inf|-?[\d./]+)[\])]")
COLOURS = ("red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray")
HEADINGS = (
    *("Metric Description", "How to Use", "Inputs", "Output Values", "Values from Popular Papers", "Examples"),
    *("Limitations and Bias", "Citation", "Further References"),
)


def fake_encoder(texts):
    return np.stack([np.random.default_rng(zlib.crc32(text.encode())).normal(size=6) for text in texts])


def class_of(folder):
    return evaluate.loading.import_main_class(evaluate.loading.evaluation_module_factory(str(folder)).module_path)


def kinds_of(columns):
    return [(type(column), column.name) for column in columns]


def family_of(cls):
    """Return the family of a metric, or the metric itself if it overrides the columns of its family."""
    family = next((base for base in cls.__mro__ if base in FAMILIES), cls)
    return family if kinds_of(cls.columns) == kinds_of(family.columns) else cls


def load(folder, **settings):
    cls = class_of(folder)
    if "encoder" in setting_names(cls):
        settings["encoder"] = fake_encoder
    common = SETTINGS.get(folder.name, SETTINGS.get(family_of(cls).__name__, {}))
    return evaluate.load(str(folder), **common, **settings)


def kinds(value):
    """Return the types of a value and of everything in it."""
    items = [*value.keys(), *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return {type(value)}.union(*map(kinds, items))


def check_class(folder):
    cls = class_of(folder)
    assert cls.__name__ == "".join(part.capitalize() for part in folder.name.split("_"))
    assert cls.__module__.rpartition(".")[2] == folder.name
    assert evaluate.load(str(folder), keep_in_memory=True).name == folder.name


def check_imports(folder):
    script = folder / f"{folder.name}.py"
    written = set()
    for node in ast.parse(script.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            assert len(node.names) == 1
            written.add(("library", node.names[0].name.partition(".")[0]))
        elif isinstance(node, ast.ImportFrom):
            assert node.level < 2
            assert node.module
            assert not (node.level and "." in node.module)
            written.add(("internal" if node.level else "library", node.module.partition(".")[0]))
    seen = evaluate.loading.get_imports(str(script))
    assert {(kind, name) for kind, name, *_ in seen} == written
    assert [source for _, name, source, _ in seen if source != name and name != "vlgauge"] == []
    # Imported by the package or by tests, never by the script.
    apart = {"corpus_counts", "explanation", "reference"}
    assert apart.isdisjoint(name for _, name, *_ in seen)
    for sibling in set(folder.glob("*.py")) - {script, *(folder / f"{name}.py" for name in apart)}:
        nodes = [node for node in ast.walk(ast.parse(sibling.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)]
        assert [node.module for node in nodes if node.level] == []


def check_sandbox(folder):
    """Check that scores and signature do not depend on the process that decodes the images."""
    rows = ROWS[family_of(class_of(folder)).__name__]
    found = [load(folder, sandbox=sandbox, keep_in_memory=True).compute(**rows) for sandbox in (False, True)]
    assert repr(found[0]) == repr(found[1])
    with pytest.raises(ValueError, match=r"^`sandbox`.*got 'fast'"):
        load(folder, sandbox="fast")


def check_hint(folder):
    extra = folder.name.replace("_", "-")
    hint = f'"vlgauge[{extra}]@git+{REPOSITORY}@v{vlgauge.__version__}"'
    seen = evaluate.loading.get_imports(str(folder / f"{folder.name}.py"))
    assert {source for _, name, source, _ in seen if name == "vlgauge"} == {hint}


def check_files(folder):
    names = {path.name for path in folder.iterdir()} - {"__pycache__"}
    pages = {name for name in names if name.endswith(".html.jinja")}
    assert {name for name in names if not name.endswith(".py")} - pages - {"examples.jsonl"} == {"README.md"}
    assert folder.name + ".py" in names
    assert pages <= {"explanation.html.jinja", "key.html.jinja", "columns.html.jinja"}
    assert not pages or "explanation.py" in names


def check_names_are_free(folder):
    # The folder of a Space comes first on its sys.path.
    names = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert [name for name in sorted(names) if importlib.util.find_spec(name)] == []


def check_signatures(folder):
    cls = class_of(folder)
    parameters = inspect.signature(cls._compute).parameters
    assert [p.name for p in parameters.values() if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL)] == []
    assert {column.name for column in cls.columns} <= set(parameters)
    assert parameters["return_details"].default is False
    overridden = [vars(cls)[name] for name in ("add", "add_batch", "compute") if name in vars(cls)]
    assert [method for method in overridden if not method.__doc__] == []


def check_settings(folder):
    metric = evaluate.load(str(folder), keep_in_memory=True)
    assert [name for name in setting_names(type(metric)) if not hasattr(metric, name)] == []


def check_family(folder):
    cls = class_of(folder)
    others = [columns for room in ROOMS for name, columns in vars(room).items() if name.endswith("_COLUMNS")]
    assert kinds_of(cls.columns) in [kinds_of(columns) for columns in (*others, *(one.columns for one in FAMILIES))]
    expected = Features({column.name: column.feature for column in cls.columns})
    assert evaluate.load(str(folder), keep_in_memory=True).features == expected


def check_description(folder):
    info = evaluate.load(str(folder), keep_in_memory=True).info
    texts = (info.description, info.citation, info.inputs_description, info.homepage, info.license)
    assert all(text.strip() for text in texts)
    assert info.citation.startswith("@")
    assert {"Args:", "Returns:", "Examples:"} <= set(info.inputs_description.split("\n"))
    assert info.reference_urls
    assert all(address.startswith("https://") for address in info.reference_urls)


def check_facts(folder):
    cls = class_of(folder)
    with patch.object(catalog, "metrics_root", return_value=folder.parent):
        facts = catalog.metric_facts(folder.name)
    assert {name: getattr(cls, name) for name in FACTS_OF_CARDS} == {
        name: getattr(facts, name) for name in FACTS_OF_CARDS
    }
    assert cls.measures.endswith("?")
    assert cls.score_range
    assert set(cls.needs) <= EXTRAS
    assert Version(cls.requires) <= Version(vlgauge.__version__)


def check_result(folder):
    name, columns = folder.name, ROWS[family_of(class_of(folder)).__name__]
    metric = load(folder, keep_in_memory=True)
    result = metric.compute(**columns)
    scores = result[f"{name}_scores"]
    defined = [score for score in scores if not math.isnan(score)]
    assert list(result)[:4] == [name, f"{name}_scores", f"{name}_undefined", f"{name}_signature"]
    assert all(key.startswith(f"{name}_") for key in list(result)[1:])
    assert len(scores) == len(columns["predictions"])
    assert defined
    low, high = class_of(folder).bounds
    assert all((low is None or score >= low - 1e-6) and (high is None or score <= high + 1e-6) for score in defined)
    if class_of(folder).is_mean:
        assert result[name] == pytest.approx(sum(defined) / len(defined))
    assert result[f"{name}_undefined"] == len(scores) - len(defined)
    assert result[f"{name}_signature"].startswith(f"{name}|v:{vlgauge.__version__}|profile:")
    detailed = metric.compute(**columns, return_details=True)
    assert detailed.keys() > result.keys()
    assert all(key.startswith(f"{name}_") for key in list(detailed)[1:])
    assert kinds(detailed) <= {dict, list, str, int, float, bool, type(None)}
    assert json.dumps({key: detailed[key] for key in result}) == json.dumps(result)


def check_result_depends_on_nothing_else(folder):
    name, columns = folder.name, ROWS[family_of(class_of(folder)).__name__]
    expected = load(folder, keep_in_memory=True).compute(**columns)
    metric = load(folder)
    np.random.seed(0)  # noqa: NPY002
    for row in zip(*columns.values(), strict=True):
        metric.add(**dict(zip(columns, row, strict=True)))
    assert json.dumps(metric.compute()) == json.dumps(expected)
    turned = metric.compute(**{column: rows[::-1] for column, rows in columns.items()})
    assert turned[f"{name}_scores"][::-1] == pytest.approx(expected[f"{name}_scores"], nan_ok=True)
    for setting in {"batch_size", "chunk_bytes"} & set(setting_names(type(metric))):
        again = load(folder, keep_in_memory=True, **{setting: 1}).compute(**columns)
        assert again[f"{name}_signature"] == expected[f"{name}_signature"]
        assert again[f"{name}_scores"] == pytest.approx(expected[f"{name}_scores"], nan_ok=True)
    first = metric.compute(**{column: rows[:1] for column, rows in columns.items()})
    assert first[f"{name}_scores"] == pytest.approx(expected[f"{name}_scores"][:1], nan_ok=True)


def check_doctests(folder):
    script = importlib.import_module(evaluate.loading.evaluation_module_factory(str(folder)).module_path)
    real = evaluate.load

    def load_here(path, *arguments, **settings):
        assert path == f"vlgauge/{folder.name}"
        return real(str(folder), *arguments, **settings | {"keep_in_memory": True})

    with patch("evaluate.load", load_here):
        found = doctest.testmod(script, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0
    assert found.attempted > 1


def check_scores(name, scores):
    """Check that the scores of a card are complete, without unknown fields, and those of this metric."""
    first, *others = scores
    assert first["key"] == name
    assert set(SCORE_FACTS) - {"bounds", "bounds_with"} <= set(first)
    assert all(one["key"] == f"ref_{name}" or one["key"].startswith(f"{name}_") for one in others)
    assert len({one["key"] for one in scores}) == len({one["title"] for one in scores}) == len(scores)
    for one in scores:
        assert {"key", "title", "direction"} <= set(one) <= set(SCORE_FACTS)
        assert one["direction"] in ("higher", "lower")
        assert one.get("value", "mean") in ("mean", "corpus")
        assert one.get("references", "none") in ("none", "optional", "required")
        check_bounds(one)


def check_bounds(score):
    """Check that the bounds of a score in a card are the ends of its range, or contain them.

    Ranges without numeric ends, such as "[0, S]", require bounds.
    """
    if "range" not in score:
        assert "bounds" not in score, f"{score['key']}: `bounds` requires `range`"
        return
    is_numeric = all(INTERVAL.search(one) for one in score["range"].split("; "))
    assert is_numeric or "bounds" in score, f"{score['key']}: give `range` as [0, 1] or (-inf, 1], or add `bounds`"
    if "bounds" not in score:
        return
    stated, ends = tuple(score["bounds"]), catalog.parse_bounds(score["range"])
    assert len(stated) == 2
    assert stated != ends, f"{score['key']}: omit `bounds`, which are the ends of `range`"
    if is_numeric:
        pairs = zip(stated, ends, (-1, 1), strict=True)
        contained = [one is None or (end is not None and sign * one >= sign * end) for one, end, sign in pairs]
        assert contained == [True, True], f"{score['key']}: `bounds` must contain the ends of `range`, got {stated}"


def check_languages(cls, languages, alternatives):
    assert languages == "any" or (isinstance(languages, list) and languages)
    assert languages == "any" or set(languages) <= set(catalog.LANGUAGE_NAMES)
    assert not (languages == "any" and alternatives)
    known = {*setting_names(cls), *inspect.signature(cls._compute).parameters}
    for one in (one for together in alternatives for one in together.split(", ")):
        name, _, value = one.partition("=")
        assert name in known, f"{name} is neither a setting nor a per-call input"
        assert not value or (value[0], value[-1]) == ('"', '"')


def check_card(folder):
    _, front, card = (folder / "README.md").read_text("utf-8").split("---\n", 2)
    facts = yaml.safe_load(front)
    assert set(FRONT_MATTER) <= set(facts)
    assert (facts["sdk"], facts["app_file"], facts["pinned"]) == ("gradio", "app.py", False)
    assert all(isinstance(facts[key], str) for key in ("sdk_version", "python_version", "license"))
    assert {facts["colorFrom"], facts["colorTo"]} <= set(COLOURS)
    assert len(facts["short_description"]) <= 60
    assert facts["tags"][:2] == ["evaluate", "metric"]
    check_scores(folder.name, facts["scores"])
    check_languages(class_of(folder), facts["languages"], facts.get("other_languages", []))
    prose = re.sub(r"^```.*?^```$", "", card, flags=re.MULTILINE | re.DOTALL)
    sections = re.split(r"^#+ (.*)$", prose, flags=re.MULTILINE)
    assert sections[1].startswith("Metric Card for ")
    assert tuple(heading for heading in sections[3::2] if heading in HEADINGS) == HEADINGS
    values = sections[sections.index("Output Values") + 1]
    direction = "higher" if class_of(folder).higher_is_better else "lower"
    assert f"{direction} is better" in values.lower(), f"'Output Values' must say that {direction} is better"
    assert "NaN" in values, "'Output Values' must say when a score is NaN"


LOAD_AFRESH = """
import importlib.machinery
import json

class Absent:
    def find_spec(self, name, path=None, target=None):
        heavy = ("torch", "transformers", "sentence_transformers", "nltk")
        return importlib.machinery.ModuleSpec(name, self) if name in heavy else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        raise ImportError(f"a load must not import {module.__name__}")

sys.meta_path.insert(0, Absent())
import evaluate
from vlgauge.core.pool import pool
for folder in json.loads(FOLDERS):
    try:
        print(evaluate.load(folder).name, *attempts)
    except (ImportError, OSError) as error:
        print(" ".join(str(error).split()))
    attempts.clear()
    assert pool.encoders == {}
"""


def load_afresh(run_python, folders, cwd):
    """Return the names of the metrics loaded in a process without caches, network and heavy packages, or the error."""
    given = f"FOLDERS = {json.dumps([str(folder) for folder in folders])!r}\n"
    return run_python(given + LOAD_AFRESH, cwd=cwd, HF_HOME=str(cwd / "home")).splitlines()
