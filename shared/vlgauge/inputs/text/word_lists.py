"""Lists of English words in the package data, such as words without content."""

import json

from vlgauge.core.files import DATA


def word_list(name: str) -> frozenset[str]:
    """Return a list of ``word_lists.json`` by its name."""
    return frozenset(json.loads((DATA / "word_lists.json").read_text("utf-8"))[name])
