"""Scripts of texts, by which metrics of English detect other languages without a model."""

import re
from collections.abc import Iterable

_LETTER = re.compile(r"[^\W\d_]")
# Letters of the Latin blocks of Unicode, including ligatures and full-width forms.
_LATIN = re.compile(
    r"[A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u1d00-\u1dbf\u1e00-\u1eff\u2c60-\u2c7f\ua722-\ua7ff"
    r"\uab30-\uab6f\ufb00-\ufb06\uff21-\uff3a\uff41-\uff5a]"
)


def is_in_other_script(text: str) -> bool:
    """Return whether more than half of the letters of a text are not Latin. False for a text without letters."""
    return not text.isascii() and 2 * len(_LATIN.findall(text)) < len(_LETTER.findall(text))


def count_other_scripts(texts: Iterable[str]) -> tuple[int, int]:
    """Return the number of texts for which `is_in_other_script` is true, and the number of all texts."""
    found = [is_in_other_script(text) for text in texts]
    return sum(found), len(found)
