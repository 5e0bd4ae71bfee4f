"""Sentences and words: worked examples, an independent reading of the rules, odd inputs, the authors' values."""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import folders
import pytest
from folders import ROOT
from packaging.version import Version

from vlgauge.core.errors import WeightsNotFoundError
from vlgauge.inputs.text.language import check_splitter, punkt_splitter, sentence_splitter, split_sentences, words

SHARED = ROOT.parent / "shared"
ORACLES = SHARED / "oracles" / "groovist_rovist" / "shared_only"
GOLDEN = json.loads((folders.ROOT / "tests" / "golden" / "rovist_nr.json").read_text(encoding="utf-8"))["stories"]

# `|` marks the end of a sentence.
SENTENCES = [
    "We ran. |They fell! |Why? |Go",
    "he ran . |she fell . |",
    "What?! |No. |",
    "I saw Mr. Brown. |He waved.",
    "The ex-gov. |Then the vice-prof. Brown came.",
    "We met (Dr. Brown) there.",
    "We left at 5 p.m. and ate.",
    "He said it etc. Then left.",
    "We waited... Nobody came. |We left.",
    "We waited .. Nobody came.",
    "Mr?! |Brown came.",
    "t.j. Smith sang.",
    "J. Smith sang.",
    "Plan B. |7 people came.",
    "He scored 7. then left.",
    "He scored 7. |Then he left.",
    "It fell by -3.5. they cheered.",
    'He said "hello there." |She left.',
    "`` wait ! '' |the boy ran .",
    "They left. ''",
    'Run!" ) |She ran.',
    "no final stop",
    "a.b.c is one. |x",
    "One.\u2028|Two.\t|Three.",
]

TOKENS = [
    # 1: opening marks, backticks and double quotes
    ("«a “b \u2018c „d", "« a “ b \u2018 c „ d"),
    ("a`b ```c", "a ` b `` ` c"),
    ('"a "b ("c ["d {"e <"f', "`` a `` b ( `` c [ `` d { `` e < `` f"),
    ("a ''b (''c", "a `` b ( `` c"),
    # 2: an apostrophe before one character that is not a clitic
    ("'a b 'tx 'n 'xy", "' a b 'tx 'n 'xy"),
    ("rock'x'", "rock ' x '"),
    # 3: the last period
    ("a.b c.", "a.b c ."),
    ("(a.) ' »", "( a . ) ' »"),
    ("a.. ", "a .."),
    ("p.m. x", "p.m. x"),
    # 4: colons, commas, rows of periods, other punctuation, lone apostrophes, brackets, dashes
    ("a:b 9:30 1,200, a:", "a : b 9:30 1,200 , a :"),
    ("a,,b", "a , ,b"),
    ("a...b;c@d#e$f%g&h?i!j*k", "a ... b ; c @ d # e $ f % g & h ? i ! j * k"),
    ("dogs' x", "dogs ' x"),
    ("a's' b", "a 's ' b"),
    ("a's'*", "a's ' *"),
    ("[a](b){c}<d>--e---f", "[ a ] ( b ) { c } < d > -- e -- -f"),
    # 5: closing marks and the remaining double quotes
    ("a» b” c\u2019 d'' e\"", "a » b ” c \u2019 d '' e ''"),
    # 6: clitics, in one case only
    ("it's I'M he'd SHE'D", "it 's I 'M he 'd SHE 'D"),
    ("we'll WE'LL We'Ll I've I'VE we're can't CAN'T n't", "we 'll WE 'LL We'Ll I 've I 'VE we 're ca n't CA N'T n't"),
    ("it's\tx", "it's x"),
    # 7: fused words
    ("Cannot gonna, GOTTA lemme gimme d'ye more'n", "Can not gon na , GOT TA lem me gim me d 'ye more 'n"),
    ("wanna go wanna-be cannots", "wan na go wanna-be cannots"),
    ("'Tis so 'twas x'tis", "'T is so 't was x'tis"),
    # outside the rules: long dashes and other scripts stay
    ("café—bar 日本", "café—bar 日本"),
]

