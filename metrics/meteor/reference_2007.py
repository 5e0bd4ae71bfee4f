"""METEOR of 2007 (Lavie and Agarwal, 2007) by its definition, in plain loops, for comparison in tests."""

import itertools
from collections.abc import Callable

from vlgauge.families.ngram.wordnet import synonyms
from vlgauge.inputs.text import porter


def meteor_score(reference: list[str], hypothesis: list[str]) -> float:
    """Compute METEOR of a tokenized hypothesis, in [0, 1].

    Three stages (equal words, equal stems, synonyms) match the remaining tokens, from the last to the first. The number
    of chunks, which are sequences of matches in the same order, determines the penalty.
    """
    here, there = list(enumerate(hypothesis)), list(enumerate(reference))
    matches = []

    def match(agree: Callable[[str, str], bool]) -> None:
        for mine in here[::-1]:
            for theirs in there[::-1]:
                if agree(mine[1], theirs[1]):
                    matches.append((mine[0], theirs[0]))
                    here.remove(mine)
                    there.remove(theirs)
                    break

    match(lambda mine, theirs: mine == theirs)
    here[:] = [(i, porter.porter_stem(token)) for i, token in here]
    there[:] = [(i, porter.porter_stem(token)) for i, token in there]
    match(lambda mine, theirs: mine == theirs)
    match(lambda mine, theirs: theirs in synonyms(mine))
    if not matches:
        return 0.0
    matches.sort()
    chunks = 1 + sum((c, d) != (a + 1, b + 1) for (a, b), (c, d) in itertools.pairwise(matches))
    precision, recall = len(matches) / len(hypothesis), len(matches) / len(reference)
    mean = precision * recall / (0.9 * precision + 0.1 * recall)
    return mean * (1 - 0.5 * (chunks / len(matches)) ** 3)
