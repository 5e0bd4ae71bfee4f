"""Tokens of captions: rule by rule, against one substitution per rule and NLTK, odd inputs, the oracle."""

import gzip
import hashlib
import json
import random
import re

import folders
import pytest
from folders import TESTS

from vlgauge.inputs.text.treebank_tokens import treebank_tokens

GOLDEN = json.loads(gzip.decompress((folders.GOLDEN / "meteor.json.gz").read_bytes()))
SHARED = TESTS.parents[1] / "shared" / "oracles"  # next to the checkout, not part of it

CAPTIONS = [
    ("A man rides a Horse.", "a man rides a horse"),
    ("Two dogs, one cat", "two dogs one cat"),
    # 1: opening double quotes
    ('"Stop" sign', "`` stop '' sign"),
    ("a ''b (''c [\"d {''e <\"f", "a `` b `` c `` d `` e < `` f"),
    ("a``b```c", "a `` b `` `c"),
    # 2: colons and commas
    ("a:b 9:30 1,200 c,", "a b 930 1200 c"),
    ("a,,b 3,,4", "a b 3 4"),
    # 3: rows of periods, single marks, the last period
    ("a...b c..d e.f", "a b cd ef"),
    ("a;b@c#d$e%f&g?h!i", "a b @ c # d $ e % f & g h i"),
    ("it's.')", "it 's '"),
    ("it's. x it's..", "it's x it's"),
    ("5:30 p.m.", "530 pm"),
    # 4: apostrophes at the end of a word
    ("dogs' ball a'b", "dogs ' ball a'b"),
    ("a's' b", "a 's ' b"),
    # 5: brackets and dashes
    ("[a](b){c}<d>--e---f", "a b c < d > e f"),
    ("x -LRB- y -rsb- z-lrb- -lr- -lrb-", "x y zlrb lr"),
    # 6: other double quotes
    ("a\"b c'' 6\"", "a '' b c '' 6 ''"),
    # 7: clitics, in one case only
    ("it's I'M he'd", "it 's i 'm he 'd"),
    ("we'll WE'LL We'Ll I've we're can't CAN'T", "we 'll we 'll we'll i 've we 're ca n't ca n't"),
    # 8: fused words
    ("Cannot gonna, GOTTA lemme gimme. d'ye more'n", "can not gon na got ta lem me gim me d 'ye more 'n"),
    ("wanna go wanna-be wanna. cannots", "wan na go wannabe wanna cannots"),
    ("wanna.", "wan na"),
    ("gimme", "gim me"),
    ("'Tis so 'twas x'tis ('tis", "'t is so 't was x'tis 't is"),
    # deleted inside tokens
    ("well-known \u2018a\u2019 \u201cb\u201d c\u2026d e\u2014f\u2013g", "wellknown a b cd efg"),
    ("a\u2010b\u2011c\u2012d\u2043e\u207bf\u208bg\u2212h\ufe63i\uff0dj", "abcdefghij"),
    # not deleted
    ("a/b_c*d «e» `f 日本 é", "a/b_c*d «e» `f 日本 é"),
]

