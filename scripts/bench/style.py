"""Time and memory of style tables, OnlyStyle and StyleCIDEr on a generated corpus, beside plain loops.

The corpus has 186,698 captions in 215 styles, as many as PERSONALITY-CAPTIONS. The plain loops, over dictionaries, get
a twentieth of it; there both sides work on the same captions, in turns, and their scores are compared: more than 1e-12
apart is exit status 1. CIDEr-D is that of pycocoevalcap, where it is installed. Times are wall and CPU time of one
thread.
"""

import argparse
import importlib.util
import math
import os
import statistics
import sys
import tempfile
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import numpy as np

from vlgauge import style
from vlgauge.style import StyleTable

MAX_ORDER = 4
TOLERANCE = 1e-12


# -- The corpus -------------------------------------------------------------------------------------------------------
def generated_corpus(n_captions: int, n_styles: int, seed: int = 0) -> tuple[list[list[str]], list[str]]:
    """Tokens and styles of captions that read on in one source text and jump now and then, as people's phrases do."""
    rng = np.random.default_rng(seed)
    weights = 1 / (np.arange(36_000) + 2.7) ** 1.05
    source = rng.choice(36_000, size=400_000, p=weights / weights.sum())
    lengths = np.clip(rng.poisson(11, n_captions), 1, 40)
    total = int(lengths.sum())
    target = np.floor(400_000 * rng.random(total) ** 4).astype(np.int64)
    jumps = rng.random(total) < 0.3
    styles = rng.integers(0, n_styles, n_captions)
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    jumps[bounds[:-1]] = True
    positions = np.arange(total)
    last_jump = np.maximum.accumulate(np.where(jumps, positions, 0))
    names = np.array([f"w{i}" for i in range(36_000)], dtype=object)
    words = names[source[(target[last_jump] + positions - last_jump) % 400_000]].tolist()
    captions = [words[first:last] for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)]
    return captions, [f"style {i:03d}" for i in styles.tolist()]


# -- Plain loops ------------------------------------------------------------------------------------------------------
Ngram = tuple[str, ...]


def plain_ngrams(tokens: Sequence[str], n: int) -> set[Ngram]:
    """The set of n-grams of a caption."""
    return {tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)}


class PlainTable:
    """The definition: a dictionary of document frequencies for each order and style."""

    def __init__(self, captions: Sequence[Sequence[str]], styles: Sequence[str]) -> None:
        self.styles = sorted(set(styles))
        self.df: list[dict[str, Counter[Ngram]]] = [{s: Counter() for s in self.styles} for _ in range(MAX_ORDER)]
        for tokens, name in zip(captions, styles, strict=True):
            for n in range(1, MAX_ORDER + 1):
                self.df[n - 1][name].update(plain_ngrams(tokens, n))
        self.sorted_df = [{s: sorted(counts.values()) for s, counts in by_style.items()} for by_style in self.df]

    def ecdf(self, ngram: Ngram, style: str) -> float:
        """E_p(t)."""
        df = self.df[len(ngram) - 1][style].get(ngram, 0)
        values = self.sorted_df[len(ngram) - 1][style]
        return bisect_right(values, df) / len(values) if df else 0.0

    def cng(self, ngram: Ngram, style: str) -> float:
        """CNG_p(t), by the sum over the other styles."""
        occurrences = sum(ngram in self.df[len(ngram) - 1][other] for other in self.styles)
        if not occurrences:
            return 0.0
        own = self.ecdf(ngram, style)
        return math.fsum(own - self.ecdf(ngram, other) for other in self.styles) / occurrences / len(self.styles)

    def onlystyle(self, tokens: Sequence[str], style: str) -> float:
        """Mean over the orders of the mean weight."""
        sets = [found for n in range(1, MAX_ORDER + 1) if (found := plain_ngrams(tokens, n))]
        means = [math.fsum(self.cng(ngram, style) for ngram in found) / len(found) for found in sets]
        return math.fsum(means) / len(means) if means else 0.0

    def stylecider(self, tokens: Sequence[str], references: Sequence[Sequence[str]], style: str) -> float:
        """Mean over the references of the mean cosine."""
        total = 0.0
        for reference in references:
            for n in range(1, MAX_ORDER + 1):
                a, b = ({t: self.cng(t, style) for t in plain_ngrams(row, n)} for row in (tokens, reference))
                a, b = ({t: w for t, w in side.items() if abs(w) > 1e-13} for side in (a, b))
                norm = math.sqrt(math.fsum(w * w for w in a.values()) * math.fsum(w * w for w in b.values()))
                total += math.fsum(w * b[t] for t, w in a.items() if t in b) / norm if norm else 0.0
        return total / MAX_ORDER / len(references)


