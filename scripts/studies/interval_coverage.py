"""Measure the coverage of confidence intervals for typical score distributions, summarized in `docs/reading.md`."""

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import vlgauge
from vlgauge import scenes
from vlgauge.families.aggregation import COUNTED, corpus_counts
from vlgauge.stats import bootstrap_interval, count_statistic_intervals, percentile_interval

Floats = npt.NDArray[np.float64]

SIZES = (10, 30, 100, 300)
LEVEL = 0.95
N_ROWS, N_IMAGES, N_REFERENCES = 2_000, 500, 5
METHODS = ("ours", "percentile")


@dataclass(frozen=True)
class Shape:
    """Population of units to sample from.

    Attributes:
        name: Name in the table.
        units: Contribution of each unit, shape ``(n_units, n_systems, n_counts)``.
        value: Computes the statistic from sums over units, shape ``(..., n_systems, n_counts)``.
        interval: Computes the ends by the package, from the sampled units, the number of bootstrap samples and the
            seed.
    """

    name: str
    units: Floats
    value: Callable[[Floats], Floats]
    interval: Callable[[Floats, int, int], tuple[float, float]]


# -- Populations ------------------------------------------------------------------------------------------------------
def score_scenes(seed: int) -> dict[str, Floats]:
    """Compute scores and counts of captions of synthetic scenes, for systems that confuse images and words."""
    rng = np.random.default_rng(seed)
    seen = scenes.scenes(N_ROWS, seed=seed)
    texts = [scenes.captions(scene, seed=seed, n=N_REFERENCES + 1) for scene in seen]
    words = sorted({word for own in texts for caption in own for word in caption.split()})
    references = [own[:N_REFERENCES] for own in texts]

    def said(row: int, quality: float) -> str:
        seen_row = row if rng.random() < quality else int(rng.integers(N_ROWS))
        kept = [word for word in texts[seen_row][-1].split() if rng.random() < 0.9]
        return " ".join(word if rng.random() < quality else str(rng.choice(words)) for word in kept) or "a"

    found: dict[str, Floats] = {}
    for system, quality in (("good", 0.9), ("fair", 0.6), ("weak", 0.5)):
        captions = [said(row, quality) for row in range(N_ROWS)]
        for name in ("cider", "bleu"):
            result = vlgauge.load(name).compute(predictions=captions, references=references) or {}
            found[f"{name} {system}"] = np.array(result[f"{name}_scores"])
            if name in COUNTED:
                found[f"counts {system}"] = corpus_counts(name, result)
    sets = [[said(row, 0.6) for _ in range(N_REFERENCES)] for row in range(N_ROWS)]
    trm = vlgauge.load("trm").compute(predictions=sets, references=references) or {}
    found["trm"] = np.array(trm["trm_scores"])
    images = [scenes.draw_scene(scene, seed=seed).image for scene in seen[:N_IMAGES]]
    captions = [said(row, 0.6) for row in range(N_IMAGES)]
    clip_s = vlgauge.load("clip_s", profile="embedded").compute(predictions=captions, images=images) or {}
    found["clip_s"] = np.array(clip_s["clip_s_scores"])
    return found


def shapes(seed: int) -> Iterator[Shape]:
    """Yield the populations."""
    rng, of = np.random.default_rng(seed), score_scenes(seed)
    half = rng.lognormal(size=4 * N_ROWS) * (rng.random(4 * N_ROWS) < 0.5)
    yield mean("half zeros, half lognormal", half)
    yield mean("lognormal", rng.lognormal(size=4 * N_ROWS))
    yield mean("CIDEr", of["cider fair"])
    yield mean("sentence BLEU, 78 % zeros", of["bleu fair"])
    yield mean("CLIP-S (demo)", of["clip_s"])
    yield mean("TRM", of["trm"])
    yield mean("CIDEr, difference", of["cider fair"] - of["cider weak"])
    apart = of["bleu fair"] - of["bleu weak"]
    yield mean("sentence BLEU, difference", np.where(np.abs(apart) < 1e-9, 0.0, apart))
    sizes = rng.integers(1, 6, N_ROWS)
    for name, scores in (("half zeros", half), ("CIDEr", of["cider fair"])):
        # Half of the score is shared within a group.
        shared, own = rng.choice(scores, N_ROWS), (rng.choice(scores, size) for size in sizes)
        sums = [float(np.sum((one + rows) / 2)) for one, rows in zip(shared, own, strict=True)]
        yield build_grouped(f"{name}, groups of 1 to 5 rows", np.stack([sums, sizes], axis=1))
    yield build_summed("corpus BLEU .44", of["counts good"][:, None])
    yield build_summed("corpus BLEU .13", of["counts fair"][:, None])
    yield build_summed("corpus BLEU, difference", np.stack([of["counts fair"], of["counts weak"]], axis=1))
    groups = np.stack([of["counts good"][rng.integers(0, N_ROWS, size)].sum(axis=0) for size in sizes])
    yield build_summed("corpus BLEU, groups of 1 to 5 rows", groups[:, None])


