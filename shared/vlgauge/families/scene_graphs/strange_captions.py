"""Detection of captions that are not English or contain markup, which the English rules cannot parse."""

import re
from collections.abc import Iterable

from vlgauge.core.validation import short_repr, warn
from vlgauge.families.scene_graphs.synsets import synsets
from vlgauge.inputs.text.language import words
from vlgauge.inputs.text.scripts import is_in_other_script
from vlgauge.inputs.text.word_lists import word_list

# Frequent words of captions that have no synset.
_SMALL_WORDS = word_list("small_words")
_MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,200}>|<\|[^|<>]{0,40}\|>|&(?:[a-z]{2,8}|#\d{2,6});|\*\*|```")
# If fewer words are known, the captions contain more than unknown names and typos. In English captions nineteen of
# twenty words are known.
LEAST_KNOWN = 0.6
# Many French words are also in WordNet, but none of the small words.
LEAST_WITHOUT_SMALL = 0.85
FEW_SMALL = 0.05
FEWEST_WORDS = 5
MOST_WORDS = 20_000
"""Maximum number of words of a call that are looked up."""


def warn_of_strange(captions: Iterable[str], metric: str, remedy: str) -> None:
    """Warn if most words of the captions are not English, or if a caption has markup.

    Args:
        captions: Captions that the metric parses.
        metric: Name of the metric.
        remedy: Advice on captions of other languages.
    """
    n_words, n_known, n_small, marked, in_other_script = 0, 0, 0, None, False
    for caption in captions:
        if marked is None and (found := _MARKUP.search(caption)):
            marked = found[0]
        if n_words < MOST_WORDS:
            own = [word for word in words(caption[:MOST_WORDS].lower()) if any(map(str.isalpha, word))]
            n_words += len(own)
            in_other_script |= is_in_other_script(caption)
            n_small += sum(word in _SMALL_WORDS for word in own)
            n_known += sum(word in _SMALL_WORDS or bool(synsets(word)) for word in own)
    if marked is not None:
        warn(f"a caption has markup, such as {short_repr(marked)}, which is parsed as words; remove it first")
    least = LEAST_KNOWN if n_small >= FEW_SMALL * n_words else LEAST_WITHOUT_SMALL
    # A few unknown words may be names, unless their script is another one.
    if (n_words >= FEWEST_WORDS or in_other_script) and n_known < least * n_words:
        warn(
            f"{metric} supports English only, but only {n_known} of {n_words} words of the captions are English, so "
            f"the scores are meaningless; {remedy}"
        )
