"""Clouds of captions, null distributions, and their meaning in words."""

import math
import re

import pytest
from explained import scored

from vlgauge.core.results import pvalue_text
from vlgauge.explain import explain
from vlgauge.explain.caption_sets import caption_cloud, null_columns


def found(p, *others, n=5, m=5, exact=True, ways=252, signature="mmd_bert|v:1", corpus=None):
    """Return an explanation of one pair of sets with this p, and of others."""
    rows = [p, *others]
    columns = {"predictions": [["a"] * n for _ in rows], "references": [["b"] * m for _ in rows]}
    result = {
        "mmd_bert_scores": [0.3] * len(rows),
        "mmd_bert_details": [{"n_partitions": ways, "exact": exact}] * len(rows),
        "mmd_bert_pvalues": rows,
        "mmd_bert_signature": signature,
    }
    if corpus is not None:
        result |= {"mmd_bert": 0.3, "mmd_bert_pvalue": corpus, "mmd_bert_excess": 0.1}
    return explain("mmd_bert", columns, result)


@pytest.mark.parametrize(
    ("p", "sizes", "start", "end"),
    [
        (
            2 / 252,
            {},
            "Only 2 of 252 ways",
            "score at least as high, this one and its mirror image (5 against 5 captions have no p below 0.0079): the "
            "two sides differ.",
        ),
        (
            1 / 56,
            {"n": 3, "ways": 56},
            "Only 1 of 56 ways",
            "scores at least as high (3 against 5 captions have no p below 0.0179): the two sides differ.",
        ),
        (0.15, {"ways": 100}, "15 of 100 ways", "this caption set is too small to test it."),
        (
            0.8,
            {"exact": False},
            "8,000 of 10,000 ways that were tried",
            "no significant difference between the two sides.",
        ),
    ],
)
def test_meaning_of_p(p, sizes, start, end):
    sentence = found(p, **sizes).meaning(0)
    assert sentence.startswith(start)
    assert sentence.endswith(end)


def test_without_a_test_a_row_says_nothing_of_it():
    assert found(math.nan).meaning(0) == ""


def test_the_least_p_of_two_against_two_tells_nothing_either_way():
    for p in (2 / 6, 1.0):
        sentence = found(p, n=2, m=2, ways=6).meaning(0)
        assert sentence.endswith("2 against 2 captions have no p below 0.3333, so this row alone is no evidence.")
        assert "difference between the two sides" not in sentence


def test_a_small_p_is_one_of_the_rows():
    # Up to 0.8 of 100 rows of one distribution have a p of 2/252.
    many = found(2 / 252, *[0.5] * 98, 2 / 252).meaning(0)
    assert many.endswith(
        "by chance, up to 0.8 of 100 rows have a p as small, and 2 have one, so this row alone is weak evidence."
    )
    assert "differ" not in many
    assert found(2 / 252, *[0.5] * 5).meaning(0).endswith("the two sides differ, also as one of 6 rows.")
    # Rows without a p do not count.
    assert found(2 / 252, *[math.nan] * 98).meaning(0).endswith("): the two sides differ.")


def test_the_least_p_of_random_splits_is_that_of_their_number():
    random = found(0.01, n=10, m=10, ways=184_756, exact=False, signature="mmd_bert|v:1|permutations:99")
    assert random.least_pvalue(0) == 1 / 100
    assert found(0.01, n=10, m=9, ways=92_378).least_pvalue(0) == 1 / 92_378


def test_a_reason_names_p_and_the_caption_that_comes_again():
    assert found(0.25).reason(0) == "p 0.2500; one caption 5 times"
    assert found(math.nan, n=1).reason(0) == "1 captions, all different"


@pytest.mark.parametrize("name", ["trm", "mmd_bert", "frechet_bert"])
def test_p_and_its_null_distribution_agree_with_the_metric(name):
    columns, result = scored(name)
    explained = explain(name, columns, result)
    for row, p in enumerate(result[f"{name}_pvalues"][:2]):
        null = result[f"{name}_details"][row]["null"]
        assert sum(null["counts"][null["below"] :]) == round(p * sum(null["counts"]))
        assert f"{round(p * 252)} of 252 ways" in explained.body(row)
        assert f"p {pvalue_text(p)}" in explained.badge(row)


def test_equal_captions_are_one_disc_with_their_number():
    plane = {"points": [[0, 0]] * 3 + [[1, 1], [-1, 0.5]], "variance": [0.6, 0.3]}
    drawn = caption_cloud(plane, 3)
    assert drawn.count("<circle") == 1
    assert re.search(r">\N{MULTIPLICATION SIGN}3<", drawn)
    assert drawn.count('class="people"') == 2
    assert "90% of the variance" in drawn
    assert "3 captions from the model as discs, 2 human ones" in drawn
    assert "polygon" not in drawn