MARKS = ". ? ! .. ... , : ; ' '' \" ` `` - -- ( ) [ ] { } < > « » “ ” \u2018 \u2019 „ * $ & % # @"
SNIPPETS = "a b T s n 1 27 3.5 Mr p.m t.j no cannot gonna wanna d'ye more'n 'tis 'TWAS n't 's 'll 'RE it's dog The é"
ATOMS = [*[" "] * 20, *MARKS.split(), *SNIPPETS.split(), "\t", "\n", "\u2028", "\u2014", "\ud800"]
CLOSERS = "\"'”\u2019)]}"
ABBREVIATIONS = "dr mr mrs ms st jr sr prof vs etc p.m a.m u.s no e.g i.e inc co lt col gen sgt capt"


def random_texts(seed: int) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices(ATOMS, k=rng.randint(1, 25))) for _ in range(3000)]


def ends_sentence(core: str, stops: str, following: str) -> bool:
    if set(stops) != {"."}:
        return True
    core = core.lstrip("(\"'`“\u2018[{").lower()
    letters = core.split(".")
    initials = len(letters) > 1 and all(len(part) == 1 and part.isalpha() for part in letters)
    one_letter = len(core) == 1 and core.isalpha() and following.isalpha()
    number = re.fullmatch(r"-?[.,]?\d[\d,.-]*", core) and following.islower()
    abbreviation = core.split("-")[-1] in ABBREVIATIONS.split()
    return not (len(stops) > 1 or initials or one_letter or number or abbreviation)


def sentences_token_by_token(text: str) -> list[list[str]]:
    """Split by the rules, token by token instead of by a regex over the text."""
    tokens = text.split()
    sentences: list[list[str]] = [[]]
    while tokens:
        token = tokens.pop(0)
        sentences[-1].append(token)
        core = token.rstrip(CLOSERS).rstrip(".?!")
        stops = token.rstrip(CLOSERS)[len(core) :]
        if stops and tokens and not tokens[0].strip(CLOSERS):
            sentences[-1].append(tokens.pop(0))
        if stops and tokens and ends_sentence(core, stops, tokens[0][0]):
            sentences.append([])
    return [sentence for sentence in sentences if sentence]


@pytest.fixture
def punkt(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    if not (SHARED / "data" / "nltk_data").is_dir():
        pytest.skip("needs shared/data/nltk_data")
    nltk_data = pytest.importorskip("nltk.data")
    monkeypatch.setattr(nltk_data, "path", [str(SHARED / "data" / "nltk_data")])
    return punkt_splitter()


def shared_stories(name: str) -> dict[str, Any]:
    if not (ORACLES / name).is_file():
        pytest.skip(f"needs shared/oracles/groovist_rovist/shared_only/{name}")
    return json.loads((ORACLES / name).read_text(encoding="utf-8"))["stories"]


# Worked examples ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("marked", SENTENCES)
def test_sentences_of_worked_examples(marked: str) -> None:
    assert split_sentences(marked.replace("|", "")) == [piece.strip() for piece in marked.split("|") if piece]


@pytest.mark.parametrize("abbreviation", ABBREVIATIONS.split())
def test_abbreviation_keeps_its_period(abbreviation: str) -> None:
    text = f"He saw ({abbreviation.title()}. Brown, non-{abbreviation}. Then"
    assert split_sentences(text) == [text]


@pytest.mark.parametrize(("sentence", "tokens"), TOKENS)
def test_words_of_worked_examples(sentence: str, tokens: str) -> None:
    assert words(sentence) == tokens.split()


def test_words_split_the_sentence_once_more() -> None:
    # "ran." in the middle loses its period only because it ends an inner sentence.
    assert words("He ran. She fell.") == ["He", "ran", ".", "She", "fell", "."]
    assert words("He ran. She fell.", split=lambda text: [text]) == ["He", "ran.", "She", "fell", "."]


@pytest.mark.parametrize("closer", "])}>\"'»”\u2019")
def test_each_closer_after_the_last_period(closer: str) -> None:
    assert words(f"He ran.{closer}")[:3] == ["He", "ran", "."]


# Each rule of `words` separately, one substitution after the other, on every sentence.
PLAIN_RULES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"([«“\u2018„]|`+)", r" \1 "),
        (r'^"', "``"),
        (r"``", " `` "),
        (r"""([ (\[{<])("|'')""", r"\1 `` "),
        (r"(?i)'(?!re|ve|ll|m|t|s|d|n)(\w)\b", r"' \1"),
        (r"""([^.])\.([\])}>"'»”\u2019 ]*)\s*$""", r"\1 . \2 "),
        (r"([:,])([^\d])", r" \1 \2"),
        (r"([:,])$", r" \1 "),
        (r"\.{2,}", r" \g<0> "),
        (r"[;@#$%&]", r" \g<0> "),
        (r"[?!]", r" \g<0> "),
        (r"([^'])' ", r"\1 ' "),
        (r"\*", r" \g<0> "),
        (r"[\[\](){}<>]", r" \g<0> "),
        (r"--", " -- "),
        (r"^|$", " "),
        (r"([»”\u2019])", r" \1 "),
        (r"''", " '' "),
        (r'"', " '' "),
        (r"([^' ])('[sS]|'[mM]|'[dD]|') ", r"\1 \2 "),
        (r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
        *((rf"(?i)\b{word}\b", r" \1 \2 ") for word in ("(can)(not)", "(d)('ye)", "(gim)(me)", "(gon)(na)")),
        *((rf"(?i)\b{word}\b", r" \1 \2 ") for word in ("(got)(ta)", "(lem)(me)", "(more)('n)")),
        (r"(?i)\b(wan)(na)(?=\s)", r" \1 \2 "),
        (r"(?i) ('t)(is)\b", r" \1 \2 "),
        (r"(?i) ('t)(was)\b", r" \1 \2 "),
    )
)


