"""Contrastive weights CNG of the n-grams of captions, in the style of each caption or summed in every style."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from vlgauge.core.validation import check_choice
from vlgauge.families.style.counts import CaptionNgrams, StyleCounts
from vlgauge.families.style.weights import (
    VARIANTS,
    Bools,
    Floats,
    OrderCounts,
    PairStatistics,
    RemovedCaptions,
    contrast,
    rows_among_sorted,
)
from vlgauge.inputs.text.ngrams import Ints

BLOCK = 4096  # captions at a time


def blocks(n_captions: int) -> Iterator[slice]:
    """Split captions into blocks, because the n-grams of a million captions would fill the memory."""
    return (slice(start, start + BLOCK) for start in range(0, n_captions, BLOCK))


@dataclass(frozen=True, eq=False)
class WeightedNgrams:
    """Distinct n-grams of one order in some captions, with their weights in the style of each caption.

    Attributes:
        grams: Captions (one per example) and n-grams, m entries.
        evidence: Statistics, shape ``(m,)`` each, without the caption itself if it is left out.
        weights: Shape ``(m,)``, CNG_p(t).
        removal: Captions that were left out. None if there are no such captions.
    """

    grams: CaptionNgrams
    evidence: PairStatistics
    weights: Floats
    removal: RemovedCaptions | None

    def find_known_captions(self) -> Ints:
        """Return the caption index of each n-gram that is in a style, shape ``(n_known,)``."""
        return self.grams.captions[self.evidence.occurrences > 0]

    def sums(self) -> Floats:
        """Compute the sum of CNG_p(t) over the n-grams of each caption, shape ``(n_captions,)``."""
        return np.bincount(self.grams.captions, self.weights, len(self.grams.sizes)).astype(np.float64)

    def sums_in_every_style(self, counts: OrderCounts, variant: str) -> Floats:
        """Compute the sum of CNG_q(t) over the n-grams of each caption in every style q, shape ``(n_captions, |S|)``.

        A caption that is left out still counts in E_q, which is correct in all styles except its own.

        Args:
            counts: Counts of the order in the table.
            variant: "paper" or "released".
        """
        # An n-gram whose only caption is left out has E = T = 0 and occ = 0, like an n-gram that is in no
        # style.
        there = self.evidence.occurrences > 0
        owners, ngrams = self.grams.captions[there], self.grams.ngrams[there]
        total, occurrences = self.evidence.total[there], self.evidence.occurrences[there]
        mean, divisor, factor = contrast(total, occurrences, counts.n_styles, variant)
        n_captions = len(self.grams.sizes)
        bounds = np.searchsorted(owners, np.arange(n_captions + 1))

        def product(entries: Floats, pairs: Floats) -> Floats:
            """Multiply entries (captions by n-grams) by pairs (n-grams by styles)."""
            rows = sparse.csr_array((entries, ngrams, bounds), shape=(n_captions, len(counts.keys)))
            return (rows @ counts.matrix(pairs)).toarray()

        own = product(1.0 / divisor, counts.ecdf)
        if variant == "paper":
            return own - np.bincount(owners, mean / divisor, n_captions)[:, None]
        return factor * (own - product(mean / divisor, np.ones(len(counts.df))))


def weigh_ngrams(
    table: StyleCounts, captions: Sequence[Sequence[str]], styles: Ints, variant: str, *, exclude_self: bool = False
) -> list[WeightedNgrams]:
    """Compute the weights of the n-grams of each caption in its style, by order.

    Args:
        table: Style table.
        captions: Tokens of each caption.
        styles: Shape ``(n_captions,)``, rows of the styles in the table.
        variant: "paper" or "released".
        exclude_self: Whether captions of the table are left out of the counts with which they are scored.

    Raises:
        ValueError: If `variant` is invalid.
    """
    check_choice("variant", variant, VARIANTS)
    removed = table.copies(captions, styles) > 0 if exclude_self else None
    weighted = []
    for counts, grams in zip(table.orders, table.ngrams(captions), strict=True):
        evidence = counts.evidence(grams.ngrams, styles[grams.captions])
        removal = None
        if removed is not None and removed.any():
            removal = RemovedCaptions.of(counts, grams.captions, evidence.df, styles, removed)
            evidence = removal.apply(evidence, grams.captions, np.ones(len(grams.ngrams), np.bool_))
        weighted.append(WeightedNgrams(grams, evidence, evidence.weights(len(table.styles), variant), removal))
    return weighted


def weigh_references(
    table: StyleCounts,
    references: Sequence[Sequence[str]],
    examples: Ints,
    candidates: Sequence[WeightedNgrams],
    styles: Ints,
    variant: str,
) -> list[tuple[WeightedNgrams, Bools]]:
    """Compute the weights of the n-grams of references in the style of their example, by order.

    Args:
        table: Style table.
        references: Tokens of each reference.
        examples: Shape ``(n_references,)``, ascending, example of each reference.
        candidates: N-grams of the candidate of each example. Captions left out for them are also left out here.
        styles: Shape ``(n_examples,)``, rows of the styles in the table.
        variant: "paper" or "released".

    Returns:
        For each order the n-grams, and whether the candidate also contains each of them, shape ``(m,)``.
    """
    weighted = []
    for counts, grams, own in zip(table.orders, table.ngrams(references), candidates, strict=True):
        example = examples[grams.captions]
        seen = own.grams.ngrams >= 0
        candidate_keys = own.grams.captions[seen] * len(counts.keys) + own.grams.ngrams[seen]
        keys = np.where(grams.ngrams >= 0, example * len(counts.keys) + grams.ngrams, -1)
        shared = rows_among_sorted(candidate_keys, keys) >= 0
        evidence = counts.evidence(grams.ngrams, styles[example])
        if own.removal is not None:
            evidence = own.removal.apply(evidence, example, shared)
        weights = evidence.weights(len(table.styles), variant)
        weighted.append((WeightedNgrams(grams, evidence, weights, own.removal), shared))
    return weighted
