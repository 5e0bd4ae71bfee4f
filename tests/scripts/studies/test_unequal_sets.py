"""The study of sets of unequal sizes compares as documented, and prints its table."""

import numpy as np
import pytest
from script_modules import script_module


@pytest.fixture(scope="module")
def study():
    return script_module("studies/unequal_sets.py")


def test_scores_are_those_of_the_metrics_and_the_excess_is_0_for_equal_distributions(study):
    points = np.random.default_rng(0).normal(size=(400, 8, 10))
    q, separate, mmd, frechet = study.scores(points, 3)
    assert (q <= separate + 1e-12).all()
    assert np.mean(mmd) == pytest.approx(0.0, abs=0.03)
    assert (frechet > 0.0).all()
    excess = study.scores(points, 3, excess=True)
    assert np.abs(excess.mean(axis=1) / (excess.std(axis=1) / 20)).max() < 4.0


def test_one_draw_has_its_size_and_the_excess_of_all_finds_a_difference_that_is_none(study):
    assert (study.rates(5, 0.6, 0.6, runs=100) <= 0.12).all()
    excess = study.rates(5, 0.6, 0.6, excess=True, runs=100)
    for name in ("trm", "frechet_bert"):
        assert excess[study.NAMES.index(name)] > 0.8


def test_one_seed_one_table(study, capsys):
    study.print_table(runs=2, sizes=(3,))
    first = capsys.readouterr().out
    study.print_table(runs=2, sizes=(3,))
    assert capsys.readouterr().out == first
    assert first.count("\n| 3 |") == len(study.SPREADS) * len(study.SHIFTS)
