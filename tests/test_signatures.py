"""Signatures: one word of ASCII that says how a number was made, and can be read back."""

import functools
import string

import pytest
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from vlgauge.signatures import format_signature
from vlgauge.signatures import local_name
from vlgauge.signatures import named
from vlgauge.signatures import parse_signature

# Surrogates too, which no encoding holds.
TEXTS = st.text(st.characters(codec=None), max_size=12)
ODD = "%|: \n\t\x00%20\u00a0\u2028é😀\ud800"


@given(TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=4))
@example("", {"": ""})
@example(ODD, {ODD: ODD, "%7C": "%25", "a:b": "c:d"})
def test_what_was_written_is_read(name, fields):
    text = format_signature(name, fields)
    assert parse_signature(text) == (name, fields)
    assert set(text) <= set(string.printable) - set(string.whitespace)
    assert text.count("|") == len(fields)


def test_example():
    fields = {"v": "0.1.0", "w": 2.0, "prompt": "A photo depicts", "n": 4, "table": "mine|a%b", "at": "x:y"}
    text = "pac_s|v:0.1.0|w:2|prompt:A%20photo%20depicts|n:4|table:mine%7Ca%25b|at:x:y"
    assert format_signature("pac_s", fields) == text
    assert parse_signature(text) == ("pac_s", {key: str(named(value)) for key, value in fields.items()})


@pytest.mark.parametrize(("text", "part"), [("m|0.1.0", "0.1.0"), ("m|v:1|", ""), ("m|v:1|v:2", "v:2")])
def test_other_text_is_refused(text, part):
    with pytest.raises(ValueError, match=rf"`text` must be a signature, NAME\|KEY:VALUE.* got '{part}' in it"):
        parse_signature(text)


def test_functions_have_their_names_only():
    assert named(functools.partial(print, 1)) == "custom(functools.partial)"
    # Two of them in one place are the same to a signature.
    assert (
        named(lambda: 1)
        == named(lambda: 2)
        == f"custom({__name__}.test_functions_have_their_names_only.<locals>.<lambda>)"
    )


def test_local_name():
    assert local_name("0123456789abcdef" * 4) == "local@sha256-0123456789ab"
