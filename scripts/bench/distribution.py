"""Time trm, frechet_bert and CIDEr-D against the plain algorithms, and trm on a corpus from captions to p-values.

Both sides of a row run in this process, one after the other, on one thread and the same data; where the plain side
would take minutes it does some of the partitions, and its time is scaled up. Ratios are of CPU time, the corpus of wall
time. Exits with status 1 when a value or a p-value differs by more than 1e-9. MMD: mmd_bert.py.
"""

import argparse
import os
import random
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported
os.environ.setdefault("HF_EVALUATE_OFFLINE", "1")

import numpy as np
import numpy.typing as npt
from distribution_reference import cider_d as cider_d_of_pair
from distribution_reference import counted_q, frechet_by_singular_values, frechet_distance, sampled_trm
from generated import generated_captions

import vlgauge
from vlgauge.catalog import folder_module
from vlgauge.distances.cider import DocumentFrequency, cider_d_of_examples
from vlgauge.statistics import partitions, permutation_pvalues

Floats = npt.NDArray[np.float64]
T = TypeVar("T")

TOLERANCE = 1e-9
WIDTH = 384
TRM_SIZES = {"trm-5v5": (5, 5), "trm-10v5": (10, 5), "trm-7v10": (7, 10), "trm-10v10": (10, 10)}
CIDER_SIZES = {"cider-10": 10, "cider-15": 15, "cider-20": 20}
CORPUS = ("corpus-cider", "corpus-meteor")
ROWS = (*TRM_SIZES, "frechet-5v5", *CIDER_SIZES, *CORPUS, "memory")


@dataclass
class Measured:
    """One row: CPU seconds per item of either side, NaN where there is no plain side, and what is wanted."""

    name: str
    plain: float
    fast: float
    difference: float
    target: float
    note: str = ""