def plain_words(sentence: str) -> list[str]:
    """Return the tokens of a sentence, one substitution per rule."""
    tokens = []
    for text in split_sentences(sentence):
        padded = text
        for pattern, replacement in PLAIN_RULES:
            padded = pattern.sub(replacement, padded)
        tokens += padded.split()
    return tokens


# Another road ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(2))
def test_sentences_equal_token_by_token_reading(seed: int) -> None:
    for text in random_texts(seed):
        assert [sentence.split() for sentence in split_sentences(text)] == sentences_token_by_token(text), text


def test_words_equal_one_substitution_per_rule() -> None:
    for text in random_texts(0):
        assert words(text) == plain_words(text), text


# Properties -----------------------------------------------------------------------------------------------------------
def test_sentences_keep_every_character_but_outer_white_space() -> None:
    for text in random_texts(9):
        sentences = split_sentences(text)
        assert "".join("".join(sentences).split()) == "".join(text.split())
        assert all(sentence and sentence == sentence.strip() for sentence in sentences)


def test_words_keep_every_character_but_quotes_and_white_space() -> None:
    changed = re.compile(r"[\s\"'`]")
    for text in random_texts(10):
        assert changed.sub("", "".join(words(text))) == changed.sub("", text)


# Edge cases -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("blank", ["", "   ", "\t\n\u2028"])
def test_blank_text_has_no_sentence_and_no_word(blank: str) -> None:
    assert split_sentences(blank) == []
    assert words(blank) == []


def test_odd_characters_are_ordinary_words() -> None:
    assert split_sentences("\ud800. \udfff!") == ["\ud800.", "\udfff!"]
    assert words("a\ud800 b\u2028c\td.") == ["a\ud800", "b", "c", "d", "."]


@pytest.mark.parametrize(
    ("unit", "n_sentences", "n_words"),
    [
        ("word ", 1, 30_000),
        ("word. ", 30_000, 60_000),
        ("Mr. ", 1, 30_001),
        (". ", 30_000, 30_000),
        (".", 1, 1),
        ("?)", 1, 60_000),
        ('." ', 30_000, 60_000),
        ("' ", 1, 30_000),
        ("`", 1, 15_000),
        ("a.", 1, 2),
        ("a,", 1, 60_000),
        ("n't", 1, 2),
    ],
)
def test_30_000_units_take_linear_time(unit: str, n_sentences: int, n_words: int) -> None:
    # With the square of their number this would not come to an end.
    sentences = split_sentences(unit * 30_000)
    assert len(sentences) == n_sentences
    assert sum(len(words(sentence)) for sentence in sentences) == n_words


