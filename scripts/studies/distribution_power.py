"""Measure size and power of the tests of trm, mmd_bert and frechet_bert on Gaussian sets, for the documentation."""

import argparse
import runpy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge import stats
from vlgauge.families.caption_sets import Statistic
from vlgauge.families.caption_sets.corpus_statistic import CorpusStatistic

Floats = npt.NDArray[np.float64]
Change: TypeAlias = Callable[[Floats, int], None]

METRICS = Path(__file__).resolve().parents[2] / "metrics"
WIDTH = 10
ALPHA = 0.05
MODE = 2.0  # the two modes of the references are at plus and minus this value in one coordinate
# n candidates, m references, runs, Monte Carlo draws if there are too many partitions.
SIZES = ((5, 5, 2_000, None), (10, 5, 1_000, None), (10, 10, 600, 999))
# n candidates, m references, Monte Carlo draws if partitions are slow, corpora without and with a difference.
CORPUS_SIZES = ((5, 5, None, 2_000, 500), (10, 5, 999, 200, 100))
STATISTICS = ("Q", "separate Q", "MMD", "Frechet", "base")


@lru_cache
def formulas(metric: str, file: str | None = None) -> SimpleNamespace:
    """Load a file of a metric, which is not part of a package."""
    return SimpleNamespace(**runpy.run_path(str(METRICS / metric / f"{file or metric}.py")))


def _nothing(points: Floats, n: int) -> None:
    """Leave both sides unchanged."""


def _location(points: Floats, n: int) -> None:
    points[:, :n] += 0.6


def _spread(factor: float) -> Change:
    def scale(points: Floats, n: int) -> None:
        points[:, :n] *= factor

    return scale


def _lose_mode(points: Floats, n: int) -> None:
    """Move all candidates to one mode, and half of the references, rounded up, to the other."""
    others = n + (points.shape[1] - n) // 2
    points[:, :others, 0] += MODE
    points[:, others:, 0] -= MODE


SCENARIOS: dict[str, Change] = {
    "nothing (size)": _nothing,
    "location, +0.6 in every coordinate": _location,
    "spread x 0.3 (mode collapse)": _spread(0.3),
    "spread x 0.6": _spread(0.6),
    "spread x 1.6": _spread(1.6),
    "one of two reference modes, 4 apart": _lose_mode,
}


def all_statistics(points: Floats, n: int, ways: stats.Partitions) -> list[Statistic]:
    """Compute the five statistics as in the metrics, for S sets of pooled points, shape ``(S, N, d)``."""
    triangles, mmd, frechet = formulas("trm", "triangles"), formulas("mmd_bert"), formulas("frechet_bert")
    aggregates = formulas("trm", "aggregates")
    squared = mmd.compute_squared_distances(points)
    distances = np.sqrt(squared)
    of_triangles = triangles.triangle_tests(triangles.levels(distances, 1e-12), ways.candidates)
    kernel = mmd.gaussian_kernel(squared, mmd.bandwidths(squared, "median"))
    gram = frechet.gram_matrices(points)
    nulls = (
        mmd.null_distribution(kernel, ways.candidates),
        frechet.frechet_distances(gram, ways.candidates),
        aggregates.mean_aggregates(distances, ways.candidates, np.min),
    )
    tolerances = (stats.TOLERANCE, frechet.tie_tolerances(gram), stats.TOLERANCE)
    q = zip(of_triangles.q, of_triangles.pvalues, strict=True)
    return [
        *(Statistic(null[:, 0], null, pvalues) for null, pvalues in q),
        *(Statistic(null[:, 0], null, None, gaps) for null, gaps in zip(nulls, tolerances, strict=True)),
    ]


def all_pvalues(points: Floats, n: int, ways: stats.Partitions) -> Floats:
    """Compute the p-values of the five statistics, shape ``(5, S)``.

    The input is S sets of pooled points, shape ``(S, N, d)``.
    """
    return np.stack([test.pvalues for test in all_tests(points, n, ways, draws=1)])


def all_tests(points: Floats, n: int, ways: stats.Partitions, *, draws: int = 9_999) -> list[stats.SetTest]:
    """Compute the tests of the five statistics on a corpus of S sets."""
    tests = []
    for found in all_statistics(points, n, ways):
        corpus = CorpusStatistic(len(points), "large", draws=draws, seed=0)
        corpus.add(list(range(len(points))), found)
        tests.append(corpus.test)
    return tests


def power_rows(runs: int | None = None, seed: int = 0) -> Iterator[tuple[str, list[Floats]]]:
    """Yield the share of p-values of at most 0.05 for each statistic at each size, by scenario."""
    for number, (name, change) in enumerate(SCENARIOS.items()):
        shares = []
        for n, m, default, draws in SIZES:
            ways = stats.partitions(n, m, pvalue="exact" if draws is None else "monte_carlo", draws=draws or 1)
            rng = np.random.default_rng([seed, number, n, m])
            pvalues = []
            for start in range(0, runs or default, 100):
                points = rng.normal(size=(min(100, (runs or default) - start), n + m, WIDTH))
                change(points, n)
                pvalues.append(all_pvalues(points, n, ways))
            shares.append(np.mean(np.concatenate(pvalues, axis=1) <= ALPHA, axis=1))
        yield name, shares


