"""Lemmas of words by NLTK's tagger and WordNet's endings, as NLTK's own lemmatizer finds them."""

from collections.abc import Sequence

from vlgauge.scene_graphs.synsets import lemma
from vlgauge.text.noun_phrases import NltkNouns

# Parts of speech by the first letter of a tag; all others are nouns.
_PARTS = {"J": "adj", "V": "verb", "R": "adv"}


class NltkLemmas:
    """From the words of a caption to their lemmas, by the tags of NLTK's tagger and WordNet's endings.

    Attributes:
        identity: Name and version of the tagger, for signatures.

    Raises:
        ImportError: If NLTK is missing.
        WeightsNotFoundError: If its tagger is not there; names the command.
    """

    def __init__(self) -> None:
        self._tagger = NltkNouns(setting='dialect="opera"', instead='dialect="fixed"')
        self.identity = self._tagger.identity

    def __call__(self, tokens: Sequence[str]) -> list[str]:
        """One lemma per word."""
        return [lemma(word, _PARTS.get(tag[:1], "noun")) for word, tag in self._tagger.tagged(list(tokens))]
