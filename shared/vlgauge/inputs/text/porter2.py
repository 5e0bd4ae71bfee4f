"""Stemmer of METEOR 1.5 for English: Snowball's English stemmer ("Porter 2") in its version of 2010.

Later versions of Snowball have other exceptions, so no current library returns these stems.
"""

_FIXED = {
    **{"skis": "ski", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "idly": "idl", "gently": "gentl"},
    **{"ugly": "ugli", "early": "earli", "only": "onli", "singly": "singl"},
    **{word: word for word in ("sky", "news", "howe", "atlas", "cosmos", "bias", "andes")},
}
# Words that are stems after step 1a.
_FIXED_LATER = frozenset(("inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"))
_VOWELS = frozenset("aeiouy")
_DOUBLES = frozenset(("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"))
_BEFORE_LI = frozenset("cdeghkmnrt")
_LONG_STARTS = ("gener", "commun", "arsen")

_STEP_2 = {
    **{"tional": "tion", "enci": "ence", "anci": "ance", "abli": "able", "entli": "ent", "izer": "ize"},
    **{"ization": "ize", "ational": "ate", "ation": "ate", "ator": "ate", "alism": "al", "aliti": "al", "alli": "al"},
    **{"fulness": "ful", "ousli": "ous", "ousness": "ous", "iveness": "ive", "iviti": "ive", "biliti": "ble"},
    **{"bli": "ble", "ogi": "og", "fulli": "ful", "lessli": "less", "li": ""},
}
_STEP_3 = {
    **{"tional": "tion", "ational": "ate", "alize": "al", "icate": "ic", "iciti": "ic", "ical": "ic", "ful": ""},
    **{"ness": "", "ative": ""},
}
_STEP_4 = dict.fromkeys(
    (
        *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ism", "ate", "iti", "ous"),
        *("ive", "ize", "ion"),
    ),
    "",
)
_STEP_1B = frozenset(("eed", "eedly", "ed", "edly", "ing", "ingly"))
_LONGEST_SUFFIX = 7


def porter2_stem(word: str) -> str:
    """Return the stem of a lowercased word.

    If several suffixes of a step match, only the longest is considered, even if its condition is not met.
    """
    if (fixed := _FIXED.get(word)) is not None:
        return fixed
    # Java counts UTF-16 units.
    if len(word) < 3 and len(word.encode("utf-16-le", "surrogatepass")) < 6:
        return word
    word = _with_consonant_y(word.removeprefix("'"))
    r1 = next((len(start) for start in _LONG_STARTS if word.startswith(start)), None)
    r1 = _region(word, 0) if r1 is None else r1
    r2 = _region(word, r1)
    word = _step_1a(next((word.removesuffix(end) for end in ("'s'", "'s", "'") if word.endswith(end)), word))
    if word not in _FIXED_LATER:
        word = _step_1b(word, r1)
        if len(word) > 2 and word[-1] in "yY" and word[-2] not in _VOWELS:
            word = f"{word[:-1]}i"
        word = _step_2(word, r1)
        word = _step_3(word, r1, r2)
        word = _step_4(word, r2)
        word = _step_5(word, r1, r2)
    return word.replace("Y", "y")


def _with_consonant_y(word: str) -> str:
    """Replace each y that is a consonant with Y: at the start and after a vowel."""
    if "y" not in word:
        return word
    letters: list[str] = []
    for letter in word:
        letters.append("Y" if letter == "y" and (not letters or letters[-1] in _VOWELS) else letter)
    return "".join(letters)


def _region(word: str, start: int) -> int:
    """Return the start of the region after the first consonant that follows a vowel, searching from `start`."""
    end = start
    while end < len(word) and word[end] not in _VOWELS:
        end += 1
    while end < len(word) and word[end] in _VOWELS:
        end += 1
    return min(end + 1, len(word))


def _suffix(word: str, suffixes: dict[str, str] | frozenset[str]) -> str:
    """Return the longest matching suffix of a word, or an empty string."""
    ends = (word[-length:] for length in range(min(_LONGEST_SUFFIX, len(word)), 0, -1))
    return next((end for end in ends if end in suffixes), "")


def _has_vowel(text: str) -> bool:
    return not _VOWELS.isdisjoint(text)


def _ends_in_short_syllable(word: str) -> bool:
    if len(word) == 2:
        return word[0] in _VOWELS and word[1] not in _VOWELS
    if len(word) < 2 or word[-1] in _VOWELS or word[-1] in "wxY":
        return False
    return word[-2] in _VOWELS and word[-3] not in _VOWELS


def _step_1a(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith(("us", "ss")) or not word.endswith("s"):
        return word
    return word[:-1] if _has_vowel(word[:-2]) else word


def _step_1b(word: str, r1: int) -> str:
    suffix = _suffix(word, _STEP_1B)
    root = word.removesuffix(suffix)
    if suffix.startswith("ee"):
        return f"{root}ee" if len(root) >= r1 else word
    if not suffix or not _has_vowel(root):
        return word
    if root.endswith(("at", "bl", "iz")):
        return f"{root}e"
    if root[-2:] in _DOUBLES:
        return root[:-1]
    return f"{root}e" if len(root) == r1 and _ends_in_short_syllable(root) else root


def _step_2(word: str, r1: int) -> str:
    suffix = _suffix(word, _STEP_2)
    root = word.removesuffix(suffix)
    if not suffix or len(root) < r1:
        return word
    if (suffix == "li" and root[-1:] not in _BEFORE_LI) or (suffix == "ogi" and not root.endswith("l")):
        return word
    return root + _STEP_2[suffix]


def _step_3(word: str, r1: int, r2: int) -> str:
    suffix = _suffix(word, _STEP_3)
    root = word.removesuffix(suffix)
    if not suffix or len(root) < (r2 if suffix == "ative" else r1):
        return word
    return root + _STEP_3[suffix]


def _step_4(word: str, r2: int) -> str:
    suffix = _suffix(word, _STEP_4)
    root = word.removesuffix(suffix)
    if not suffix or len(root) < r2 or (suffix == "ion" and not root.endswith(("s", "t"))):
        return word
    return root


def _step_5(word: str, r1: int, r2: int) -> str:
    root = word[:-1]
    if word.endswith("e") and (len(root) >= r2 or (len(root) >= r1 and not _ends_in_short_syllable(root))):
        return root
    return root if word.endswith("ll") and len(root) >= r2 else word