# -- Ours -------------------------------------------------------------------------------------------------------------
def own_scores(table: StyleTable, captions: list[list[str]], styles: Sequence[str], exclude_self: bool = False) -> Any:
    """OnlyStyle in the own style, shape ``(n_captions,)``."""
    ids = table.style_ids(styles)
    return style.own_scores(style.weighted_ngrams(table, captions, ids, "paper", exclude_self=exclude_self))


def cider_scores(
    table: StyleTable, captions: list[list[str]], references: list[list[list[str]]], styles: Sequence[str]
) -> Any:
    """StyleCIDEr, shape ``(n_captions,)``."""
    ids = table.style_ids(styles)
    of = np.repeat(np.arange(len(references)), style.lengths_of(references))
    flat = [reference for row in references for reference in row]
    own = style.weighted_ngrams(table, captions, ids, "paper")
    theirs = style.weighted_references(table, flat, of, own, ids, "paper")
    cosines = style.reference_cosines(own, theirs, of)
    parts = style.reference_scores(cosines, "paper", style.lengths_of(captions)[of], style.lengths_of(flat))
    return style.mean_over_references(parts, of, len(captions))


# -- Measuring --------------------------------------------------------------------------------------------------------
@dataclass
class Timing:
    """Median seconds of some runs, and what the last one returned."""

    wall: float
    cpu: float
    result: Any


