"""RoViST-VG: formulas against a worked example, plain loops, and values of the authors' code."""

import json
import math

import folders
import numpy as np
import pytest

from vlgauge.core.catalog import folder_module
from vlgauge.families.grounding import best_regions
from vlgauge.families.grounding.features import unit_vectors
from vlgauge.inputs.text.story_idf import fit_idf, idf_table

GOLDEN = json.loads((folders.GOLDEN / "rovist_vg.json").read_text("utf-8"))


formula = folder_module("rovist_vg", "formula")
AGGREGATES, grounding_score, scaled_score = formula.AGGREGATES, formula.grounding_score, formula.scale_score


def test_worked_example():
    cosines, idf = np.array([0.5, -1.0]), np.array([2.0, 1.0])
    assert grounding_score(cosines, idf) == pytest.approx(math.log(math.e + math.exp(-1)), rel=1e-12)
    assert grounding_score(cosines, idf, "sum") == 0.0
    assert grounding_score(cosines, idf, "mean") == 0.0
    assert grounding_score(cosines, np.ones(2), "mean") == -0.25


@pytest.mark.parametrize("case", GOLDEN["vg_score"])
def test_values_of_the_authors(case):
    for name in AGGREGATES:
        expected = case[name] if case["recall"] else "nan"
        found = grounding_score(np.array(case["recall"]), np.array(case["idf"], dtype=float), name)
        assert found == pytest.approx(math.nan if expected == "nan" else expected, abs=1e-5, nan_ok=True)


@pytest.mark.parametrize("case", GOLDEN["scaled"])
def test_scaled(case):
    assert scaled_score(case["vg"]) == pytest.approx(case["scaled"], abs=1e-9)
    assert scaled_score(case["vg"]) == pytest.approx(2 / (1 + math.exp(-case["vg"] / 2)) - 1, abs=1e-12)


def test_idf_of_a_corpus():
    case = GOLDEN["idf"]
    table = fit_idf(case["documents"])
    assert table.n_stories == case["N"]
    assert dict(table.df) == case["df"]
    for word, value in case["idf"].items():
        assert table.value(word) == pytest.approx(value, abs=1e-9)
    assert table.value("bridge") == pytest.approx(case["unseen_idf"], abs=1e-9)
    assert idf_table({"a": 1.0, "b": 2.5}).value("c") == pytest.approx(2.5 + math.log(2), abs=1e-12)


def test_against_plain_loops():
    rng = np.random.default_rng(0)
    for n_nouns, n_regions, width in ((1, 1, 3), (4, 7, 5), (6, 2, 2)):
        text, regions = rng.normal(size=(n_nouns, width)), rng.normal(size=(n_regions, width))
        idf = rng.uniform(-0.2, 6, n_nouns)
        total = 0.0
        for noun, weight in zip(text, idf, strict=True):
            best = -2.0
            for region in regions:
                dot = sum(a * b for a, b in zip(noun, region, strict=True))
                best = max(best, dot / math.sqrt(sum(a * a for a in noun) * sum(b * b for b in region)))
            total += math.exp(weight * best)
        cosines = unit_vectors(text, "x") @ unit_vectors(regions, "x").T
        highest = cosines[range(n_nouns), best_regions(cosines)]
        assert grounding_score(highest, idf) == pytest.approx(math.log(total), rel=1e-10)


def test_properties():
    rng = np.random.default_rng(1)
    cosines, idf = rng.uniform(-1, 1, 6), rng.uniform(0.1, 5, 6)
    order = rng.permutation(6)
    for name in AGGREGATES:
        assert grounding_score(cosines[order], idf[order], name) == pytest.approx(
            grounding_score(cosines, idf, name), rel=1e-12
        )
        better = cosines.copy()
        better[2] += 0.1
        assert grounding_score(better, idf, name) > grounding_score(cosines, idf, name)
    assert grounding_score(np.zeros(9), idf=np.ones(9)) == pytest.approx(math.log(9))
    assert grounding_score(np.array([1.0, 1.0]), np.array([800.0, 1.0])) == pytest.approx(800.0)
    assert best_regions(np.array([[0.1, 0.7, 0.7], [0.7, 0.2, 0.1]])).tolist() == [1, 0]
    assert [scaled_score(x) for x in (-2.0, 0.0, 2.0)] == pytest.approx([-math.tanh(0.5), 0.0, math.tanh(0.5)])


@pytest.mark.parametrize("name", AGGREGATES)
def test_no_noun_is_undefined(name):
    assert math.isnan(grounding_score(np.zeros(0), np.zeros(0), name))
