"""Evaluation of a checkpoint on synthetic stories, with the metric itself."""

import operator
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import vlgauge
from vlgauge.scenes import Drawing, SceneStory, stories
from vlgauge.scenes.wording import GROUND_WORDS, SHAPE_WORDS

SEED = 5
SHAPE_OF = {word: shape for shape, words in SHAPE_WORDS.items() for word in words}

LENGTHS = {"fewer": operator.lt, "as many": operator.eq, "more": operator.gt}  # number of nouns of the other story

Detail = Mapping[str, Any]


def measure_held_out(folder: Path, vectors: Path, idf: Path | None, n_stories: int) -> dict[str, float]:
    """Compute the shares of right comparisons on stories of the test split.

    Returns:
        For each kind of regions ("boxes" of the objects and "grid" of cells): the share of image sequences whose own
        story scores above the next story, also with ``aggregate="mean"``, and separately for next stories with fewer,
        as many or more nouns. Also the share of stories in which the noun of an absent object has the lowest cosine of
        all objects. "all shapes known" is an upper bound for any heads. See `knowing`.
    """
    stories_drawn = stories(n_stories, SEED, "test")
    drawings = [story.drawings() for story in stories_drawn]
    swapped = [
        story.retell_with(other)
        for story, other in zip(stories_drawn, [*stories_drawn[1:], stories_drawn[0]], strict=True)
    ]
    wrong = [story.with_hallucination(SEED + i) for i, story in enumerate(stories_drawn)]
    metric: Any = vlgauge.load(
        "rovist_vg",
        checkpoint=folder,
        glove_path=vectors,
        idf=None if idf is None else str(idf),
        profile="embedded",
        regions="grid",
        keep_in_memory=True,
    )
    found: dict[str, float] = {}
    for kind in ("boxes", "grid"):
        right, others = (_details(metric, each, drawings, kind) for each in (stories_drawn, swapped))
        found |= _above(kind, metric.rescore, right, others)
        details = _details(metric, [story for story, _ in wrong], drawings, kind)
        lowest = [_is_lowest(each, phrase.split()[-1]) for each, (_, phrase) in zip(details, wrong, strict=True)]
        found[f"{kind}: absent object lowest"] = sum(lowest) / n_stories
    return found | _above("all shapes known", metric.rescore, right, others, list(map(knowing, stories_drawn)))


def knowing(story: SceneStory) -> Callable[[str], float]:
    """Return the best possible cosines of nouns: 1 for a shape in the images, -1 for any other shape.

    A background is always present. Other words that the tagger considers nouns, such as "left", are uninformative and
    have 0.
    """
    shapes = {thing.shape for scene in story.scenes for thing in scene.objects}
    cosines = dict.fromkeys(GROUND_WORDS, 1.0) | {word: 1.0 if SHAPE_OF[word] in shapes else -1.0 for word in SHAPE_OF}
    return lambda noun: cosines.get(noun, 0.0)


def _above(
    name: str,
    rescore: Callable[..., float],
    right: Sequence[Detail],
    others: Sequence[Detail],
    cosines: Sequence[Callable[[str], float]] | None = None,
) -> dict[str, float]:
    """Compute the share of stories that score above the other one, by the score of the paper and by the mean.

    The score of the paper is a sum over nouns (Wang et al., 2022, Eq. 2), so stories with fewer, as many and more nouns
    are reported separately. Kinds without a pair are left out.
    """
    shares = {}
    for suffix, aggregate in (("", "log_sum_exp"), (", by the mean", "mean")):
        better, more = [], []
        for i, pair in enumerate(zip(right, others, strict=True)):
            cosine = None if cosines is None else cosines[i]
            own, other = (rescore(detail, cosine=cosine, aggregate=aggregate) for detail in pair)
            better.append(own > other)
            more.append(len(pair[1]["nouns"]) - len(pair[0]["nouns"]))
        shares[f"{name}: right story above another{suffix}"] = sum(better) / len(better)
        for kind, is_kind in LENGTHS.items():
            of = [won for won, surplus in zip(better, more, strict=True) if is_kind(surplus, 0)]
            if of:
                shares[f"{name}: right story above another of {kind} nouns{suffix}"] = sum(of) / len(of)
    return shares


def _details(
    metric: Any, stories_drawn: Sequence[SceneStory], drawings: Sequence[Sequence[Drawing]], kind: str
) -> list[Detail]:
    boxes = [[{"boxes": drawing.boxes} for drawing in each] for each in drawings] if kind == "boxes" else None
    result: dict[str, Any] = metric.compute(
        predictions=[story.sentences for story in stories_drawn],
        images=[[drawing.image for drawing in each] for each in drawings],
        regions=boxes,
        return_details=True,
    )
    return result["rovist_vg_details"]


def _is_lowest(detail: Detail, noun: str) -> bool:
    """Return whether the noun of the absent object has the lowest cosine of all nouns for objects. Ties count."""
    cosines = {row["text"]: row["cosine"] for row in detail["nouns"] if row["text"] in SHAPE_OF}
    return noun in cosines and cosines[noun] == min(cosines.values())