# One substitution per rule, in the order of the specification.
RULES = [
    (r'\A"', "``"),
    (r"``", " `` "),
    (r"""([ (\[{<])("|'')""", r"\1 `` "),
    (r"([:,])([^\d])", r" \1 \2"),
    (r"([:,])$", r" \1 "),
    (r"\.\.\.", " ... "),
    (r"[;@#$%&]", r" \g<0> "),
    (r"""([^.])(\.)([\])}>"']*)\s*\Z""", r"\1 \2\3 "),
    (r"[?!]", r" \g<0> "),
    (r"([^'])' ", r"\1 ' "),
    (r"[\[\](){}<>]", r" \g<0> "),
    (r"--", " -- "),
    (r"\A|\Z", " "),
    (r"''", " '' "),
    (r'"', " '' "),
    (r"([^' ])('[sS]|'[mM]|'[dD]|') ", r"\1 \2 "),
    (r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
    *((rf"(?i)\b{word}\b", r" \1 \2 ") for word in ("(can)(not)", "(d)('ye)", "(gim)(me)", "(gon)(na)", "(got)(ta)")),
    *((rf"(?i)\b{word}", r" \1 \2 ") for word in (r"(lem)(me)\b", r"(more)('n)\b", r"(wan)(na)\s")),
    (r"(?i) ('t)(is)\b", r" \1 \2 "),
    (r"(?i) ('t)(was)\b", r" \1 \2 "),
]
BRACKETS = ["(", ")", "[", "]", "{", "}", "-lrb-", "-rrb-", "-lcb-", "-rcb-", "-lsb-", "-rsb-"]
DELETED = "-.,;:!?\u2019\u2018\u201c\u201d\u2026\u2014\u2013\u2212\u2010\u2011\u2012\u2043\u207b\u208b\ufe63\uff0d"

MARKS = ". ? ! .. ... , : ; ' '' \" ` `` - -- ( ) [ ] { } < > « » “ ” \u2018 \u2019 * $ & % # @ -lrb- -RSB- \u2014"
SNIPPETS = "a b T s n 1 27 3.5 p.m no cannot gonna lemme wanna d'ye more'n 'tis 'TWAS n't 's 'll 'RE it's dog The é lrb"
ATOMS = [*[" "] * 20, *MARKS.split(), *SNIPPETS.split(), "\t", "\n", "\u2028", "\ud800", "_"]
PLAIN_ATOMS = ["a", "cannot", "gonna", "Wanna", "3", "dog", ".", *[" "] * 4, "\n"]


def random_texts(seed, atoms=ATOMS, count=1000):
    rng = random.Random(seed)
    return ["".join(rng.choices(atoms, k=rng.randint(0, 25))) for _ in range(count)]


def without_punctuation(tokens):
    kept = (token.lower() for token in tokens if token.lower() not in BRACKETS)
    return [stripped for token in kept if (stripped := "".join(c for c in token if c not in DELETED))]


def tokens_rule_by_rule(text):
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    return without_punctuation(text.split())


def shared(name):
    if not (SHARED / name).is_file():
        pytest.skip(f"needs shared/oracles/{name}")
    return json.loads(gzip.decompress((SHARED / name).read_bytes()))


# -- by hand ----------------------------------------------------------------------------------------------------------
def coco_normalize(text):
    """Return the tokens in the format of the oracles."""
    return " ".join(treebank_tokens(text))


@pytest.mark.parametrize(("caption", "normalized"), CAPTIONS)
def test_worked_examples(caption, normalized):
    assert coco_normalize(caption) == normalized
    assert treebank_tokens(caption) == normalized.split()


@pytest.mark.parametrize("mark", DELETED)
def test_each_deleted_mark(mark):
    first = ["x", "y"] if mark in ",;:?!" else ["xy"]
    assert treebank_tokens(f"x{mark}y x{mark} y{mark}") == [*first, "x", "y"]


@pytest.mark.parametrize("closer", ")]}>\"'")
def test_each_closer_after_the_last_period(closer):
    # If the period stays, the clitic is not at the end of its word.
    assert treebank_tokens(f"It's.{closer}")[:2] == ["it", "'s"]


@pytest.mark.parametrize("bracket", BRACKETS)
def test_each_bracket_token(bracket):
    assert treebank_tokens(f"x {bracket.upper()} y{bracket}") == ["x", "y" + bracket.strip("-()[]{}")]


# -- other roads ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("atoms", [ATOMS, PLAIN_ATOMS])
@pytest.mark.parametrize("seed", range(3))
def test_equal_to_one_substitution_per_rule(seed, atoms):
    for text in random_texts(seed, atoms):
        assert treebank_tokens(text) == tokens_rule_by_rule(text), text


@pytest.mark.parametrize("atoms", [ATOMS, PLAIN_ATOMS])
def test_equal_to_nltk(atoms):
    treebank = pytest.importorskip("nltk.tokenize.treebank").TreebankWordTokenizer()
    brackets = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
    for text in random_texts(7, atoms):
        tokens = treebank.tokenize(text, convert_parentheses=True)
        assert treebank_tokens(text) == without_punctuation(brackets.get(token, token) for token in tokens), text


# -- properties -------------------------------------------------------------------------------------------------------
def test_tokens_have_no_white_space_no_capitals_and_are_not_empty():
    for text in random_texts(8):
        for token in treebank_tokens(text):
            assert token
            assert token.split() == [token]
            assert token == token.lower()
            assert not set(token) & set(DELETED)


# -- degenerate input -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("blank", ["", "   ", "\t\n\u2028", ".", "?!...", "- -- \u2014", "([{}])", "-LRB-", ". \n"])
def test_captions_without_a_token(blank):
    assert treebank_tokens(blank) == []
    assert coco_normalize(blank) == ""


def test_odd_characters_are_ordinary_letters():
    assert treebank_tokens("\U0001f600 \ud800x 日本。\u0130a") == ["\U0001f600", "\ud800x", "日本。i\u0307a"]


@pytest.mark.parametrize("unit", ["a ", "a.", ". ", "a,", "' ", "n't", '"', "``", "(", "--", "-lrb- ", "cannot ", "\t"])
def test_100_000_units_take_linear_time(unit):
    # With the square of their number this would not come to an end.
    assert isinstance(treebank_tokens(unit * 100_000), list)


# -- oracles ----------------------------------------------------------------------------------------------------------
def test_golden_strings():
    captions = [caption for caption, _ in GOLDEN["coco_normalize"]]
    assert [[caption, coco_normalize(caption)] for caption in captions] == GOLDEN["coco_normalize"]


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_golden_cases(case):
    assert list(map(coco_normalize, case["captions"])) == case["coco_normalize"]


def test_shared_cases():
    for case in shared("trm_kbm.json.gz")["cases"]:
        assert list(map(coco_normalize, case["predictions"] + case["references"])) == case["coco_normalize"]


def test_shared_captions_of_1_000_images():
    coco = shared("coco_fakecap.json.gz")
    images = zip(coco["candidates"], coco["references"], strict=True)
    normalized = [list(map(coco_normalize, [candidate, *references])) for candidate, references in images]
    assert normalized[:50] == coco["coco_normalize"]["first50"]
    lines = "".join("\t".join(captions) + "\n" for captions in normalized)
    assert hashlib.sha256(lines.encode()).hexdigest() == coco["coco_normalize"]["sha256_of_lines"]
