"""Scores on an axis: right is better, whichever way the metric runs."""

import math
import re

import pytest

from vlgauge.explain.plots import Axis, dots, histogram, sparkline


def test_an_axis_has_round_ends_that_hold_every_value():
    axis = Axis.holding([0.123, 0.877, math.nan, math.inf], higher_is_better=True)
    assert (axis.low, axis.high) == pytest.approx((0.12, 0.88))
    assert axis.ends == ("0.12", "0.88")
    assert Axis.holding([0.3], higher_is_better=True).ends == ("\N{MINUS SIGN}0.2", "0.8")
    assert Axis.holding([math.nan], higher_is_better=False).ends == ("1", "0")


@pytest.mark.parametrize(("higher", "at"), [(True, 0.25), (False, 0.75)])
def test_right_is_better(higher, at):
    axis = Axis(0.0, 2.0, higher)
    assert axis.at(0.5) == at
    assert axis.ends == (("0", "2") if higher else ("2", "0"))


def test_good_bad_and_neither_differ_in_shape_and_what_is_beyond_the_axis_is_an_arrow():
    drawn = dots(
        [(0.1, "good"), (0.2, "bad"), (0.3, "neither"), (-3.0, "bad"), (math.nan, "good")], Axis(0, 1, True), "x"
    )
    assert drawn.count("<circle") == 2
    assert '<circle class="good" cx="10.0%"' in drawn
    assert '<line class="neither" x1="30.0%"' in drawn
    assert '<svg x="0" y="8" overflow="visible"><path class="off bad"' in drawn
    assert 'x="100%"' in dots([(9.0, "own")], Axis(0, 1, True), "x")


def test_a_label_is_escaped():
    assert "<b>" not in dots([], Axis(0, 1, True), "<b>\"'")


def test_a_histogram_counts_every_score_once_and_marks_the_mean():
    drawn = histogram([0.01, 0.02, 0.5, 0.99, 1.0, -2.0, math.nan], Axis(0, 1, True), 0.25, "x")
    assert sum(map(int, re.findall(r'text-anchor="middle">(\d+)<', drawn))) == 6
    assert ">mean 0.25<" in drawn
    assert 'x1="25.0%"' in drawn
    assert "mean" not in histogram([math.nan], Axis(0, 1, False), math.nan, "x")


@pytest.mark.parametrize(
    ("score", "higher", "ends"),
    [
        (0.5, True, ("0", "1")),
        (1.0, True, ("0", "1")),
        (-2.4, True, ("0 and less", "1")),
        (3.0, True, ("0", "1 and more")),
        (3.0, False, ("1 and more", "0")),
        (math.nan, False, ("1", "0")),
    ],
)
def test_a_histogram_says_where_a_column_holds_what_is_beyond_the_axis(score, higher, ends):
    drawn = histogram([score], Axis(0, 1, higher), math.nan, "x")
    assert tuple(re.findall(r'y="128"[^>]*>([^<]+)<', drawn)) == ends


def test_of_many_columns_the_tallest_alone_carries_its_number():
    drawn = histogram([0.02, 0.12, 0.22, 0.32, 0.42, 0.52, 0.52, 0.52], Axis(0, 1, True), 0.4, "x")
    assert re.findall(r'text-anchor="middle">(\d+)<', drawn) == ["3"]
    assert drawn.count('class="bar"') == 6


def test_a_line_of_a_table_has_a_column_for_each_that_a_histogram_has():
    drawn = sparkline([0.01, 0.02, 0.5, math.nan], Axis(0, 1, False), "x<")
    assert re.findall(r'class="bar" x="([\d.]+)%"', drawn) == ["50", "95"]
    assert "<text" not in drawn
    assert 'aria-label="x&lt;"' in drawn


def test_the_name_of_the_mean_stands_above_every_count():
    drawn = histogram([0.5] * 9 + [0.6], Axis(0, 1, True), 0.5, "x")
    heights = [float(y) for y in re.findall(r'y="([\d.]+)" text-anchor="middle"', drawn)]
    (name,) = re.findall(r'y="(\d+)" text-anchor="\w+">mean', drawn)
    # Both are 12 pixels high.
    assert min(heights) - float(name) >= 12
