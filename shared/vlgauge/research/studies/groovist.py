"""Experiments of GROOViST for any stories: random pairs, human ratings, ablations (Surikuchi et al., 2023).

Every pair of a story and an image sequence is compared once per kind of phrase. All ablations are computed from the
cosines of these comparisons. An encoder with a cache encodes each crop and each text once. If the embeddings of a
dataset do not fit in memory, the setting `feature_cache` of groovist stores them on disk.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from vlgauge.core.validation import check_int
from vlgauge.inputs.text.story_idf import IdfTable
from vlgauge.research.studies.groovist_analyses import Details, read_signed_theta
from vlgauge.stats import Interval, PairedTest, bootstrap_intervals, paired_test

N_RANDOM = 5
SEQUENCES_AT_ONCE = 16
HIGH_T, HIGH_P, HIGH_RATING = 1.0, 0.2325, 3.0  # thresholds by which the paper splits its data

# Name in the paper, units, weights, penalty. The order follows Tables 2 and 3.
ABLATIONS = (
    ("GROOViST", "noun_phrases", "own", True),
    ("GROOViST (-C)", "noun_phrases", None, True),
    ("GROOViST (-P)", "noun_phrases", "own", False),
    ("GROOViST (-C -P)", "noun_phrases", None, False),
    ("GROOViST (-NPs +Ns)", "nouns", "own", True),
    ("GROOViST (-C +idf)", "noun_phrases", "idf", True),
    ("GROOViST (-C +idf -NPs +Ns)", "nouns", "idf", True),
)


@dataclass(frozen=True)
class Stories:
    """Dataset of stories with their image sequences.

    Attributes:
        stories: Stories, each a string or a list of sentences.
        images: Images of each story.
        regions: Regions of each image of each story, in the format of groovist's `compute`. None to detect them.
        noun_phrases: Noun phrases of each story. None to extract them.
    """

    stories: Sequence[Any]
    images: Sequence[Any]
    regions: Sequence[Any] | None = None
    noun_phrases: Sequence[Any] | None = None

    def columns(self, pairs: Sequence[tuple[int, int]]) -> dict[str, Any]:
        """Return the arguments of ``compute`` for pairs of image sequences and stories, without noun phrases."""
        return {
            "predictions": [self.stories[j] for _, j in pairs],
            "images": [self.images[i] for i, _ in pairs],
            "regions": None if self.regions is None else [self.regions[i] for i, _ in pairs],
        }


@dataclass(frozen=True)
class PairedScores:
    """Scores of one variant.

    Attributes:
        own: Score of each story with its own images.
        random: Scores of the random stories for each image sequence.
        signature: Signature of the metric for these units, with its own weights and the penalty.
    """

    own: list[float]
    random: list[list[float]]
    signature: str


@dataclass(frozen=True)
class PairedComparisons:
    """Comparisons of stories with their own images, and of each image sequence with random other stories.

    Attributes:
        own: Details of each story that determine its scores: text, weight and scaled score of each phrase.
        random: Details of the random stories for each image sequence.
        theta: Theta of the metric.
        signature: Signature of the metric, for the stories with their own images.
        rescore: The method `rescore` of the metric.
    """

    own: list[Details]
    random: list[list[Details]]
    theta: float
    signature: str
    rescore: Callable[..., float]

    def scores(self, *, weigh: Callable[[str], float] | None = None, penalize: bool | None = None) -> PairedScores:
        """Compute scores, optionally with other phrase weights, or with or without the penalty."""
        score = partial(self.rescore, theta=self.theta, weigh=weigh, penalize=penalize)
        return PairedScores(list(map(score, self.own)), [list(map(score, row)) for row in self.random], self.signature)


@dataclass(frozen=True)
class RandomPairs:
    """Test whether the original stories score higher than random ones (Section 2.1 and Table 3).

    Attributes:
        own: Mean score of the stories with their own images.
        random: Mean over the image sequences of the best random story.
        difference: own - random, over the sequences with both scores.
        wins: Share of the image sequences whose own story scores higher than all its random ones.
        n: Number of image sequences with both scores.
        test: Paired permutation test of the difference.
        intervals: Bootstrap interval of each of the four means, by name. None for fewer than two sequences.
    """

    own: float
    random: float
    difference: float
    wins: float
    n: int
    test: PairedTest
    intervals: Mapping[str, Interval | None]


def random_stories(n_stories: int, n_random: int, seed: int) -> list[list[int]]:
    """Sample the indices of other stories for each image sequence, without replacement.

    Returns:
        `n_random` indices per image sequence, without its own.

    Raises:
        ValueError: If `n_random` is below 1 or exceeds the number of other stories.
    """
    check_int("n_random", n_random, 1, n_stories - 1)
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(n_stories - 1, size=n_random, replace=False) for _ in range(n_stories)]
    return [[int(other) + (other >= i) for other in others] for i, others in enumerate(drawn)]


def chunks(n_stories: int) -> list[range]:
    """Return the indices of the image sequences that are compared in one call."""
    return [range(start, min(start + SEQUENCES_AT_ONCE, n_stories)) for start in range(0, n_stories, SEQUENCES_AT_ONCE)]


def compare_pairs(
    load: Callable[..., Any],
    data: Stories,
    *,
    n_random: int = N_RANDOM,
    seed: int = 0,
    advance: Callable[[int], object] = lambda done: None,
) -> PairedComparisons:
    """Compare every image sequence with its own story and with random other stories.

    Args:
        load: Loads groovist with additional settings.
        data: Stories with their images.
        n_random: Number of random stories per image sequence. 0 for no random stories.
        seed: Seed of the random stories.
        advance: Called with the number of image sequences after each chunk.

    Raises:
        ValueError: If `n_random` exceeds the number of other stories.
    """
    others = random_stories(len(data.stories), n_random, seed) if n_random else [[] for _ in data.stories]
    metric = load()
    every = data.columns([(i, i) for i in range(len(data.stories))])
    own, signature = _compare(metric, every, data.noun_phrases)
    theta = read_signed_theta(signature)
    # Phrases and theta are known at this point, so they are passed instead of being extracted or looked up again.
    scorer = load(theta=theta, dataset=None)
    random: list[list[Details]] = []
    for chunk in chunks(len(others)):
        pairs = [(i, j) for i in chunk for j in others[i]]
        if pairs:
            phrases = [[phrase["text"] for phrase in own[j]["noun_phrases"]] for _, j in pairs]
            found = iter(_compare(scorer, data.columns(pairs), phrases)[0])
        random += [[next(found) for _ in others[i]] for i in chunk]
        advance(len(chunk))
    return PairedComparisons(own, random, theta, signature, metric.rescore)


def _compare(metric: Any, columns: Mapping[str, Any], phrases: Sequence[Any] | None) -> tuple[list[Details], str]:
    result = metric.compute(**columns, noun_phrases=phrases, return_details=True)
    return [_keep_scores(story["noun_phrases"]) for story in result["groovist_details"]], result["groovist_signature"]


def _keep_scores(phrases: Sequence[Mapping[str, Any]]) -> Details:
    """Return only the details that determine scores, to save memory."""
    return {"noun_phrases": [{name: phrase[name] for name in ("text", "weight", "scaled")} for phrase in phrases]}


def random_pairs(own: Sequence[float], random: Sequence[Sequence[float]], *, seed: int = 0) -> RandomPairs:
    """Compare the score of each image sequence's own story with the best of its random stories."""
    best = [max((score for score in scores if not math.isnan(score)), default=math.nan) for scores in random]
    first, second = np.array(own), np.array(best)
    both = ~np.isnan(first) & ~np.isnan(second)
    first, second = first[both], second[both]
    columns = {"own": first, "random": second, "difference": first - second, "wins": (first > second).astype(float)}
    means = {name: float(values.mean()) if len(first) else math.nan for name, values in columns.items()}
    found = bootstrap_intervals([values.tolist() for values in columns.values()], seed=seed)
    intervals = dict(zip(columns, found, strict=True))
    return RandomPairs(**means, n=len(first), test=paired_test(own, best, seed=seed), intervals=intervals)


