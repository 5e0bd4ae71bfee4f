"""Tokens of METEOR 1.5: golden tokens, a rule at a time, and the whole oracle next to the checkout."""

import gzip
import json

import pytest
from meteor15 import ORACLE, golden, needs_oracle, needs_wheel

from vlgauge.families.ngram.meteor15.sources import open_sources
from vlgauge.inputs.text.meteor_tokens import Prefixes, meteor_tokens

PREFIXES = Prefixes.of_lines(["# titles", "", "Mr", "No #NUMERIC_ONLY#", " p.m  "])


@needs_wheel
def test_golden_tokens():
    prefixes = open_sources(paraphrases=None, metric="meteor").lists.prefixes
    tokens = golden()["tokens"]
    assert {text: meteor_tokens(text, prefixes) for text in tokens} == tokens


@needs_wheel
@needs_oracle
def test_tokens_of_the_oracle():
    prefixes = open_sources(paraphrases=None, metric="meteor").lists.prefixes
    tokens = json.loads(gzip.decompress(ORACLE.read_bytes()))["tokens"]
    assert {text: meteor_tokens(text, prefixes) for text in tokens} == tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("A dog RUNS", "a dog runs"),
        ("Mr. Smith sat. Then", "mr. smith sat . then"),
        ("No. 5, no. 5, No. Five", "no. 5 , no . 5 , no . five"),
        ("the dog. it ran.", "the dog. it ran ."),
        ("the U.S. at 5 p.m.", "the us at 5 pm"),
        ("wait...so ..", "wait ... so .."),
        ("3,000 dogs,cats", "3,000 dogs , cats"),
        ("a-b-c t-shirt -5 non- x--y", "a b-c t shirt -5 non- x y"),
        ("don't dogs' 1990's 'tis 5'10 a'b'c", "don 't dogs ' 1990 's ' tis 5 ' 10 a 'b'c"),
        ("\u201cso\u201d ``or'' \u2018this\u2019", '" so " " or " \' this \''),
        ("(a) #1 \U0001f600b", "( a ) # 1 \U0001f600 b"),
        ("5\u00a07/8", "5 7 / 8"),
        ("a\u0085b", "a \u0085 b"),
        ("\ud800", "\ufffd"),
        ("DOTMULTI x", ". x"),
        ("\t\n ", ""),
    ],
)
def test_rules(text, tokens):
    assert meteor_tokens(text, PREFIXES) == tokens.split(" ") * bool(tokens)