def timed(tasks: dict[str, Callable[[], Any]], repeats: int) -> dict[str, Timing]:
    """Runs of each task in turns, so that a busy machine slows all."""
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in tasks}
    results: dict[str, Any] = {}
    for _ in range(repeats):
        for name, task in tasks.items():
            wall, cpu = time.perf_counter(), time.process_time()
            results[name] = task()
            runs[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    medians = {name: [statistics.median(times) for times in zip(*pairs, strict=True)] for name, pairs in runs.items()}
    return {name: Timing(wall, cpu, results[name]) for name, (wall, cpu) in medians.items()}


def memory(field: str) -> float:
    """A line of /proc/self/status, in MiB; NaN where there is none."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return math.nan
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(field)), math.nan)


def peak_memory(task: Callable[[], Any]) -> tuple[float, Any]:
    """Peak memory of a task above what the process had before, in MiB, and its result."""
    before = memory("VmRSS")
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return math.nan, task()
    result = task()
    return memory("VmHWM") - before, result


def line(task: str, measured: str, target: str, met: bool) -> None:
    """Print a line of the report."""
    print(f"{task:<52} {measured:<32} target {target:<12} {'met' if met else 'MISSED'}", flush=True)


def seconds(task: str, timing: Timing, target: float) -> None:
    """Print a line about time."""
    line(task, f"{timing.wall:.4f} s (CPU {timing.cpu:.4f} s)", f"<= {target:g} s", timing.wall <= target)


def report_targets(captions: list[list[str]], styles: list[str], n_scored: int, repeats: int) -> None:
    """The targets, on the whole corpus."""
    extra, table = peak_memory(lambda: StyleTable.fit(captions, styles))
    line("memory of fit above the tokenized captions", f"{extra:.0f} MiB", "<= 500 MiB", extra <= 500)
    seconds("fit, tokenized captions", timed({"fit": lambda: StyleTable.fit(captions, styles)}, repeats)["fit"], 5)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        table.save(path)
        size = path.stat().st_size / 1e6
        line("size of the file", f"{size:.1f} MB", "<= 20 MB", size <= 20)
        # Held nowhere, the table is read anew each time.
        seconds("load, verified", timed({"load": lambda: StyleTable.load(path).fingerprint}, repeats)["load"], 2)
    table = StyleTable.fit([" ".join(tokens) for tokens in captions], styles)
    rng = np.random.default_rng(1)
    rows = rng.choice(len(captions), n_scored, replace=False).tolist()
    texts, own = [" ".join(captions[i]) for i in rows], [styles[i] for i in rows]
    tokens = [captions[i] for i in rows]
    tasks: dict[str, Callable[[], Any]] = {
        "matrix": lambda: table.score_matrix(texts),
        "own": lambda: own_scores(table, table.tokenize(texts), own),
        "left out": lambda: own_scores(table, table.tokenize(texts), own, exclude_self=True),
        "one": lambda: own_scores(table, table.tokenize(texts[:1]), own[:1]),
    }
    timings = timed(tasks, repeats)
    seconds(f"{n_scored} captions in all {len(table.styles)} styles", timings["matrix"], 1)
    seconds(f"{n_scored} captions in their own style", timings["own"], 0.5)
    seconds(f"{n_scored} captions in their own style, exclude_self", timings["left out"], 1)
    seconds("one caption in its own style", timings["one"], 0.005)
    picked = rng.integers(0, len(captions), (n_scored, 5)).tolist()
    references = [[captions[i] for i in row] for row in picked]
    report_cider(table, tokens, references, own, repeats)


def report_cider(
    table: StyleTable, tokens: list[list[str]], references: list[list[list[str]]], styles: list[str], repeats: int
) -> None:
    """StyleCIDEr beside pycocoevalcap's CIDEr-D."""
    tasks: dict[str, Callable[[], Any]] = {"ours": lambda: cider_scores(table, tokens, references, styles)}
    installed = importlib.util.find_spec("pycocoevalcap") is not None
    if installed:
        cider = importlib.import_module("pycocoevalcap.cider.cider").Cider
        predictions = {i: [" ".join(row)] for i, row in enumerate(tokens)}
        given = {i: [" ".join(r) for r in row] for i, row in enumerate(references)}
        tasks["cider"] = lambda: cider().compute_score(given, predictions)
    timings = timed(tasks, repeats)
    seconds(f"StyleCIDEr, {len(tokens)} x 5, tokenized", timings["ours"], 1.5)
    if not installed:
        print("pycocoevalcap is not installed: no comparison with CIDEr-D")
        return
    ratio = timings["cider"].cpu / timings["ours"].cpu
    times = f"{ratio:.1f} (CPU {timings['cider'].cpu:.2f} s)"
    line("CIDEr-D of pycocoevalcap, times as long", times, ">= 5", ratio >= 5)


def compare_with_plain(captions: list[list[str]], styles: list[str], n_scored: int, repeats: int) -> float:
    """Print ratios to the plain loops; the largest difference of scores."""
    timings = timed(
        {"ours": lambda: StyleTable.fit(captions, styles), "plain": lambda: PlainTable(captions, styles)}, repeats
    )
    table, plain = timings["ours"].result, timings["plain"].result
    print(f"plain loops on {len(captions)} captions in {len(table.styles)} styles, CPU time:")
    print(f"  fit: {timings['plain'].cpu / timings['ours'].cpu:.1f} times as long")
    scored, own = captions[:n_scored], styles[:n_scored]
    references = [captions[i + 1 : i + 4] for i in range(n_scored)]
    names = table.styles[:3]
    tasks: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        f"OnlyStyle of {n_scored} captions in 3 styles": (
            lambda: np.stack([own_scores(table, scored, [name] * n_scored) for name in names], axis=1),
            lambda: np.array([[plain.onlystyle(row, name) for name in names] for row in scored]),
        ),
        f"StyleCIDEr of {n_scored} captions x 3 references": (
            lambda: cider_scores(table, scored, references, own),
            lambda: np.array([plain.stylecider(*row) for row in zip(scored, references, own, strict=True)]),
        ),
    }
    worst = 0.0
    for name, (ours, plainly) in tasks.items():
        timings = timed({"ours": ours, "plain": plainly}, repeats)
        # Not max(): a NaN on one side has to count.
        difference = np.abs(timings["ours"].result - timings["plain"].result)
        worst = math.inf if not (difference <= TOLERANCE).all() else max(worst, float(difference.max()))
        ratio = timings["plain"].cpu / timings["ours"].cpu
        print(f"  {name}: {ratio:.0f} times as long; largest difference {difference.max():.1e}")
    return worst


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; 1 if scores differ from those of the plain loops by more than 1e-12, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="2,000 captions in 20 styles, one run")
    smoke = parser.parse_args(arguments).smoke
    captions, styles = generated_corpus(*((2_000, 20) if smoke else (186_698, 215)))
    repeats = 1 if smoke else 3
    report_targets(captions, styles, 100 if smoke else 10_000, repeats)
    part = len(captions) // 20
    worst = compare_with_plain(captions[:part], styles[:part], 20 if smoke else 50, repeats)
    return int(not worst <= TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
