"""Random pairs for the metrics beside which GROOViST stands (Surikuchi et al., 2023, section 2.1, Figure 2, Table 1).

An image sequence and all stories beside it are compared in one call, so that its pictures are looked at once.
"""

import math
from collections.abc import Callable
from itertools import chain
from typing import Any

from vlgauge.errors import UsageError
from vlgauge.results import mean_of_defined
from vlgauge.settings import warn
from vlgauge.studies.groovist import N_RANDOM, PairedScores, Stories, chunks, random_stories
from vlgauge.text.language import sentence_splitter, story_sentences

Advance = Callable[[int], object]


def noun_pairs(
    metric: Any, data: Stories, *, n_random: int = N_RANDOM, seed: int = 0, advance: Advance = lambda done: None
) -> PairedScores:
    """Scores of rovist_vg of every image sequence with its own story and with random other stories.

    The cosines of all nouns of these stories come from one comparison, of which each story takes its own.
    """
    others = random_stories(len(data.stories), n_random, seed)
    told, split = metric.told_stories(data.stories)
    nouns = [
        list(chain.from_iterable(story)) for story in metric.sentence_words(told, None, nouns=True, split=split)[0]
    ]
    own: list[float] = []
    random: list[list[float]] = []
    for chunk in chunks(len(data.stories)):
        wanted = [list(dict.fromkeys(chain.from_iterable(nouns[j] for j in (i, *others[i])))) for i in chunk]
        result = metric.compute(**_columns(data, chunk), nouns=wanted, return_details=True)
        for i, story in zip(chunk, result["rovist_vg_details"], strict=True):
            found = {noun["text"]: noun for noun in story["nouns"]}
            # A noun without a word vector is none of them.
            known = [[found[noun] for noun in nouns[j] if noun in found] for j in (i, *others[i])]
            scores = [metric.rescored({"nouns": own}) for own in known]
            own.append(scores[0])
            random.append(scores[1:])
        advance(len(chunk))
    # That of nouns that are found; what is remembered of the first story is not looked at again.
    signature = metric.compute(**_columns(data, range(1)))["rovist_vg_signature"]
    return PairedScores(own, random, signature)


def sentence_pairs(
    metric: Any, data: Stories, *, n_random: int = N_RANDOM, seed: int = 0, advance: Advance = lambda done: None
) -> PairedScores:
    """Means of clip_s over the sentences of a story, each beside the image at its place.

    Sentences and images without a partner are left out; NaN if none has one.
    """
    others = random_stories(len(data.stories), n_random, seed)
    split = sentence_splitter()
    told = [story_sentences(story, split) for story in data.stories]
    uneven = sum(len(story) != len(images) for story, images in zip(told, data.images, strict=True))
    if uneven:
        warn(f"stories that have not one sentence per image: {uneven}; what has no partner at its place is left out")
    own: list[float] = []
    random: list[list[float]] = []
    signature = ""
    for chunk in chunks(len(data.stories)):
        stories = [(i, j) for i in chunk for j in (i, *others[i])]
        pairs = [list(zip(told[j], data.images[i], strict=False)) for i, j in stories]
        every = list(chain.from_iterable(pairs))
        if not every:
            raise UsageError("`stories` must have a sentence and an image, got none in a part of them")
        result = metric.compute(predictions=[text for text, _ in every], images=[image for _, image in every])
        signature = result[f"{metric.name}_signature"]
        scores = iter(result[f"{metric.name}_scores"])
        means = iter([mean_of_defined([next(scores) for _ in pair]) if pair else math.nan for pair in pairs])
        for i in chunk:
            own.append(next(means))
            random.append([next(means) for _ in others[i]])
        advance(len(chunk))
    return PairedScores(own, random, signature)


def _columns(data: Stories, rows: range) -> dict[str, Any]:
    some = slice(rows.start, rows.stop)
    regions = None if data.regions is None else list(data.regions[some])
    return {"predictions": list(data.stories[some]), "images": list(data.images[some]), "regions": regions}
