"""Porter stemmer used by METEOR, equal to NLTK's stemmer in its default mode.

The suffix rules are those of Porter (1980, "An algorithm for suffix stripping", Program 14(3)). Comments mark each
departure from them.
"""

from collections.abc import Iterable, Mapping

# Departure: words with a fixed stem.
_FIXED_STEMS = {
    **{word: "sky" for word in ("sky", "skies")},
    **{"dying": "die", "lying": "lie", "tying": "tie", "news": "news"},
    **{word: word.removesuffix("s") for word in ("innings", "inning", "outings", "outing", "cannings", "canning")},
    **{word: word for word in ("howe", "proceed", "exceed", "succeed")},
}

_PLURALS = {"sses": "ss", "ies": "i", "ss": "ss", "s": ""}

# In both lists the first suffix that matches the end of the word decides, even if its condition is not met.
_STEP_2 = {
    **{"ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize"},
    "bli": "ble",  # departure: not only "abli"
    **{"alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate"},
    **{"alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive"},
    **{"biliti": "ble", "fulli": "ful"},  # departure: "fulli"
}
_STEP_3 = {
    **{"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic"},  # codespell:ignore ative
    **{"ful": "", "ness": ""},
}
_STEP_4 = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent"),  # codespell:ignore ment
    *("ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize"),
)


def porter_stem(word: str) -> str:
    """Return the stem of a word, which is not empty unless the word is."""
    if word in _FIXED_STEMS:
        return _FIXED_STEMS[word]
    if len(word) <= 2:  # departure
        return word
    word = _without_participle(_without_plural(word))
    word = _replace_suffix(_double_suffix_shortened(_final_y_as_i(word)), _STEP_3)
    return _without_final_e(_without_suffix(word))


def _pattern(stem: str) -> str:
    """Return "c" for each consonant and "v" for each vowel. A y is a consonant at the start and after a vowel."""
    kinds: list[str] = []
    for letter in stem:
        is_vowel = letter in "aeiou" or (letter == "y" and kinds[-1:] == ["c"])
        kinds.append("v" if is_vowel else "c")
    return "".join(kinds)


def _measure(stem: str) -> int:
    """Return Porter's m, the number of vowels followed by a consonant."""
    return _pattern(stem).count("vc")


def _ends_in_short_syllable(stem: str) -> bool:
    """Return whether Porter's condition *o is met: consonant, vowel, and a consonant other than w, x, y."""
    pattern = _pattern(stem)
    if pattern.endswith("cvc"):
        return stem[-1] not in "wxy"
    return pattern == "vc"  # departure


def _find_suffix(word: str, suffixes: Iterable[str]) -> str:
    """Return the first suffix that matches, or an empty string."""
    return next(filter(word.endswith, suffixes), "")


def _replace_suffix(word: str, suffixes: Mapping[str, str]) -> str:
    """Replace the first suffix that matches, if the part before it has a positive measure."""
    suffix = _find_suffix(word, suffixes)
    stem = word.removesuffix(suffix)
    return stem + suffixes[suffix] if suffix and _measure(stem) > 0 else word


def _without_plural(word: str) -> str:
    """Apply step 1a."""
    if len(word) == 4 and word.endswith("ies"):  # departure
        return word.removesuffix("s")
    suffix = _find_suffix(word, _PLURALS)
    return word.removesuffix(suffix) + _PLURALS.get(suffix, "")


def _without_participle(word: str) -> str:
    """Apply step 1b."""
    if word.endswith("ied"):  # departure
        return word.removesuffix("d" if len(word) == 4 else "ed")
    if word.endswith("eed"):
        return word.removesuffix("d") if _measure(word.removesuffix("eed")) > 0 else word
    for suffix in ("ed", "ing"):
        stem = word.removesuffix(suffix)
        if stem != word and "v" in _pattern(stem):
            return _verb_ending_mended(stem)
    return word


def _verb_ending_mended(stem: str) -> str:
    """Apply the second half of step 1b: "hopp" becomes hop, "fil" becomes file."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if stem[-1:] == stem[-2:-1] and _pattern(stem)[-1] == "c":
        return stem if stem[-1] in "lsz" else stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _ends_in_short_syllable(stem) else stem


def _final_y_as_i(word: str) -> str:
    """Apply step 1c. Departure: after a consonant that is not the first letter, instead of after any vowel."""
    if len(word) > 2 and word.endswith("y") and _pattern(word)[-2] == "c":
        return word.removesuffix("y") + "i"
    return word


def _double_suffix_shortened(word: str) -> str:
    """Apply step 2."""
    if word.endswith("alli") and _measure(word.removesuffix("alli")) > 0:  # departure
        return _double_suffix_shortened(word.removesuffix("li"))
    if word.endswith("logi") and not _find_suffix(word, _STEP_2):  # departure
        return word.removesuffix("i") if _measure(word.removesuffix("ogi")) > 0 else word
    return _replace_suffix(word, _STEP_2)


def _without_suffix(word: str) -> str:
    """Apply step 4."""
    suffix = _find_suffix(word, _STEP_4)
    stem = word.removesuffix(suffix)
    may_go = suffix and _measure(stem) > 1 and (suffix != "ion" or stem.endswith(("s", "t")))
    return stem if may_go else word


def _without_final_e(word: str) -> str:
    """Apply step 5."""
    if word.endswith("e"):
        stem = word.removesuffix("e")
        measure = _measure(stem)
        if measure > 1 or (measure == 1 and not _ends_in_short_syllable(stem)):
            word = stem
    if word.endswith("ll") and _measure(word.removesuffix("l")) > 1:
        return word.removesuffix("l")
    return word
