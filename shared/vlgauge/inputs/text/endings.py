"""Unfinished English captions, which end in a word that requires another one."""

DETERMINERS = ("a", "an", "the", "every", "some", "its", "their", "his", "my", "your", "our")
PREPOSITIONS = (
    *("of", "in", "on", "at", "to", "from", "by", "with", "without", "for", "into", "onto", "upon", "near", "beside"),
    *("against", "among", "during", "toward", "towards", "through", "across", "along", "over", "under", "like"),
)
CONJUNCTIONS = (
    *("and", "or", "but", "nor", "while", "because", "although", "unless", "whereas", "if", "than", "as", "that"),
)
_UNFINISHED = frozenset((*DETERMINERS, *PREPOSITIONS, *CONJUNCTIONS))


def is_unfinished(caption: str) -> bool:
    """Return whether the last word of a caption is a determiner, preposition or conjunction.

    Case and punctuation do not matter. Words that often end a caption, such as "up" and "behind", are not listed.
    """
    words = ("".join(filter(str.isalnum, word)) for word in reversed(caption.split()))
    return next(filter(None, words), "").casefold() in _UNFINISHED
