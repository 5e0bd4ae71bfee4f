"""The list of installed metrics."""

import sys
from dataclasses import replace

import pytest
from folders import DEMO_METRICS, METRICS

import vlgauge
from vlgauge.core import catalog
from vlgauge.core.catalog import MetricFacts
from vlgauge.core.errors import UsageError


@pytest.fixture
def demos(use_metrics):
    use_metrics(DEMO_METRICS)


def test_root_is_the_folder_of_the_checkout():
    assert catalog.metrics_root() == METRICS


def test_names_are_the_folders_with_a_script_of_that_name(use_metrics, tmp_path):
    for path in ("b/b.py", "a/a.py", "c/d.py", "e/README.md"):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).touch()
    (tmp_path / "f.py").touch()
    use_metrics(tmp_path)
    assert catalog.metric_names() == ["a", "b"]


def test_folder_is_what_the_host_loads(demos):
    assert catalog.metric_folder("set_demo") == DEMO_METRICS / "set_demo"
    assert vlgauge.load("set_demo", "overlap", keep_in_memory=True).config_name == "overlap"
    assert vlgauge.load("story_demo", keep_in_memory=True, weight=2.0).weight == 2.0


@pytest.mark.parametrize("name", ["pacs", "", "..", "story_demo/", None])
def test_unknown_name_lists_the_known_ones(demos, name):
    message = r"^`name`.*image_demo.*set_demo"
    for look_up in (catalog.metric_folder, catalog.metric_facts, vlgauge.load):
        with pytest.raises(ValueError, match=message):
            look_up(name)


@pytest.mark.parametrize("name", ["Story-Demo", "vlgauge/story_demo", "storydemo", "STORY_DEMO"])
def test_name_that_is_written_in_another_way(demos, name):
    with pytest.raises(ValueError, match=rf"got '{name}'.*`story_demo`"):
        catalog.metric_folder(name)


def test_unknown_setting_of_load_is_refused(demos):
    with pytest.raises(TypeError, match=r"^`weights`.*story_demo.*`weight`"):
        vlgauge.load("story_demo", weights=2.0)


def test_facts_are_read_from_the_card(demos):
    expected = MetricFacts("story_demo", "How many letters has a story?", "[0, inf)", True, has_references=False)
    assert catalog.metric_facts("story_demo") == replace(expected, bounds=(0.0, None))


@pytest.mark.parametrize(
    ("score_range", "kind", "words", "ends"),
    [
        ("[0, 4/3]; separate [0, 8/3]", "", "0 to 4/3", (0.0, 4 / 3)),
        ("(-inf, 1]; paper [0, 1]", "", "1 or less", (None, 1.0)),
        ("[0, inf)", "", "0 or more", (0.0, None)),
        ("(-inf, inf)", "", "any number", (None, 9.0)),
        ("images [0, 2.5]; videos about [-1, 1]", "images", "0 to 2.5", (0.0, 2.5)),
        ("images [0, 2.5]; videos about [-1, 1]", "videos", "about -1 to 1", (-1.0, 1.0)),
        ("[-1/S, (S-1)/S] with S styles", "", "-1/S to (S-1)/S with S styles", (None, 9.0)),
    ],
)
def test_a_range_is_said_in_words_and_its_ends_are_numbers(score_range, kind, words, ends):
    facts = MetricFacts("demo", "?", score_range, True, bounds=(None, 9.0))
    assert facts.range_of(kind) == words
    assert facts.ends_of(kind) == pytest.approx(ends)


@pytest.mark.parametrize(
    ("score_range", "bounds"),
    [
        ("[0, 4/3]", (0.0, 4 / 3)),
        ("[0, 1]; released [0, 10]", (0.0, 10.0)),
        ("[0, 1]; released (-inf, 3)", (None, 3.0)),
        ("[-1, 1]; with S styles [-1/S, 1]", (None, None)),
        ("any number", (None, None)),
    ],
)
def test_a_card_without_bounds_has_the_ends_of_its_range(use_metrics, tmp_path, score_range, bounds):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "bad.py").touch()
    card = CARD.replace("  bounds: [0, null]\n", "").replace('"[0, 4]"', f'"{score_range}"')
    (tmp_path / "bad" / "README.md").write_text(card)
    use_metrics(tmp_path)
    assert catalog.metric_facts("bad").bounds == bounds


CARD = """---
title: Bad
short_description: How bad?
extra: punkt
compares_sets: true
languages: [en]
other_languages:
- version="2007"
- parser, model
scores:
- key: bad
  title: Bad
  direction: lower
  range: "[0, 4]"
  bounds: [0, null]
  bounds_with:
  - if: {variant: "paper"}
    bounds: [0, w]
  value: corpus
  references: required
- key: ref_bad
  title: RefBad
  direction: lower
  bounds_with:
  - if: {variant: "paper"}
    bounds: [0, 2]
- key: bad_f1
  title: Bad F1
  direction: higher
  range: "[0, 1]"
---
"""


def test_facts_are_read_without_running_the_script(use_metrics, tmp_path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "bad.py").write_text("raise SystemExit\n")
    (tmp_path / "bad" / "README.md").write_text(CARD)
    use_metrics(tmp_path)
    assert catalog.metric_facts("bad") == MetricFacts(
        "bad",
        "How bad?",
        "[0, 4]",
        higher_is_better=False,
        needs=("punkt",),
        is_mean=False,
        compares_sets=True,
        languages=("en",),
        other_languages=(('version="2007"',), ("parser", "model")),
        bounds=(0.0, None),
        bounds_with=(({"variant": "paper"}, 0.0, "w"),),
        bounds_with_references=(({"variant": "paper"}, 0.0, 2.0),),
        other_scores=(("bad_f1", "Bad F1", "[0, 1]"),),
        directions=(("bad_f1", True),),
    )
    assert catalog.metric_facts("bad").supported_languages == (
        'English; others with `version="2007"`, or `parser` and `model`'
    )
    assert catalog.score_title("bad_f1") == "Bad F1"
    assert catalog.score_facts("bad_f1").bounds == (0.0, 1.0)
    assert catalog.score_facts("ref_bad").bounds_for({"variant": "paper"}) == (0.0, 2.0)


