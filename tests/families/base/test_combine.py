"""Metrics side by side in `evaluate.combine`."""

import json
import re
import zlib

import evaluate
import numpy as np
import pytest

from vlgauge.core import catalog
from vlgauge.core.validation import setting_names
from vlgauge.families import base, caption_sets

STORIES = {"predictions": [["One two.", "Three four."], ["Five.", "Five."], [""]]}
SETS = {"predictions": [["a dog", "a cat"], ["x", "y"]], "references": [["a dog", "two dogs"], ["p", "q"]]}
PICTURES = {"predictions": ["a", "b"], "images": [np.zeros((2, 3), np.uint8)] * 2, "references": [["c"], ["d", "e"]]}
TOYS_BY_BASE = {
    base.StoryMetric: "story_toy",
    caption_sets.CaptionSetMetric: "set_toy",
    base.ImageMetric: "image_toy",
}
ROWS = {"story_toy": STORIES, "set_toy": SETS, "image_toy": PICTURES}


def fake_encoder(texts):
    return np.stack([np.random.default_rng(zlib.crc32(text.encode())).normal(size=6) for text in texts])


def load(name, load_toy, rows_folder):
    """Return a demo metric or an installed metric, with an encoder that requires no weights."""
    if name in ROWS:
        return load_toy(name, cache_dir=str(rows_folder))
    folder = str(catalog.metric_folder(name))
    metric = evaluate.load(folder, cache_dir=str(rows_folder), profile="embedded")
    if "encoder" in setting_names(type(metric)):
        metric = evaluate.load(folder, cache_dir=str(rows_folder), encoder=fake_encoder)
    return metric


def companions():
    """Yield pairs (demo metric, installed metric) with the same columns."""
    toys = {family.columns: toy for family, toy in TOYS_BY_BASE.items()}
    for name in catalog.metric_names():
        script = (catalog.metric_folder(name) / f"{name}.py").read_text("utf-8")
        family = re.search(r"^class \w+\(base\.(\w+)\):", script, re.MULTILINE)
        toy = toys.get(getattr(base, family[1]).columns) if family else None
        if toy:
            yield pytest.param(toy, name, id=f"{toy}-{name}")


def same(first, second):
    return json.dumps(first) == json.dumps(second)


def by_compute(combined, columns):
    return combined.compute(**columns)


def by_add_batch(combined, columns):
    for part in (slice(0, 1), slice(1, None)):
        combined.add_batch(**{name: column[part] for name, column in columns.items()})
    return combined.compute()


def by_add(combined, columns):
    singular = {"predictions": "prediction", "references": "reference"}
    for row in zip(*columns.values(), strict=True):
        combined.add(**{singular.get(name, name): cell for name, cell in zip(columns, row, strict=True)})
    return combined.compute()


@pytest.mark.parametrize("way", [by_compute, by_add_batch, by_add])
@pytest.mark.parametrize(("toy", "name"), list(companions()))
def test_metrics_of_one_family_work_together(load_toy, rows_folder, toy, name, way):
    members = [load(toy, load_toy, rows_folder), load(name, load_toy, rows_folder)]
    alone = members[0].compute(**ROWS[toy]) | members[1].compute(**ROWS[toy])
    assert same(way(evaluate.combine(members), ROWS[toy]), alone)


@pytest.mark.parametrize("way", [by_compute, by_add_batch, by_add])
@pytest.mark.parametrize("toy", ROWS)
def test_two_of_one_name_get_numbers(load_toy, rows_folder, toy, way):
    members = [load(toy, load_toy, rows_folder) for _ in range(2)]
    alone = members[0].compute(**ROWS[toy])
    combined = way(evaluate.combine(members), ROWS[toy])
    assert same(combined, {f"{toy}_{i}_{key}": value for i in range(2) for key, value in alone.items()})


def test_settings_at_load_keep_two_of_one_name_apart(load_toy, rows_folder):
    members = {
        "light": load_toy("story_toy", cache_dir=str(rows_folder)),
        "heavy": load_toy("story_toy", cache_dir=str(rows_folder), weight=10.0),
    }
    combined = evaluate.combine(members, force_prefix=True).compute(predictions=["abc"])
    assert (combined["light_story_toy"], combined["heavy_story_toy"]) == (3.0, 30.0)


def test_metrics_of_different_families_share_columns_in_compute(load_toy, rows_folder):
    members = [load(name, load_toy, rows_folder) for name in ("story_toy", "image_toy")]
    combined = evaluate.combine(members).compute(**PICTURES, styles=["romantic"] * 2, return_details=True)
    assert combined["story_toy_letters"] == [[1], [1]]
    assert combined["image_toy_references"] == [["c"], ["d", "e"]]


def test_folders_can_be_combined():
    folders = [str(catalog.metric_folder("rovist_nr"))] * 2
    combined = evaluate.combine(folders).compute(**STORIES)
    assert combined["rovist_nr_0_rovist_nr_scores"][1] == 0.5


def test_result_can_be_saved_by_the_host(load_toy, rows_folder, tmp_path):
    result = load_toy("story_toy", cache_dir=str(rows_folder)).compute(predictions=["abc"], return_details=True)
    evaluate.save(tmp_path / "result.json", **result)
    saved = json.loads((tmp_path / "result.json").read_text())
    assert {key: saved[key] for key in result} == result
