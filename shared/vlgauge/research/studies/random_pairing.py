"""Random pairs for the metrics that GROOViST is compared with (Surikuchi et al., 2023, Section 2.1, Figure 2, Table 1).

An image sequence and all its stories are compared in one call, so that its images are encoded once.
"""

import math
from collections.abc import Callable
from itertools import chain
from typing import Any

from vlgauge.core.errors import UsageError
from vlgauge.core.results import mean_of_defined
from vlgauge.core.validation import warn
from vlgauge.families.grounding import SentenceSettings
from vlgauge.inputs.text.language import sentence_splitter, story_sentences
from vlgauge.research.studies.groovist import N_RANDOM, PairedScores, Stories, chunks, random_stories

Advance = Callable[[int], object]


def noun_pairs(
    metric: Any, data: Stories, *, n_random: int = N_RANDOM, seed: int = 0, advance: Advance = lambda done: None
) -> PairedScores:
    """Score every image sequence with its own story and with random other stories, using rovist_vg.

    The cosines of all nouns of these stories come from one comparison. Each story uses the cosines of its nouns.

    Args:
        metric: The metric rovist_vg.
        data: Stories with their images.
        n_random: Number of random stories per image sequence.
        seed: Seed of the random stories.
        advance: Called with the number of image sequences after each chunk.

    Raises:
        ValueError: If `n_random` exceeds the number of other stories.
    """
    others = random_stories(len(data.stories), n_random, seed)
    sentences, split = metric.grouped[SentenceSettings].split_stories(data.stories)
    nouns = [
        list(chain.from_iterable(story)) for story in metric.extract_words(sentences, None, nouns=True, split=split)[0]
    ]
    own: list[float] = []
    random: list[list[float]] = []
    for chunk in chunks(len(data.stories)):
        wanted = [list(dict.fromkeys(chain.from_iterable(nouns[j] for j in (i, *others[i])))) for i in chunk]
        result = metric.compute(**data.columns([(i, i) for i in chunk]), nouns=wanted, return_details=True)
        for i, story in zip(chunk, result["rovist_vg_details"], strict=True):
            found = {noun["text"]: noun for noun in story["nouns"]}
            # Nouns without a word vector are missing in the details.
            known = [[found[noun] for noun in nouns[j] if noun in found] for j in (i, *others[i])]
            scores = [metric.rescore({"nouns": own}) for own in known]
            own.append(scores[0])
            random.append(scores[1:])
        advance(len(chunk))
    # Signature for extracted nouns. The first story is not encoded again because its embeddings are cached.
    signature = metric.compute(**data.columns([(0, 0)]))["rovist_vg_signature"]
    return PairedScores(own, random, signature)


def sentence_pairs(
    metric: Any, data: Stories, *, n_random: int = N_RANDOM, seed: int = 0, advance: Advance = lambda done: None
) -> PairedScores:
    """Compute the mean of clip_s over the sentences of each story, each paired with the image at the same index.

    Sentences and images without a partner are left out. NaN if there are no pairs.

    Args:
        metric: The metric clip_s.
        data: Stories with their images.
        n_random: Number of random stories per image sequence.
        seed: Seed of the random stories.
        advance: Called with the number of image sequences after each chunk.

    Raises:
        ValueError: If a chunk has no pair of a sentence and an image.

    Warns:
        UserWarning: If stories have unequal numbers of sentences and images.
    """
    others = random_stories(len(data.stories), n_random, seed)
    split = sentence_splitter()
    sentences = [story_sentences(story, split) for story in data.stories]
    uneven = sum(len(story) != len(images) for story, images in zip(sentences, data.images, strict=True))
    if uneven:
        warn(
            f"stories without exactly one sentence per image: {uneven}; sentences and images without a "
            "counterpart are skipped"
        )
    own: list[float] = []
    random: list[list[float]] = []
    signature = ""
    for chunk in chunks(len(data.stories)):
        stories = [(i, j) for i in chunk for j in (i, *others[i])]
        pairs = [list(zip(sentences[j], data.images[i], strict=False)) for i, j in stories]
        every = list(chain.from_iterable(pairs))
        if not every:
            raise UsageError.about("stories", "must have at least one sentence and one image each")
        result = metric.compute(predictions=[text for text, _ in every], images=[image for _, image in every])
        signature = result[f"{metric.name}_signature"]
        scores = iter(result[f"{metric.name}_scores"])
        means = iter([mean_of_defined([next(scores) for _ in pair]) if pair else math.nan for pair in pairs])
        for i in chunk:
            own.append(next(means))
            random.append([next(means) for _ in others[i]])
        advance(len(chunk))
    return PairedScores(own, random, signature)
