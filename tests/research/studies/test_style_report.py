"""The report of a corpus: in sample, left out, held out, and with shuffled styles."""

import math
import warnings

import numpy as np
import pytest
from style_definition import ASYMMETRIC, GOLDEN, TOY, columns_of, goemotions

from vlgauge.families.style import StyleTable
from vlgauge.research.studies.style_agreement import style_agreement
from vlgauge.research.studies.style_report import split_by_group, style_report


# -- the report -------------------------------------------------------------------------------------------------------
def test_report_of_a_corpus():
    captions, styles = columns_of(ASYMMETRIC["corpus"])
    held_out = [False, False, True, True, False, False, False, True, False, False, False]
    report = style_report(captions, styles, held_out=held_out)
    names = ["in sample", "in sample, not its own reference", "leave one out", "held out"]
    assert list(report) == [*names, *(f"shuffled: {name}" for name in names)]
    assert report["in sample"] == style_agreement(captions, styles)
    assert report["in sample, not its own reference"] == style_agreement(captions, styles, include_self=False)
    assert report["leave one out"] == style_agreement(captions, styles, exclude_self=True)
    rest, out = (
        [[x for x, mask in zip(column, held_out, strict=True) if mask is wanted] for column in (captions, styles)]
        for wanted in (False, True)
    )
    table = StyleTable.fit(*rest)
    assert report["held out"] == style_agreement(*out, table, references=tuple(rest))
    assert style_report(*rest, test=tuple(out))["held out"] == report["held out"]
    shuffled = np.random.default_rng(0).permutation(np.array(styles, dtype=object)).tolist()
    assert report["shuffled: in sample"] == style_agreement(captions, shuffled)
    released = style_report(captions, styles, variant="released", shuffle_seed=None)
    assert list(released) == names[:3]
    assert released["in sample"] == style_agreement(captions, styles, variant="released")


def test_held_out_caption_of_a_style_that_no_other_has():
    captions, styles = columns_of(ASYMMETRIC["corpus"])
    held_out = [style == "calm" or i == 2 for i, style in enumerate(styles)]
    with pytest.warns(UserWarning, match="1 of 2 held") as caught:
        report = style_report(captions, styles, held_out=held_out, shuffle_seed=None)
    assert report["held out"].captions == 1
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"held_out": [True]}, r"^`held_out`.*got 1"),
        ({"held_out": ["False"] * 6}, r"^`held_out\[0\]`.*got 'False'"),
        ({"held_out": [False] * 6}, r"^`captions`.*caption.*got none"),
        ({"test": (["a"], ["A", "B"])}, r"^`test`.*1 in all, got 2"),
        ({"test": (["a", "b"], ["D", "E"])}, r"^`captions`.*held.*got none"),
        ({"shuffle_seed": -1}, r"^`shuffle_seed`.*at least 0.*got -1"),
    ],
)
def test_wrong_reports_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        style_report(*columns_of(TOY["corpus"]), **options)


def test_groups_are_not_parted():
    groups = [i // 4 for i in range(400)]
    out = split_by_group(groups, 0.15)
    assert sum(out) == 60
    assert {sum(out[i : i + 4]) for i in range(0, 400, 4)} == {0, 4}
    assert out == split_by_group(groups, 0.15)
    assert out != split_by_group(groups, 0.15, seed=1)
    assert sum(split_by_group(groups, 0.0001)) == 4
    assert sum(split_by_group(groups, 0.9999)) == 396
    assert sum(split_by_group(["a", "b"], 0.9)) == 1


@pytest.mark.parametrize(
    ("groups", "share", "message"),
    [
        ([1, 2], 0.0, r"^`share`.*got 0\.0"),
        ([1, 2], 1.0, r"^`share`.*got 1\.0"),
        ([1, 2], math.nan, r"^`share`.*got nan"),
        ([1, 1], 0.5, r"^`groups`.*at least 2.*got 1"),
    ],
)
def test_wrong_parts_are_refused(groups, share, message):
    with pytest.raises(ValueError, match=message):
        split_by_group(groups, share)
    with pytest.raises(ValueError, match=r"^`seed`.*at least 0.*got -1"):
        split_by_group([1, 2], 0.5, seed=-1)


# -- real text --------------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_goemotions_figures_of_the_cards(shared_folder):
    train, test, _ = goemotions(shared_folder)
    report = style_report(train.captions, train.styles, test=(test.captions, test.styles))
    eq9 = {name: row.eq9.share for name, row in report.items()}
    pairs = {name: row.eq9_pairs.share for name, row in report.items()}
    names = ("in sample", "shuffled: in sample", "leave one out", "shuffled: leave one out", "held out")
    assert [eq9[name] for name in names] == pytest.approx([0.991, 0.978, 0.366, 0.243, 0.370], abs=0.005)
    assert [pairs[name] for name in names] == pytest.approx([0.9995, 0.998, 0.870, 0.755, 0.871], abs=0.005)
    counted = report["in sample"]
    assert [counted.eq9.won, counted.eq9_pairs.won] == list(
        GOLDEN["goemotions"]["eq9_counts"]["train_in_sample"].values()
    )
    assert counted.mean_onlystyle == pytest.approx(0.494, abs=0.005)
    own = [report[name].eq10.share for name in ("in sample", "shuffled: in sample")]
    assert own == pytest.approx([0.56, 0.54], abs=0.005)
    name = "in sample, not its own reference"
    assert [report[name].eq10.share, report[f"shuffled: {name}"].eq10.share] == pytest.approx([0.25, 0.01], abs=0.005)


def test_no_warning_in_a_plain_report():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        style_report(*columns_of(TOY["corpus"]))
