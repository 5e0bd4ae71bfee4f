"""Run the tests under all pairs of code paths of numerical libraries that this processor supports: `make matrix`.

The order of summation differs between processors, so a test that asserts the last bit of a sum passes on some machines
only. The libraries are configured as on older processors. Threads, hash seed and order of the tests vary as well.
There are about a dozen runs, each as long as `make test`. Their output is stored in build/matrix.
``scripts/run_matrix.py --only 3 tests/models`` repeats one run with some of the tests.
"""

import argparse
import os
import random
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Levels of processors, by their names in `torch`, which the values below require.
_LEVELS = ("DEFAULT", "AVX2", "AVX512")
_CODE_PATHS = {
    "OPENBLAS_CORETYPE": {"Prescott": "DEFAULT", "Haswell": "AVX2", "Zen": "AVX2", "SkylakeX": "AVX512"},
    "ATEN_CPU_CAPABILITY": {"default": "DEFAULT", "avx2": "AVX2", "avx512": "AVX512"},
    "ONEDNN_MAX_CPU_ISA": {"SSE41": "DEFAULT", "AVX2": "AVX2", "AVX512_CORE": "AVX512"},
    "MKL_ENABLE_INSTRUCTIONS": {"SSE4_2": "DEFAULT", "AVX2": "AVX2", "AVX512": "AVX512"},
}
_ELSE = {"OMP_NUM_THREADS": ("1", "2"), "order": ("written", "random")}


def factors_of(level: str) -> dict[str, tuple[str, ...]]:
    """Return the values of each variable that a processor of this level supports. "order" is the order of the tests."""
    reached = _LEVELS[: _LEVELS.index(level) + 1] if level in _LEVELS else _LEVELS[:1]
    paths = {name: tuple(v for v, need in values.items() if need in reached) for name, values in _CODE_PATHS.items()}
    return paths | _ELSE


def covering_runs(factors: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Return few combinations that include every pair of values of two variables, always the same ones.

    Greedy: the next run is the combination with the most missing pairs, or the first of them in a shuffled order. The
    result is the shortest list of 50 seeded attempts.
    """
    candidates = [dict(zip(factors, values, strict=True)) for values in product(*factors.values())]
    bits: dict[object, int] = {}  # one per pair
    pairs = [
        sum(1 << bits.setdefault(frozenset(pair), len(bits)) for pair in combinations(run.items(), 2))
        for run in candidates
    ]
    lists = []
    for seed in range(50):
        order = random.Random(seed).sample(range(len(candidates)), len(candidates))
        missing, chosen = (1 << len(bits)) - 1, []
        while missing:
            chosen.append(max(order, key=lambda index: (pairs[index] & missing).bit_count()))
            missing &= ~pairs[chosen[-1]]
        lists.append(chosen)
    return [candidates[index] for index in min(lists, key=len)]


def run_tests(run: Mapping[str, str], seed: int, log: Path, paths: Sequence[str] = ()) -> int:
    """Run all tests, or the tests at the paths, under one combination with output to a file, and return the status."""
    variables = {name: value for name, value in run.items() if name != "order"}
    variables |= {"MKL_NUM_THREADS": run["OMP_NUM_THREADS"], "PYTHONHASHSEED": str(seed)}
    order = [f"--random-order-seed={seed}"] if run["order"] == "random" else []
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", *order, *paths]
    with log.open("w", encoding="utf-8") as output:
        finished = subprocess.run(
            command, cwd=ROOT, env={**os.environ, **variables}, stdout=output, stderr=subprocess.STDOUT, check=False
        )
    return finished.returncode


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all combinations, or the selected one.

    Returns:
        0, or 1 if a run failed.
    """
    import torch

    level = torch.backends.cpu.get_cpu_capability()
    runs = dict(enumerate(covering_runs(factors_of(level)), 1))
    parser = argparse.ArgumentParser(description="Run the tests as on other processors.")
    parser.add_argument("--only", type=int, choices=runs, metavar="NUMBER", help=f"of the run, 1 to {len(runs)}")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="tests to run in the place of all")
    options = parser.parse_args(arguments)
    if options.only:
        runs = {options.only: runs[options.only]}
    folder = ROOT / "build" / "matrix"
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{len(runs)} runs on a processor of level {level}", flush=True)
    failed = 0
    for number, run in runs.items():
        log = folder / f"run-{number}.log"
        start = time.perf_counter()
        status = run_tests(run, number, log, options.paths)
        last = log.read_text("utf-8", "replace").strip().rpartition("\n")[2]
        settings = " ".join(f"{name}={value}" for name, value in run.items())
        print(
            f"{number}. {settings}: {last} [{time.perf_counter() - start:.0f} s, {log.relative_to(ROOT)}]", flush=True
        )
        failed += status != 0
    print(f"{failed} of {len(runs)} runs failed" if failed else f"all {len(runs)} runs passed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
