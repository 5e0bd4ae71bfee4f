"""The demo's triangle picture: right counts, and words that say what they mean."""

import sys
from itertools import combinations

import numpy as np
import pytest

import vlgauge
from vlgauge.explain.sections import trm

# Places on a line, and the two candidates; every distance is another.
PLACES = (0.0, 1.0, 10.0, 22.0)


@pytest.fixture(scope="module")
def formulas():
    return sys.modules[type(vlgauge.load("trm", keep_in_memory=True)).__module__]


def shares_by_hand(distances, candidates):
    """How often the side within a set is the shortest, middle, longest: lone candidate, then lone reference."""
    n_captions = len(distances)
    references = [i for i in range(n_captions) if i not in candidates]
    counts = np.zeros((2, 3))
    for row, (lone, pair) in enumerate([(candidates, references), (references, candidates)]):
        for x in lone:
            for y, w in combinations(pair, 2):
                within, others = distances[y][w], (distances[x][y], distances[x][w])
                counts[row, sum(other < within for other in others)] += 1
    return counts / counts.sum(axis=1, keepdims=True)


def test_shares_of_captions_on_a_line(formulas):
    distances = np.abs(np.subtract.outer(PLACES, PLACES))
    shares, q = trm.triangles_of_splits(formulas, formulas.levels(distances[None], 1e-12), 2)
    # Two references 12 apart, 9 or more from the candidates; two candidates 1 apart.
    np.testing.assert_array_equal(shares[0], [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    assert q[0] == pytest.approx(1 / 6 + 1 / 6 + 1 / 3)
    by_hand = [shares_by_hand(distances, pair) for pair in combinations(range(4), 2)]
    np.testing.assert_allclose(shares, by_hand)


def test_shares_of_unequal_sets(formulas):
    distances = np.random.default_rng(3).uniform(size=(7, 7))
    distances += distances.T
    shares, q = trm.triangles_of_splits(formulas, formulas.levels(distances[None], 1e-12), 3)
    by_hand = [shares_by_hand(distances, chosen) for chosen in combinations(range(7), 3)]
    np.testing.assert_allclose(shares, by_hand)
    # A lone candidate has m (m - 1) / 2 pairs of references: 3 * 6 triangles, and 4 * 3 with a lone reference.
    pooled = (18 * shares[:, 0] + 12 * shares[:, 1]) / 30
    np.testing.assert_allclose(q, np.abs(pooled - 1 / 3).sum(axis=1))


def test_picture_is_of_what_the_metric_scores(monkeypatch, tmp_path):
    captions = {"predictions": ["a dog runs", "a dog runs fast"], "references": ["two cats sleep", "a cat is asleep"]}
    metric = vlgauge.load("trm", keep_in_memory=True, pvalue="exact", tie_tol=trm.TIE_TOLERANCE)
    sets = trm.CaptionSets([{"id": "x", **captions}], ["x"], {"k": [0]})
    result = trm.scored(metric, sets.rows)
    drawn = {}
    monkeypatch.setattr(trm, "triangle_picture", lambda name, shares: drawn.update(shares=shares))
    monkeypatch.setattr(trm, "null_histogram", lambda name, q, statistic: drawn.update(q=q))
    explained = trm._explained(metric, sets, result, 0, "x")
    assert drawn["q"][0] == pytest.approx(result["trm_scores"][0], abs=1e-12)
    assert np.mean(drawn["q"] >= drawn["q"][0] - 1e-9) == result["trm_pvalues"][0] == dict(explained["facts"])["p"]
    assert np.mean(drawn["q"]) == pytest.approx(dict(explained["facts"])["Q by chance"])
    detail = metric.compute(**{name: [texts] for name, texts in captions.items()}, return_details=True)["trm_details"]
    counts = np.array([detail[0]["counts_lone_candidate"], detail[0]["counts_lone_reference"]])
    np.testing.assert_allclose(drawn["shares"][0], counts / counts.sum(axis=1, keepdims=True))


def test_default_tolerance_is_that_of_the_metric():
    captions = {"predictions": [["a", "b"]], "references": [["c", "d"]]}
    default, named = (
        vlgauge.load("trm", keep_in_memory=True, **setting).compute(**captions)["trm_signature"]
        for setting in ({}, {"tie_tol": trm.TIE_TOLERANCE})
    )
    assert default == named


def two_splits(lone_candidate, lone_reference):
    """Shares of an observed split and of another that has 1/3 throughout on average with it."""
    observed = np.array([lone_candidate, lone_reference])
    return np.stack([observed, 2 / 3 - observed])


@pytest.mark.parametrize(
    ("lone_candidate", "lone_reference", "start", "verdict"),
    [
        ((0.3, 0.3, 0.4), (0.6, 0.2, 0.2), "two candidates is the shortest in 60%", "lie closer together than"),
        ((0.5, 0.3, 0.2), (0.3, 0.1, 0.6), "two candidates is the longest in 60%", "lie farther apart than"),
        ((0.6, 0.2, 0.2), (0.5, 0.2, 0.3), "two references is the shortest in 60%", "each set keeps to itself"),
        ((0.1, 0.3, 0.6), (0.3, 0.3, 0.4), "two references is the longest in 60%", "closer to those of the other set"),
    ],
)
def test_meaning_of_triangles(lone_candidate, lone_reference, start, verdict):
    shares = two_splits(lone_candidate, lone_reference)
    sure, unsure, common = (trm.meaning(shares, p, 0.9) for p in (0.02, 0.06, 0.4))
    for sentence in (sure, unsure, common):
        assert sentence.startswith(f"The side between {start} of the triangles with a lone ")
        assert "where a random split gives 33%: " in sentence
    assert verdict in sure
    assert "cannot tell" not in sure
    assert verdict in unsure
    assert unsure.endswith("but one set this small cannot tell.")
    assert verdict not in common
    assert trm.meaning(shares, 0.9, 0.02) == sure


def test_picture_tells_all_shares():
    picture = trm.triangle_picture("x", two_splits((0.1, 0.3, 0.6), (0.25, 0.25, 0.5)))
    label = picture.partition('aria-label="')[2].partition('"')[0]
    assert label.startswith("Side between two candidates: shortest in 25% of the triangles, 33% on average over all")
    assert "Side between two references: shortest in 10% of" in label
    assert "longest in 60% of the triangles" in label