def timed(function: Callable[[], T]) -> tuple[float, T]:
    """CPU seconds and result."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def trm_row(name: str, smoke: bool) -> Measured:
    """Both Q with p-values, distances given."""
    n, m = TRM_SIZES[name]
    triangles = folder_module("trm", "triangles")
    ways = partitions(n, m).candidates
    n_fast = max(2, (100 if smoke else 1_000_000) // len(ways))
    # Some distances tie, as those of captions do.
    distances = np.random.default_rng(0).integers(0, 60, (n_fast, n + m, n + m)) / 8.0

    def fast() -> Any:
        return triangles.triangle_tests(triangles.levels(distances, 1e-12), ways)

    fast()
    fast_seconds, found = timed(fast)
    given = distances[0].tolist()
    splits = [(np.flatnonzero(row).tolist(), np.flatnonzero(~row).tolist()) for row in ways]
    counted = splits[: 10 if smoke else 300]
    expected = np.array([counted_q(given, *split) for split in counted]).T
    difference = np.abs(found.q[:, 0, : len(counted)] - expected).max()
    plain, note, target = np.nan, "ms per example", {"trm-7v10": 0.060, "trm-10v10": 0.100}.get(name, np.nan)
    if name in ("trm-5v5", "trm-10v5"):
        rng, some = random.Random(0), splits[: 2 if smoke else 252]
        seconds, _ = timed(lambda: [sampled_trm(given, *split, rng) for split in some])
        plain, target = seconds * len(ways) / len(some), 1_000 if name == "trm-5v5" else 100
        note = f"sampler on {len(some)} of {len(ways)} partitions"
    return Measured(name, plain, fast_seconds / n_fast, float(difference), target, note)


def frechet_row(name: str, smoke: bool) -> Measured:
    """Exact p of unit vectors; the plain form takes the root of a matrix for each partition."""
    frechet, ways = folder_module("frechet_bert", "frechet_bert"), partitions(5, 5).candidates
    n_fast, n_plain = (5, 1) if smoke else (400, 40)
    vectors = np.random.default_rng(0).normal(size=(n_fast, 10, WIDTH))
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)

    def fast() -> Floats:
        gram = frechet.gram_matrices(vectors)
        null: Floats = frechet.frechet_distances(gram, ways)
        permutation_pvalues(null, tolerance=frechet.tie_tolerances(gram))
        return null

    fast()
    fast_seconds, null = timed(fast)
    rows = ways[:n_plain]
    seconds, expected = timed(lambda: [frechet_distance(vectors[0][row], vectors[0][~row]) for row in rows])
    # The root of a matrix of rank 4 is no standard to 1e-9: singular values of the vectors themselves are.
    by_values = [frechet_by_singular_values(vectors[0][row], vectors[0][~row]) for row in rows]
    difference = np.abs(null[0, : len(rows)] - by_values).max()
    of_root = np.abs(null[0, : len(rows)] - expected).max()
    note = f"root on {n_plain} of {len(ways)} partitions, which is off by {of_root:.0e}"
    return Measured(name, seconds * len(ways) / n_plain, fast_seconds / n_fast, float(difference), 1_000, note)


def cider_row(name: str, smoke: bool) -> Measured:
    """All ordered pairs of an example."""
    n_texts, n_fast, n_plain = CIDER_SIZES[name], *((3, 1) if smoke else (300, 20))
    captions = [[" ".join(caption) for caption in one] for one in generated_captions(n_fast, n_texts)]
    df = DocumentFrequency.from_references(captions, tokenizer=str.split)
    plain_df = dict(df.counts)
    tokens = [[caption.split() for caption in one] for one in captions]
    fast_seconds, found = timed(lambda: list(cider_d_of_examples(tokens, df)))
    seconds, expected = timed(
        lambda: [[[cider_d_of_pair(h, r, plain_df, n_fast) for r in one] for h in one] for one in captions[:n_plain]]
    )
    difference = np.abs(np.array(found[:n_plain]) - np.array(expected)).max()
    pairs = n_texts**2
    return Measured(name, seconds / n_plain / pairs, fast_seconds / n_fast / pairs, float(difference), 20, "per pair")


def corpus_rows(smoke: bool) -> tuple[list[list[str]], list[list[str]]]:
    """Examples of 10 candidates and 5 references."""
    captions = [[" ".join(one) for one in example] for example in generated_captions(60 if smoke else 5_000, 15)]
    return [one[:10] for one in captions], [one[10:] for one in captions]


def corpus_row(name: str, smoke: bool) -> Measured:
    """From captions to both Q with exact p, stratified test included, by the module; wall time."""
    predictions, references = corpus_rows(smoke)
    distance, workers, target = ("cider_d", 1, 10.0) if name == "corpus-cider" else ("meteor", 2, 30.0)
    metric = vlgauge.load("trm", keep_in_memory=True, distance=distance, workers=workers, pvalue="exact")
    start = time.perf_counter()
    used, _ = timed(lambda: metric.compute(predictions=predictions, references=references))
    seconds = time.perf_counter() - start
    note = f"wall time of {len(predictions)} x (10 + 5), workers: {workers}, own CPU time {used:.1f} s"
    return Measured(name, np.nan, seconds, 0.0, target, note)


def memory_row(name: str, smoke: bool) -> Measured:
    """Peak of all that is allocated while trm scores, with two bounds on working arrays."""
    predictions, references = corpus_rows(smoke)
    predictions, references = predictions[:1_500], references[:1_500]
    peaks = []
    for chunk_bytes in (2**24, 2**28):
        metric = vlgauge.load("trm", keep_in_memory=True, distance="rouge_l", pvalue="exact", chunk_bytes=chunk_bytes)
        tracemalloc.start()
        metric.compute(predictions=predictions, references=references)
        peaks.append(f"{tracemalloc.get_traced_memory()[1] / 2**20:.0f} MB with chunk_bytes {chunk_bytes // 2**20} MB")
        tracemalloc.stop()
    return Measured(name, np.nan, np.nan, 0.0, np.nan, f"peak of {len(predictions)} x (10 + 5): {', '.join(peaks)}")


def shown(row: Measured, smoke: bool) -> str:
    """The row as a line of text."""
    if np.isnan(row.fast):
        return f"{row.name:<14} {row.note}"
    if np.isnan(row.plain):
        amount = f"{row.fast:8.2f} s" if row.name in CORPUS else f"{1e3 * row.fast:8.3f} ms"
        limit = f"<= {row.target:g} s" if row.name in CORPUS else f"<= {1e3 * row.target:g} ms"
        met, line = row.fast <= row.target, f"{row.name:<14} {'':>12} {amount:>12} {'':>9}  {limit}"
    else:
        ratio = row.plain / row.fast
        line = f"{row.name:<14} {1e6 * row.plain:9.0f} us {1e6 * row.fast:9.2f} us {ratio:8.0f}x  >= {row.target:g}x"
        met = ratio >= row.target
    verdict = "" if smoke else ("  met" if met else "  MISSED")
    return f"{line}{verdict}; max difference {row.difference:.0e}; {row.note}"


def measure(name: str, smoke: bool) -> Measured:
    """One row by its name."""
    if name in TRM_SIZES:
        return trm_row(name, smoke)
    if name in CIDER_SIZES:
        return cider_row(name, smoke)
    if name in CORPUS:
        return corpus_row(name, smoke)
    return frechet_row(name, smoke) if name.startswith("frechet") else memory_row(name, smoke)


def main(arguments: list[str] | None = None) -> int:
    """Run the rows; 1 if numbers differ by more than 1e-9, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"rows to run, by default all: {', '.join(ROWS)}")
    parser.add_argument("--smoke", action="store_true", help="little data, to see that it runs")
    options = parser.parse_args(arguments)
    for name in options.rows:
        if name not in ROWS:
            parser.error(f"ROW must be one of {', '.join(ROWS)}, got {name}")
    print(f"{'row':<14} {'plain':>12} {'fast':>12} {'ratio':>9}  target")
    wrong = False
    for name in options.rows or ROWS:
        row = measure(name, options.smoke)
        print(shown(row, options.smoke), flush=True)
        wrong |= not row.difference <= TOLERANCE
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
