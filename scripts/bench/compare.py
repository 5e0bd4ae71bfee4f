"""Measure time and memory of `vlgauge.leaderboard.compare` on many systems, rows and metrics.

The exit status is 1 if 40 systems, 5,000 rows and 5 metrics take more than 120 s or 1.5 GB.
"""

import argparse
import os
import resource
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import numpy as np

from vlgauge.leaderboard import compare

METRICS = ("polos", "rouge_l", "rovist_nr", "rovist_c", "d_hm")
SECONDS, GIGABYTES = 120.0, 1.5


def make_runs(systems: int, rows: int) -> dict[str, dict[str, object]]:
    """Generate scores of systems by every metric, in the format of score files."""
    rng = np.random.default_rng(0)
    runs: dict[str, dict[str, object]] = {f"system {index:02}": {"ids": list(range(rows))} for index in range(systems)}
    for metric in METRICS:
        hardness = rng.normal(size=rows)
        for index, run in enumerate(runs.values()):
            run[f"{metric}_scores"] = (hardness + rng.normal(size=rows) + 0.01 * index).tolist()
            run[f"{metric}_signature"] = f"{metric}|v:0.1.0"
    return runs


def main(arguments: list[str] | None = None) -> int:
    """Compare, and print seconds and memory.

    Returns:
        0, or 1 if a limit is exceeded.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="little data, to see that it runs")
    smoke = parser.parse_args(arguments).smoke
    systems, rows = (5, 60) if smoke else (40, 5_000)
    runs = make_runs(systems, rows)
    start, used = time.perf_counter(), time.process_time()
    comparison = compare(runs, METRICS)
    seconds, used = time.perf_counter() - start, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    n_pairs = len(comparison.metrics[0].pairs)
    print(
        f"{systems} systems, {rows} rows, {len(METRICS)} metrics: {n_pairs} pairs each, {comparison.test_resamples} "
        f"samples of the tests; {seconds:.1f} s, CPU time {used:.1f} s, peak {peak:.2f} GB"
    )
    return int(not smoke and (used > SECONDS or peak > GIGABYTES))


if __name__ == "__main__":
    sys.exit(main())
