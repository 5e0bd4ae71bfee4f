"""Porter 2 in its version of 2010: golden stems, and all words of METEOR's lists."""

import hashlib
import zipfile

import pytest
from meteor15 import golden, needs_wheel

from vlgauge.families.ngram.meteor15.lists import EXCEPTIONS, SYNSETS
from vlgauge.families.ngram.meteor15.sources import LISTS, file_of
from vlgauge.inputs.text.porter2 import porter2_stem


def test_golden_stems():
    stems = golden()["stems"]
    assert {word: porter2_stem(word) for word in stems} == stems


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("", ""),
        ("ys", "ys"),
        ("'", "'"),
        ("skis", "ski"),
        ("'skies", "ski"),
        ("innings", "inning"),
        ("generously", "generous"),
        ("\U0001f600", "\U0001f600"),
        ("\U0001f600s", "\U0001f600s"),
    ],
)
def test_odd_words(word, stem):
    assert porter2_stem(word) == stem


@needs_wheel
def test_every_word_of_the_lists():
    with zipfile.ZipFile(file_of(LISTS, metric="meteor")) as jar:
        synsets, exceptions = (jar.read(name).decode().split("\n") for name in (SYNSETS, EXCEPTIONS))
    words = {word for lemma in synsets[::2] for word in lemma.split("_")} | {
        w for line in exceptions for w in line.split()
    }
    lines = "".join(f"{word} {porter2_stem(word)}\n" for word in sorted(words - {""}))
    assert lines.count("\n") == 99_800
    digest = "7a9d9f79e6b3a33dc568d1bb3fadcb78fa59e223c6cf7091ed789d039a453642"
    assert hashlib.sha256(lines.encode()).hexdigest() == digest
