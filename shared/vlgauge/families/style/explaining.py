"""Explanations of scores: the n-grams and words of a caption with their contributions to the score."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from vlgauge.families.style.formula import order_scores, shares
from vlgauge.families.style.scoring import WeightedNgrams
from vlgauge.families.style.weights import Bools, Floats
from vlgauge.inputs.text.ngrams import MAX_ORDER, Ints


class NgramWeight(NamedTuple):
    """Statistics of an n-gram in a style: f_p, the number of styles that contain it, and CNG_p."""

    ngram: str
    order: int
    df: int
    occurrences: int
    cng: float


@dataclass(frozen=True)
class PlacedNgram:
    """Distinct n-gram of a caption.

    Attributes:
        starts: Positions of its occurrences in the caption.
        weight: Statistics of the n-gram in the table.
    """

    starts: list[int]
    weight: NgramWeight


def place_ngrams(tokens: Sequence[str], row: int, weighted: Sequence[WeightedNgrams]) -> list[PlacedNgram]:
    """Return the distinct n-grams of a caption, sorted by order, then by first position."""
    found = []
    for n, order in enumerate(weighted, 1):
        starts: dict[tuple[str, ...], list[int]] = {}
        for i in range(len(tokens) - n + 1):
            starts.setdefault(tuple(tokens[i : i + n]), []).append(i)
        first = int(np.searchsorted(order.grams.captions, row))
        # Ids are in code-point order of the token sequences, so the entries of a caption are its sorted
        # n-grams.
        entries = {ngram: first + i for i, ngram in enumerate(sorted(starts))}
        for ngram, positions in starts.items():
            entry = entries[ngram]
            df, occurrences = int(order.evidence.df[entry]), int(order.evidence.occurrences[entry])
            weight = NgramWeight(" ".join(ngram), n, df, occurrences, float(order.weights[entry]))
            found.append(PlacedNgram(positions, weight))
    return found


def caption_explanations(
    captions: Sequence[Sequence[str]], weighted: Sequence[WeightedNgrams], orders: str
) -> Iterator[dict[str, Any]]:
    """Explain the OnlyStyle score of each caption by the contributions of its n-grams and words.

    Args:
        captions: Tokens of each caption.
        weighted: N-grams of the captions, by order.
        orders: "available" or "four", see `onlystyle_scores`.

    Yields:
        ``tokens``. ``words``, the contribution of each token. ``orders``, the mean weight of each order, None without
        n-grams. ``raised`` and ``lowered``, the n-grams with a positive or negative contribution, the largest first.
        ``unseen``, the number of n-grams that are in no style. The contribution of an n-gram is divided evenly among
        its words. The contributions of all n-grams sum to the score, and so do the contributions of all words.
    """
    sizes = np.stack([order.grams.sizes for order in weighted])
    means = order_scores(np.stack([order.sums() for order in weighted]), sizes)
    per_gram = shares(sizes, orders)
    for row, tokens in enumerate(captions):
        placed = place_ngrams(tokens, row, weighted)
        parts = [gram.weight.cng * float(per_gram[gram.weight.order - 1, row]) for gram in placed]
        ordered = sorted(zip(placed, parts, strict=True), key=lambda pair: -abs(pair[1]))
        yield {
            "tokens": list(tokens),
            "words": word_shares(len(tokens), zip(placed, parts, strict=True)),
            "orders": [float(mean) if size else None for mean, size in zip(means[:, row], sizes[:, row], strict=True)],
            "raised": [{**gram.weight._asdict(), "share": part} for gram, part in ordered if part > 0],
            "lowered": [{**gram.weight._asdict(), "share": part} for gram, part in ordered if part < 0],
            "unseen": sum(not gram.weight.occurrences for gram in placed),
        }


def word_shares(n_words: int, parts: Iterable[tuple[PlacedNgram, float]]) -> list[float]:
    """Divide the contributions of n-grams evenly among the words that they cover."""
    words = np.zeros(n_words)
    for gram, part in parts:
        for start in gram.starts:
            words[start : start + gram.weight.order] += part / (gram.weight.order * len(gram.starts))
    return words.tolist()


def reference_explanations(
    captions: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    examples: Ints,
    own: Sequence[WeightedNgrams],
    theirs: Sequence[tuple[WeightedNgrams, Bools]],
    scores: Floats,
    cosines: Floats,
) -> list[dict[str, Any]]:
    """Explain the StyleCIDEr score of each caption by shared n-grams and by n-grams of one side only.

    Args:
        captions: Tokens of each caption.
        references: Tokens of each reference.
        examples: Shape ``(n_references,)``, example of each reference.
        own: N-grams of the captions, by order.
        theirs: N-grams of the references, by order, and whether each of them is shared.
        scores: Shape ``(n_references,)``, StyleCIDEr of each reference.
        cosines: Shape ``(4, n_references)``.

    Returns:
        One dictionary per example with ``tokens``, ``words`` (contribution of each token to the score of the example)
        and ``references``. Each reference has ``tokens``, ``score``, ``cosines``, ``raised`` (shared n-grams, with
        contributions that sum to the score) and ``lowered`` (n-grams of one ``side`` only, which make its vector
        longer), both in descending order of weight.
    """
    placed = [place_ngrams(tokens, row, own) for row, tokens in enumerate(captions)]
    found: list[dict[str, Any]] = [
        {"tokens": list(tokens), "words": [0.0] * len(tokens), "references": []} for tokens in captions
    ]
    counts = np.bincount(examples, minlength=len(captions))
    for row, tokens in enumerate(references):
        example = int(examples[row])
        here, there = placed[example], place_ngrams(tokens, row, [order for order, _ in theirs])
        shared = _find_shared_parts(here, there, cosines[:, row].tolist(), float(scores[row]))
        entry = found[example]
        parts = word_shares(len(captions[example]), shared)
        entry["words"] = [a + b / int(counts[example]) for a, b in zip(entry["words"], parts, strict=True)]
        entry["references"].append(
            {
                "tokens": list(tokens),
                "score": float(scores[row]),
                "cosines": cosines[:, row].tolist(),
                "raised": [{**gram.weight._asdict(), "share": part} for gram, part in shared],
                "lowered": _weighty_only_in(here, there, "prediction") + _weighty_only_in(there, here, "reference"),
            }
        )
    return found


def _find_shared_parts(
    here: Sequence[PlacedNgram], there: Sequence[PlacedNgram], cosines: Sequence[float], score: float
) -> list[tuple[PlacedNgram, float]]:
    """Return the shared n-grams with nonzero weights and their contributions to the score, in descending order."""
    texts = {gram.weight.ngram for gram in there}
    shared = [gram for gram in here if gram.weight.cng and gram.weight.ngram in texts]
    squares = [0.0] * MAX_ORDER
    for gram in shared:
        squares[gram.weight.order - 1] += gram.weight.cng**2
    # The score is the sum of the cosines times a factor that depends on the variant.
    total = math.fsum(cosines)
    parts = [
        (gram, score * cosines[gram.weight.order - 1] / total * gram.weight.cng**2 / squares[gram.weight.order - 1])
        for gram in shared
    ]
    return sorted(parts, key=lambda pair: -pair[1])


def _weighty_only_in(grams: Sequence[PlacedNgram], others: Sequence[PlacedNgram], side: str) -> list[dict[str, Any]]:
    """Return the n-grams of one side only with nonzero weights, in descending order of absolute weight."""
    texts = {gram.weight.ngram for gram in others}
    only = [gram.weight for gram in grams if gram.weight.cng and gram.weight.ngram not in texts]
    return [{**weight._asdict(), "side": side} for weight in sorted(only, key=lambda weight: -abs(weight.cng))]
