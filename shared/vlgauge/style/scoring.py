"""The n-grams of captions with their weights: in the style of each caption, and in every style."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from vlgauge.style.counting import MAX_ORDER, Ints
from vlgauge.style.counts import CaptionNgrams, StyleTable
from vlgauge.style.leave_one_out import RemovedCaptions
from vlgauge.style.tokenizers import checked_text
from vlgauge.style.weights import VARIANTS, Bools, Floats, OrderCounts, PairStatistics, places_among_sorted

ORDER_RULES = ("available", "four")

BLOCK = 4096  # captions at a time

_SIGMA = 6.0  # of the length penalty, as in CIDEr-D

AUTHORS_SCALE = 10.0
"""Factor of StyleCIDEr in the variant "authors", as in CIDEr-D."""


def checked_variant(variant: str) -> str:
    """The variant, if it is one of `VARIANTS`; else ValueError."""
    if variant not in VARIANTS:
        raise ValueError(f"`variant` must be one of {', '.join(map(repr, VARIANTS))}, got {variant!r}")
    return variant


def ngram_weights(table: StyleTable, ngram: str, styles: Ints, variant: str) -> list[float]:
    """CNG of an n-gram in the given styles; see `StyleTable.cng`."""
    tokens = table.tokenize([checked_text(ngram, "ngram")])[0]
    if not 1 <= len(tokens) <= MAX_ORDER:
        raise ValueError(f"`ngram` must have 1 to {MAX_ORDER} tokens, got {len(tokens)} in {ngram!r}")
    place = table.ngrams([tokens])[len(tokens) - 1].ngrams
    evidence = table.orders[len(tokens) - 1].evidence(np.repeat(place, len(styles)), styles)
    return evidence.weights(len(table.styles), checked_variant(variant)).tolist()


@dataclass(frozen=True, eq=False)
class WeightedNgrams:
    """The distinct n-grams of one order in some captions, each with what it weighs in the style of its caption.

    Attributes:
        grams: captions (one per example) and n-grams; m entries.
        evidence: shapes ``(m,)``, without the caption itself where that is left out.
        weights: shape ``(m,)``, CNG_p(t).
        removal: what was left out; None if nothing was.
    """

    grams: CaptionNgrams
    evidence: PairStatistics
    weights: Floats
    removal: RemovedCaptions | None

    def known_captions(self) -> Ints:
        """Captions with an n-gram that some style has, a caption once for each."""
        return self.grams.captions[self.evidence.occurrences > 0]


def weighted_ngrams(
    table: StyleTable, captions: Sequence[Sequence[str]], styles: Ints, variant: str, *, exclude_self: bool = False
) -> list[WeightedNgrams]:
    """Weights of the n-grams of each caption in its style, by order.

    Args:
        table: Style table.
        captions: Tokens of each caption.
        styles: shape ``(n_captions,)``, places of the styles.
        variant: "paper" or "authors".
        exclude_self: Whether a caption of the table is left out of the counts that it is scored with.
    """
    checked_variant(variant)
    removed = table.copies(captions, styles) > 0 if exclude_self else None
    weighted = []
    for counts, grams in zip(table.orders, table.ngrams(captions), strict=True):
        evidence = counts.evidence(grams.ngrams, styles[grams.captions])
        removal = None
        if removed is not None and removed.any():
            removal = RemovedCaptions.of(counts, grams.captions, evidence.df, styles, removed)
            evidence = removal.applied(evidence, grams.captions, np.ones(len(grams.ngrams), np.bool_))
        weighted.append(WeightedNgrams(grams, evidence, evidence.weights(len(table.styles), variant), removal))
    return weighted


def blocks(n_captions: int) -> Iterator[slice]:
    """Captions some at a time: arrays of all n-grams of a million captions would fill the memory."""
    return (slice(start, start + BLOCK) for start in range(0, n_captions, BLOCK))


def weighted_references(
    table: StyleTable,
    references: Sequence[Sequence[str]],
    examples: Ints,
    candidates: Sequence[WeightedNgrams],
    styles: Ints,
    variant: str,
) -> list[tuple[WeightedNgrams, Bools]]:
    """Weights of the n-grams of references in the style of their example, by order.

    Args:
        table: Style table.
        references: Tokens of each reference.
        examples: shape ``(n_references,)``, ascending, example of each.
        candidates: N-grams of the candidate of each example; what was left out for them is left out here too.
        styles: shape ``(n_examples,)``, places of the styles.
        variant: "paper" or "authors".

    Returns:
        The n-grams, and which of them the candidate has too, shape ``(m,)``.
    """
    weighted = []
    for counts, grams, own in zip(table.orders, table.ngrams(references), candidates, strict=True):
        example = examples[grams.captions]
        seen = own.grams.ngrams >= 0
        candidate_keys = own.grams.captions[seen] * len(counts.keys) + own.grams.ngrams[seen]
        keys = np.where(grams.ngrams >= 0, example * len(counts.keys) + grams.ngrams, -1)
        shared = places_among_sorted(candidate_keys, keys) >= 0
        evidence = counts.evidence(grams.ngrams, styles[example])
        if own.removal is not None:
            evidence = own.removal.applied(evidence, example, shared)
        weights = evidence.weights(len(table.styles), variant)
        weighted.append((WeightedNgrams(grams, evidence, weights, own.removal), shared))
    return weighted


def shares(sizes: Sequence[Ints], orders: str) -> Floats:
    """What a distinct n-gram contributes to the mean over the orders per unit of weight, shape ``(4, n_captions)``.

    1 / (k |M_n|), k being the number of orders with n-grams ("available") or 4 ("four").
    """
    stacked = np.stack(sizes)
    divisor = np.count_nonzero(stacked, axis=0) if orders == "available" else np.full(stacked.shape[1], len(stacked))
    return 1.0 / np.maximum(stacked * divisor, 1)


def score_blocks(
    table: StyleTable,
    captions: Sequence[Sequence[str]],
    variant: str = "paper",
    *,
    orders: str = "available",
    left_out_of: Ints | None = None,
) -> Iterator[Floats]:
    """OnlyStyle (Li and Harrison, 2022, Eqs. 5 and 6) of captions in every style, some rows at a time.

    Args:
        table: Style table.
        captions: Tokens of each caption.
        variant: "paper" or "authors".
        orders: "available" or "four"; see `shares`.
        left_out_of: shape ``(n_captions,)``, style from which one copy of the caption is taken out; None: from none.

    Yields:
        shape ``(n, |S|)``, the scores of the next n captions.
    """
    for part in blocks(len(captions)):
        own = None if left_out_of is None else left_out_of[part]
        yield _score_block(table, captions[part], variant, orders, own)


def _score_block(
    table: StyleTable, captions: Sequence[Sequence[str]], variant: str, orders: str, own: Ints | None
) -> Floats:
    styles = np.zeros(len(captions), np.int64) if own is None else own
    weighted = weighted_ngrams(table, captions, styles, variant, exclude_self=own is not None)
    share = shares([order.grams.sizes for order in weighted], orders)
    scores = np.zeros((len(captions), len(table.styles)))
    for counts, order, per_gram in zip(table.orders, weighted, share, strict=True):
        _add_order(scores, counts, order, per_gram, variant)
    if own is not None:
        # Above, every column has the E of all captions; in the own one E is to be without the caption.
        columns = (
            np.bincount(order.grams.captions, order.weights * per_gram[order.grams.captions], len(captions))
            for order, per_gram in zip(weighted, share, strict=True)
        )
        scores[np.arange(len(captions)), own] = sum(columns)
    return scores


def _add_order(scores: Floats, counts: OrderCounts, order: WeightedNgrams, per_gram: Floats, variant: str) -> None:
    """Add share * CNG_q(t) = share * (E_q(t) - T(t)/|S|) / occ(t) of every entry to all columns q of its caption."""
    n_captions, n_styles = scores.shape
    # An n-gram whose only caption is left out has E = T = 0 and no occ, like one that no style has.
    there = order.evidence.occurrences > 0
    owners, ngrams = order.grams.captions[there], order.grams.ngrams[there]
    scale = per_gram[owners] / order.evidence.occurrences[there]
    baseline = scale * order.evidence.total[there] / n_styles
    bounds = np.searchsorted(owners, np.arange(n_captions + 1))

    def product(entries: Floats, pairs: Floats) -> Floats:
        rows = sparse.csr_array((entries, ngrams, bounds), shape=(n_captions, len(counts.keys)))
        dense: Floats = (rows @ counts.matrix(pairs)).toarray()
        return dense

    evidence = product(scale, counts.ecdf)
    if variant == "paper":
        scores += evidence - np.bincount(owners, baseline, n_captions)[:, None]
    else:
        scores += (evidence - product(baseline, np.ones(len(counts.df)))) * (n_styles / (n_styles - 1))


def length_penalties(candidates: Ints, references: Ints) -> Floats:
    """exp(-(l_c - l_r)^2 / (2 * 6^2)), l = max(tokens - 1, 0): the penalty of CIDEr-D, which the authors' code keeps.

    Args:
        candidates: numbers of tokens.
        references: numbers of tokens, of a shape that broadcasts with it.
    """
    difference = np.maximum(candidates - 1, 0) - np.maximum(references - 1, 0)
    return np.exp(-(difference.astype(np.float64) ** 2) / (2 * _SIGMA**2))
