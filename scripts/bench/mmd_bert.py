"""Time exact MMD p-values and the stratified test against a kernel formed anew for every partition.

Both sides run in this process, one after the other, on one thread and the same random vectors; encoding is not part of
it. Ratios are of CPU time, which other programs on the machine disturb less than wall time. Exits with status 1 when a
value or a p-value differs by more than 1e-9.
"""

import argparse
import itertools
import os
import sys
import time
from types import ModuleType

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import numpy as np
import numpy.typing as npt

from vlgauge.catalog import folder_module
from vlgauge.results import shown_number, to_cell
from vlgauge.statistics import SetTest, partitions, permutation_pvalues

Floats = npt.NDArray[np.float64]

CHUNK = 1024  # examples at a time: 1024 x 252 statistics are 2 MB
TOLERANCE = 1e-9


def reference_mmd(candidates: Floats, references: Floats) -> float:
    """Unbiased squared MMD of vectors, shapes ``(n, d)`` and ``(m, d)``, with everything formed anew."""
    pooled = np.concatenate([candidates, references])
    squared = ((pooled[:, None] - pooled[None]) ** 2).sum(axis=2)
    distances = np.sort(np.sqrt(squared[np.triu_indices(len(pooled), 1)]))
    c = distances[(len(distances) - 1) // 2] / 2
    kernel = np.exp(-squared / (2 * c**2))
    n, m = len(candidates), len(references)
    within_candidates = (kernel[:n, :n].sum() - n) / (n * (n - 1))
    within_references = (kernel[n:, n:].sum() - m) / (m * (m - 1))
    return float(within_candidates + within_references - 2 * kernel[:n, n:].mean())


def reference_test(pooled: Floats, n: int) -> tuple[float, float]:
    """Statistic and exact p-value of one example, shape ``(N, d)``, by a loop over all partitions."""
    observed = reference_mmd(pooled[:n], pooled[n:])
    everyone = range(len(pooled))
    splits = [(list(ours), sorted(set(everyone) - set(ours))) for ours in itertools.combinations(everyone, n)]
    as_large = sum(reference_mmd(pooled[ours], pooled[theirs]) >= observed - TOLERANCE for ours, theirs in splits)
    return observed, as_large / len(splits)


def exact_tests(formulas: ModuleType, vectors: npt.NDArray[np.float32], n: int) -> tuple[Floats, Floats]:
    """Null distributions, shape ``(S, P)``, and exact p-values, shape ``(S,)``, by the functions of the metric."""
    candidates = partitions(n, vectors.shape[1] - n, pvalue="exact").candidates
    nulls = []
    for start in range(0, len(vectors), CHUNK):
        squared = formulas.squared_distances(vectors[start : start + CHUNK])
        kernel = formulas.gaussian_kernel(squared, formulas.bandwidths(squared, "median"))
        nulls.append(formulas.null_distribution(kernel, candidates, "unbiased"))
    null = np.concatenate(nulls)
    return null, permutation_pvalues(null)


def corpus_summary(null: Floats, pvalues: Floats) -> dict[str, float | list[float]]:
    """Combined p-values and the stratified test with its 9,999 draws."""
    test = SetTest(len(null))
    test.add(range(len(null)), null, pvalues=pvalues)
    return test.summary()


def random_vectors(n_examples: int, n_captions: int, width: int) -> npt.NDArray[np.float32]:
    """Unit vectors, shape ``(n_examples, n_captions, width)``, of which half the examples are shifted on one side."""
    vectors = np.random.default_rng(0).standard_normal((n_examples, n_captions, width), dtype=np.float32)
    vectors[::2, n_captions // 2 :] += 0.05
    return vectors / np.linalg.norm(vectors, axis=2, keepdims=True)


def main() -> int:
    """Run both sides and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="few examples, to see that it runs")
    n_examples, n_reference = (200, 2) if parser.parse_args().smoke else (5_000, 20)
    n, m, width = 5, 5, 384
    formulas, vectors = folder_module("mmd_bert", "mmd_bert"), random_vectors(n_examples, n + m, width)
    corpus_summary(*exact_tests(formulas, vectors[:50], n))  # imports and caches, as in a session already running

    wall, times = time.perf_counter(), [time.process_time()]
    null, pvalues = exact_tests(formulas, vectors, n)
    times.append(time.process_time())
    summary = corpus_summary(null, pvalues)
    times.append(time.process_time())
    wall = time.perf_counter() - wall
    expected = [reference_test(vectors[row].astype(np.float64), n) for row in range(n_reference)]
    times.append(time.process_time())

    exact, corpus, reference = np.diff(times)
    per_example, reference = 1e3 * exact / n_examples, 1e3 * reference / n_reference
    found = np.stack([null[:, 0], pvalues], axis=1)[:n_reference]
    difference = float(np.abs(found - np.array(expected)).max())
    print(f"{n_examples} examples, {n}v{m}, d = {width}, {null.shape[1]} partitions; CPU time on one thread")
    print(f"vectors to exact p: {exact:.3f} s, {per_example:.4f} ms per example")
    print(f"stratified test and summary: {corpus:.3f} s; both together {exact + corpus:.3f} s ({wall:.3f} s wall time)")
    print(f"kernel anew per partition: {reference:.2f} ms per example, from {n_reference}")
    print(f"ratio for the exact p: {reference / per_example:.0f}x")
    print(f"maximum difference of value and p: {difference:.1e}")
    print(f"stratified z {summary['z']:.2f}, p {to_cell(shown_number('pvalue', summary['pvalue']))}")
    return int(not difference <= TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
