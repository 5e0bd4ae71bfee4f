"""Measure how often `vlgauge compare` separates systems that are equally good, and systems that are not.

All pairs of 2, 6 or 40 simulated systems are tested on 5 to 200 rows.
"""

# Scores consist of a difficulty that all systems share and of noise, in four shapes. Pairs are tested like in
# `compare`, with the same random signs, number of signs and correction. A pair is decided as soon as its hits leave no
# doubt, which saves most of the time. If the first step of Holm's correction finds a pair, so does the whole
# correction. Pairs with many ties, for which `compare` enumerates all signs, are sampled here.

import argparse
import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from vlgauge.stats import alpha, can_be_significant, default_resamples
from vlgauge.stats.drawing import all_signs_fit, every_sign, random_signs

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

LEVEL = 0.95
ROWS = (5, 10, 20, 50, 200)
SYSTEMS = (2, 6, 40)
EFFECTS = (0.2, 0.5)
RUNS = 2_000
# Number of runs that share the random signs of one seed.
_BLOCK = 100
# Number of signs in the first step, and number of pairs whose sums are in memory at the same time.
_STEP, _AT_ONCE = 250, 2_000


def _noise(rng: np.random.Generator, systems: int, rows: int) -> Floats:
    """Sample difficulty and noise with equal variance, shape ``(systems, rows)``."""
    return rng.normal(size=rows) + rng.normal(size=(systems, rows))


def normal(rng: np.random.Generator, systems: int, rows: int) -> Floats:
    """Sample normal scores, as from an encoder."""
    return _noise(rng, systems, rows)


def lognormal(rng: np.random.Generator, systems: int, rows: int) -> Floats:
    """Sample lognormal scores, skewed as in CIDEr-D."""
    return np.exp(0.7 * _noise(rng, systems, rows))


def half_zeros(rng: np.random.Generator, systems: int, rows: int) -> Floats:
    """Sample lognormal scores of which half are 0."""
    noise = _noise(rng, systems, rows)
    return np.where(noise > 0.0, np.exp(0.7 * noise), 0.0)


def steps(rng: np.random.Generator, systems: int, rows: int) -> Floats:
    """Sample scores with many ties, rounded to fifths between 0 and 1."""
    return np.clip(np.round(2.5 + _noise(rng, systems, rows)), 0.0, 5.0) / 5.0


def unlike(rng: np.random.Generator, systems: int, rows: int) -> Floats:
    """Sample systems with equal means, of which every other one is lognormal and the rest constant."""
    scores = np.full((systems, rows), math.exp(0.5))
    scores[::2] = np.exp(rng.normal(size=scores[::2].shape))
    return scores


SHAPES: dict[str, Callable[[np.random.Generator, int, int], Floats]] = {
    "normal": normal,
    "lognormal": lognormal,
    "half zeros": half_zeros,
    "fifths": steps,
}


def find_separated(scores: Floats, seed: int = 0, *, first_pair: bool = False) -> Bools:
    """Return whether each pair of systems is separated after Holm's first step.

    Returns:
        Bools, shape ``(runs, pairs)``, in the order of `itertools.combinations`.
    """
    n_runs, systems, rows = scores.shape
    n_pairs = systems * (systems - 1) // 2
    resamples, part = default_resamples(n_pairs, LEVEL), alpha(LEVEL) / n_pairs
    is_exact = all_signs_fit(rows, resamples)
    # Maximum number of hits of a significant p-value.
    most = math.floor(part * 2 ** (rows - 1)) if is_exact else math.floor(part * (resamples + 1)) - 1
    pairs = np.array(list(itertools.combinations(range(systems), 2))[: 1 if first_pair else None])
    apart = scores[:, pairs[:, 0]] - scores[:, pairs[:, 1]]  # axes: run, pair, row
    enough = np.array([can_be_significant(count, n_pairs, LEVEL) for count in range(rows + 1)])
    run, pair = np.nonzero(enough[np.count_nonzero(apart, axis=2)])
    found = np.zeros((n_runs, n_pairs), dtype=np.bool_)
    own = apart[run, pair]
    bounds = np.abs(own.sum(axis=1)) - 1e-12 * np.abs(own).sum(axis=1)
    hits = np.zeros(len(run), dtype=np.intp)
    for signs in _steps(every_sign(rows) if is_exact else random_signs(rows, resamples, seed)):
        for start in range(0, len(run), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            hits[some] += np.count_nonzero(np.abs(own[some] @ signs.T) >= bounds[some, None], axis=1)
        left = hits <= most
        run, pair, hits, own, bounds = run[left], pair[left], hits[left], own[left], bounds[left]
        if not len(run):
            break
    found[run, pair] = True
    return found


def _steps(chunks: Iterator[Floats]) -> Iterator[Floats]:
    """Yield the same signs in growing pieces, so that the first pieces decide most pairs."""
    size = _STEP
    for chunk in chunks:
        start = 0
        while start < len(chunk):
            yield chunk[start : start + size]
            start, size = start + size, 2 * size


def rates(
    shape: Callable[[np.random.Generator, int, int], Floats],
    systems: int,
    rows: int,
    *,
    effect: float = 0.0,
    runs: int = RUNS,
    seed: int = 0,
) -> float:
    """Return how often any pair is separated or, with an effect, the first two systems, of which one is better."""
    of_all = shape(np.random.default_rng([seed, 1]), 2, 100_000)
    shift = effect * float(np.std(of_all[0] - of_all[1]))
    hits = 0
    for block, start in enumerate(range(0, runs, _BLOCK)):
        rng = np.random.default_rng([seed, systems, rows, block])
        scores = np.stack([shape(rng, systems, rows) for _ in range(min(_BLOCK, runs - start))])
        scores[:, 0] += shift
        found = find_separated(scores, seed=block, first_pair=effect > 0.0)
        hits += int(np.count_nonzero(found[:, 0] if effect else found.any(axis=1)))
    return hits / runs


def print_tables(runs: int = RUNS, rows: Sequence[int] = ROWS, systems: Sequence[int] = SYSTEMS) -> None:
    """Print size and power in the format of the documentation."""
    error = math.sqrt(0.05 * 0.95 / runs)
    of_power = 0.5 / math.sqrt(max(2, runs // 4))
    print(f"{runs} runs per size, standard error {error:.4f} at .05; a quarter per power, at most {of_power:.3f}.\n")
    header = ["scores", "rows", *(f"size, {count} systems" for count in systems)]
    header += [f"power at d = {effect}, {count} systems" for effect in EFFECTS for count in systems]
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}", flush=True)
    for name, shape in SHAPES.items():
        for n in rows:
            cells = [f"{rates(shape, count, n, runs=runs):.3f}" for count in systems]
            for effect in EFFECTS:
                cells += [f"{rates(shape, count, n, effect=effect, runs=max(2, runs // 4)):.2f}" for count in systems]
            print(f"| {name} | {n} | {' | '.join(cells)} |", flush=True)
    cells = [f"{n} rows {rates(unlike, 2, n, runs=runs):.3f}" for n in rows]
    print(f"\nTwo systems of one mean, lognormal against constant: {', '.join(cells)}.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N", help=f"runs per cell (default: {RUNS})")
    print_tables(parser.parse_args(arguments).runs)


if __name__ == "__main__":
    main()