@dataclass(frozen=True, eq=False)
class CorpusTests:
    """Results of the metrics for several corpora. The first axis of each array is the statistic.

    Attributes:
        pvalues: Corpus p-values of the stratified test, shape ``(5, C)``.
        harmonic: Calibrated harmonic mean p-values, which no metric returns, shape ``(5, C)``.
        excess: Mean excess, shape ``(5, C)``.
        intervals: 95% intervals of the mean excess, shape ``(5, C, 2)``.
        expected: Expected mean ln p, shape ``(5, C)``.
    """

    pvalues: Floats
    harmonic: Floats
    excess: Floats
    intervals: Floats
    expected: Floats


def corpus_tests(
    n: int, m: int, corpora: int, *, shifted: int = 0, images: int = 100, draws: int | None = None, seed: int = 0
) -> CorpusTests:
    """Test corpora of Gaussian sets, in which some images have candidates shifted by 1 in every coordinate."""
    ways = stats.partitions(n, m, pvalue="exact" if draws is None else "monte_carlo", draws=draws or 1)
    rows = []
    for corpus in range(corpora):
        points = np.random.default_rng([seed, n, m, shifted, corpus]).normal(size=(images, n + m, WIDTH))
        points[:shifted, :n] += 1.0
        rows.append([_corpus_numbers(test) for test in all_tests(points, n, ways)])
    pvalues, harmonic, excess, low, high, expected = np.array(rows).transpose(2, 1, 0)
    return CorpusTests(pvalues, harmonic, excess, np.stack([low, high], axis=2), expected)


def _corpus_numbers(test: stats.SetTest) -> tuple[float, ...]:
    return (
        test.compute_stratified()[1],
        stats.compute_calibrated_harmonic_pvalue(test.pvalues),
        float(np.mean(test.excess_scores)),
        *test.excess_interval(),
        float(np.mean(test.expected_log_pvalues)),
    )


def corpus_rows(scale: float = 1.0) -> Iterator[tuple[str, list[Floats]]]:
    """Yield the rates of the tests and intervals for corpora of 100 images, per statistic, for each size."""
    null, other = [], []
    for n, m, draws, *corpora in CORPUS_SIZES:
        without, with_difference = (max(1, round(scale * count)) for count in corpora)
        null.append(corpus_tests(n, m, without, draws=draws))
        other.append(corpus_tests(n, m, with_difference, shifted=10, draws=draws))
    for name, found in (("no image differs (size)", null), ("10 images differ by +1 (power)", other)):
        yield f"corpus p: {name}", [np.mean(tests.pvalues <= ALPHA, axis=1) for tests in found]
    for name, found in (("no image differs (size)", null), ("10 images differ by +1 (power)", other)):
        yield f"harmonic mean p, calibrated: {name}", [np.mean(tests.harmonic <= ALPHA, axis=1) for tests in found]
    for name, found in (("no image differs", null), ("10 images differ", other)):
        # The true excess is 0 without a difference, and approximated by the mean over all corpora otherwise.
        truths = [0.0 if found is null else tests.excess.mean(axis=1, keepdims=True) for tests in found]
        inside = [
            np.mean((tests.intervals[:, :, 0] <= truth) & (truth <= tests.intervals[:, :, 1]), axis=1)
            for tests, truth in zip(found, truths, strict=True)
        ]
        yield f"95% interval of the excess holds it: {name}", inside
    yield "expected mean ln p, no image differs", [tests.expected.mean(axis=1) for tests in null]


def print_table(title: str, sizes: Sequence[Sequence[Any]], rows: Iterable[tuple[str, list[Floats], int]]) -> None:
    """Print a table in the format of the documentation, from names, shares and numbers of digits."""
    titles = [f"{n}v{m} {' / '.join(STATISTICS)}" for n, m, *_ in sizes]
    print(f"| {title} | {' | '.join(titles)} |")
    print("|---" * (1 + len(sizes)) + "|")
    for name, shares, digits in rows:
        texts = ([f"{share:.{digits}f}".replace("0.", ".") for share in row] for row in shares)
        cells = (" ".join("1" if text.startswith("1.0") else text for text in row) for row in texts)
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=f"{__doc__} Takes 40 minutes.")
    parser.add_argument(
        "--runs", type=int, metavar="N", help="sets per cell of the first table; the second is small then"
    )
    options = parser.parse_args(arguments)
    print_table("candidates differ by", SIZES, ((*row, 2) for row in power_rows(options.runs)))
    print()
    corpora = corpus_rows(0.0005 if options.runs else 1.0)
    digits = ((name, shares, 3 if "size" in name else 2) for name, shares in corpora)
    print_table("corpora of 100 images", CORPUS_SIZES, digits)


if __name__ == "__main__":
    main()
