"""Diversity: the captions of an image in groups, with the n-grams that each group shares."""

from collections import Counter
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import TypeAlias

import numpy as np

from vlgauge.explain.explanation import Explanation
from vlgauge.explain.marks import AGAINST, Mark, pieces_of_runs
from vlgauge.explain.pages import number, quote_word

Ngram: TypeAlias = tuple[str, ...]

LEAST_SIMILARITY = 0.1  # mean similarity of two groups from which on they are one
N_PHRASES = 4  # n-grams listed per group
LONGEST = 10  # words of a listed n-gram


class DiversityExplanation(Explanation):
    """Caption sets in groups of similar captions, with their shared n-grams marked."""

    name = "diversity"
    on_axis = (0.0, 1.0)

    def explain_undefined(self, row: int) -> str:
        """Return whether captions or words are missing."""
        n = len(self.predictions[row])
        return "no caption has a word" if n > 1 else f"a set needs two captions or more, and this one has {n or 'none'}"

    def reason(self, row: int) -> str:
        """Return the number of groups, and the n-gram that most captions share."""
        groups = groups_of(self.details[row])
        tokens: Sequence[Sequence[str]] = self.details[row]["tokens"]
        n = len(tokens)
        apart = f"{n} captions in {len(groups)} group{'s' * (len(groups) > 1)}"
        if len({*map(tuple, tokens)}) == 1:
            return f"the same caption {n} times"
        if not (shared := phrases(tokens)):
            return f"{apart}, no word shared"
        ngram, count = shared[0]
        return f"{apart}; {quote_word(' '.join(ngram))} is in {count} of them"

    def extra(self, row: int) -> str:
        """Return the other scores of the row."""
        names = {"div_1": "Div-1", "div_2": "Div-2", "distinct": "distinct", "novel": "novel"}
        keys = {name: f"{self.name}_{name}_scores" for name in names}
        return " · ".join(
            f"{names[name]} {number(self.result[key][row])}" for name, key in keys.items() if key in self.result
        )

    def corpus_numbers(self) -> list[tuple[str, str]]:
        """Return mBLEU-4 and the size of the vocabulary."""
        return [
            ("mBLEU-4 of the corpus:", number(self.result["diversity_mbleu_4"], 4)),
            ("words of all captions:", f"{self.result['diversity_vocabulary']:,}"),
        ]

    def values(self, row: int) -> dict[str, Any]:
        """Return the groups of a row, each with its n-grams and its captions, in which the n-grams are marked."""
        tokens, texts = self.details[row]["tokens"], self.predictions[row]
        found = []
        for group in groups_of(self.details[row]):
            own = [tokens[i] for i in group]
            shared = phrases(own)
            counts = Counter(texts[i] for i in group)
            first = {texts[i]: tokens[i] for i in group}
            captions = [
                (pieces_of_runs(text, first[text], marks_of(first[text], shared, len(group))), count)
                for text, count in counts.items()
            ]
            listed = [(" ".join(ngram), count) for ngram, count in shared[:N_PHRASES]]
            found.append({"captions": captions, "phrases": listed, "n": len(group)})
        return {"groups": found, "n": len(texts)}


def groups_of(detail: Mapping[str, Any]) -> list[list[int]]:
    """Return groups of similar captions, the largest first, by average linkage of their CIDEr-D cosines."""
    from scipy.cluster import hierarchy  # slower to import than the rest of the module

    kernel = np.array(detail["kernel"])
    scale = np.sqrt(np.diag(kernel))
    norms = np.outer(scale, scale)
    distance = 1.0 - np.divide(kernel, norms, out=np.zeros_like(kernel), where=norms > 0.0)
    pairs = np.clip(distance[np.triu_indices(len(kernel), 1)], 0.0, 1.0)
    labels = hierarchy.fcluster(hierarchy.linkage(pairs, "average"), 1.0 - LEAST_SIMILARITY, "distance")
    groups: dict[int, list[int]] = {}
    for i, label in enumerate(labels.tolist()):
        groups.setdefault(label, []).append(i)
    return sorted(groups.values(), key=lambda group: (-len(group), group))


def phrases(captions: Sequence[Sequence[str]]) -> list[tuple[Ngram, int]]:
    """Return the n-grams in several captions with their numbers of captions, sorted by covered words, most first.

    N-grams within a longer one that is in as many captions are left out.
    """
    counts = Counter(ngram for caption in captions for ngram in {*ngrams(caption)})
    shared = {ngram: count for ngram, count in counts.items() if count > 1}
    within = {part: 0 for part in shared}
    for ngram, count in shared.items():
        for part in (ngram[1:], ngram[:-1]):
            if part in within:
                within[part] = max(within[part], count)
    longest = [(ngram, count) for ngram, count in shared.items() if within[ngram] < count]
    return sorted(longest, key=lambda one: (-len(one[0]) * one[1], one))


def marks_of(tokens: Sequence[str], shared: Sequence[tuple[Ngram, int]], n: int) -> list[Mark | None]:
    """Return a mark for each word within a shared n-gram, strong if all n captions of the group have one."""
    most = [0] * len(tokens)
    for ngram, count in shared:
        for start in range(len(tokens) - len(ngram) + 1):
            if tuple(tokens[start : start + len(ngram)]) == ngram:
                most[start : start + len(ngram)] = [max(count, known) for known in most[start : start + len(ngram)]]
    return [Mark(AGAINST, count == n, f"in {count} of {n} captions of the group") if count else None for count in most]


def ngrams(tokens: Sequence[str]) -> Iterator[Ngram]:
    """Return the n-grams of up to `LONGEST` words, with repetitions."""
    return (tuple(tokens[i : i + n]) for n in range(1, LONGEST + 1) for i in range(len(tokens) - n + 1))
