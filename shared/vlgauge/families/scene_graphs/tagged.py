"""Lemmas of words by NLTK's tagger and WordNet's endings, equal to NLTK's own lemmatizer."""

from collections.abc import Sequence

from vlgauge.families.scene_graphs.synsets import lemma
from vlgauge.inputs.text.noun_phrases import NltkNouns

# Parts of speech by the first letter of a tag. All other tags are treated as nouns.
_PARTS = {"J": "adj", "V": "verb", "R": "adv"}


class NltkLemmas:
    """Function from the words of a caption to their lemmas, based on NLTK's tagger and WordNet's endings.

    Attributes:
        identity: Name and version of the tagger, for signatures.

    Raises:
        ImportError: If NLTK is not installed.
        WeightsNotFoundError: If the data of its tagger is missing. The message contains the command that downloads it.
    """

    def __init__(self) -> None:
        self._tagger = NltkNouns(setting='variant="opera"', instead='variant="fixed"')
        self.identity = self._tagger.identity

    def __call__(self, tokens: Sequence[str]) -> list[str]:
        """Return one lemma per word."""
        return [lemma(word, _PARTS.get(tag[:1], "noun")) for word, tag in self._tagger.tag(list(tokens))]
