"""METEOR (2007): shared words, stems and synonyms of two captions, and their order.

Implements Lavie and Agarwal (2007, "METEOR: an automatic metric for MT evaluation with high levels of correlation with
human judgments") in the variant of NLTK's `single_meteor_score`. The scores are equal, without NLTK or Java.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain, groupby, islice, pairwise
from multiprocessing import get_context
from operator import itemgetter
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge.core.lru_cache import cache_per_word
from vlgauge.families.ngram.wordnet import synonyms
from vlgauge.inputs.text.ngrams import Ints, group_by_size, lengths_of, number_distinct
from vlgauge.inputs.text.porter import porter_stem
from vlgauge.inputs.text.ptb.tokens import coco_tokens

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Tokens: TypeAlias = tuple[str, ...]
Tokenizer: TypeAlias = Callable[[str], Iterable[str]]

ALPHA, BETA, GAMMA = 0.9, 3.0, 0.5
# Variant that determines the scores, for signatures.
VARIANT = "meteor-2007+wn3.0"

# Batch sizes, large enough to be fast, and small enough for the memory and for a progress bar to move.
_TOKENS_AT_ONCE = 2**16
_PAIRS_AT_ONCE = 2**13
_EXAMPLES_AT_ONCE = 32

_stem = cache_per_word(porter_stem)


def meteor_scores(
    hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]
) -> Iterator[list[float]]:
    """Compute METEOR of one hypothesis per example against each of its references, for several examples at a time.

    Args:
        hypotheses: Tokens of the hypothesis of each example, case-insensitive.
        references: Tokens of the references of each example.

    Returns:
        Iterator over one list per example with a score per reference, in [0, 1], higher is better. The score is not
        symmetric, and below 1 for equal captions: 1 - 0.5/k^3 for k tokens.
    """
    pairs = zip(hypotheses, references, strict=True)
    n_tokens = [len(hypothesis) + sum(map(len, captions)) for hypothesis, captions in pairs]
    for part in _parts(np.array(n_tokens, np.int64), _TOKENS_AT_ONCE):
        own, theirs = hypotheses[part], references[part]
        n_references = lengths_of(theirs)
        # All hypotheses, followed by all references.
        of = np.repeat(np.arange(len(own)), n_references)
        captions = [*own, *chain.from_iterable(theirs)]
        scores = iter(_scores(_number_words(captions), len(own) + np.arange(len(of)), of).tolist())
        yield from (list(islice(scores, n)) for n in n_references.tolist())


def meteor_matrices(
    examples: Iterable[Sequence[str]], *, tokenizer: Tokenizer = coco_tokens, workers: int = 1
) -> Iterator[Floats]:
    """Compute the directed METEOR distances within each of many examples.

    Args:
        examples: Captions of each example. Duplicates are computed once.
        tokenizer: Splits a caption into tokens, whose case does not matter.
        workers: Number of worker processes, which does not affect the results. Several workers are started with the
            method "spawn", so the main part of a script must then be under ``if __name__ == "__main__":``.

    Returns:
        Iterator over one matrix per example, shape ``(N, N)``, float64, in [0, 1]. Entry [a, b] is 1 - METEOR with
        caption a as reference and caption b as hypothesis. The diagonal is not 0, see `meteor_scores`.
    """
    # Tokenize in this process, because a tokenizer may be a function that cannot be pickled.
    captions = (_tokenize(texts, tokenizer) for texts in examples)
    # A task has few examples, also if they are small.
    least = _PAIRS_AT_ONCE // _EXAMPLES_AT_ONCE
    tasks = group_by_size(captions, lambda texts: max(len(texts) ** 2, least), _PAIRS_AT_ONCE)
    return chain.from_iterable(map(_distances, tasks) if workers == 1 else _by_workers(tasks, workers))


def _tokenize(texts: Sequence[str], tokenizer: Tokenizer) -> list[Tokens]:
    """Return the lowercased tokens of captions."""
    tokens = {text: tuple(map(str.lower, tokenizer(text))) for text in dict.fromkeys(texts)}
    return [tokens[text] for text in texts]


# -- Captions ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False, slots=True)
class _Captions:
    """C captions with T tokens, V words and S stems in total, as integers.

    Attributes:
        lengths: Shape ``(C,)``, number of tokens of each caption.
        starts: Shape ``(C,)``, index of the first token of each caption.
        words: Shape ``(T,)``, ids of the words, caption by caption, ascending within a caption.
        positions: Shape ``(T,)``, position of each token in its caption, ascending among equal words.
        stems: Shape ``(V,)``, id of the Porter stem of each word.
        akin: Shape ``(V,)``, whether another word has the same stem.
        synonyms: Shape ``(n,)``, for each stem in order, its synonyms among the other stems.
        n_synonyms: Shape ``(S,)``, number of synonyms of each stem.
        is_synonym: Shape ``(S,)``, whether the stem is a synonym of another stem.
    """

    lengths: Ints
    starts: Ints
    words: Ints
    positions: Ints
    stems: Ints
    akin: Flags
    synonyms: Ints
    n_synonyms: Ints
    is_synonym: Flags


def _number_words(captions: Sequence[Sequence[str]]) -> _Captions:
    """Convert captions to integers. Ids of words and stems are only valid for these captions."""
    lengths = lengths_of(captions)
    starts = np.cumsum(lengths) - lengths
    number: dict[str, int] = {}
    spelled = dict.fromkeys(chain.from_iterable(captions), 0)
    for token in spelled:
        spelled[token] = number.setdefault(str.lower(token), len(number))
    words = np.fromiter(map(spelled.__getitem__, chain.from_iterable(captions)), np.int64, int(lengths.sum()))
    owners = np.repeat(np.arange(len(lengths)), lengths)
    # A stable sort keeps equal words in the order of their positions.
    order = np.argsort(owners * len(number) + words, kind="stable")
    of_stem: dict[str, int] = {}
    stems = np.array([of_stem.setdefault(_stem(word), len(of_stem)) for word in number], np.int64)
    related = [[of_stem[name] for name in _other_synonyms(stem) & of_stem.keys()] for stem in of_stem]
    flat = np.array(list(chain.from_iterable(related)), np.int64)
    return _Captions(
        lengths=lengths,
        starts=starts,
        words=words[order],
        positions=order - starts[owners],
        stems=stems,
        akin=np.bincount(stems)[stems] > 1,
        synonyms=flat,
        n_synonyms=lengths_of(related),
        is_synonym=np.bincount(flat, minlength=len(of_stem)) > 0,
    )


@cache_per_word
def _other_synonyms(stem: str) -> frozenset[str]:
    return synonyms(stem) - {stem}


# -- Pairs ------------------------------------------------------------------------------------------------------------
def _scores(captions: _Captions, references: Ints, hypotheses: Ints) -> Floats:
    """Compute METEOR of P pairs, shape ``(P,)``.

    Args:
        captions: The captions.
        references: Shape ``(P,)``, index of the reference of each pair.
        hypotheses: Shape ``(P,)``, index of the hypothesis of each pair.
    """
    scores = np.empty(len(references))
    lengths = captions.lengths[references], captions.lengths[hypotheses]
    for part in _parts(lengths[0] + lengths[1], _TOKENS_AT_ONCE):
        columns = *_counts(captions, references[part], hypotheses[part]), lengths[0][part], lengths[1][part]
        scores[part] = list(map(_score, *(column.tolist() for column in columns)))
    return scores


def _parts(sizes: Ints, most: int) -> Iterator[slice]:
    """Split all rows into parts with a total size of at most `most`, or one row more."""
    number = np.cumsum(sizes) // most
    bounds = [0, *(np.flatnonzero(number[1:] != number[:-1]) + 1).tolist(), len(sizes)]
    return (slice(start, stop) for start, stop in pairwise(bounds) if start < stop)


def _score(matches: int, chunks: int, reference_length: int, hypothesis_length: int) -> float:
    """Compute the weighted harmonic mean of precision and recall, reduced by the penalty for chunks."""
    if not matches:
        return 0.0
    precision, recall = matches / hypothesis_length, matches / reference_length
    mean = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
    return mean * (1 - GAMMA * (chunks / matches) ** BETA)


@dataclass(frozen=True, eq=False, slots=True)
class _Side:
    """Unmatched tokens of one side of several pairs.

    Attributes:
        pairs: Shape ``(n,)``, ascending, the pair of each token.
        words: Shape ``(n,)``, id of the word of each token.
        slots: Shape ``(n,)``, index among the concatenated tokens of all pairs, with a gap after each pair.
    """

    pairs: Ints
    words: Ints
    slots: Ints

    def without(self, rows: Ints) -> "_Side":
        """Return the side without some tokens."""
        free = np.ones(len(self.words), np.bool_)
        free[rows] = False
        return _Side(self.pairs[free], self.words[free], self.slots[free])


def _side(captions: _Captions, chosen: Ints) -> tuple[_Side, Ints]:
    """Return the tokens of one caption per pair, in the order of `_Captions`, and the first slot of each pair."""
    lengths = captions.lengths[chosen]
    starts = np.cumsum(lengths) - lengths
    first_slots = starts + np.arange(len(chosen))
    pairs = np.repeat(np.arange(len(chosen)), lengths)
    rows = np.arange(len(pairs)) + (captions.starts[chosen] - starts)[pairs]
    return _Side(pairs, captions.words[rows], captions.positions[rows] + first_slots[pairs]), first_slots


def _counts(captions: _Captions, references: Ints, hypotheses: Ints) -> tuple[Ints, Ints]:
    """Count matches and chunks of pairs, shape ``(P,)`` each, matching equal tokens, then stems, then synonyms."""
    n_pairs, n_words = len(references), len(captions.stems)
    theirs, _ = _side(captions, references)
    ours, first_slots = _side(captions, hypotheses)
    # Slot of the reference by slot of the hypothesis. -2 is not adjacent to any match.
    partners = np.full(len(ours.slots) + n_pairs, -2)

    here, there = _last_with_last(ours.pairs * n_words + ours.words, theirs.pairs * n_words + theirs.words)
    partners[ours.slots[here]] = theirs.slots[there]
    ours, theirs = ours.without(here), theirs.without(there)

    # Only one side has unmatched tokens of a word left, so stems with a single word have no further matches.
    some, our_keys = _by_stem(ours, captions, n_pairs, captions.akin)
    others, their_keys = _by_stem(theirs, captions, n_pairs, captions.akin)
    here, there = _last_with_last(our_keys, their_keys)
    partners[ours.slots[some[here]]] = theirs.slots[others[there]]
    _match_synonyms(partners, ours.without(some[here]), theirs.without(others[there]), captions, n_pairs)

    matches = np.add.reduceat(partners >= 0, first_slots, dtype=np.int64)
    continues = np.zeros(len(partners), np.bool_)
    np.equal(partners[1:], partners[:-1] + 1, out=continues[1:])
    # Each match that continues the previous one saves a chunk.
    return matches, matches - np.add.reduceat(continues, first_slots, dtype=np.int64)


def _last_with_last(ours: Ints, theirs: Ints) -> tuple[Ints, Ints]:
    """Match rows with equal keys, both ascending. Runs of equal keys are matched from their ends."""
    if not len(theirs):
        return theirs, theirs
    rows = np.arange(len(ours))
    partners = theirs.searchsorted(ours, "right") - (ours.searchsorted(ours, "right") - rows)
    found = (partners >= 0) & (theirs.take(partners, mode="clip") == ours)
    return rows[found], partners[found]


def _by_stem(side: _Side, captions: _Captions, n_pairs: int, wanted: Flags) -> tuple[Ints, Ints]:
    """Return rows of tokens with a wanted word by stem, pair and position, and one ascending key per stem and pair."""
    rows = np.flatnonzero(wanted[side.words])
    stems = captions.stems[side.words[rows]]
    order = np.lexsort((side.slots[rows], stems))
    rows, stems = rows[order], stems[order]
    return rows, stems * n_pairs + side.pairs[rows]


def _match_synonyms(partners: Ints, ours: _Side, theirs: _Side, captions: _Captions, n_pairs: int) -> None:
    """Match unmatched tokens as synonyms, in place.

    The tokens of a hypothesis are processed from last to first, and each one is matched with the rightmost synonym in
    the reference. As in NLTK, synonyms are looked up for stems and matched with stems.
    """
    rows, keys = _by_stem(theirs, captions, n_pairs, captions.is_synonym[captions.stems])
    here = np.flatnonzero(captions.n_synonyms[captions.stems[ours.words]])
    here = here[np.argsort(-ours.slots[here])]
    # Check for each unmatched token and each of its synonyms whether the synonym is unmatched in the reference.
    stems = captions.stems[ours.words[here]]
    n_synonyms = captions.n_synonyms[stems]
    first = (np.cumsum(captions.n_synonyms) - captions.n_synonyms)[stems] - (np.cumsum(n_synonyms) - n_synonyms)
    each = np.repeat(np.arange(len(here)), n_synonyms)
    wanted = captions.synonyms[np.arange(len(each)) + first[each]] * n_pairs + ours.pairs[here][each]
    ends = np.searchsorted(keys, wanted, "right")
    found = np.append(keys, -1)[ends - 1] == wanted
    starts = np.searchsorted(keys, wanted[found])
    slots = theirs.slots[rows].tolist()
    # End of the remaining entries, by the end of their run of equal keys.
    left: dict[int, int] = {}
    candidates = zip(ours.slots[here][each[found]].tolist(), starts.tolist(), ends[found].tolist(), strict=True)
    for slot, ranges in groupby(candidates, itemgetter(0)):
        free = [(slots[left.get(end, end) - 1], end) for _, start, end in ranges if left.get(end, end) > start]
        if free:
            partners[slot], end = max(free)
            left[end] = left.get(end, end) - 1


# -- Examples ---------------------------------------------------------------------------------------------------------
def _distances(examples: Sequence[list[Tokens]]) -> list[Floats]:
    """Compute the directed distances within some examples, shape ``(N, N)`` each."""
    distinct, orders = zip(*map(number_distinct, examples), strict=True)
    sizes = lengths_of(distinct)
    scores = _scores_within(_number_words(list(chain.from_iterable(distinct))), sizes)
    parts = np.split(np.subtract(1, scores, out=scores), np.cumsum(sizes**2)[:-1])
    return [
        part.reshape(size, size)[np.ix_(order, order)]
        for part, size, order in zip(parts, sizes.tolist(), orders, strict=True)
    ]


def _scores_within(captions: _Captions, sizes: Ints) -> Floats:
    """Compute METEOR of all ordered pairs of captions of each example, with the reference first, example by example."""
    ends, firsts = np.cumsum(sizes**2), np.cumsum(sizes) - sizes
    scores = np.empty(int(np.sum(sizes**2)))
    for start in range(0, len(scores), _PAIRS_AT_ONCE):
        pairs = np.arange(start, min(start + _PAIRS_AT_ONCE, len(scores)))
        example = np.searchsorted(ends, pairs, "right")
        reference, hypothesis = np.divmod(pairs - (ends - sizes**2)[example], sizes[example])
        scores[pairs] = _scores(captions, firsts[example] + reference, firsts[example] + hypothesis)
    return scores


def _by_workers(tasks: Iterator[list[list[Tokens]]], workers: int) -> Iterator[list[Floats]]:
    """Compute distances in several processes with a small number of pending tasks."""
    waiting: deque[Future[list[Floats]]] = deque()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for task in tasks:
            waiting.append(pool.submit(_distances, task))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
