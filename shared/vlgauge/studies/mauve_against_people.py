"""MAUVE of a model's captions against people's, beside that of people against people (Chan et al., appendix B.5)."""

from dataclasses import dataclass
from itertools import chain
from typing import Any

from vlgauge.errors import UsageError
from vlgauge.settings import warn
from vlgauge.studies.caption_pools import CaptionSets, caption_sets, compared_once, together
from vlgauge.studies.mauve_baseline import SEED, mauve_with_curve
from vlgauge.studies.sensitivity import human_split


@dataclass(frozen=True)
class MauveRow:
    """MAUVE of two corpora.

    Attributes:
        source: Whose captions are compared with people's.
        images: Number of images that both sides have captions of; the others take no part.
        candidates: Captions of the one side, of all images together.
        references: Those of the other.
        mauve: The value, in [0, 1], higher for corpora that are more alike.
        curve: Points of the divergence curve, candidates first; None if the package gives none.
        encoder: What made the vectors.
    """

    source: str
    images: int
    candidates: int
    references: int
    mauve: float
    curve: list[list[float]] | None
    encoder: str


def mauve_against_people(
    predictions: CaptionSets, references: CaptionSets, metric: Any, *, seed: int = SEED
) -> list[MauveRow]:
    """MAUVE of all candidates against all references, and at the sizes at which people can be compared with people.

    Its value depends on the sizes. So people's captions are split in halves, and the one half and as many candidates of
    each image take turns against the other half.

    Returns:
        One row for the model; where some image has two references, one for people and one for the model at their sizes.

    Raises:
        ValueError: If a row is no list of captions, or no image has candidates and references.
        ImportError: If mauve-text is not installed.

    Warns:
        UserWarning: If images are left out, there is no reference line, or the corpora are small.
    """
    predictions, references = caption_sets("predictions", predictions), caption_sets("references", references)
    together(predictions, references)
    both = [pair for pair in zip(predictions, references, strict=True) if all(pair)]
    if not both:
        raise UsageError("`predictions` and `references` must have captions of one image, got none with both")
    if left_out := len(predictions) - len(both):
        warn(f"MAUVE leaves out {left_out} of {len(predictions)} images, which lack candidates or references")
    ours, theirs = [list(texts) for texts, _ in both], [list(texts) for _, texts in both]
    people, others = human_split(theirs, seed=seed)
    people = [texts[: len(own)] for texts, own in zip(people, ours, strict=True)]
    as_many = [own[: len(texts)] for own, texts in zip(ours, people, strict=True)]
    compared = [("model", ours, theirs)]
    if any(people):
        compared += [("people", people, others), ("model, people's sizes", as_many, others)]
    else:
        warn("MAUVE has no reference line here, which needs two references of an image, got fewer in every row")
    with compared_once({"mauve": metric}, together(ours, theirs), theirs, pairs=False):
        return [_compared(metric, *one, seed) for one in compared]


def _compared(metric: Any, source: str, ours: CaptionSets, theirs: CaptionSets, seed: int) -> MauveRow:
    left, right = list(chain.from_iterable(ours)), list(chain.from_iterable(theirs))
    vectors = metric.caption_vectors([left], [right])
    pooled = vectors.stack([0])[0]  # axes: caption, component; candidates first
    # People are p and candidates q, as the package calls them.
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
