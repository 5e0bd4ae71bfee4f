"""Pairs of captions, one of which is better: votes, ties, draws, kinds, paragraphs."""

import numpy as np
import pytest
from protocol_tasks import interleaved, pairs, plain_figures

from vlgauge.research.protocols.pairs import RIGHT, Ties, block_means, first_is_better, pair_credits


def test_credits_by_hand():
    scores = np.array([[2.0, 1.0], [1.0, 2.0], [1.0, 1.0]])
    for first, expected in ((1.0, [1, 0, None]), (0.0, [0, 1, None]), (0.5, [0.5, 0.5, None])):
        for ties, credit in (("wrong", 0), ("half", 0.5), ("second", 1 - first)):
            found = pair_credits(scores, np.full(3, first), ties)
            assert found.tolist() == [*expected[:2], credit]


def test_equal_votes_count_half_or_at_random():
    votes = np.array([[30, 18], [18, 30], *[[24, 24]] * 1000])
    assert first_is_better(votes).tolist() == [1.0, 0.0, *[0.5] * 1000]
    drawn = first_is_better(votes, "random", seed=3)
    assert drawn[:2].tolist() == [1.0, 0.0]
    assert set(drawn.tolist()) == {0.0, 1.0}
    assert drawn[2:].mean() == pytest.approx(0.5, abs=0.05)
    assert drawn.tolist() == first_is_better(votes, "random", seed=3).tolist()
    assert drawn.tolist() != first_is_better(votes, "random", seed=4).tolist()


def test_half_is_the_expectation_of_random():
    rng = np.random.default_rng(0)
    scores, votes = rng.integers(0, 3, (40, 2)).astype(float), rng.integers(23, 26, (40, 2))
    for ties in ("wrong", "half", "second"):
        expected = pair_credits(scores, first_is_better(votes), ties).mean()
        drawn = [pair_credits(scores, first_is_better(votes, "random", seed), ties).mean() for seed in range(2000)]
        assert np.mean(drawn) == pytest.approx(expected, abs=0.005)


def test_swapping_the_captions_of_each_pair_changes_nothing_but_ties_for_the_second():
    rng = np.random.default_rng(2)
    scores, votes = rng.integers(0, 3, (60, 2)).astype(float), rng.integers(20, 29, (60, 2))
    for ties in ("wrong", "half"):
        same = pair_credits(scores[:, ::-1], first_is_better(votes[:, ::-1]), ties)
        assert same.tolist() == pair_credits(scores, first_is_better(votes), ties).tolist()
    swapped = pair_credits(scores[:, ::-1], first_is_better(votes[:, ::-1]), "second")
    assert swapped.tolist() != pair_credits(scores, first_is_better(votes), "second").tolist()


def test_kinds_have_figures_of_their_own_and_weigh_the_same_in_the_mean():
    task = pairs([RIGHT] * 4, kinds=["HC", "HC", "HC", "HI"])
    found = plain_figures(task, interleaved([2, 2, 0, 2], [1, 1, 1, 1]))
    assert found == pytest.approx({"HC": 200 / 3, "HI": 100.0, "mean": 250 / 3})


def test_draws_are_averaged():
    task = pairs([RIGHT] * 2, rows=8, draws=2)
    first, second = interleaved([2, 0], [1, 1]), interleaved([2, 2], [1, 1])
    assert plain_figures(task, first + second) == {"accuracy": 75.0}
    assert task.item_values(first + second).tolist() == [1.0, 0.5]


def test_block_means_by_loop():
    rng = np.random.default_rng(5)
    lengths = rng.integers(1, 6, 20).tolist()
    scores = rng.normal(size=sum(lengths))
    parts = iter(scores.tolist())
    expected = [np.mean([next(parts) for _ in range(length)]) for length in lengths]
    assert block_means(scores, lengths) == pytest.approx(expected)


@pytest.mark.parametrize(("ties", "message"), [({"votes": "a"}, "`vote_ties` must be"), ({"scores": "b"}, "`score_ti")])
def test_unknown_ties(ties, message):
    with pytest.raises(ValueError, match=message):
        Ties(**ties)
