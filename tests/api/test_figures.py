"""Figures: content, values, direction, and files."""

import math
import sys

import apart_cases
import numpy as np
import pandas as pd
import pytest

import vlgauge
from vlgauge.api.figures import training_figure
from vlgauge.cli import main


@pytest.fixture(scope="module")
def frame():
    columns = apart_cases.drawn(6)
    references = [one or ["a star"] for one in columns["references"]]
    found = pd.DataFrame({"images": columns["images"], "references": references, "ours": columns["predictions"]})
    found["base"] = found["ours"].iloc[::-1].to_list()
    return found


@pytest.fixture(scope="module")
def scores(frame):
    return vlgauge.score(frame, "clip_s,bleu,chair", predictions="ours", profile="embedded")


def lines(axes):
    """Return the positions of vertical lines."""
    return [line.get_xdata()[0] for line in axes.get_lines() if len(set(line.get_xdata())) == 1]


def test_a_distribution_has_the_value_of_the_call_and_its_interval(scores):
    panels = scores.plot().axes
    assert [panel.get_xlabel() for panel in panels] == [
        "clip_s (demo), higher is better",
        "bleu (row), higher is better",
        "chair (row), lower is better",
    ]
    for panel, (name, line) in zip(panels, scores.summary().loc[["clip_s", "bleu", "chair"]].iterrows(), strict=True):
        assert lines(panel) == [line["value"]]
        n_scored = sum(score == score for score in scores.scores()[name])
        assert sum(bar.get_height() for bar in panel.containers[0]) == n_scored
        if n_scored < line["n"]:  # a caption without objects
            assert f"{line['n'] - n_scored} with an undefined score" in panel.get_title(loc="left")
        labels = [text.get_text() for text in panel.get_legend().get_texts()]
        assert labels[0].startswith("mean" if name == "clip_s" else "corpus-level value")
        assert panel.xaxis_inverted() == (line["better"] == "lower")


def test_other_scores_are_drawn_by_their_names(scores):
    (panel,) = scores.plot(scores=["ref_clip_s"]).axes
    assert lines(panel) == [scores.results["clip_s"]["ref_clip_s"]]
    with pytest.raises(ValueError, match=r"^`scores`.*got 'ref_clip'.*`ref_clip_s`"):
        scores.plot(scores=["ref_clip"])


def test_demo_models_are_named_below_and_only_they(scores):
    assert "meaningless for photographs" in scores.plot()._supxlabel.get_text()
    assert scores.plot(scores=["bleu"])._supxlabel is None


def test_a_heat_map_has_the_rank_correlations(scores):
    axes = scores.plot("correlation", scores=["clip_s", "bleu"]).axes[0]
    values = np.asarray(axes.images[0].get_array())
    ranks = scores.rows[["clip_s", "bleu"]].rank().corr().to_numpy()
    assert values == pytest.approx(ranks)
    with pytest.raises(ValueError, match=r"^`kind`.*'correlation'.*single"):
        scores.plot("correlation", scores=["bleu"])


def test_length_counts_words(scores):
    axes = scores.plot("length").axes[1]
    (points,) = axes.get_lines()
    assert list(points.get_xdata()) == [len(text.split()) for text in scores.columns["predictions"]]
    assert list(points.get_ydata()) == scores.results["bleu"]["bleu_scores"]
    with pytest.raises(ValueError, match=r"^`kind`.*got 'size'"):
        scores.plot("size")


def test_a_forest_has_every_pair_and_fills_what_is_told_apart(frame):
    found = vlgauge.compare(frame, "rouge_l,chair_s", predictions=["ours", "base"], resamples=200)
    panels = found.plot().axes
    assert [panel.xaxis_inverted() for panel in panels] == [False, True]
    for panel, compared in zip(panels, found.statistics.metrics, strict=True):
        (pair,) = compared.pairs
        (mark,) = [line for line in panel.get_lines() if line.get_marker() == "o"]
        assert mark.get_xdata()[0] == pair.difference
        assert (mark.get_markerfacecolor() == "white") == (pair.better is None)
        assert [label.get_text() for label in panel.get_yticklabels()] == ["ours - base"]
        assert f"{compared.metric}" in panel.get_xlabel()


