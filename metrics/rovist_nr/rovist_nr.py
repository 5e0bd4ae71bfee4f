"""RoViST-NR: How little does a story repeat itself?"""

import math
from collections import Counter
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from itertools import combinations
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.checkpoints import preflight  # From: "vlgauge[rovist-nr]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import base  # From: "vlgauge[rovist-nr]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.inputs.text import language  # From: "vlgauge[rovist-nr]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

Sentences = Sequence[Sequence[str]]

VARIANTS = ("released", "paper")
_LONG_STORY = 64  # for at least this number of sentences, counting all pairs of a row together is faster


@dataclass(frozen=True)
class NonRedundancy:
    """RoViST-NR of one story.

    Attributes:
        score: 1 - (inter + intra) / 2. NaN if `inter` is NaN.
        inter: Mean similarity of sentence pairs. NaN without a pair that contains words.
        intra: Mean similarity of consecutive n-grams within sentences. 0 if there are none.
        words: Compared words of each sentence.
        pairs: (i, j, similarity) of sentences i > j, without pairs that contain no words. Empty unless requested.
        ngrams: (sentence, start of the first n-gram, similarity).
    """

    score: float
    inter: float
    intra: float
    words: list[list[str]]
    pairs: list[tuple[int, int, float]]
    ngrams: list[tuple[int, int, float]]


def non_redundancy(
    sentences: Sentences, *, n: int = 4, variant: str = "released", lowercase: bool = False, details: bool = False
) -> NonRedundancy:
    """Compute RoViST-NR of one story (Wang et al., 2022, Section 3.3): NR = 1 - (inter + intra) / 2.

    Time and, with `details`, memory grow with the square of the number of sentences. 20,000 sentences take two seconds.

    Args:
        sentences: Tokens of each sentence, including final punctuation.
        n: Length of the n-grams compared within a sentence.
        variant: "released" (range (-inf, 1]) or "paper" ([0, 1]). See `similarity` and `select_words`.
        lowercase: Whether to ignore case.
        details: Whether to list the sentence pairs.
    """
    kept = [select_words(tokens, variant=variant, lowercase=lowercase) for tokens in sentences]
    inter = inter_sentence(kept, variant=variant)
    ngrams = ngram_similarities(kept, n=n, variant=variant)
    intra = math.fsum(value for *_, value in ngrams) / len(ngrams) if ngrams else 0.0
    pairs = pair_similarities(kept, variant=variant) if details else []
    return NonRedundancy(1 - (inter + intra) / 2, inter, intra, kept, pairs, ngrams)


def select_words(tokens: Sequence[str], *, variant: str, lowercase: bool = False) -> list[str]:
    """Return W_i, the words of a sentence that are compared.

    These are all tokens but the last one with "released", and all tokens with a letter or digit with "paper".
    """
    kept = tokens[:-1] if variant == "released" else [token for token in tokens if any(map(str.isalnum, token))]
    return [token.lower() for token in kept] if lowercase else list(kept)


def similarity(a: Counter[str], b: Counter[str], *, variant: str) -> float:
    """Compute the similarity of two bags of words. NaN if both are empty.

    "paper" (Eq. 7, Jaccard) is len(A & B) / len(A | B) of the sets of unique words, range [0, 1]. "released" (authors'
    code) is the sum over words of count_A * count_B, divided by the same len(A | B), and may exceed 1.
    """
    common = a.keys() & b.keys()
    union = len(a) + len(b) - len(common)
    if not common:
        return 0.0 if union else math.nan
    shared = len(common) if variant == "paper" else sum(a[word] * b[word] for word in common)
    return shared / union


def pair_similarities(sentences: Sentences, *, variant: str) -> list[tuple[int, int, float]]:
    """Return (i, j, sim(W_i, W_j)) of all sentences i > j, with sim in [0, 1].

    Pairs that contain no words are left out. See `similarity`.
    """
    bags = [Counter(sentence) for sentence in sentences]
    pairs = [(i, j) for i in range(len(bags)) for j in range(i) if bags[i] or bags[j]]
    return [(i, j, similarity(bags[i], bags[j], variant=variant)) for i, j in pairs]


def ngram_similarities(sentences: Sentences, *, n: int, variant: str) -> list[tuple[int, int, float]]:
    """Return (sentence, i, sim(W[i:i+n], W[i+n:i+2n])) for i = 0, n, 2n, ...

    The last n-gram of a sentence may be shorter.

    The similarities are in [0, 1]. See `similarity` for `variant`.
    """
    values = []
    for index, sentence in enumerate(sentences):
        ngrams = [sentence[start : start + n] for start in range(0, len(sentence), n)]
        for k, (a, b) in enumerate(pairwise(ngrams)):
            # Most have no common words, and checking this first is faster than counting words.
            apart = set(a).isdisjoint(b)
            values.append((index, k * n, 0.0 if apart else similarity(Counter(a), Counter(b), variant=variant)))
    return values


