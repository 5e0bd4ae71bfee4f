"""Porter's stemmer: one example or more per rule and condition, against NLTK, odd words, the oracle."""

import gzip
import json
import random

import folders
import pytest

from vlgauge.inputs.text.porter import porter_stem

GOLDEN = json.loads(gzip.decompress((folders.GOLDEN / "meteor.json.gz").read_bytes()))

STEMS = {
    "fixed stems": "sky sky skies sky dying die lying lie tying tie news news innings inning inning inning outings "
    "outing outing outing cannings canning canning canning howe howe proceed proceed exceed exceed succeed succeed",
    "two letters": "as as is is ed ed ys ys s s",
    "1a": "caresses caress ponies poni ties tie dies die caress caress cats cat gas ga",
    "1b, ied": "tied tie died die cried cri applied appli",
    "1b, eed": "feed feed decreed decre need need",
    "1b, vowel": "plastered plaster bled bled motoring motor sing sing shyed shi",
    "1b, mended": "conflated conflat troubled troubl sized size hopping hop tanned tan falling fall hissing hiss "
    "fizzed fizz failing fail filing file snowing snow boxing box playing play aged age eying eye sawed saw",
    "1c": "happy happi sky sky say say by by enjoy enjoy dry dri syzygy syzygi",
    "2": "relational relat conditional condit rational ration valenci valenc hesitanci hesit digitizer digit "
    "conformabli conform radicalli radic differentli differ vileli vile analogousli analog vietnamization vietnam "
    "predication predic operator oper feudalism feudal decisiveness decis hopefulness hope callousness callous "
    "formaliti formal sensitiviti sensit sensibiliti sensibl possibli possibl gratefulli grate",
    "2, alli once more": "rationalli ration nationalli nation",
    "2, logi": "geologi geolog apologi apolog logi logi analogi analog biologi biolog",
    "2, condition": "nation nation ator ator",
    "3": "triplicate triplic formative form formalize formal electriciti electr electrical electr hopeful hope "
    "goodness good ness ness",
    "4": "revival reviv allowance allow inference infer airliner airlin gyroscopic gyroscop adjustable adjust "
    "defensible defens irritant irrit replacement replac adjustment adjust dependent depend adoption adopt "
    "decision decis opinion opinion homologou homolog despotism despot irrigate irrig angulariti angular "
    "homologous homolog effective effect bowdlerize bowdler element element",
    "5a": "probate probat rate rate cease ceas ice ice ease eas name name wake wake awe awe axe axe",
    "5b": "enroll enrol roll roll fulfill fulfil",
    "y": "yes ye yyyy yyyi eyed eye toys toy yoyos yoyo",
    "no English letter": "naïve naïv 3rds 3rd café's café' well-beings well-b",
}
EXAMPLES = [pair for text in STEMS.values() for pair in zip(text.split()[::2], text.split()[1::2], strict=True)]
SUFFIXES = (
    "s es ies ied ed eed ing sses ss ational tional enci anci izer bli alli entli eli ousli ization ation ator alism "
    "iveness fulness ousness aliti iviti biliti fulli logi icate alize iciti ical ful ness al ance ence er ic able "
    "ible ative ant ement ment ent sion tion "  # codespell:ignore ative,ment
    "ion ou ism ate iti ous ive ize e ll l y at bl iz"
)
LETTERS = "aaaeeeiiioouuyyybbccddllsstwxz-é3"


def random_words(seed, count):
    rng = random.Random(seed)
    for _ in range(count):
        endings = rng.choices(SUFFIXES.split(), k=rng.randint(0, 3))
        yield "".join([*rng.choices(LETTERS, k=rng.randint(0, 6)), *endings])


def test_worked_examples():
    assert [(word, porter_stem(word)) for word, _ in EXAMPLES] == EXAMPLES


def test_equal_to_nltk():
    theirs = pytest.importorskip("nltk.stem.porter").PorterStemmer()
    for word in random_words(0, 8_000):
        assert porter_stem(word) == theirs.stem(word), word


def test_stem_is_no_longer_than_the_word_and_not_empty():
    for word in filter(None, random_words(4, 5_000)):
        assert 0 < len(porter_stem(word)) <= len(word), word


@pytest.mark.parametrize("word", ["", "3", "''", "\U0001f600", "日本語"])
def test_words_without_letters_stay(word):
    assert porter_stem(word) == word


@pytest.mark.parametrize("unit", ["a", "y", "ay", "alli", "ss", "ing"])
def test_100_000_units_take_linear_time(unit):
    # With the square of their number this would not come to an end.
    assert len(porter_stem(unit * 100_000)) > 99_990


def test_golden_stems():
    assert {word: porter_stem(word) for word in GOLDEN["porter"]} == GOLDEN["porter"]