@pytest.mark.parametrize("text", ["a." + " " * 200_000 + "x", "a. " + '"' * 200_000 + "x", "." + ")" * 200_000 + "x"])
def test_long_rows_after_a_period_take_linear_time(text: str) -> None:
    assert words(text, split=lambda piece: [piece])[-1] == "x"
    assert split_sentences(text)[-1].endswith("x")


# Choice of the splitter -----------------------------------------------------------------------------------------------
def test_sentence_splitter_resolves_its_choices(punkt: Callable[[str], list[str]]) -> None:
    assert sentence_splitter() is split_sentences
    assert sentence_splitter("rules") is split_sentences
    assert sentence_splitter(str.splitlines) is str.splitlines
    # Punkt has learned that "No." may end a sentence before a number; the rules never split there.
    assert sentence_splitter("punkt")("We paid for No. 7. Go!") == ["We paid for No.", "7.", "Go!"]
    assert split_sentences("We paid for No. 7. Go!") == ["We paid for No. 7.", "Go!"]


@pytest.mark.parametrize("wrong", ["spacy", "", None, 3])
def test_unknown_splitter(wrong: Any) -> None:
    message = f"`sentences` must be one of 'rules', 'punkt' or a function from str to list of str, got {wrong!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check_splitter(wrong)


def test_punkt_without_nltk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nltk", None)
    monkeypatch.setitem(sys.modules, "nltk.tokenize.punkt", None)
    with pytest.raises(ImportError, match=r'^`sentences="punkt"`.*NLTK.*"vlgauge\[punkt\]"'):
        sentence_splitter("punkt")


def test_punkt_without_its_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pytest.importorskip("nltk.data"), "path", [str(tmp_path)])
    pattern = r'^`sentences="punkt"`.*nltk\.downloader.*punkt_tab'
    with pytest.raises(WeightsNotFoundError, match=pattern) as caught:
        punkt_splitter()
    # NLTK's banner is not shown above the message either.
    assert caught.value.__suppress_context__


def test_punkt_whose_data_are_behind_a_link(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = pytest.importorskip("nltk.data")
    if Version(version("nltk")) < Version("3.10"):
        pytest.skip("this NLTK opens what is behind a link")
    real = tmp_path / "elsewhere" / "punkt_tab"
    (real / "english").mkdir(parents=True)
    for name in ("abbrev_types.txt", "collocations.tab", "ortho_context.tab", "sent_starters.txt"):
        (real / "english" / name).touch()
    (tmp_path / "data" / "tokenizers").mkdir(parents=True)
    (tmp_path / "data" / "tokenizers" / "punkt_tab").symlink_to(real)
    monkeypatch.setattr(data, "path", [str(tmp_path / "data")])
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "data"))  # NLTK opens a private one of these too
    pattern = r'^`sentences="punkt"`.*leads.*NLTK_DATA'
    with pytest.raises(WeightsNotFoundError, match=pattern):
        punkt_splitter()


# The authors' values: NLTK 3.8.1 with Punkt ---------------------------------------------------------------------------
@pytest.mark.parametrize("name", GOLDEN)
def test_golden_sentences_and_tokens(name: str) -> None:
    story = GOLDEN[name]
    assert (split_sentences(story["story"]) == story["sentences"]) is story["rule_splitter_agrees"]
    assert [words(sentence) for sentence in story["sentences"]] == story["tokens"]


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_sentences_with_punkt(name: str, punkt: Callable[[str], list[str]]) -> None:
    assert punkt(GOLDEN[name]["story"]) == GOLDEN[name]["sentences"]


@pytest.mark.parametrize("file", ["rovist_nr_quoted.json", "d_hm_published_sample.json"])
def test_shared_sentences_and_tokens_with_punkt(file: str, punkt: Callable[[str], list[str]]) -> None:
    for name, story in shared_stories(file).items():
        assert punkt(story["story"]) == story["sentences"], name
        assert [words(sentence, split=punkt) for sentence in story["sentences"]] == story["tokens"], name


@pytest.mark.parametrize("file", ["rovist_nr_quoted.json", "d_hm_published_sample.json"])
def test_shared_sentences_with_rules(file: str) -> None:
    for name, story in shared_stories(file).items():
        assert split_sentences(story["story"]) == story["sentences"], name
