"""Do the style metrics recognize the style of captions whose style is known? The protocol of Li and Harrison (2022).

Eq. 9: in OnlyStyle the own style of a caption beats every other one. Eq. 10: the mean StyleCIDEr of a caption over the
captions of its own style beats that over the captions of any other. For the captions that a table was fitted on both
hold nearly always, even with random labels, so only captions that were left out tell anything about style: see
`vlgauge.studies.style_report`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from vlgauge.errors import UsageError
from vlgauge.style import CosineSums, StyleTable, cosine_sums, score_blocks
from vlgauge.text.ngrams import Ints

TOLERANCE = 1e-12  # a comparison is won by more than this; ties lose

Labelled: TypeAlias = tuple[Sequence[str], Sequence[str]]
"""Captions, and the style of each."""


@dataclass(frozen=True)
class Rate:
    """A share of comparisons that were won."""

    won: int
    of: int

    @property
    def share(self) -> float:
        """Won out of all; NaN without any."""
        return self.won / self.of if self.of else math.nan


@dataclass(frozen=True)
class StyleAgreement:
    """How often the own style of a caption wins.

    Attributes:
        captions: Number of captions.
        mean_onlystyle: Mean OnlyStyle in the own style.
        eq9: Captions whose own style beats every other one in OnlyStyle.
        eq9_pairs: The same for pairs (caption, other style).
        eq10: Captions whose mean StyleCIDEr over the own style beats that over every other style; None if not asked
            for, as are the following.
        eq10_pairs: The same for pairs (caption, other style).
        eq10_pooled: Captions whose mean over the own style beats that over all captions of other styles.
        eq10_undefined: Captions without a reference of their own style, or of another; left out of the last three.
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
        """Shares and counts by name, such as ``eq9``, ``eq9_won`` and ``eq9_of``."""
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
    """Eqs. 9 and 10 over a corpus.

    Args:
        captions: Captions.
        styles: Style of each.
        table: Style table; None fits one on the captions, as the paper did.
        variant: "paper" or "released".
        include_self: Whether a caption is among its own references in Eq. 10.
        exclude_self: Whether a caption of the table is left out of the weights that it is scored with. That gives every
            caption weights of its own, so Eq. 10 is not computed.
        references: Captions and styles to take as references in Eq. 10; None takes the captions themselves.

    Raises:
        ValueError: As `StyleTable.fit`, or if a style is not in the table.
    """
    table = _fitted(captions, styles, table)
    if exclude_self:
        return _eq9(table, table.tokenize(captions), table.style_ids(styles), variant, exclude_self)
    leave_out = references is None and not include_self
    theirs = (captions, styles) if references is None else references
    return _agreements((captions, styles), table, variant, theirs, [leave_out])[0]


def in_sample_agreements(
    captions: Sequence[str], styles: Sequence[str], table: StyleTable, variant: str
) -> tuple[StyleAgreement, StyleAgreement]:
    """`style_agreement` with each caption among its own references, and without, for the price of one."""
    _fitted(captions, styles, table)
    labelled = (captions, styles)
    included, left_out = _agreements(labelled, table, variant, labelled, [False, True])
    return included, left_out


def _fitted(captions: Sequence[str], styles: Sequence[str], table: StyleTable | None) -> StyleTable:
    """The table, or one that is fitted on the captions; ValueError if they have not one style each, or are none."""
    check_labelled("styles", (captions, styles))
    if not len(captions):
        raise UsageError("`captions` must have at least one caption, got none")
    return StyleTable.fit(captions, styles, progress=None) if table is None else table


def _agreements(
    labelled: Labelled,
    table: StyleTable,
    variant: str,
    references: Labelled,
    leave_outs: Sequence[bool],
) -> list[StyleAgreement]:
    """Eqs. 9 and 10, once for each way to treat a copy of a caption among the references of its style."""
    tokens, own = table.tokenize(labelled[0]), table.style_ids(labelled[1])
    found = _eq9(table, tokens, own, variant, exclude_self=False)
    check_labelled("references", references)
    theirs, their_styles = (
        table.tokenize(references[0], "references[0]"),
        table.style_ids(references[1], "references[1]"),
    )
    counts = np.bincount(their_styles, minlength=len(table.styles))
    wins = [_Eq10(counts, leave_out) for leave_out in leave_outs]
    for block in cosine_sums(table, tokens, own, theirs, their_styles, variant, progress=None):
        for won in wins:
            won.add(block)
    return [won.added_to(found) for won in wins]


def check_labelled(name: str, labelled: Labelled) -> None:
    """Refuse, in the name of an argument, captions that have not one style each."""
    captions, styles = labelled
    if len(captions) != len(styles):
        raise UsageError(
            f"`{name}` must have one style for each caption, got {len(styles)} for {len(captions)} captions"
        )


def _eq9(
    table: StyleTable, tokens: Sequence[Sequence[str]], own: Ints, variant: str, exclude_self: bool
) -> StyleAgreement:
    """Mean OnlyStyle in the own style, captions and pairs won."""
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


@dataclass
class _Eq10:
    """Captions and pairs won, and captions won against all other styles pooled.

    Attributes:
        counts: shape ``(|S|,)``, number of references.
        leave_out: Whether to take a copy of each caption out of the references of its style.
    """

    counts: Ints
    leave_out: bool
    captions: int = 0
    pairs: int = 0
    pooled: int = 0
    compared: int = 0
    compared_pairs: int = 0

    def add(self, block: CosineSums) -> None:
        """Count the captions of a block."""
        others = self.counts > 0
        others[block.style] = False
        own_count = self.counts[block.style] - self.leave_out
        if own_count < 1 or not others.any():
            return
        mine = (block.sums[:, block.style] - self.leave_out * block.selves) / own_count
        # Axes: caption, other style.
        won = mine[:, None] > block.sums[:, others] / self.counts[others] + TOLERANCE
        rest = block.sums[:, others].sum(axis=1) / self.counts[others].sum()
        self.captions += int(won.all(axis=1).sum())
        self.pairs += int(won.sum())
        self.pooled += int((mine > rest + TOLERANCE).sum())
        self.compared += len(mine)
        self.compared_pairs += won.size

    def added_to(self, found: StyleAgreement) -> StyleAgreement:
        """The agreement with what there is of Eq. 9."""
        return replace(
            found,
            eq10=Rate(self.captions, self.compared),
            eq10_pairs=Rate(self.pairs, self.compared_pairs),
            eq10_pooled=Rate(self.pooled, self.compared),
            eq10_undefined=found.captions - self.compared,
        )
