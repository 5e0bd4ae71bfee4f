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
IMAGES = {"predictions": ["a", "b"], "images": [np.zeros((2, 3), np.uint8)] * 2, "references": [["c"], ["d", "e"]]}
DEMO_METRICS_BY_BASE = {
    base.StoryMetric: "story_demo",
    caption_sets.CaptionSetMetric: "set_demo",
    base.ImageMetric: "image_demo",
}
ROWS = {"story_demo": STORIES, "set_demo": SETS, "image_demo": IMAGES}


def fake_encoder(texts):
    return np.stack([np.random.default_rng(zlib.crc32(text.encode())).normal(size=6) for text in texts])


def load(name, load_demo, rows_folder):
    """Return a demo metric or an installed metric, with an encoder that requires no weights."""
    if name in ROWS:
        return load_demo(name, cache_dir=str(rows_folder))
    folder = str(catalog.metric_folder(name))
    metric = evaluate.load(folder, cache_dir=str(rows_folder), profile="embedded")
    if "encoder" in setting_names(type(metric)):
        metric = evaluate.load(folder, cache_dir=str(rows_folder), encoder=fake_encoder)
    return metric


def companions():
    """Yield pairs (demo metric, installed metric) with the same columns."""
    demos = {family.columns: demo for family, demo in DEMO_METRICS_BY_BASE.items()}
    for name in catalog.metric_names():
        script = (catalog.metric_folder(name) / f"{name}.py").read_text("utf-8")
        family = re.search(r"^class \w+\(base\.(\w+)\):", script, re.MULTILINE)
        demo = demos.get(getattr(base, family[1]).columns) if family else None
        if demo:
            yield pytest.param(demo, name, id=f"{demo}-{name}")


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
@pytest.mark.parametrize(("demo", "name"), list(companions()))
def test_metrics_of_one_family_work_together(load_demo, rows_folder, demo, name, way):
    members = [load(demo, load_demo, rows_folder), load(name, load_demo, rows_folder)]
    alone = members[0].compute(**ROWS[demo]) | members[1].compute(**ROWS[demo])
    assert same(way(evaluate.combine(members), ROWS[demo]), alone)


@pytest.mark.parametrize("way", [by_compute, by_add_batch, by_add])
@pytest.mark.parametrize("demo", ROWS)
def test_two_of_one_name_get_numbers(load_demo, rows_folder, demo, way):
    members = [load(demo, load_demo, rows_folder) for _ in range(2)]
    alone = members[0].compute(**ROWS[demo])
    combined = way(evaluate.combine(members), ROWS[demo])
    assert same(combined, {f"{demo}_{i}_{key}": value for i in range(2) for key, value in alone.items()})


def test_settings_at_load_keep_two_of_one_name_apart(load_demo, rows_folder):
    members = {
        "light": load_demo("story_demo", cache_dir=str(rows_folder)),
        "heavy": load_demo("story_demo", cache_dir=str(rows_folder), weight=10.0),
    }
    combined = evaluate.combine(members, force_prefix=True).compute(predictions=["abc"])
    assert (combined["light_story_demo"], combined["heavy_story_demo"]) == (3.0, 30.0)


def test_metrics_of_different_families_share_columns_in_compute(load_demo, rows_folder):
    members = [load(name, load_demo, rows_folder) for name in ("story_demo", "image_demo")]
    combined = evaluate.combine(members).compute(**IMAGES, styles=["romantic"] * 2, return_details=True)
    assert combined["story_demo_letters"] == [[1], [1]]
    assert combined["image_demo_references"] == [["c"], ["d", "e"]]


def test_folders_can_be_combined():
    folders = [str(catalog.metric_folder("rovist_nr"))] * 2
    combined = evaluate.combine(folders).compute(**STORIES)
    assert combined["rovist_nr_0_rovist_nr_scores"][1] == 0.5


def test_result_can_be_saved_by_the_host(load_demo, rows_folder, tmp_path):
    result = load_demo("story_demo", cache_dir=str(rows_folder)).compute(predictions=["abc"], return_details=True)
    evaluate.save(tmp_path / "result.json", **result)
    saved = json.loads((tmp_path / "result.json").read_text())
    assert {key: saved[key] for key in result} == result
