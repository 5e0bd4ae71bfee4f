"""MAUVE of model captions against human captions, and of human against human captions (Chan et al., Appendix B.5)."""

from dataclasses import dataclass
from itertools import chain
from typing import Any

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import warn
from vlgauge.research.studies.caption_pools import CaptionSets, caption_sets, share_comparisons, together
from vlgauge.research.studies.mauve_baseline import SEED, mauve_with_curve
from vlgauge.research.studies.sensitivity import human_split


@dataclass(frozen=True)
class MauveRow:
    """MAUVE of two corpora.

    Attributes:
        source: Source of the captions that are compared with human captions.
        images: Number of images with captions on both sides. Other images are ignored.
        candidates: Number of captions on the first side, over all images.
        references: Number of captions on the second side.
        mauve: Value in [0, 1], higher for more similar corpora.
        curve: Points of the divergence curve, candidates first. None if mauve-text returns none.
        encoder: Identity of the sentence encoder.
    """

    source: str
    images: int
    candidates: int
    references: int
    mauve: float
    curve: list[list[float]] | None
    encoder: str


def mauve_against_humans(
    predictions: CaptionSets, references: CaptionSets, metric: Any, *, seed: int = SEED
) -> list[MauveRow]:
    """Compute MAUVE of all candidates against all references, and at sizes that allow a human baseline.

    The value depends on the sizes. Therefore human captions are split in halves. The first half, and equally many
    candidates of each image, are each compared with the second half.

    Args:
        predictions: Candidates of each image.
        references: Human captions of each image.
        metric: Metric of caption sets that provides the embeddings.
        seed: Seed of the split and of MAUVE.

    Returns:
        One row for the model. If some image has two references, two more rows: human captions, and the model at the
        same sizes.

    Raises:
        ValueError: If a row is not a list of captions, or no image has both candidates and references.
        ImportError: If mauve-text is not installed.

    Warns:
        UserWarning: If images are left out, the human baseline is missing, or the corpora are small.
    """
    predictions, references = caption_sets("predictions", predictions), caption_sets("references", references)
    together(predictions, references)
    both = [pair for pair in zip(predictions, references, strict=True) if all(pair)]
    if not both:
        raise UsageError("`predictions` and `references` must have captions of the same image, got no common image")
    if left_out := len(predictions) - len(both):
        warn(f"MAUVE skips {left_out} of {len(predictions)} images, which lack candidates or references")
    ours, theirs = [list(texts) for texts, _ in both], [list(texts) for _, texts in both]
    people, others = human_split(theirs, seed=seed)
    people = [texts[: len(own)] for texts, own in zip(people, ours, strict=True)]
    as_many = [own[: len(texts)] for own, texts in zip(ours, people, strict=True)]
    compared = [("model", ours, theirs)]
    if any(people):
        compared += [("people", people, others), ("model, human set sizes", as_many, others)]
    else:
        warn("MAUVE has no reference line, because it requires two references of an image, and every row has fewer")
    with share_comparisons({"mauve": metric}, together(ours, theirs), theirs, pairs=False):
        return [_compare_row(metric, *one, seed) for one in compared]


def _compare_row(metric: Any, source: str, ours: CaptionSets, theirs: CaptionSets, seed: int) -> MauveRow:
    left, right = list(chain.from_iterable(ours)), list(chain.from_iterable(theirs))
    vectors = metric.caption_vectors([left], [right])
    pooled = vectors.stack([0])[0]  # axes: caption, component; candidates first
    # The package calls human captions p and candidates q.
    found = mauve_with_curve(pooled[len(left) :], pooled[: len(left)], seed=seed)
    return MauveRow(
        source=source,
        images=sum(map(bool, ours)),
        candidates=len(left),
        references=len(right),
        mauve=found.value,
        curve=None if found.curve is None else found.curve.tolist(),
        encoder=vectors.identity,
    )
