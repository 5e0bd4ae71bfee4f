"""Power of the exact tests of trm, mmd_bert and frechet_bert on Gaussian sets: the table in the cards."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge.statistics import Partitions
from vlgauge.statistics import partitions
from vlgauge.statistics import permutation_pvalues

Floats = npt.NDArray[np.float64]
Change: TypeAlias = Callable[[Floats, int], None]

METRICS = Path(__file__).resolve().parents[1] / "metrics"
WIDTH = 10
ALPHA = 0.05
MODE = 2.0  # the two modes of the references lie at plus and minus this in one coordinate
# n candidates, m references, runs, Monte-Carlo draws where partitions are too many.
SIZES = ((5, 5, 2_000, None), (10, 5, 1_000, None), (10, 10, 600, 999))
STATISTICS = ("Q", "separate Q", "MMD", "Frechet", "base")


def formulas(metric: str, file: str | None = None) -> ModuleType:
    """A metric's own file, which is in no package."""
    path = METRICS / metric / f"{file or metric}.py"
    spec = importlib.util.spec_from_file_location(f"{metric}_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(f"`{path}` must be a file of the metric, got none")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _nothing(points: Floats, n: int) -> None:
    """Leave both sides as they are."""


def _location(points: Floats, n: int) -> None:
    points[:, :n] += 0.6


def _spread(factor: float) -> Change:
    def scale(points: Floats, n: int) -> None:
        points[:, :n] *= factor

    return scale


def _lost_mode(points: Floats, n: int) -> None:
    """All candidates are in one mode, and half of the references, rounded up, in the other."""
    others = n + (points.shape[1] - n) // 2
    points[:, :others, 0] += MODE
    points[:, others:, 0] -= MODE


SCENARIOS: dict[str, Change] = {
    "nothing (size)": _nothing,
    "location, +0.6 in every coordinate": _location,
    "spread x 0.3 (mode collapse)": _spread(0.3),
    "spread x 0.6": _spread(0.6),
    "spread x 1.6": _spread(1.6),
    "one of two reference modes, 4 apart": _lost_mode,
}


def all_pvalues(points: Floats, n: int, ways: Partitions) -> Floats:
    """p-values of the five statistics, shape ``(5, S)``, of S sets of pooled points, shape ``(S, N, d)``."""
    triangles, mmd, frechet = formulas("trm", "triangles"), formulas("mmd_bert"), formulas("frechet_bert")
    aggregates = formulas("trm", "aggregates")
    squared = mmd.squared_distances(points)
    distances = np.sqrt(squared)
    of_triangles = triangles.triangle_tests(triangles.levels(distances, 1e-12), ways.candidates).pvalues
    kernel = mmd.gaussian_kernel(squared, mmd.bandwidths(squared, "median"))
    gram = frechet.gram_matrices(points)
    return np.stack(
        [
            *of_triangles,
            permutation_pvalues(mmd.null_distribution(kernel, ways.candidates)),
            frechet.scaled_pvalues(frechet.frechet_distances(gram, ways.candidates), gram),
            permutation_pvalues(aggregates.mean_aggregates(distances, ways.candidates, np.min)),
        ]
    )


def power_rows(runs: int | None = None, seed: int = 0) -> Iterator[tuple[str, list[Floats]]]:
    """Per scenario, the share of p-values up to .05 of each statistic at each size.

    Args:
        runs: Sets per scenario and size; None for 2,000 / 1,000 / 600.
        seed: Seed of the sets.
    """
    for number, (name, change) in enumerate(SCENARIOS.items()):
        shares = []
        for n, m, default, draws in SIZES:
            ways = partitions(n, m, pvalue="exact" if draws is None else "monte_carlo", draws=draws or 1)
            rng = np.random.default_rng([seed, number, n, m])
            pvalues = []
            for start in range(0, runs or default, 100):
                points = rng.normal(size=(min(100, (runs or default) - start), n + m, WIDTH))
                change(points, n)
                pvalues.append(all_pvalues(points, n, ways))
            shares.append(np.mean(np.concatenate(pvalues, axis=1) <= ALPHA, axis=1))
        yield name, shares


def print_power(runs: int | None, seed: int = 0) -> None:
    """Print the table in the form of the cards."""
    titles = [f"{n}v{m} {' / '.join(STATISTICS)}" for n, m, *_ in SIZES]
    print(f"| candidates differ by | {' | '.join(titles)} |")
    print("|---" * (1 + len(SIZES)) + "|")
    for name, shares in power_rows(runs, seed):
        cells = (" ".join(f"{share:.2f}".lstrip("0").replace("1.00", "1") for share in row) for row in shares)
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
