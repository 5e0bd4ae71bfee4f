"""Fitting style tables: counts, invariance, and input errors."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from style_definition import (
    CORPORA,
    FEW,
    TOY,
    columns_of,
    table_of,
)

from vlgauge.families.style import StyleTable


def test_facts():
    toy = StyleTable.fit(*columns_of(TOY["corpus"]))
    assert toy.captions_per_style == {"A": 2, "B": 2, "C": 2}
    assert (toy.tokenizer, toy.styles, toy.captions, toy.name) == ("words-1", ("A", "B", "C"), (2, 2, 2), None)
    assert repr(toy) == "<StyleTable 3 styles, 6 captions, 34 n-grams>"
    assert (
        repr(StyleTable.fit(["a", "b"], ["x", "y"], name="mine"))
        == "<StyleTable mine: 2 styles, 2 captions, 2 n-grams>"
    )


@given(CORPORA, st.randoms(use_true_random=False))
@FEW
def test_table_does_not_depend_on_the_order_of_captions(rows, rng):
    shuffled = rng.sample(rows, len(rows))
    assert table_of(shuffled).fingerprint == table_of(rows).fingerprint


@given(CORPORA, CORPORA)
@FEW
def test_fingerprint_tells_corpora_apart(rows, others):
    # Captions without tokens count for a style's size only.
    same = sorted(rows) == sorted(others)
    assert (table_of(rows).fingerprint == table_of(others).fingerprint) is same


@given(CORPORA)
@FEW
def test_names_of_styles_do_not_matter(rows):
    names = {"x": "zzz", "y": "m", "zz": "a"}
    table, renamed = table_of(rows), table_of([(caption, names[style]) for caption, style in rows])
    texts = [" ".join(caption) for caption, _ in rows]
    columns = [renamed.style_id(names[style]) for style in table.styles]
    assert renamed.score_matrix(texts)[:, columns] == pytest.approx(table.score_matrix(texts), abs=1e-12)


def test_held_out_captions_are_in_no_count(toy):
    captions, styles = columns_of(TOY["corpus"])
    more = [*captions, "out of it", "love hate", "Z only"]
    table = StyleTable.fit(more, [*styles, "A", "B", "Z"], held_out=[False] * 6 + [True] * 3)
    assert table.fingerprint == toy.fingerprint
    assert StyleTable.fit(more, [*styles, "A", "B", "Z"], held_out=np.array([0] * 6 + [1] * 3) > 0).captions == (
        2,
        2,
        2,
    )


def test_captions_may_be_tokens_series_arrays_or_generators(toy):
    captions, styles = columns_of(TOY["corpus"])
    for column in (pd.Series(captions), np.array(captions), (caption for caption in captions), tuple(captions)):
        assert StyleTable.fit(column, pd.Series(styles)).fingerprint == toy.fingerprint
    assert {type(style) for style in StyleTable.fit(captions, np.array(styles)).styles} == {str}
    split = StyleTable.fit([caption.split() for caption in captions], styles)
    assert split.tokenizer == "whitespace"
    assert split.cng("i love it", "A") == toy.cng("i love it", "A")
    assert split.fingerprint != toy.fingerprint
    assert StyleTable.fit(captions, styles, tokenizer="whitespace").fingerprint == split.fingerprint


def test_captions_without_tokens_are_counted_in_a_warning():
    with pytest.warns(UserWarning, match="2 of 4 captions") as caught:
        table = StyleTable.fit(["a", "b", "...", ""], ["x", "y", "y", "z"])
    assert caught[0].filename == __file__
    assert table.captions_per_style == {"x": 1, "y": 2, "z": 1}
    assert table.score_matrix(["a"]).tolist() == [pytest.approx([2 / 3, -1 / 3, -1 / 3], abs=1e-15)]


@pytest.mark.parametrize(
    ("captions", "styles", "options", "message"),
    [
        ([], [], {}, r"^`captions`.*got none"),
        (
            ["a", "b"],
            ["x", "y"],
            {"held_out": [1, 1]},
            r"^`captions`.*least",
        ),
        (["a", "b", "c"], ["x", "y"], {}, r"^`styles`.*got 2.*3 captions"),
        (["a", "b"], ["x", "y"], {"held_out": [True]}, r"^`held_out`.*got 1"),
        ("ab", ["x", "y"], {}, r"^`captions`.*got str"),
        (["a", "b"], 3, {}, r"^`styles`.*got int"),
        (["a", "b"], ["x", ""], {}, r"^`styles\[1\]`.*got ''"),
        (["a", "b"], ["x", None], {}, r"^`styles\[1\]`.*got None"),
        (
            ["a", "b"],
            ["x", "x"],
            {},
            r"^`styles`.*2 to 65535.*got only",
        ),
        (["a", 3], ["x", "y"], {}, r"^`captions\[1\]`.*got int"),
        (["a", "\udc80"], ["x", "y"], {}, r"^`captions\[1\]`.*position 0"),
        (["a", "b"], ["x", "y"], {"tokenizer": "ptb"}, r"^`tokenizer`.*'words-1'.*'whitespace'"),
        (
            [["a"], ["b"]],
            ["x", "y"],
            {"tokenizer": "words-1"},
            r"^`tokenizer`.*'whitespace'.*captions",
        ),
        ([["a"], "b"], ["x", "y"], {}, r"^`captions\[1\]`.*got str"),
        (
            [["a"], None],
            ["x", "y"],
            {},
            r"^`captions\[1\]`.*got None",
        ),
        ([["a"], ["b c"]], ["x", "y"], {}, r"^`captions\[1\]`.*got 'b c'"),
        ([["a"], [""]], ["x", "y"], {}, r"^`captions\[1\]`.*got ''"),
        ([["a"], [3]], ["x", "y"], {}, r"^`captions\[1\]`.*got 3"),
        (["a", ["b"]], ["x", "y"], {}, r"^`captions\[1\]`.*got list"),
        ([["a"], ["b\ud800"]], ["x", "y"], {}, r"^`captions\[1\]`.*position 1"),
        (["a", "b"], ["x", "y\ud800"], {}, r"^`styles\[1\]`.*position 1"),
        ({"a", "b"}, ["x", "y"], {}, r"^`captions`.*got set"),
        (["a", "b"], {"x": 1, "y": 2}, {}, r"^`styles`.*got dict"),
        (["a", "b"], ["x", "y"], {"held_out": [False, "False"]}, r"^`held_out\[1\]`.*got 'False'"),
        (["a", "b"], ["x", "y"], {"held_out": [float("nan"), 0]}, r"^`held_out\[0\]`.*got nan"),
        (["a", "b"], ["x", "y"], {"name": 3}, r"^`name`.*got int"),
    ],
)
def test_wrong_corpora_are_refused(captions, styles, options, message):
    with pytest.raises(ValueError, match=message):
        StyleTable.fit(captions, styles, **options)


def test_too_many_styles_are_refused():
    with pytest.raises(ValueError, match=r"^`styles`.*2 to 65535 different names.*got 65536"):
        StyleTable.fit(["a"] * 65536, map(str, range(65536)))


def test_300_styles_and_one_of_70000_captions():
    rows = [(f"the {i % 500} and {i % 9}", "big") for i in range(70_000)]
    rows += [(f"the {i % 7} or {i}", f"small {i}") for i in range(299)]
    table = StyleTable.fit(*zip(*rows, strict=True))
    matrix = table.score_matrix([caption for caption, _ in rows[-299:]])
    assert table.captions_per_style["big"] == 70_000
    assert matrix.shape == (299, 300)
    assert matrix.sum(axis=1) == pytest.approx(np.zeros(299), abs=1e-12)
    assert table.cng("the", "big") == pytest.approx(0, abs=1e-12)
    caption, style = rows[-1]
    assert table.cng(caption, style) == pytest.approx(299 / 300)


def test_style_with_one_caption():
    table = StyleTable.fit(["one word", "two words", "three words"], ["a", "b", "b"])
    assert table.cng("one word", "a") == 0.5
    assert table.cng("words") == {"a": -0.5, "b": 0.5}


def test_white_space_within_a_caption_changes_no_other_one(toy):
    captions, styles = columns_of(TOY["corpus"])
    odd = ["i\u2028love\u2029it", "i\tlove the\x85sun", *captions[2:]]
    assert StyleTable.fit(odd, styles).fingerprint == toy.fingerprint


def test_progress_is_told():
    told = []
    rows = [f"word {i}" for i in range(1500)]
    StyleTable.fit(rows, ["x", "y"] * 750, progress=lambda done, total: told.append((done, total)))
    assert told == [(1024, 1500), (1500, 1500), (1, 4), (2, 4), (3, 4), (4, 4)]