def test_a_card_without_scores_is_named(use_metrics, tmp_path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "bad.py").touch()
    use_metrics(tmp_path)
    with pytest.raises(ValueError, match="card of bad"):
        catalog.metric_facts("bad")


@pytest.fixture
def extras(monkeypatch, tmp_path):
    """Metadata of a package with extras, and of the packages that some of them install."""
    for name, lines in {
        "vlgauge": """
Provides-Extra: there
Provides-Extra: half-there
Provides-Extra: nothing
Provides-Extra: both
Requires-Dist: always-needed
Requires-Dist: Known_Package>=2; extra == "there"
Requires-Dist: known-package; extra == "half-there"
Requires-Dist: no-such-package; extra == "half-there"
Requires-Dist: of-other-systems; extra == "there" and python_version < "3"
Requires-Dist: vlgauge[half_there,there]; extra == "both"
Requires-Dist: vlgauge[both]; extra == "both"
""",
        "known_package": "",
    }.items():
        folder = tmp_path / f"{name}-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: 1{lines or chr(10)}")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])


@pytest.mark.parametrize(
    ("extra", "brought"),
    [
        ("there", {"Known_Package"}),
        ("half-there", {"known-package", "no-such-package"}),
        ("half_there", {"known-package", "no-such-package"}),
        ("both", {"Known_Package", "known-package", "no-such-package"}),
        ("nothing", set()),
        ("unknown", None),
    ],
)
def test_extras_bring_what_the_metadata_say(extras, extra, brought):
    assert catalog.brought_by(extra) == brought


def test_missing_extras_are_those_of_which_a_package_is_not_installed(extras):
    needs = ("there", "half-there", "nothing", "both", "unknown")
    assert MetricFacts("m", "m", "r", True, needs).missing == ["half-there", "both", "unknown"]


def test_without_metadata_every_extra_is_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert catalog.brought_by("clip") is None
    assert MetricFacts("m", "m", "r", True, ("clip",)).missing == ["clip"]


def test_extras_of_the_installed_package():
    assert {"open_clip_torch", "spacy", "torch"} <= catalog.brought_by("groovist")
    assert catalog.brought_by("rovist") >= catalog.brought_by("rovist-c") | catalog.brought_by("rovist_vg")
    assert catalog.brought_by("rovist-nr") == set()


def test_looking_for_an_extra_imports_nothing_of_it(run_python, tmp_path):
    code = """
import vlgauge
from vlgauge.core import catalog
assert "packaging" not in sys.modules
catalog.extra_is_present("all")
print([name for name in sys.modules if name in ("torch", "spacy", "numpy", "av", "transformers", "matplotlib")])
"""
    assert run_python(code, cwd=tmp_path) == "[]\n"


def test_every_score_has_its_own_direction_or_none():
    directions = {
        name: catalog.direction_of(name)
        for name in ("chair", "chair_s", "chair_recall", "chair_f1", "ref_clip_s", "trm", "trm_base", "spice_objects")
    }
    assert [name for name, higher in directions.items() if not higher] == ["chair", "chair_s", "trm"]
    for name in ("trm_pvalue", "chair_length", "trm_mean_log_pvalue", "ref_clip_s_median", "bleu_undefined", "bleurt"):
        assert catalog.direction_of(name) is None
    with pytest.raises(UsageError, match=r"^`name`.*got 'chair_length'"):
        catalog.score_facts("chair_length")


@pytest.mark.parametrize("name", catalog.metric_names())
def test_directions_are_those_of_numbers_of_the_metric(name):
    facts = catalog.metric_facts(name)
    assert all(one.startswith(f"{name}_") for one, _ in facts.directions)
    assert {own for own, _, _ in facts.other_scores} <= {one for one, _ in facts.directions}


def test_a_named_range_gives_another_score_its_bounds():
    wanted = {"spider": (0, 6), "spider_cider": (0, 10), "spider_spice": (0, 2), "chair_s": (0, 1)}
    wanted |= {"trm": (0, 4 / 3), "trm_separate": (0, 8 / 3)}
    # An excess over the null mean may be negative.
    wanted |= {"trm_excess": (-4 / 3, 4 / 3), "trm_separate_excess": (-8 / 3, 8 / 3)}
    wanted |= {"mmd_bert_excess": (None, None), "frechet_bert_excess": (None, None)}
    assert {name: catalog.score_facts(name).bounds for name in wanted} == wanted
    assert catalog.score_facts("mmd_bert_excess").bounds_for({"estimator": "biased"}) == (None, None)


def test_other_scores_have_the_title_and_range_that_their_metric_names():
    titles = {name: catalog.score_title(name) for name in ("chair", "chair_s", "ref_clip_s")}
    assert titles == {"chair": "CHAIR", "chair_s": "CHAIRs", "ref_clip_s": "RefCLIP-S"}
    assert catalog.score_facts("chair_s").score_range == "[0, 1]"
    # Not that of clip_s, which ends elsewhere.
    assert catalog.score_facts("ref_clip_s").score_range == ""
    known = {name: catalog.metric_facts(name).other_scores for name in catalog.metric_names()}
    for name, scores in known.items():
        assert all(own != name and catalog.metric_of_score(own) == name for own, _, _ in scores)
