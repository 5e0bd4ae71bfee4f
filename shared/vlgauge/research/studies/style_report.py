"""Agreement of a corpus with style tables fitted on it, on parts of it, and on shuffled styles."""

from collections.abc import Hashable, Sequence

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import check_int, warn
from vlgauge.families.style import StyleTable
from vlgauge.families.style.fitting import check_mask
from vlgauge.research.studies.style_agreement import (
    Labelled,
    StyleAgreement,
    check_labelled,
    in_sample_agreements,
    style_agreement,
)


def style_report(
    captions: Sequence[str],
    styles: Sequence[str],
    *,
    held_out: Sequence[bool] | None = None,
    test: Labelled | None = None,
    shuffle_seed: int | None = 0,
    variant: str = "paper",
) -> dict[str, StyleAgreement]:
    """Compute the agreement in sample, which is hardly informative, and out of sample, also with shuffled styles.

    Args:
        captions: Captions.
        styles: Style of each caption.
        held_out: Whether to score each caption with a table and references from the others. See `split_by_group`.
        test: Other captions and their styles to score instead of held-out captions.
        shuffle_seed: Seed of the permutation of the styles. None for no rows with shuffled styles.
        variant: "paper" or "released".

    Returns:
        Agreement by name: "in sample" (Table 1 of the paper), "in sample, not its own reference", "leave one out"
        (`exclude_self`) and, if requested, "held out". The same names with the prefix "shuffled: " follow.

    Raises:
        ValueError: If `StyleTable.fit` raises it, `held_out` or `test` has a different number of entries, or no
            held-out caption has a style of the other captions.

    Warns:
        UserWarning: If held-out captions have a style that no other caption has.
    """
    if test:
        check_labelled("test", test)
    if held_out is not None and len(held_out) != len(captions):
        raise UsageError.about("held_out", f"must have one entry per caption, got {len(held_out)} for {len(captions)}")
    out = None if held_out is None else check_mask(held_out)
    labels = {"": (list(styles), list(test[1]) if test else [])}
    if shuffle_seed is not None:
        rng = np.random.default_rng(check_int("shuffle_seed", shuffle_seed, 0))
        own, others = (rng.permutation(np.array(part, dtype=object)).tolist() for part in labels[""])
        labels["shuffled: "] = (own, others)
    rows = {}
    for prefix, (own, test_styles) in labels.items():
        table = StyleTable.fit(captions, own, progress=None)
        included, left_out = in_sample_agreements(captions, own, table, variant)
        rows[f"{prefix}in sample"] = included
        rows[f"{prefix}in sample, not its own reference"] = left_out
        rows[f"{prefix}leave one out"] = style_agreement(captions, own, table, variant, exclude_self=True)
        if test:
            rows[f"{prefix}held out"] = _measure_held_out((captions, own), (test[0], test_styles), variant)
        elif out is not None:
            rest, taken = (_where((captions, own), out, wanted) for wanted in (False, True))
            rows[f"{prefix}held out"] = _measure_held_out(rest, taken, variant)
    return rows


def split_by_group(groups: Sequence[Hashable], share: float, seed: int = 0) -> list[bool]:
    """Select the items of a random share of the groups to hold out, so that no group is split.

    Captions of the same image are similar whatever their style, so images are suitable groups.

    Args:
        groups: Group of each item.
        share: Share of the groups to hold out, which is at least one and never all of them.
        seed: Seed of the selection.

    Returns:
        Whether to hold out each item.

    Raises:
        ValueError: If the share is not between 0 and 1, or there are fewer than 2 groups.
    """
    distinct = list(dict.fromkeys(groups))
    if not 0.0 < share < 1.0:
        raise UsageError.about("share", f"must be between 0 and 1, got {share}")
    if len(distinct) < 2:
        raise UsageError.about("groups", f"must be at least 2, including a held-out one, got {len(distinct)}")
    count = min(max(1, round(share * len(distinct))), len(distinct) - 1)
    chosen = np.random.default_rng(check_int("seed", seed, 0)).permutation(len(distinct))[:count]
    out = {distinct[i] for i in chosen.tolist()}
    return [group in out for group in groups]


def _where(labelled: Labelled, mask: Sequence[bool], wanted: bool) -> Labelled:
    captions, styles = ([x for x, out in zip(column, mask, strict=True) if out is wanted] for column in labelled)
    return captions, styles


def _measure_held_out(rest: Labelled, out: Labelled, variant: str) -> StyleAgreement:
    if len(set(rest[1])) == 1:
        problem = f"must leave captions of at least two styles for training, got only {rest[1][0]!r}"
        raise UsageError.about("held_out", problem, "hold out fewer, or none")
    table = StyleTable.fit(*rest, progress=None)
    known = [style in table.captions_per_style for style in out[1]]
    if known and not any(known):
        raise UsageError.about(
            "captions", "must have other captions with the styles of the held-out ones, got none", "hold out fewer"
        )
    if not all(known):
        warn(f"{known.count(False)} of {len(known)} held-out captions have a style without other captions")
    scored = _where(out, known, True)
    return style_agreement(*scored, table, variant, references=rest)
