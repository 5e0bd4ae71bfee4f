"""Columns and results of every metric for a few rows that show the parts of an explanation."""

import warnings
from functools import cache

from folders import EXAMPLES
from metric_checks import class_of, family_of
from own_cases import own, usual

import vlgauge
from vlgauge import scenes
from vlgauge.core.catalog import metric_folder
from vlgauge.inputs.tables.files import make_paths_absolute, read_rows

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "quotes": "\"><img src=x onerror='alert(1)'>&amp;{{ 7 * 7 }}",
    "direction": "abc \u202edef\u202c \u2067ghi \u200f jkl",
    "control": "a\x00b\x1b[31mc\ud800d",
    "long": "x" * 10_000,
}

EMBEDDED = {"profile": "embedded", "keep_in_memory": True}


def illustrate(stories):
    """Return the columns of stories with their images."""
    drawn = [story.drawings() for story in stories]
    return {
        "predictions": [story.sentences for story in stories],
        "images": [[one.image for one in row] for row in drawn],
        "regions": [[{"boxes": [*one.boxes, (0, 0, *one.image.size)]} for one in row] for row in drawn],
    }


def bundled(name, n=12):
    """Return the first rows of a bundled file, keyed by column."""
    path = str(EXAMPLES / f"{name}.jsonl")
    rows = read_rows(path)[:n]
    columns = {key: [row[key] for row in rows] for key in rows[0] if key in ("id", "predictions", "references")}
    media = {key: [row[key] for row in rows] for key in ("images", "videos") if key in rows[0]}
    return columns | {key: cells for key, cells in make_paths_absolute(media, path).items() if cells is not None}


def sets():
    """Return two caption sets, one of them with five equal captions, and one without a score."""
    columns = bundled("caption_sets", 2)
    columns["predictions"][1] = [columns["predictions"][1][0]] * 5
    return {
        name: [*columns[name], extra]
        for name, extra in (("id", "alone"), ("predictions", ["One."]), ("references", ["A.", "B."]))
    }


def referenced():
    """Return captions with one or several references, one without words, and one without references."""
    return {
        "predictions": ["A dog runs on the grass.", "A cat is sleeping.", "?", "Nothing."],
        "references": [["The dog runs over the grass.", "A dog."], "A kitten sleeps.", ["A bird."], []],
    }


def styled():
    """Return captions with styles. The words of two of them are not in any table."""
    return {
        "predictions": [
            "A dog runs with love in its heart.",
            "A silly dog trips on its own tail.",
            "Xyzzy plugh.",
            "?",
        ],
        "styles": ["romantic", "humorous", "angry", "plain"],
        "references": [
            ["A dog in love, with all its heart."],
            ["A dog.", "The tail of a silly dog."],
            ["No."],
            ["Yes."],
        ],
    }


def parts():
    """Return the scores of three metrics for two stories, one of them with a missing score."""
    model = [
        {"groovist": 1.0, "rovist_c": 0.5, "rovist_nr": 0.9},
        {"groovist": 1.0, "rovist_c": None, "rovist_nr": 0.9},
    ]
    return {"predictions": model, "references": [{"groovist": 2.0, "rovist_c": 0.9, "rovist_nr": 0.95}] * 2}


def stories():
    """Return stories with and without repetition, and one of a single sentence."""
    return {
        "id": ["fair", "dog", "short"],
        "predictions": [
            ["We went to the fair.", "The lights of the fair came on.", "A band played until ten."],
            ["The dog ran and the dog ran and the dog ran.", "The dog ran."],
            ["One."],
        ],
    }


# Keyed by metric family.
ROWS_OF_FAMILY = {
    "StoryMetric": stories,
    **dict.fromkeys(("GroundingMetric", "Rovist"), lambda: illustrate(scenes.stories(2, 41, "test"))),
    "ComponentMetric": parts,
    "CaptionSetMetric": sets,
    "Diversity": sets,
    "StyleMetric": styled,
    "BackboneMetric": lambda: bundled("captioned_scenes"),
    "Polos": lambda: bundled("captioned_scenes"),
    "ClipScoreMetric": lambda: bundled("captioned_scenes"),
    "JudgeMetric": lambda: bundled("captioned_scenes"),
    "Vqascore": lambda: bundled("captioned_scenes"),
    "Dsg": lambda: bundled("captioned_scenes"),
    "CaptionMetric": referenced,
    "TokenMetric": referenced,
    "Clair": referenced,
    "SceneGraphMetric": referenced,
    "ObjectMetric": referenced,
}


def case_of(name):
    """Return the settings and columns of a metric, which `EXPLAINED` in its `cases.py` overrides."""
    rows = ROWS_OF_FAMILY[family_of(class_of(metric_folder(name))).__name__]
    settings, columns = own(name, "EXPLAINED", ({}, rows))
    return {**usual(name, profile="embedded", device="cpu", pvalue="exact"), **settings}, columns


@cache
def scored(name):
    """Return the columns and the result of a metric with details. Callers must not modify them."""
    settings, columns_of = case_of(name)
    columns = columns_of()
    metric = vlgauge.load(name, keep_in_memory=True, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = {column.name: columns[column.name] for column in metric.columns if column.name in columns}
        return columns, metric.compute(**own, return_details=True)


def poisoned(value, text):
    """Return the value with every string in it replaced. Images and numbers are unchanged."""
    if isinstance(value, str):
        return text
    if isinstance(value, dict):
        return {key: poisoned(item, text) for key, item in value.items()}
    if isinstance(value, list):
        return [poisoned(item, text) for item in value]
    return value
