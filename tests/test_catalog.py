"""The list of installed metrics."""

import sys

import pytest
from folders import METRICS, TOYS

import vlgauge
from vlgauge import catalog
from vlgauge.catalog import MetricFacts


@pytest.fixture
def toys(monkeypatch):
    monkeypatch.setattr(catalog, "metrics_root", lambda: TOYS)


def test_root_is_the_folder_of_the_checkout():
    assert catalog.metrics_root() == METRICS


def test_names_are_the_folders_with_a_script_of_that_name(monkeypatch, tmp_path):
    for path in ("b/b.py", "a/a.py", "c/d.py", "e/README.md"):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).touch()
    (tmp_path / "f.py").touch()
    monkeypatch.setattr(catalog, "metrics_root", lambda: tmp_path)
    assert catalog.metric_names() == ["a", "b"]


def test_folder_is_what_the_host_loads(toys):
    assert catalog.metric_folder("set_toy") == TOYS / "set_toy"
    assert vlgauge.load("set_toy", "overlap", keep_in_memory=True).config_name == "overlap"
    assert vlgauge.load("story_toy", keep_in_memory=True, weight=2.0).weight == 2.0


@pytest.mark.parametrize("name", ["pacs", "", "..", "story_toy/", None])
def test_unknown_name_lists_the_known_ones(toys, name):
    message = r"`name` must be one of the installed metrics \(image_toy, set_toy, story_toy\), got "
    for look_up in (catalog.metric_folder, catalog.metric_facts, vlgauge.load):
        with pytest.raises(ValueError, match=message):
            look_up(name)


def test_unknown_setting_of_load_is_refused(toys):
    with pytest.raises(TypeError, match=r"`weights` is no setting of story_toy; did you mean `weight`\?"):
        vlgauge.load("story_toy", weights=2.0)


def test_facts_are_read_from_the_class(toys):
    expected = MetricFacts("story_toy", "How many letters has a story?", "0 to infinity", True)
    assert catalog.metric_facts("story_toy") == expected


def test_facts_are_read_without_running_the_script(monkeypatch, tmp_path):
    facts = 'measures = "m"; score_range = "r"; higher_is_better = False; needs = ("embedded", "punkt")'
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "bad.py").write_text(f"raise SystemExit\nclass Bad:\n    {facts}; other = print(1)\n")
    monkeypatch.setattr(catalog, "metrics_root", lambda: tmp_path)
    assert catalog.metric_facts("bad") == MetricFacts("bad", "m", "r", False, ("embedded", "punkt"))


def test_missing_extras_are_those_of_which_a_module_is_not_installed(monkeypatch):
    monkeypatch.setattr(catalog, "EXTRA_MODULES", {"there": ("json", "math"), "half": ("json", "no_such_module")})
    assert MetricFacts("m", "m", "r", True, ("there", "half")).missing == ["half"]


@pytest.mark.parametrize("extra", catalog.EXTRA_MODULES)
def test_looking_for_an_extra_imports_nothing(extra):
    before = set(sys.modules)
    catalog.extra_is_present(extra)
    assert set(sys.modules) == before


def test_missing_metric_folders_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(catalog, "_HERE", tmp_path / "a" / "b")
    with pytest.raises(FileNotFoundError, match=r"the metric folders are missing beside .*; install vlgauge again"):
        catalog.metrics_root()