def test_curves_turn_what_is_better_lower_and_mark_the_best():
    history = [
        {"loss": 3.0, "step": 1},
        {"eval_pac_s": 0.5, "eval_trm": 0.4, "step": 10},
        {"eval_pac_s": math.nan, "eval_trm": 0.2, "step": 20},
        {"eval_pac_s": 0.4, "eval_trm": 0.3, "eval_runtime": 2.0, "step": 30},
    ]
    pac_s, trm = training_figure(history).axes
    assert pac_s.get_title(loc="left") == "best 0.5 at step 10"
    assert trm.get_title(loc="left") == "best 0.2 at step 20"
    assert (pac_s.yaxis_inverted(), trm.yaxis_inverted()) == (False, True)
    assert len(training_figure(history, ["trm"]).axes) == 1
    with pytest.raises(ValueError, match=r"^`scores`.*`step`.*got 'clip_s'"):
        training_figure(history, ["clip_s"])
    with pytest.raises(ValueError, match=r"^`records`.*`step`.*got none"):
        training_figure(history[:1])


def test_each_curve_has_the_direction_of_its_own_score():
    history = [{"eval_chair": 0.5, "eval_chair_recall": 0.9, "eval_trm_pvalue": 0.5, "step": 1}]
    history.append({"eval_chair": 0.2, "eval_chair_recall": 0.1, "eval_trm_pvalue": 0.01, "step": 2})
    chair, recall = training_figure(history, ["chair", "chair_recall"]).axes
    assert [axes.get_title(loc="left") for axes in (chair, recall)] == ["best 0.2 at step 2", "best 0.9 at step 1"]
    assert [axes.yaxis_inverted() for axes in (chair, recall)] == [True, False]
    assert recall.get_ylabel() == "chair_recall\nhigher is better"
    with pytest.raises(ValueError, match=r"^`name`.*got 'trm_pvalue'"):
        training_figure(history, ["trm_pvalue"])


def test_a_notebook_shows_the_image(scores):
    image = scores.plot(scores=["bleu"])
    assert image._repr_png_().startswith(b"\x89PNG")
    assert image._repr_html_().startswith('<img alt="bleu (row), higher is better" src="data:image/png;base64,')


def test_the_commands_draw(tmp_path, monkeypatch, capsys, frame):
    monkeypatch.chdir(tmp_path)
    frame.drop(columns="images").assign(id=range(6)).to_json("rows.jsonl", orient="records", lines=True)
    assert main(["score", "bleu,rouge_l", "rows.jsonl", "--predictions", "ours", "--plot", "a.png", "-q"]) == 0
    words = ["--predictions", "ours,base", "--resamples", "200", "--plot", "b.pdf"]
    assert main(["compare", "rouge_l", "rows.jsonl", *words]) == 0
    assert capsys.readouterr().err.endswith("wrote b.pdf\n")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "b.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (["--plot", "a.gif"], "--plot must end in one of .png, .svg, .pdf, got 'a.gif'"),
        (["--plot-kind", "length"], "--plot-kind requires --plot FILE"),
        (["--plot", "a.png", "--plot-kind", "correlation"], "--plot-kind correlation requires several metrics"),
    ],
)
def test_wrong_images_are_refused_before_the_work(capsys, words, match):
    assert main(["score", "bleu", "rows.jsonl", *words]) == 2
    assert match in capsys.readouterr().err


def test_without_matplotlib_a_sentence_names_the_extra(monkeypatch, scores):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'--upgrade.*"vlgauge\[plots\]"'):
        scores.plot()
