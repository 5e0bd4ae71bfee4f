"""METEOR of 2007: do two captions share words, stems or synonyms, and in the same order?

Lavie and Agarwal (2007, "METEOR: an automatic metric for MT evaluation with high levels of correlation with human
judgments") in the variant of NLTK's `single_meteor_score`, to which it is equal; it needs neither NLTK nor Java.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, islice, pairwise
from multiprocessing import get_context
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge.distances.wordnet import synonyms
from vlgauge.remembered import remembered_for_words
from vlgauge.settings import whole_number
from vlgauge.text.coco_tokens import coco_tokens
from vlgauge.text.porter import porter_stem

__all__ = ["meteor_distances", "meteor_matrices", "meteor_score", "meteor_scores", "synonyms"]

Floats = npt.NDArray[np.float64]
Tokens: TypeAlias = tuple[str, ...]
Tokenizer: TypeAlias = Callable[[str], Iterable[str]]
Key: TypeAlias = str | tuple[str, int]
Counts: TypeAlias = tuple[int, int]

ALPHA, BETA, GAMMA = 0.9, 3.0, 0.5
# What the numbers depend on, for signatures.
VARIANT = "meteor-2007+wn3.0"

# Captions kept ready for the next pair, some 10 kB each.
_CACHED_CAPTIONS = 1024
_LONGEST_KEPT = 2000  # letters, and one for each token
_EXAMPLES_PER_TASK = 32

_stem = remembered_for_words(porter_stem)


def meteor_score(reference_tokens: Iterable[str], hypothesis_tokens: Iterable[str]) -> float:
    """METEOR of a hypothesis against one reference.

    Args:
        reference_tokens: Tokens of the reference; capitals do not matter.
        hypothesis_tokens: Tokens of the hypothesis.

    Returns:
        The score in [0, 1], higher is better; not symmetric, and below 1 for equal captions: 1 - 0.5/k^3 for k tokens.

    Raises:
        TypeError: If a string is given in place of tokens.
    """
    return meteor_scores([reference_tokens], hypothesis_tokens)[0]


def meteor_scores(references: Iterable[Iterable[str]], hypothesis_tokens: Iterable[str]) -> list[float]:
    """METEOR of a hypothesis against each of several references, see `meteor_score`.

    Args:
        references: Tokens of each reference.
        hypothesis_tokens: Tokens of the hypothesis.
    """
    hypothesis = _prepared(_lower(hypothesis_tokens, "`hypothesis_tokens`"))
    scores = []
    for tokens in references:
        reference = _prepared(_lower(tokens, "`reference_tokens`"))
        equal = reference.positions.keys() & hypothesis.positions.keys()
        counts = _counts(reference, hypothesis, equal)
        scores.append(_score(*counts, len(reference.tokens), len(hypothesis.tokens)))
    return scores


def meteor_distances(texts: Sequence[str], *, tokenizer: Tokenizer = coco_tokens) -> Floats:
    """Directed METEOR distances between the captions of one example.

    Args:
        texts: N captions; equal ones are computed once.
        tokenizer: Splits a caption into tokens; capitals do not matter.

    Returns:
        shape ``(N, N)``, in [0, 1]: entry [a, b] is 1 - METEOR with caption a as reference and b as hypothesis. The
        diagonal is not 0, see `meteor_score`.

    Raises:
        TypeError: If one string is given in place of several, or a tokenizer returns one.
    """
    return _distances(tokenized(texts, tokenizer))


def meteor_matrices(
    examples: Iterable[Sequence[str]], *, tokenizer: Tokenizer = coco_tokens, workers: int = 1
) -> Iterator[Floats]:
    """Directed METEOR distances within each of many examples, one after the other.

    Args:
        examples: Captions of each example.
        tokenizer: Splits a caption into tokens; capitals do not matter.
        workers: Number of processes, which does not change the numbers. More than one are started afresh ("spawn"), so
            the main part of a script must then stand under ``if __name__ == "__main__":``.

    Returns:
        Iterator over one matrix per example, as `meteor_distances` makes it.

    Raises:
        TypeError: As for `meteor_distances`.
        ValueError: If `workers` is no positive whole number.
    """
    workers = whole_number("workers", workers, 1)
    # Tokenized here: a tokenizer may be a function that cannot be sent to another process.
    captions = (tokenized(texts, tokenizer) for texts in examples)
    return map(_distances, captions) if workers == 1 else _distances_by_workers(captions, workers)


def tokenized(texts: Sequence[str], tokenizer: Tokenizer) -> list[Tokens]:
    """Tokens of captions, in lower case.

    Raises:
        TypeError: If one string is given in place of several, or the tokenizer returns one.
    """
    if isinstance(texts, str):
        raise TypeError(f"`texts` must be a list of captions, got the string {texts!r}")
    tokens = {text: _lower(tokenizer(text), "what `tokenizer` returns") for text in dict.fromkeys(texts)}
    return [tokens[text] for text in texts]


def computed_once(captions: Sequence[Tokens], compute: Callable[[list[Tokens]], Floats]) -> Floats:
    """A matrix of captions, shape ``(N, N)``, of which `compute` makes the part of the distinct ones."""
    rows = {tokens: row for row, tokens in enumerate(dict.fromkeys(captions))}
    order = [rows[tokens] for tokens in captions]
    return compute(list(rows))[np.ix_(order, order)]


# ---------------------------------------------------------------------------------------------------------------------
# Captions
# ---------------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False, slots=True)
class _Caption:
    """What is needed of a caption for many pairs.

    Equal tokens are matched from the right, the last with the last. So with a number behind each but the last of equal
    tokens, two captions match exactly the keys that both have.

    Attributes:
        tokens: the tokens.
        positions: position of each key of the tokens.
        neighbours: keys that stand side by side.
        stems: Porter stems of the tokens.
        stem_keys: keys of the stems.
        stem_set: the stems without order.
        synonyms: synonyms of all stems but each stem itself.
    """

    tokens: Tokens
    positions: dict[Key, int]
    neighbours: frozenset[tuple[Key, Key]]
    stems: Tokens
    stem_keys: frozenset[Key]
    stem_set: frozenset[str]
    synonyms: frozenset[str]


def _prepared(tokens: Tokens) -> _Caption:
    """What is needed of a caption; kept for the next pair, unless a thousand so long would fill the memory."""
    size = len(tokens) + sum(map(len, tokens))
    return _prepared_and_kept(tokens) if size <= _LONGEST_KEPT else _prepare(tokens)


def _prepare(tokens: Tokens) -> _Caption:
    stems = tuple(map(_stem, tokens))
    keys = _keys(tokens)
    return _Caption(
        tokens=tokens,
        positions={key: position for position, key in enumerate(keys)},
        neighbours=frozenset(pairwise(keys)),
        stems=stems,
        stem_keys=frozenset(_keys(stems)),
        stem_set=frozenset(stems),
        synonyms=frozenset().union(*map(_other_synonyms, stems)),
    )


_prepared_and_kept = lru_cache(maxsize=_CACHED_CAPTIONS)(_prepare)


def _keys(tokens: Tokens) -> list[Key]:
    """The tokens, with a number where an equal one follows."""
    if len(set(tokens)) == len(tokens):
        return list(tokens)
    keys: list[Key] = []
    seen: dict[str, int] = {}
    for token in reversed(tokens):
        number = seen[token] = seen.get(token, -1) + 1
        keys.append((token, number) if number else token)
    return keys[::-1]


@remembered_for_words
def _other_synonyms(stem: str) -> frozenset[str]:
    return synonyms(stem) - {stem}


def _lower(tokens: Iterable[str], name: str) -> Tokens:
    if isinstance(tokens, str):
        raise TypeError(f"{name} must be a list of tokens, got the string {tokens!r}")
    return tuple(map(str.lower, tokens))


# ---------------------------------------------------------------------------------------------------------------------
# Pairs
# ---------------------------------------------------------------------------------------------------------------------
def _score(matches: int, chunks: int, reference_length: int, hypothesis_length: int) -> float:
    """The weighted harmonic mean of precision and recall, less the penalty for chunks."""
    if not matches:
        return 0.0
    precision, recall = matches / hypothesis_length, matches / reference_length
    mean = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
    return mean * (1 - GAMMA * (chunks / matches) ** BETA)


def _counts_both_ways(a: _Caption, b: _Caption) -> tuple[Counts, Counts]:
    """Matches and chunks with a as reference, and with b as reference."""
    equal = a.positions.keys() & b.positions.keys()
    return _counts(a, b, equal), _counts(b, a, equal)


def _counts(reference: _Caption, hypothesis: _Caption, equal: Set[Key]) -> Counts:
    """Matches and chunks of one way."""
    more_stems = len(equal) < len(reference.stem_keys & hypothesis.stem_keys)
    if more_stems or not reference.stem_set.isdisjoint(hypothesis.synonyms):
        return _counts_of_stages(reference, hypothesis, equal)
    # Without further matches every neighbour kept saves one chunk.
    return len(equal), len(equal) - len(reference.neighbours & hypothesis.neighbours)


def _counts_of_stages(reference: _Caption, hypothesis: _Caption, equal: Set[Key]) -> Counts:
    """Matches and chunks of one way, with equal stems and then synonyms matched after equal tokens.

    Both stages walk the free hypothesis tokens from the last to the first, and each takes the rightmost free reference
    token that matches. As in NLTK, stems are what synonyms are looked up for and among.
    """
    partners = {hypothesis.positions[key]: reference.positions[key] for key in equal}
    taken = set(partners.values())
    free: dict[str, list[int]] = {}
    for position, stem in enumerate(reference.stems):
        if position not in taken:
            free.setdefault(stem, []).append(position)
    for matching in (_itself, _other_synonyms):
        for position in range(len(hypothesis.stems) - 1, -1, -1):
            if position not in partners and (found := free.keys() & matching(hypothesis.stems[position])):
                stem = max(found, key=lambda stem: free[stem][-1])
                partners[position] = free[stem].pop()
                if not free[stem]:
                    del free[stem]
    return len(partners), _chunks(partners)


def _itself(stem: str) -> frozenset[str]:
    return frozenset((stem,))


def _chunks(partners: dict[int, int]) -> int:
    """Number of runs of matches that stand side by side in both captions."""
    return sum(partners.get(here - 1) != there - 1 for here, there in partners.items())


# ---------------------------------------------------------------------------------------------------------------------
# Examples
# ---------------------------------------------------------------------------------------------------------------------
def _distances(captions: Sequence[Tokens]) -> Floats:
    """Directed distances of N tokenized captions, shape ``(N, N)``."""
    return 1 - computed_once(captions, _scores)


def _scores(captions: list[Tokens]) -> Floats:
    """METEOR of every ordered pair, shape ``(N, N)``, the reference first."""
    prepared = [_prepared(tokens) for tokens in captions]
    lengths = [len(tokens) for tokens in captions]
    scores = np.empty((len(captions), len(captions)))
    for a, b in combinations_with_replacement(range(len(captions)), 2):
        forth, back = _counts_both_ways(prepared[a], prepared[b])
        scores[a, b] = _score(*forth, lengths[a], lengths[b])
        scores[b, a] = _score(*back, lengths[b], lengths[a])
    return scores


def _distances_of_several(examples: list[list[Tokens]]) -> list[Floats]:
    return [_distances(captions) for captions in examples]


def _distances_by_workers(examples: Iterator[list[Tokens]], workers: int) -> Iterator[Floats]:
    """Distances by several processes; only a few tasks wait at any time."""
    tasks = iter(lambda: list(islice(examples, _EXAMPLES_PER_TASK)), [])
    waiting: deque[Future[list[Floats]]] = deque()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for task in tasks:
            waiting.append(pool.submit(_distances_of_several, task))
            if len(waiting) > 2 * workers:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
