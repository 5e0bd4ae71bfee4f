"""Measure how often two equal systems with caption sets of unequal sizes are separated.

Scores of simulated captions are compared by the sign-flip test of `vlgauge compare`, in two ways.
"""

# Human captions are 5 points per row, sampled from a Gaussian in 10 dimensions. Both systems sample from one Gaussian,
# which differs from the human one in spread and shift. One system has n points per row, the other 2 n. Neither is
# better. Their scores are compared over 20 rows, with n points of the larger set sampled once, as in `vlgauge compare`
# and `score --captions-per-row`, or with all points and the excess over the null mean.

import argparse
import itertools
import math
import runpy
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt

from vlgauge.stats import partitions

Floats = npt.NDArray[np.float64]

STUDIES = Path(__file__).resolve().parent
PEOPLE, WIDTH, ROWS = 5, 10, 20
SIZES = (3, 5, 10)
SPREADS, SHIFTS = (0.6, 1.0, 1.6), (0.0, 0.6)
RUNS = 2_000
SPLITS = 9  # random splits, whose mean is an unbiased null mean
NAMES = ("trm", "separate", "mmd_bert", "frechet_bert")
# Number of runs per random generator.
_BLOCK = 50

power = SimpleNamespace(**runpy.run_path(str(STUDIES / "distribution_power.py")))
comparison = SimpleNamespace(**runpy.run_path(str(STUDIES / "comparison_power.py")))


def scores(points: Floats, n: int, *, excess: bool = False) -> Floats:
    """Compute the four statistics, shape ``(4, S)``, or their excess over random splits.

    Args:
        points: Points of S rows, the n points of the system before the human ones, shape ``(S, N, d)``.
        n: Number of points of the system.
        excess: Whether to subtract the mean over random splits.
    """
    ways = partitions(n, points.shape[1] - n, pvalue="monte_carlo", draws=SPLITS if excess else 1)
    nulls = np.stack([found.null for found in power.all_statistics(points, n, ways)[: len(NAMES)]])
    return nulls[:, :, 0] - (nulls[:, :, 1:].mean(axis=2) if excess else 0.0)


def rates(n: int, spread: float, shift: float, *, excess: bool = False, runs: int = RUNS, seed: int = 0) -> Floats:
    """Compute how often each statistic separates the two systems, shape ``(4,)``.

    Args:
        n: Number of points per row of the smaller system.
        spread: Standard deviation of the points of both systems.
        shift: Mean of their coordinates.
        excess: Whether to compare the excess of all points instead of the scores of equal numbers of points.
        runs: Number of comparisons.
        seed: Seed of the points.
    """
    hits = np.zeros(len(NAMES))
    for block, start in enumerate(range(0, runs, _BLOCK)):
        n_rows = min(_BLOCK, runs - start) * ROWS
        rng = np.random.default_rng([seed, n, round(10 * spread), round(10 * shift), block])
        people = rng.normal(size=(n_rows, PEOPLE, WIDTH))
        small, large = (spread * rng.normal(size=(n_rows, count, WIDTH)) + shift for count in (n, 2 * n))
        if not excess:
            chosen = rng.permuted(np.tile(np.arange(2 * n), (n_rows, 1)), axis=1)[:, :n, None]
            large = np.take_along_axis(large, chosen, axis=1)
        both = [scores(np.concatenate([side, people], axis=1), side.shape[1], excess=excess) for side in (small, large)]
        # Axes: statistic, run, system, row.
        systems = np.stack(both).reshape(2, len(NAMES), -1, ROWS).transpose(1, 2, 0, 3)
        hits += [np.count_nonzero(comparison.find_separated(found, seed=block)) for found in systems]
    return hits / runs


def print_table(runs: int = RUNS, sizes: Sequence[int] = SIZES) -> None:
    """Print the table in the format of the documentation."""
    error = math.sqrt(0.05 * 0.95 / runs)
    print(f"{runs} runs of one draw, standard error {error:.4f} at .05; a tenth of the others. {' / '.join(NAMES)}\n")
    print("| n | spread | shift | one draw | excess of all |\n|---|---|---|---|---|", flush=True)
    for n, shift, spread in itertools.product(sizes, SHIFTS, SPREADS):
        drawn = rates(n, spread, shift, runs=runs)
        excess = rates(n, spread, shift, excess=True, runs=max(2, runs // 10))
        cells = " ".join(f"{rate:.3f}" for rate in drawn), " ".join(f"{rate:.2f}" for rate in excess)
        print(f"| {n} | {spread} | {shift} | {' | '.join(cells)} |", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N", help=f"runs per cell (default: {RUNS})")
    print_table(parser.parse_args(arguments).runs)


if __name__ == "__main__":
    main()