def test_ellipses_reach_one_standard_deviation_in_every_direction():
    import numpy as np

    from vlgauge.explain.caption_sets import _ellipse

    points = np.random.default_rng(1).normal(size=(6, 2)) @ [[2.0, 0.5], [0.0, 0.7]] + [3.0, -1.0]
    outline = np.array(_ellipse(points))
    for angle in (0.0, 0.4, 1.3, 2.5):
        direction = np.array([np.cos(angle), np.sin(angle)])
        reach = ((outline - points.mean(axis=0)) @ direction).max()
        assert reach == pytest.approx((points @ direction).std(ddof=1), rel=4e-3)
    assert np.array(_ellipse(np.full((3, 2), 0.25))) == pytest.approx(np.full((48, 2), 0.25))
    drawn = caption_cloud({"points": points.tolist(), "variance": [0.5, 0.5]}, 3, ellipses=True)
    assert drawn.count("<polygon") == 2
    assert "spread people" in drawn


@pytest.mark.parametrize(
    ("pvalues", "alarm"), [([0.05], True), ([0.051], False), ([math.nan], False), ([0.05, 0.5], False)]
)
def test_orange_needs_a_small_p_among_all_rows(pvalues, alarm):
    explained = found(*pvalues)
    assert explained.is_surprising(0) == alarm
    null = {"low": 0.0, "width": 0.1, "counts": [3, 2, 1], "below": 2}
    drawn = null_columns(null, "Q of 6 splits", is_surprising=alarm)
    assert ("as-large surprising" in drawn) == alarm
    assert drawn.count('class="bar"') == 2
    assert "Q of 6 splits" in drawn


def test_the_headline_of_many_rows_is_that_of_the_corpus():
    many = found(2 / 252, *[0.5] * 11, corpus=0.4)
    assert (
        many.conclusion()
        == "No significant difference between model and human captions over 12 rows together: p of the corpus 0.4000."
    )
    assert many.finding(0).startswith("One of 12 rows with p 0.0079, the share of ways to split these captions")
    assert not re.search("(sides|people</em>) differ", many.html())
    few = found(2 / 252, *[0.01] * 11, corpus=1e-4)
    assert few.conclusion() == (
        "<em>Model and human</em> differ over 12 rows together: p of the corpus \N{LESS-THAN OR EQUAL TO} 1.0e-04."
    )
    assert few.corpus_numbers()[0] == ("p of the corpus:", "\N{LESS-THAN OR EQUAL TO} 1.0e-04")
    # A single row is its own corpus, and one without a test has the reason of the worst row.
    alone = found(2 / 252, corpus=2 / 252)
    assert alone.conclusion().startswith("<em>Model and human</em> differ: p 0.0079, the share of ways")
    assert found(math.nan, math.nan).conclusion().startswith("<b>“row 0”</b>: ")


def test_a_row_is_surprising_also_among_others():
    assert found(2 / 252, *[0.5] * 5).finding(0).startswith("<em>Model and human</em> differ, also as one of 6 rows: ")


def test_no_page_shows_a_pvalue_of_zero():
    tiny = found(1e-4, 0.5, n=10, m=10, ways=184_756, exact=False, corpus=1e-4)
    page = re.sub("<style.*?</style>|<[^>]*>", " ", tiny.html(), flags=re.DOTALL)
    assert "p \N{LESS-THAN OR EQUAL TO} 1.0e-04" in page
    assert "1 of 10,000 ways that were tried" in page
    assert not re.search(r"p 0\.0+\b|\b0\.0 ?%", page)


def test_sets_without_a_test_have_neither_tick_nor_columns():
    columns, result = scored("mmd_bert")
    kept = ("mmd_bert_scores", "mmd_bert_signature")
    bare = {key: result[key] for key in kept}
    details = [{"bandwidth": 1.0, "n_distinct": 2} for _ in columns["predictions"]]
    explained = explain("mmd_bert", columns, bare | {"mmd_bert_details": details})
    page = explained.html()
    assert "no test was run" in page
    assert 'class="why"' not in page
    assert "these captions<" not in page
    assert explained.corpus_numbers() == []


def test_numbers_of_the_corpus_stand_in_the_summary():
    columns, result = scored("trm")
    summary = explain("trm", columns, result).summary()
    assert "p of the corpus: " in summary
    assert "excess over chance: " in summary


def test_parts_of_a_frechet_distance_in_words():
    columns, result = scored("frechet_bert")
    body = explain("frechet_bert", columns, result).body(1)
    part = result["frechet_bert_details"][1]["squared_mean_distance"] / result["frechet_bert_scores"][1]
    assert f"{part:.0%} of the distance lies between the means" in body