def parts_of_data(
    misalignment: Sequence[float], proportion: Sequence[float], ratings: Sequence[float]
) -> dict[str, list[bool]]:
    """Assign the stories to the parts of Figure 3 of the paper. P is only used for stories with high ratings."""
    well = [rating >= HIGH_RATING for rating in ratings]
    rated = list(zip(proportion, well, strict=True))
    return {
        "all stories": [True] * len(ratings),
        f"T >= {HIGH_T}": [t >= HIGH_T for t in misalignment],
        f"T < {HIGH_T}": [t < HIGH_T for t in misalignment],
        f"P >= {HIGH_P}, rating >= {HIGH_RATING}": [p >= HIGH_P and w for p, w in rated],
        f"P < {HIGH_P}, rating >= {HIGH_RATING}": [p < HIGH_P and w for p, w in rated],
    }


def ablations(
    load: Callable[..., Any],
    data: Stories,
    idf: IdfTable,
    *,
    n_random: int = N_RANDOM,
    seed: int = 0,
    advance: Callable[[int], object] = lambda done: None,
) -> dict[str, PairedScores]:
    """Compute the scores of every variant of Tables 2 and 3, from one comparison with noun phrases and one with nouns.

    Both units use the theta of the metric. The stories must not include phrases, because these would also be used as
    nouns.
    """
    phrases = compare_pairs(load, data, n_random=n_random, seed=seed, advance=advance)
    fixed = {"theta": phrases.theta, "dataset": None, "units": "nouns"}
    nouns = compare_pairs(lambda **more: load(**more | fixed), data, n_random=n_random, seed=seed, advance=advance)
    weighers: dict[str | None, Callable[[str], float] | None] = {"own": None, None: lambda text: 1.0, "idf": idf.mean}
    return {
        name: (phrases if units == "noun_phrases" else nouns).scores(weigh=weighers[weights], penalize=penalize)
        for name, units, weights, penalize in ABLATIONS
    }
