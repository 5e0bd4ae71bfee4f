"""Numbers of trm from exact enumeration over the authors' distances, and the limit of the authors' sampling."""

import gzip
import itertools
import json
import math
from fractions import Fraction

import folders
import numpy as np
import pytest
from folders import TESTS

from vlgauge.core.catalog import folder_module
from vlgauge.stats import partitions

GOLDEN = json.loads(gzip.decompress((folders.GOLDEN / "trm.json.gz").read_bytes()))
SHARED = TESTS.parents[1] / "shared" / "oracles" / "trm_kbm.json.gz"  # next to the checkout, not part of it
DISTANCES = ("meteor", "cider_d", "rouge_l", "bleu_4", "meteor_1.5", "bert")
TIES = ("fractional", "paper")
triangles = folder_module("trm", "triangles")


def q_of(matrix, n, ties="fractional", tie_tol=1e-12):
    candidates = partitions(n, len(matrix) - n, pvalue="exact").candidates
    return triangles.triangle_tests(triangles.levels(np.array([matrix], float), tie_tol), candidates, ties)


def check(matrix, n, expected, ties):
    found = q_of(matrix, n, ties, expected["tie_tol"])
    wanted = expected[ties]
    assert found.q.shape[2] == wanted["partitions"]
    assert found.counts[0, 0] == pytest.approx(wanted["counts_lone_prediction"], abs=1e-12)
    assert found.counts[0, 1] == pytest.approx(wanted["counts_lone_reference"], abs=1e-12)
    for null, p, numbers in zip(
        found.q[:, 0], found.pvalues[:, 0], (wanted["pooled"], wanted["separate"]), strict=True
    ):
        z = (null[0] - null.mean()) / null.std() if null.std() > 1e-9 else None
        got = {"q": null[0], "p": p, "null_mean": null.mean(), "null_std": null.std()}
        assert got == pytest.approx({key: numbers[key] for key in got}, abs=1e-12)
        assert z == pytest.approx(numbers["z"], abs=1e-11)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_distances_of_the_oracle(case, distance):
    for ties in TIES:
        check(case["distances"][distance], len(case["predictions"]), case["trm"][distance], ties)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("case", GOLDEN["matrices"], ids=lambda case: case["name"])
def test_matrices_of_the_oracle(case, ties):
    check(case["matrix"], case["n_predictions"], case, ties)


def shared_case(name):
    cases = json.loads(gzip.decompress(SHARED.read_bytes()))["cases"]
    return next(case for case in cases if case["name"] == name)


@pytest.mark.skipif(not SHARED.exists(), reason="needs the reference material next to the checkout")
@pytest.mark.parametrize("name", ["13_coco_two_images", "18_paper_figure_1"])
def test_coco_captions_of_the_reference_material(name):
    case = shared_case(name)
    for distance, ties in itertools.product(DISTANCES, TIES):
        check(case["distances"][distance], len(case["predictions"]), case["trm"][distance], ties)


@pytest.mark.parametrize(("distance", "expected"), [("meteor", (37 / 150, 37 / 75)), ("cider_d", (4 / 15, 8 / 15))])
def test_identical_sets_are_not_at_0(distance, expected):
    case = next(case for case in GOLDEN["cases"] if case["name"] == "02_identical_sets")
    found = q_of(case["distances"][distance], 5).q[:, 0, 0]
    assert found == pytest.approx(expected, rel=1e-14)


# -- the authors' code ------------------------------------------------------------------------------------------------
def released_limit(levels, n):
    """Compute the expectation of the released statistic without its noise.

    The released code passes the ranks 0, 1, 2 to a function written for 1, 2, 3. Rank 0 is a coin of 1/3, so that its
    term vanishes, and "largest" is never used. The same coin decides ties.
    """
    total = Fraction(0)
    for side, other in ((range(n), range(n, len(levels))), (range(n, len(levels)), range(n))):
        smallest, middle = [], []
        for x in side:
            for y, w in itertools.permutations(other, 2):
                ordered = sorted((levels[y][w], levels[x][y], levels[x][w]))
                inner, coin = levels[y][w], Fraction(1, 3)
                place = [inner == one for one in ordered]
                smallest.append(coin if place[0] and sum(place) > 1 else int(place[0]))
                middle.append(coin if place[1] and sum(place) > 1 else int(place[1]))
        total += sum(abs(Fraction(sum(draws)) / len(draws) - Fraction(1, 3)) for draws in (smallest, middle))
    return float(total)


@pytest.mark.parametrize("distance", ["meteor", "cider_d", "rouge_l", "bleu_4"])
@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_limit_of_the_authors_sampling(case, distance):
    expected = case["trm"][distance]
    levels = triangles.levels(np.array([case["distances"][distance]]), expected["tie_tol"])[0].tolist()
    limit = released_limit(levels, len(case["predictions"]))
    assert limit == pytest.approx(expected["released_limit"], abs=1e-12)
    sampled = case["trm_released_monte_carlo"].get(distance)
    if sampled is not None and not math.isclose(sampled["std"], 0.0):
        noise = 0.03 + 0.104  # for 500 samples, at most the noise of ten equal captions
        assert -0.03 <= sampled["mean"] - limit <= noise
