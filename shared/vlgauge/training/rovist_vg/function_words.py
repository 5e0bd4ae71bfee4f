"""Words that say nothing of what a region shows, which the paper takes out of the phrases that it trains on."""

_LISTED = """
a an the this that these those some any each every either neither both all such no another other same own
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
herself it its itself they them their theirs themselves one ones someone somebody something who whom whose which
what where when there here
of in on at by for with about against between into through during before after above below to from up down out
off over under near next beside behind inside outside around along across onto upon
and or but nor so if than as while because until
is am are was were be been being has have had having do does did doing can could will would shall should may might
must not very too just only more most few several much many
"""

FUNCTION_WORDS = frozenset(_LISTED.split())


def content_words(phrase: str) -> str:
    """The phrase without its function words and marks; empty if nothing else is in it."""
    return " ".join(word for word in phrase.split() if not _says_nothing(word))


def _says_nothing(word: str) -> bool:
    return word.lower() in FUNCTION_WORDS or not any(map(str.isalnum, word))