def mean(name: str, scores: Floats) -> Shape:
    """Build a population of independent rows."""

    def interval(units: Floats, resamples: int, seed: int) -> tuple[float, float]:
        found = bootstrap_interval(units[:, 0, 0].tolist(), resamples=resamples, seed=seed)
        return (found.low, found.high) if found else (np.nan, np.nan)

    return Shape(name, np.stack([scores, np.ones(len(scores))], axis=1)[:, None], _ratio, interval)


def build_grouped(name: str, sums: Floats) -> Shape:
    """Build a population of groups, each with a sum and a size.

    The rows of a group are passed to the package as equal scores.
    """

    def interval(units: Floats, resamples: int, seed: int) -> tuple[float, float]:
        counts = units[:, 0, 1].astype(int)
        scores, labels = np.repeat(units[:, 0, 0] / counts, counts), np.repeat(np.arange(len(units)), counts)
        found = bootstrap_interval(scores.tolist(), resamples=resamples, seed=seed, groups=labels.tolist())
        return (found.low, found.high) if found else (np.nan, np.nan)

    return Shape(name, sums[:, None], _ratio, interval)


def build_summed(name: str, counts: Floats) -> Shape:
    """Build a population of summed counts of one or two systems."""
    of_system = COUNTED["bleu"].value

    def value(sums: Floats) -> Floats:
        values = of_system(sums)
        return values[..., 0] - values[..., 1] if values.shape[-1] > 1 else values[..., 0]

    def interval(units: Floats, resamples: int, seed: int) -> tuple[float, float]:
        systems = list(units.transpose(1, 0, 2))
        (found,) = count_statistic_intervals(
            systems, [tuple(range(len(systems)))], of_system, resamples=resamples, seed=seed
        )
        return (found.low, found.high) if found else (np.nan, np.nan)

    return Shape(name, counts, value, interval)


def _ratio(sums: Floats) -> Floats:
    return sums[..., 0, 0] / sums[..., 0, 1]


# -- Coverage ---------------------------------------------------------------------------------------------------------
def coverage(shape: Shape, n: int, runs: int, resamples: int, seed: int) -> dict[str, float]:
    """Compute the coverage of the population value by each method, for samples of n units."""
    rng = np.random.default_rng([seed, n])
    truth = float(shape.value(shape.units.sum(axis=0)))
    hits = dict.fromkeys(METHODS, 0)
    for run in range(runs):
        units = shape.units[rng.integers(0, len(shape.units), n)]
        times = rng.multinomial(n, [1 / n] * n, size=resamples).astype(np.float64)
        # Samples of the statistic.
        values = shape.value(np.einsum("sn,nkc->skc", times, units))
        ends = {"ours": shape.interval(units, resamples, run), "percentile": percentile_interval(values, LEVEL)}
        for method, (low, high) in ends.items():
            hits[method] += low - 1e-12 <= truth <= high + 1e-12
    return {method: count / runs for method, count in hits.items()}


def main(words: Sequence[str] | None = None) -> None:
    """Print both tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400, help="samples of each shape and size (default: 400)")
    parser.add_argument("--resamples", type=int, default=600, help="bootstrap samples (default: 600)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(words)
    warnings.simplefilter("ignore", UserWarning)
    worst: dict[str, dict[int, float]] = {method: dict.fromkeys(SIZES, 1.0) for method in METHODS}
    print("| scores | " + " | ".join(f"n = {n}" for n in SIZES) + " |\n| --- |" + " ---: |" * len(SIZES))
    for shape in shapes(options.seed):
        cells = []
        for n in SIZES:
            found = coverage(shape, n, options.runs, options.resamples, options.seed)
            cells.append(f"{found['ours']:.2f} ({found['percentile']:.2f})")
            for method, share in found.items():
                worst[method][n] = min(worst[method][n], share)
        print(f"| {shape.name} | " + " | ".join(cells) + " |", flush=True)
    print("\n| worst of all | " + " | ".join(f"n = {n}" for n in SIZES) + " |\n| --- |" + " ---: |" * len(SIZES))
    for method, shares in worst.items():
        print(f"| {method} | " + " | ".join(f"{share:.2f}" for share in shares.values()) + " |")


if __name__ == "__main__":
    main()
