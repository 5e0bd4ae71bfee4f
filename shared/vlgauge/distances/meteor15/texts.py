"""Texts prepared to be compared with others, and the candidates for matches of two of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from vlgauge.distances.meteor15.formula import Match
from vlgauge.distances.meteor15.lists import WordLists
from vlgauge.distances.meteor15.paraphrases import ParaphraseTable

_EXACT, _STEM, _SYNONYM, _PARAPHRASE = range(4)

# What may be said for a phrase: each paraphrase with its number of words; the set is the quick look.
_Said: TypeAlias = tuple[frozenset[str], Sequence[tuple[str, int]]]


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A text.

    Attributes:
        tokens: Its tokens.
        codes: Their hashes.
        is_function: 1 for each function word, else 0.
        places: Where each word is.
        phrases: Where each phrase is that a table has on either side.
        phrase_set: These phrases.
        said: Start, length and paraphrases of phrases of the table, by start and length.
    """

    tokens: Sequence[str]
    codes: Sequence[int]
    is_function: Sequence[int]
    places: Mapping[str, list[int]]
    phrases: Mapping[str, list[int]]
    phrase_set: frozenset[str]
    said: Sequence[tuple[int, int, _Said]]


class TextFamily:
    """Texts that are compared with each other: what their words and phrases have in common.

    Args:
        lists: The word lists.
        table: The paraphrases; None to do without.
        texts: Tokens of every text.
    """

    def __init__(self, lists: WordLists, table: ParaphraseTable | None, texts: Iterable[Sequence[str]]) -> None:
        every = list(texts)
        self._words = {word: lists.word(word) for word in dict.fromkeys(word for tokens in every for word in tokens)}
        self._with_code: dict[int, list[str]] = {}
        self._with_stem: dict[int, list[str]] = {}
        self._with_synset: dict[str, list[str]] = {}
        for word, own in self._words.items():
            self._with_code.setdefault(own.code, []).append(word)
            self._with_stem.setdefault(own.stem, []).append(word)
            for number in own.synsets:
                self._with_synset.setdefault(number, []).append(word)
        self._related: dict[str, dict[str, list[int]]] = {}
        self._said = {} if table is None else _said(table, self._words.keys(), every)
        self._phrases = {*self._said}.union(*(texts for texts, _ in self._said.values()))
        # A longer phrase is looked for only where it may begin.
        self._beginnings = {
            phrase[:at] for phrase in self._phrases for at, letter in enumerate(phrase) if letter == " "
        }

    def text(self, tokens: Sequence[str]) -> Text:
        """Prepare a text, whose tokens are among those of the family."""
        known, beginnings, can_say = self._phrases, self._beginnings, self._said
        places: dict[str, list[int]] = {}
        phrases: dict[str, list[int]] = {}
        said = []
        for start, token in enumerate(tokens):
            places.setdefault(token, []).append(start)
            phrase, stop = token, start + 1
            while True:
                if phrase in known:
                    phrases.setdefault(phrase, []).append(start)
                    if phrase in can_say:
                        said.append((start, stop - start, can_say[phrase]))
                if stop == len(tokens) or phrase not in beginnings:
                    break
                phrase = f"{phrase} {tokens[stop]}"
                stop += 1
        words = [self._words[token] for token in tokens]
        codes, is_function = [word.code for word in words], [word.is_function for word in words]
        return Text(tokens, codes, is_function, places, phrases, frozenset(phrases), said)

    def candidates(self, own: Text, reference: Text) -> list[list[Match]]:
        """List the matches that are possible, by their start in the reference.

        Exact matches come first, then those by stem, synonym and paraphrase; those of a hypothesis phrase with its
        paraphrase in the reference come last. What several ways give is listed several times.
        """
        found: list[list[Match]] = [[] for _ in reference.tokens]
        for start, word in enumerate(reference.tokens):
            found[start] = self._of_word(start, word, own)
        for start, length, (texts, said) in reference.said:
            if not texts.isdisjoint(own.phrase_set):
                for phrase, own_length in said:
                    found[start] += [(start, length, i, own_length, _PARAPHRASE) for i in own.phrases.get(phrase, ())]
        for i, own_length, (texts, said) in own.said:
            if not texts.isdisjoint(reference.phrase_set):
                for phrase, length in said:
                    for start in reference.phrases.get(phrase, ()):
                        found[start].append((start, length, i, own_length, _PARAPHRASE))
        return found

    def _of_word(self, start: int, word: str, own: Text) -> list[Match]:
        """Matches of a word of the reference, in the order of the hypothesis within each stage."""
        related = self._related.get(word)
        if related is None:
            related = self._related[word] = self._relations(word)
        common = related.keys() & own.places.keys() if len(related) > 1 else [word] if word in own.places else []
        if not common:
            return []
        if len(common) == 1:
            (other,) = common
            return [(start, 1, i, 1, stage) for stage in related[other] for i in own.places[other]]
        found = []
        for stage in (_EXACT, _STEM, _SYNONYM):
            places = sorted(i for other in common if stage in related[other] for i in own.places[other])
            found += [(start, 1, i, 1, stage) for i in places]
        return found

    def _relations(self, word: str) -> dict[str, list[int]]:
        """The words of the family that match a word, with the stages that say so."""
        own = self._words[word]
        related = {other: [_EXACT] for other in self._with_code[own.code]}
        of_synsets = {other for number in own.synsets for other in self._with_synset[number]}
        for stage, others in ((_STEM, self._with_stem[own.stem]), (_SYNONYM, of_synsets)):
            for other in others:
                if self._words[other].code != own.code:
                    related.setdefault(other, []).append(stage)
        return related


def _said(table: ParaphraseTable, words: Iterable[str], texts: Iterable[Sequence[str]]) -> dict[str, _Said]:
    """The paraphrases that the texts hold of the phrases that they hold."""
    paraphrases = table.of_words(frozenset(words))
    every = set()
    for tokens in texts:
        for start, phrase in enumerate(tokens):
            every.add(phrase)
            for token in tokens[start + 1 : start + paraphrases.longest]:
                phrase = f"{phrase} {token}"
                every.add(phrase)
    return {
        phrase: (frozenset(found), [(one, one.count(" ") + 1) for one in found])
        for phrase, found in paraphrases.within(every).items()
    }