def inter_sentence(sentences: Sentences, *, variant: str) -> float:
    """Compute the mean of sim(W_i, W_j) over all sentences i > j. NaN if no pair contains words."""
    bags = [Counter(sentence) for sentence in sentences if sentence]
    n_pairs = math.comb(len(sentences), 2) - math.comb(len(sentences) - len(bags), 2)
    if not n_pairs:
        return math.nan
    if len(bags) < _LONG_STORY:
        # The similarity to a sentence without words is 0, so it only counts in n_pairs.
        return math.fsum(similarity(a, b, variant=variant) for a, b in combinations(bags, 2)) / n_pairs
    # Sentences with the same words are compared once.
    counts = Counter(frozenset(bag.items()) for bag in bags)
    distinct, times = [Counter(dict(bag)) for bag in counts], np.array(list(counts.values()), dtype=float)
    rows = enumerate(_similarity_rows(distinct, variant=variant))
    unequal = math.fsum(times[i] * (row @ times[:i]) for i, row in rows)
    equal = math.fsum(
        similarity(a, a, variant=variant) * math.comb(k, 2) for a, k in zip(distinct, counts.values(), strict=True)
    )
    return (unequal + equal) / n_pairs


def _similarity_rows(bags: Sequence[Counter[str]], *, variant: str) -> Iterator[npt.NDArray[np.float64]]:
    """Yield, for each i, sim(W_i, W_j) for all j < i, shape ``(i,)``. Bags must not be empty."""
    homes: dict[str, list[tuple[int, int]]] = {}
    for i, bag in enumerate(bags):
        for word, count in bag.items():
            homes.setdefault(word, []).append((i, count))
    postings = {word: np.array(pairs).T for word, pairs in homes.items()}
    sizes = np.array([len(bag) for bag in bags])
    seen: Counter[str] = Counter()
    for i, bag in enumerate(bags):
        hits = np.concatenate([postings[word][:, : seen[word]] * [[1], [count]] for word, count in bag.items()], axis=1)
        common = np.bincount(hits[0], minlength=i)
        shared = common if variant == "paper" else np.bincount(hits[0], weights=hits[1], minlength=i)
        yield shared / (sizes[:i] + sizes[i] - common)
        seen.update(bag.keys())


class RovistNr(base.StoryMetric):
    """Non-redundancy of a story. It requires no model and no data.

    RoViST-NR measures how little a story repeats itself: one minus the mean of the similarity between its sentences and
    the similarity between consecutive n-grams within a sentence. Higher is better. RoViST-NR uses the story alone,
    without images or references.

    Args:
        predictions: Stories, each a string or a list of sentences (one form per call).
        return_details: Whether to add the sentences, words, inter- and intra-sentence similarity, and the similarity of
            each pair, for each story.

    Returns:
        rovist_nr: Mean of the scores, at most 1, higher is better. At least 0 with variant "paper".
        rovist_nr_scores: One score per story. NaN for a story with fewer than two sentences.
        rovist_nr_undefined: Number of undefined scores.
        rovist_nr_signature: Settings and versions that the scores depend on.

    Examples:
        >>> import evaluate
        >>> rovist_nr = evaluate.load("vlgauge/rovist_nr")
        >>> result = rovist_nr.compute(predictions=[["The dog ran home.", "The dog ran home."], ["One.", "Two words."]])
        >>> print(result["rovist_nr_scores"])
        [0.5, 1.0]
    """

    papers = ("https://aclanthology.org/2022.findings-naacl.206",)
    undefined_hint = base.NEEDS_SENTENCES

    def __init__(
        self,
        *args: Any,
        variant: str = "released",
        n: int = 4,
        sentences: str | Callable[[str], list[str]] = "rules",
        lowercase: bool = False,
        **host: Any,
    ) -> None:
        self.variant = base.check_choice("variant", variant, VARIANTS)
        self.n = base.check_int("n", n, 1)
        self.sentences = language.check_splitter(sentences)
        self.lowercase = base.check_bool("lowercase", lowercase)
        super().__init__(*args, **host)

    def check_sources(self) -> preflight.Preflight:
        """Check the sources that every call requires. Nothing is scored.

        Returns:
            A `Preflight` with the problems found so far, which its method `end` raises.
        """
        found = preflight.Preflight(self.name)
        found.look(lambda: language.sentence_splitter(self.sentences))
        return found

    def _compute(self, predictions: list[str | list[str]], return_details: bool = False) -> dict[str, Any]:
        self.check_sources().end()
        split = language.sentence_splitter(self.sentences)
        options: dict[str, Any] = {"n": self.n, "variant": self.variant, "lowercase": self.lowercase}
        texts = [language.story_sentences(story, split) for story in predictions]
        language.check_sentences(texts)
        scored = []
        for sentences in base.report_progress(texts, len(texts), "Scoring stories", self.progress, block=1):
            tokens = [language.words(sentence, split) for sentence in sentences]
            scored.append(non_redundancy(tokens, **options, details=return_details))
        # Computed only if they are requested.
        details = ({"sentences": text, **asdict(story)} for text, story in zip(texts, scored, strict=True))
        return self.result([story.score for story in scored], details=list(details) if return_details else None)
