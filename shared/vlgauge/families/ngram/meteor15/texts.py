"""Preprocessed texts, and candidate matches of pairs of texts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vlgauge.families.ngram.meteor15.alignment import AlignmentMatches, concatenate_matches
from vlgauge.families.ngram.meteor15.lists import Word, WordLists
from vlgauge.families.ngram.meteor15.paraphrases import (
    Hashes,
    Paraphrases,
    ParaphraseTable,
    finder,
    hashes_of_ngrams,
    hashes_of_tokens,
)
from vlgauge.inputs.text.ngrams import Ints, TokenIds, ranges, sort_with_places, token_ids

_EXACT, _STEM, _SYNONYM, _PARAPHRASE = range(4)
_MOST_FILTER = 2**22  # entries


@dataclass(frozen=True, eq=False)
class _Occurrences:
    """Occurrences of words or phrases in T texts.

    Attributes:
        ids: Id of each occurrence, text by text.
        starts: First token within the text, ascending. Shorter phrases come first.
        lengths: Number of tokens.
        first: Shape ``(T,)``, index of the first occurrence in each text.
        sizes: Shape ``(T,)``, number of occurrences in each text.
    """

    ids: Ints
    starts: Ints
    lengths: Ints
    first: Ints
    sizes: Ints


class _Relation:
    """Relation between ids of two kinds, with a value per related pair.

    Args:
        ones: Ids of the first kind.
        others: Ids of the second kind.
        values: Values, in the order in which `found` returns them.
    """

    def __init__(self, ones: Ints, others: Ints, values: Ints) -> None:
        # Odd, so that the last bits of the keys differ.
        self._n_others = int(others.max(initial=0) + 1) | 1
        keys = ones * self._n_others + others
        order = np.argsort(keys, kind="stable")
        self._keys, self._values = keys[order], values[order]
        bits = min(_MOST_FILTER.bit_length() - 1, int(keys.max(initial=0)).bit_length())
        self._mask = (1 << bits) - 1
        self._may_be = np.zeros(1 << bits, np.bool_)
        self._may_be[keys & self._mask] = True

    def find(self, ones: _Occurrences, texts: Ints, others: _Occurrences, other_texts: Ints) -> tuple[Ints, ...]:
        """Find related occurrences in pairs of texts.

        Returns:
            Index of the pair, index of the occurrence in each text, and the value, in the order of pairs, occurrences
            in the first texts, occurrences in the second texts, values.
        """
        pair, one = ranges(ones.first[texts], ones.sizes[texts])
        row, other = ranges(others.first[other_texts][pair], others.sizes[other_texts][pair])
        keys = (ones.ids[one] * self._n_others)[row]
        keys += others.ids[other]
        likely = np.flatnonzero(self._may_be[keys & self._mask])
        keys = keys[likely]
        begin, end = (np.searchsorted(self._keys, keys, side) for side in ("left", "right"))
        entry, places = ranges(begin, end - begin)
        row, other = row[likely][entry], other[likely][entry]
        return pair[row], one[row], other, self._values[places]


class TextFamily:
    """Texts that are compared with each other, and the relations between their words and phrases.

    Args:
        lists: The word lists.
        table: The paraphrases. None to match without paraphrases.
        texts: Tokens of every text.

    Attributes:
        lengths: Number of tokens of each text.
        starts: Index of the first token of each text among the tokens of all texts.
        n_function: Number of function words of each text.
        contents: Number of each text, equal for texts with equal words.
    """

    def __init__(self, lists: WordLists, table: ParaphraseTable | None, texts: Iterable[Sequence[str]]) -> None:
        tokens = token_ids(texts)
        words = [lists.word(token) for token in tokens.tokens]
        self.lengths, self.starts = tokens.lengths, np.cumsum(tokens.lengths) - tokens.lengths
        is_function = np.array([word.is_function for word in words], np.int64)[tokens.ids]
        self._functions = np.append(0, np.cumsum(is_function))
        self.n_function = self._functions[self.starts + self.lengths] - self._functions[self.starts]
        codes = np.array([word.code for word in words], np.int64)[tokens.ids]
        number: dict[bytes, int] = {}
        bounds = zip(self.starts.tolist(), (self.starts + self.lengths).tolist(), strict=True)
        self.contents = np.array([number.setdefault(codes[a:b].tobytes(), len(number)) for a, b in bounds], np.int64)
        places = ranges(np.zeros_like(self.lengths), self.lengths)[1]
        self._words = _Occurrences(tokens.ids, places, np.ones_like(places), self.starts, self.lengths)
        self._related = _relate_words(words)
        self._paraphrases = None if table is None else self._find_paraphrases(tokens, table.pairs())

    def functions_within(self, texts: Ints, starts: Ints, lengths: Ints) -> Ints:
        """Count the function words within runs of tokens of texts.

        Args:
            texts: Shape ``(n,)``, indices of texts.
            starts: Shape ``(n,)``, first token of each run within its text.
            lengths: Shape ``(n,)``, number of tokens of each run.
        """
        begin = self.starts[texts] + starts
        return self._functions[begin + lengths] - self._functions[begin]

    def diagonals(self, texts: Ints) -> AlignmentMatches:
        """Match texts with themselves, token by token.

        Args:
            texts: Indices of the texts, shape ``(n,)``.

        Returns:
            One match of length 1 per token.
        """
        pair, start = ranges(np.zeros_like(texts), self.lengths[texts])
        one = np.ones_like(start)
        return AlignmentMatches(pair, start, one, start, one, np.full_like(start, _EXACT))

    def candidates(self, own: Ints, references: Ints) -> AlignmentMatches:
        """List the possible matches of pairs of texts.

        Matches that start at the same token of a reference are sorted: exact matches first, then matches by stem,
        synonym and paraphrase. Matches of a hypothesis phrase with its paraphrase in the reference come last. A match
        that is found in several ways is listed several times.

        Args:
            own: Shape ``(P,)``, indices of the hypotheses.
            references: Shape ``(P,)``, indices of the references.
        """
        pair, theirs, ours, stage = self._related.find(self._words, references, self._words, own)
        parts = [(pair, self._words, theirs, self._words, ours, stage)]
        if self._paraphrases is not None:
            phrases, texts, relation = self._paraphrases
            pair, theirs, ours, rank = relation.find(phrases, references, texts, own)
            order = np.lexsort((ours, rank, theirs, pair))
            parts.append((pair[order], phrases, theirs[order], texts, ours[order], rank * 0 + _PARAPHRASE))
            pair, ours, theirs, rank = relation.find(phrases, own, texts, references)
            order = np.lexsort((theirs, rank, ours, pair))
            parts.append((pair[order], texts, theirs[order], phrases, ours[order], rank * 0 + _PARAPHRASE))
        found = concatenate_matches(
            AlignmentMatches(
                pair, one.starts[theirs], one.lengths[theirs], other.starts[ours], other.lengths[ours], stage
            )
            for pair, one, theirs, other, ours, stage in parts
        )
        keys = (found.pair * (1 + found.start.max(initial=0)) + found.start) * (1 + _PARAPHRASE) + found.stage
        return found.select(sort_with_places(keys, int(keys.max(initial=0)))[1])

    def _find_paraphrases(self, tokens: TokenIds, pairs: Paraphrases) -> tuple[_Occurrences, _Occurrences, _Relation]:
        """Return the phrases of the table, their paraphrases, and the relation between them with its order."""
        phrases = self._occurrences(tokens, pairs.phrases, pairs.longest)
        known, ids = np.unique(phrases.ids, return_inverse=True)
        owners, texts = pairs.of(pairs.phrases[known])
        distinct, others = np.unique(texts, return_inverse=True)
        found = self._occurrences(tokens, distinct, pairs.longest)
        occurs = np.zeros(len(distinct), np.bool_)
        occurs[found.ids] = True
        rank = np.flatnonzero(occurs[others])
        return replace(phrases, ids=ids), found, _Relation(owners[rank], others[rank], rank)

    def _occurrences(self, tokens: TokenIds, ascending: Hashes, longest: int) -> _Occurrences:
        """Find phrases by their hashes. The index of a phrase among `ascending` becomes its id."""
        find = finder(ascending)
        parts = []
        for n, (places, hashes) in enumerate(self._ngrams(tokens, longest), 1):
            which, ids = find(hashes)
            parts.append((places[which], ids, np.full_like(ids, n)))
        places, ids, lengths = map(np.concatenate, zip(*parts, strict=True))
        order = np.lexsort((lengths, places))
        places = places[order]
        text = np.searchsorted(self.starts + self.lengths, places, "right")
        sizes = np.bincount(text, minlength=len(self.lengths))
        return _Occurrences(ids[order], places - self.starts[text], lengths[order], np.cumsum(sizes) - sizes, sizes)

    def _ngrams(self, tokens: TokenIds, longest: int) -> Iterator[tuple[Ints, Hashes]]:
        """Yield the first tokens and the hashes of the n-grams of the texts, for n from 1."""
        of_token, n_bytes = hashes_of_tokens(tokens.tokens)
        of_token, n_bytes = of_token[tokens.ids], n_bytes[tokens.ids]
        places, hashes, sizes = np.arange(len(tokens.ids)), of_token, n_bytes
        left = np.repeat(self.starts + self.lengths, self.lengths) - places
        for n in range(1, longest + 1):
            yield places, hashes
            goes_on = left[places] > n
            places, sizes = places[goes_on], sizes[goes_on]
            hashes = hashes_of_ngrams(hashes[goes_on], sizes, of_token[places + n])
            sizes = sizes + 1 + n_bytes[places + n]
            if not len(places):
                return


def _relate_words(words: Sequence[Word]) -> _Relation:
    """Build the relation between words that match each other, with the stage as the value."""
    with_code: defaultdict[int, list[int]] = defaultdict(list)
    with_stem: defaultdict[int, list[int]] = defaultdict(list)
    with_synset: defaultdict[str, list[int]] = defaultdict(list)
    for place, word in enumerate(words):
        with_code[word.code].append(place)
        with_stem[word.stem].append(place)
        for number in word.synsets:
            with_synset[number].append(place)
    found = []
    for place, word in enumerate(words):
        found += [(place, other, _EXACT) for other in with_code[word.code]]
        synonyms = {other for number in word.synsets for other in with_synset[number]}
        for stage, others in ((_STEM, with_stem[word.stem]), (_SYNONYM, synonyms)):
            found += [(place, other, stage) for other in others if words[other].code != word.code]
    return _Relation(*np.array(found, np.int64).reshape(-1, 3).T)
