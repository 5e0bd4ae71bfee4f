"""Agreement of the style metrics with known styles of captions, following the protocol of Li and Harrison (2022).

Eq. 9: the OnlyStyle score of a caption is higher in its own style than in every other one. Eq. 10: the mean StyleCIDEr
of a caption over the captions of its own style is higher than over the captions of any other style. Both nearly always
apply to the captions that a table was fitted on, even with random labels. Therefore only held-out captions are
informative about style. See `vlgauge.research.studies.style_report`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import check_one_each
from vlgauge.families.style import StyleTable
from vlgauge.families.style.formula import CosineSums, cosine_sums, score_blocks
from vlgauge.inputs.text.ngrams import Ints

TOLERANCE = 1e-12  # minimum margin of a won comparison, so ties lose

Labelled: TypeAlias = tuple[Sequence[str], Sequence[str]]
"""Captions, and the style of each."""


@dataclass(frozen=True)
class Rate:
    """Share of won comparisons."""

    won: int
    of: int

    @property
    def share(self) -> float:
        """Won comparisons divided by all comparisons. NaN if there are no comparisons."""
        return self.won / self.of if self.of else math.nan


@dataclass(frozen=True)
class StyleAgreement:
    """Number of captions whose own style wins.

    Attributes:
        captions: Number of captions.
        mean_onlystyle: Mean OnlyStyle in the own style.
        eq9: Captions whose own style beats every other one in OnlyStyle.
        eq9_pairs: Same as `eq9`, over pairs (caption, other style).
        eq10: Captions whose mean StyleCIDEr over their own style beats the mean over every other style. None if not
            requested, like the following fields.
        eq10_pairs: Same as `eq10`, over pairs (caption, other style).
        eq10_pooled: Captions whose mean over their own style beats the mean over all captions of other styles.
        eq10_undefined: Captions without a reference of their own style or of another one. They are left out of the last
            three.
    """

    captions: int
    mean_onlystyle: float
    eq9: Rate
    eq9_pairs: Rate
    eq10: Rate | None = None
    eq10_pairs: Rate | None = None
    eq10_pooled: Rate | None = None
    eq10_undefined: int | None = None

    def record(self) -> dict[str, int | float | None]:
        """Return the shares and counts by name, such as ``eq9``, ``eq9_won`` and ``eq9_of``. None if undefined."""
        record: dict[str, int | float | None] = {}
        for key, value in vars(self).items():
            if isinstance(value, Rate):
                record |= {key: value.share, f"{key}_won": value.won, f"{key}_of": value.of}
            else:
                record[key] = value
        return record


def style_agreement(
    captions: Sequence[str],
    styles: Sequence[str],
    table: StyleTable | None = None,
    variant: str = "paper",
    include_self: bool = True,
    exclude_self: bool = False,
    *,
    references: Labelled | None = None,
) -> StyleAgreement:
    """Compute Eqs. 9 and 10 over a corpus.

    Args:
        captions: Captions.
        styles: Style of each caption.
        table: Style table. None fits a table on the captions, as in the paper.
        variant: "paper" or "released".
        include_self: Whether a caption is among its own references in Eq. 10.
        exclude_self: Whether a caption of the table is left out of the weights that score it. Each caption then has
            different weights, so Eq. 10 is not computed.
        references: Captions and styles used as references in Eq. 10. None for the captions themselves.

    Raises:
        ValueError: If `StyleTable.fit` raises it, or a style is not in the table.
    """
    table = _fit_table(captions, styles, table)
    if exclude_self:
        return _eq9(table, table.tokenize(captions), table.style_ids(styles), variant, exclude_self)
    leave_out = references is None and not include_self
    theirs = (captions, styles) if references is None else references
    return _agreements((captions, styles), table, variant, theirs, [leave_out])[0]


def in_sample_agreements(
    captions: Sequence[str], styles: Sequence[str], table: StyleTable, variant: str
) -> tuple[StyleAgreement, StyleAgreement]:
    """Compute `style_agreement` on the captions of the table, in a single pass.

    Returns:
        The agreement with each caption among its own references, and the agreement without it.

    Raises:
        ValueError: If there are no captions, or not one style per caption.
    """
    _fit_table(captions, styles, table)
    labelled = (captions, styles)
    included, left_out = _agreements(labelled, table, variant, labelled, [False, True])
    return included, left_out


def _fit_table(captions: Sequence[str], styles: Sequence[str], table: StyleTable | None) -> StyleTable:
    """Return the table, or a table fitted on the captions.

    Raises:
        ValueError: If there are no captions, or not one style per caption.
    """
    check_labelled("styles", (captions, styles))
    if not len(captions):
        raise UsageError.about("captions", "must have at least one caption, got none")
    return StyleTable.fit(captions, styles, progress=None) if table is None else table


def _agreements(
    labelled: Labelled,
    table: StyleTable,
    variant: str,
    references: Labelled,
    leave_outs: Sequence[bool],
) -> list[StyleAgreement]:
    """Compute Eqs. 9 and 10, once for each way to treat a copy of a caption among the references of its style."""
    tokens, own = table.tokenize(labelled[0]), table.style_ids(labelled[1])
    found = _eq9(table, tokens, own, variant, exclude_self=False)
    check_labelled("references", references)
    theirs, their_styles = (
        table.tokenize(references[0], "references[0]"),
        table.style_ids(references[1], "references[1]"),
    )
    counts = np.bincount(their_styles, minlength=len(table.styles))
    wins = np.zeros((len(leave_outs), 5), dtype=np.intp)
    for block in cosine_sums(table, tokens, own, theirs, their_styles, variant, progress=None):
        wins += [_eq10(block, counts, leave_out) for leave_out in leave_outs]
    return [
        replace(
            found,
            eq10=Rate(captions, compared),
            eq10_pairs=Rate(pairs, compared_pairs),
            eq10_pooled=Rate(pooled, compared),
            eq10_undefined=found.captions - compared,
        )
        for captions, pairs, pooled, compared, compared_pairs in wins.tolist()
    ]


def check_labelled(name: str, labelled: Labelled) -> None:
    """Check that the argument `name` has one style per caption.

    Raises:
        ValueError: If it has not.
    """
    captions, styles = labelled
    check_one_each(name, styles, len(captions), "style for each caption")


def _eq9(
    table: StyleTable, tokens: Sequence[Sequence[str]], own: Ints, variant: str, exclude_self: bool
) -> StyleAgreement:
    """Compute mean OnlyStyle in the own style, and the captions and pairs won."""
    total, captions, pairs, start = 0.0, 0, 0, 0
    for block in score_blocks(table, tokens, variant, left_out_of=own if exclude_self else None):
        mine = block[np.arange(len(block)), own[start : start + len(block)]]
        won = mine[:, None] > block + TOLERANCE
        total += float(mine.sum())
        captions += int(np.count_nonzero(won.sum(axis=1) == len(table.styles) - 1))
        pairs += int(won.sum())
        start += len(block)
    count = len(tokens)
    return StyleAgreement(count, total / count, Rate(captions, count), Rate(pairs, count * (len(table.styles) - 1)))


def _eq10(block: CosineSums, counts: Ints, leave_out: bool) -> Ints:
    """Count captions and pairs of a block.

    Args:
        block: Sums of cosines of some captions of one style.
        counts: Number of references per style, shape ``(|S|,)``.
        leave_out: Whether to remove a copy of each caption from the references of its style.

    Returns:
        Captions that win against every other style, pairs (caption, other style) won, captions that win against all
        captions of other styles, and numbers of compared captions and pairs, shape ``(5,)``.
    """
    others = counts > 0
    others[block.style] = False
    own_count = counts[block.style] - leave_out
    if own_count < 1 or not others.any():
        return np.zeros(5, dtype=np.intp)
    mine = (block.sums[:, block.style] - leave_out * block.selves) / own_count
    # Axes: caption, other style.
    won = mine[:, None] > block.sums[:, others] / counts[others] + TOLERANCE
    rest = block.sums[:, others].sum(axis=1) / counts[others].sum()
    return np.array([won.all(axis=1).sum(), won.sum(), (mine > rest + TOLERANCE).sum(), len(mine), won.size])
