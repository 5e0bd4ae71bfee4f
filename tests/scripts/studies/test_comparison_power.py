"""The study of size and power decides as `compare` does, and prints its tables."""

import itertools

import numpy as np
import pytest
from made_runs import made_run
from script_modules import script_module

from vlgauge.leaderboard import compare


@pytest.fixture(scope="module")
def study():
    return script_module("studies/comparison_power.py")


@pytest.mark.parametrize(("systems", "rows"), [(2, 5), (2, 10), (2, 30), (6, 20)])
def test_a_run_is_decided_as_compare_does(study, systems, rows):
    rng = np.random.default_rng([systems, rows])
    scores = np.stack([study.normal(rng, systems, rows) for _ in range(6)])
    scores[:, 0] += np.linspace(0.0, 2.0, 6)[:, None]
    found = study.find_separated(scores, seed=4)
    pairs = list(itertools.combinations(range(systems), 2))
    for own, apart in zip(scores, found, strict=True):
        # Ids have the same number of digits, so that random signs belong to rows in the order of their ids.
        runs = {f"s{i}": made_run(one, ids=[f"{row:03}" for row in range(rows)]) for i, one in enumerate(own)}
        (compared,) = compare(runs, ["rovist_nr"], seed=4).metrics
        assert [pair.pvalue * len(pairs) <= 0.05 for pair in compared.pairs] == apart.tolist()
    assert found.any() == (rows > 5)


def test_equal_systems_are_rarely_told_apart_and_unequal_ones_often(study):
    for shape in study.SHAPES.values():
        assert study.rates(shape, 2, 50, runs=200) <= 0.1
        assert study.rates(shape, 2, 50, effect=1.0, runs=40) >= 0.9


def test_the_tables(study, capsys):
    study.print_tables(runs=4, rows=(5, 10), systems=(2, 3))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("4 runs per size, standard error 0.1090 at .05")
    assert lines[4].startswith("| normal | 5 | 0.000 | 0.000 |")
    assert len(lines) == 4 + 2 * 4 + 2
    assert lines[-1].startswith("Two systems of one mean, lognormal against constant: 5 rows 0.000, 10 rows ")
