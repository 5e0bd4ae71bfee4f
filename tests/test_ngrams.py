"""Tokenizers, n-gram ids, counts, weights and queries of the style table; files: test_style_tables."""

import ast
import random
import runpy
import time
import unicodedata
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from style_definition import CAPTIONS
from style_definition import CORPORA
from style_definition import GOLDEN
from style_definition import ORDERS
from style_definition import TOY
from style_definition import columns_of
from style_definition import definition_of
from style_definition import goemotions
from style_definition import ngrams_of
from style_definition import table_of

from vlgauge.ngrams import StyleTable
from vlgauge.ngrams.captions import caption_keys
from vlgauge.ngrams.counting import _check_room
from vlgauge.ngrams.counting import vocabulary_and_ngrams
from vlgauge.ngrams.frequencies import contrastive_weights
from vlgauge.ngrams.frequencies import places_among
from vlgauge.ngrams.tokenizers import TOKENIZERS
from vlgauge.ngrams.tokenizers import tokenized
from vlgauge.ngrams.tokenizers import words_1

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def toy():
    return StyleTable.fit(*columns_of(TOY["corpus"]))


# -- tokenizers -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("case", GOLDEN["tokenizer"]["cases"], ids=lambda case: ascii(case["text"]))
def test_golden_tokens(case):
    assert words_1(case["text"]) == case["tokens"]


@given(st.text(max_size=40))
def test_tokens_have_no_white_space_and_split_no_further(text):
    tokens = words_1(text)
    assert all(token.split() == [token] for token in tokens)
    if unicodedata.normalize("NFC", text).isascii():
        assert words_1(" ".join(tokens)) == tokens


@pytest.mark.parametrize(
    "end", ["\n", "\r\n", "\t", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
)
def test_what_some_readers_take_for_the_end_of_a_line_is_white_space(end):
    assert words_1(f"one{end}two") == TOKENIZERS["whitespace"](f"one{end}two") == ["one", "two"]


def test_whitespace_tokenizer_neither_lowers_nor_cleans():
    assert tokenized(["The  dog's\tball ."], "whitespace") == [["The", "dog's", "ball", "."]]


def test_equal_texts_are_tokenized_once(monkeypatch):
    asked = []
    monkeypatch.setitem(TOKENIZERS, "words-1", lambda text: asked.append(text) or text.split())
    assert tokenized(["a b", "c", "a b"], "words-1") == [["a", "b"], ["c"], ["a", "b"]]
    assert asked == ["a b", "c"]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a", "b\ud800"], r"`captions\[1\]` must be valid Unicode, got a lone surrogate at 1"),
        (["a", None], r"`captions\[1\]` must be a string, got NoneType"),
        (["a", b"b"], r"`captions\[1\]` must be a string, got bytes"),
    ],
)
def test_text_that_is_none_is_refused(texts, message):
    with pytest.raises(ValueError, match=message):
        tokenized(texts, "words-1")


@pytest.mark.parametrize("case", GOLDEN["caption_key"], ids=lambda case: case["key"])
def test_golden_caption_keys(case):
    assert f"{caption_keys([case['tokens']])[0]:016x}" == case["key"]


def test_progress_is_told():
    told = []
    rows = [f"word {i}" for i in range(1500)]
    StyleTable.fit(rows, ["x", "y"] * 750, progress=lambda done, total: told.append((done, total)))
    assert told == [(1024, 1500), (1500, 1500), (1, 4), (2, 4), (3, 4), (4, 4)]


# -- ids and counts ---------------------------------------------------------------------------------------------------
@given(st.lists(CAPTIONS, max_size=8))
def test_ids_are_places_in_the_sorted_ngrams_of_all_captions(captions):
    tokens, orders = vocabulary_and_ngrams(captions)
    assert tokens == sorted(set().union(*map(set, captions)))
    for n, sets in enumerate(orders, 1):
        everything = sorted(set().union(*(ngrams_of(caption, n) for caption in captions)))
        expected = [(i, everything.index(u)) for i, c in enumerate(captions) for u in sorted(ngrams_of(c, n))]
        assert list(zip(sets.captions.tolist(), sets.ngrams.tolist(), strict=True)) == expected
        assert len(sets.keys) == len(everything)
        assert (np.diff(sets.keys) > 0).all()


def test_ids_that_64_bits_cannot_hold_are_refused():
    _check_room(2**31, 2**31)
    with pytest.raises(
        ValueError, match=r"`captions` must have fewer distinct n-grams, got 4294967296 x 2147483648 >= 2"
    ):
        _check_room(2**32, 2**31)


@given(CORPORA)
@settings(deadline=None)
def test_counts_and_weights_equal_the_definition(rows):
    table, definition = table_of(rows), definition_of(rows)
    for n, counts in zip(ORDERS, table.orders, strict=True):
        ngrams = sorted(set().union(*(ngrams_of(caption, n) for caption, _ in rows)))
        assert len(counts.keys) == len(ngrams)
        for style in range(len(table.styles)):
            name = table.styles[style]
            known = counts.evidence(np.arange(len(ngrams)), np.full(len(ngrams), style))
            assert known.df.tolist() == [definition.df(ngram, name) for ngram in ngrams]
            assert known.occurrences.tolist() == [definition.occurrences(ngram) for ngram in ngrams]
            assert known.ecdf == pytest.approx([float(definition.ecdf(ngram, name)) for ngram in ngrams], abs=1e-15)
            for variant in ("paper", "authors"):
                expected = [float(definition.cng(ngram, name, variant)) for ngram in ngrams]
                assert known.weights(len(table.styles), variant) == pytest.approx(expected, abs=1e-12)


def test_places_among_nothing():
    assert places_among(np.array([], np.int64), np.array([3, 1])).tolist() == [-1, -1]


def test_orders_without_any_ngram():
    table = StyleTable.fit(["one", "two"], ["x", "y"])
    assert [len(counts.keys) for counts in table.orders] == [2, 0, 0, 0]
    assert table.orders[3].totals.dtype == np.float64
    assert table.score_matrix(["one", "one two", ""]).tolist() == [[0.5, -0.5], [0.0, 0.0], [0.0, 0.0]]


# -- golden weights ---------------------------------------------------------------------------------------------------
def test_golden_frequencies_and_ecdf(toy):
    for style, orders in TOY["document_frequencies_F"].items():
        for n, expected in orders.items():
            counts, place = toy.orders[int(n) - 1], toy.style_id(style)
            assert sorted(counts.df[counts.styles == place].tolist()) == sorted(expected)
    for style, orders in TOY["ecdf"].items():
        for n, expected in orders.items():
            counts, place = toy.orders[int(n) - 1], toy.style_id(style)
            pairs = counts.styles == place
            found = dict(zip(counts.df[pairs].tolist(), counts.ecdf[pairs].tolist(), strict=True))
            assert found == pytest.approx({int(f): float(Fraction(e)) for f, e in expected.items()}, abs=1e-15)


@pytest.mark.parametrize("ngram", TOY["cng"])
def test_golden_cng(toy, ngram):
    expected = TOY["cng"][ngram]
    for variant in ("paper", "authors"):
        weights = {style: float(Fraction(value)) for style, value in expected[variant].items()}
        assert toy.cng(ngram, variant=variant) == pytest.approx(weights, abs=1e-12)
        assert {style: toy.cng(ngram, style, variant) for style in toy.styles} == toy.cng(ngram, variant=variant)


def test_cng_of_an_ngram_that_no_style_has_is_0(toy):
    assert toy.cng("zebra") == {"A": 0.0, "B": 0.0, "C": 0.0}
    assert toy.cng("sun love", "A") == 0.0


def test_evenly_spread_ngram_weighs_exactly_0():
    table = StyleTable.fit(*columns_of(GOLDEN["even_spread"]["corpus"]))
    assert table.cng("the") == {"A": 0.0, "B": 0.0, "C": 0.0}


def test_residue_of_an_even_spread_is_removed():
    residues = 0
    for n_styles in (3, 6, 7, 11, 49):
        for rarer in range(1, 5):
            # In every style "even" is in one caption, like some words; one more word is in two.
            words = " ".join(f"w{i}" for i in range(rarer))
            rows = [(f"{text} s{s}", f"style {s}") for s in range(n_styles) for text in (f"even {words} t{s}", f"t{s}")]
            table = StyleTable.fit(*zip(*rows, strict=True))
            share = (rarer + 1) / (rarer + 3)
            residues += sum([share] * n_styles) / n_styles != share
            assert set(table.cng("even").values()) == {0.0}
    assert residues > 3


def test_smallest_weights_are_kept():
    weights = contrastive_weights(np.array([1, 1]), np.array([2e-13, 2e-14]), np.zeros(2), np.array([1, 1]), 2)
    assert weights.tolist() == [2e-13, 0.0]


# -- the table --------------------------------------------------------------------------------------------------------
def test_facts(toy):
    assert toy.captions_per_style == {"A": 2, "B": 2, "C": 2}
    assert (toy.tokenizer, toy.styles, toy.captions, toy.name) == ("words-1", ("A", "B", "C"), (2, 2, 2), None)
    assert repr(toy) == "<StyleTable 3 styles, 6 captions, 34 n-grams>"
    assert (
        repr(StyleTable.fit(["a", "b"], ["x", "y"], name="mine"))
        == "<StyleTable mine: 2 styles, 2 captions, 2 n-grams>"
    )


@given(CORPORA, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_table_does_not_depend_on_the_order_of_captions(rows, rng):
    shuffled = rng.sample(rows, len(rows))
    assert table_of(shuffled).fingerprint == table_of(rows).fingerprint


@given(CORPORA, CORPORA)
@settings(deadline=None)
def test_fingerprint_tells_corpora_apart(rows, others):
    # Captions without tokens count for a style's size only.
    same = sorted(rows) == sorted(others)
    assert (table_of(rows).fingerprint == table_of(others).fingerprint) is same


@given(CORPORA)
@settings(deadline=None)
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
    split = StyleTable.fit([caption.split() for caption in captions], styles)
    assert split.tokenizer == "whitespace"
    assert split.cng("i love it", "A") == toy.cng("i love it", "A")
    assert split.fingerprint != toy.fingerprint
    assert StyleTable.fit(captions, styles, tokenizer="whitespace").fingerprint == split.fingerprint


def test_captions_without_tokens_are_counted_in_a_warning():
    with pytest.warns(UserWarning, match="2 of 4 captions have no tokens and add nothing to the table") as caught:
        table = StyleTable.fit(["a", "b", "...", ""], ["x", "y", "y", "z"])
    assert caught[0].filename == __file__
    assert table.captions_per_style == {"x": 1, "y": 2, "z": 1}
    assert table.score_matrix(["a"]).tolist() == [pytest.approx([2 / 3, -1 / 3, -1 / 3], abs=1e-15)]


@pytest.mark.parametrize(
    ("captions", "styles", "options", "message"),
    [
        ([], [], {}, "`captions` must have at least one caption that is not held out, got none"),
        (
            ["a", "b"],
            ["x", "y"],
            {"held_out": [1, 1]},
            "`captions` must have at least one caption that is",
        ),
        (["a", "b", "c"], ["x", "y"], {}, "`styles` must have one entry per caption, got 2 for 3 captions"),
        (["a", "b"], ["x", "y"], {"held_out": [True]}, "`held_out` must have one entry per caption, got 1 for 2"),
        ("ab", ["x", "y"], {}, "`captions` must be a list with one entry per caption, got str"),
        (["a", "b"], 3, {}, "`styles` must be a list with one entry per caption, got int"),
        (["a", "b"], ["x", ""], {}, r"`styles\[1\]` must be the name of a style, got ''"),
        (["a", "b"], ["x", None], {}, r"`styles\[1\]` must be the name of a style, got None"),
        (
            ["a", "b"],
            ["x", "x"],
            {},
            "`styles` must have 2 to 65535 different names, which are contrasted, got only",
        ),
        (["a", 3], ["x", "y"], {}, r"`captions\[1\]` must be a string, got int"),
        (["a", "\udc80"], ["x", "y"], {}, r"`captions\[1\]` must be valid Unicode, got a lone surrogate at 0"),
        (["a", "b"], ["x", "y"], {"tokenizer": "ptb"}, "`tokenizer` must be one of 'words-1', 'whitespace', got"),
        (
            [["a"], ["b"]],
            ["x", "y"],
            {"tokenizer": "words-1"},
            "`tokenizer` must be 'whitespace' for captions given",
        ),
        ([["a"], "b"], ["x", "y"], {}, r"`captions\[1\]` must be a string or a list of tokens, as the first, got str"),
        (
            [["a"], None],
            ["x", "y"],
            {},
            r"`captions\[1\]` must be a string or a list of tokens, as the first, got None",
        ),
        ([["a"], ["b c"]], ["x", "y"], {}, r"`captions\[1\]` must have tokens without white space, got 'b c'"),
        ([["a"], [""]], ["x", "y"], {}, r"`captions\[1\]` must have tokens without white space, got ''"),
        ([["a"], [3]], ["x", "y"], {}, r"`captions\[1\]` must have tokens without white space, got 3"),
    ],
)
def test_wrong_corpora_are_refused(captions, styles, options, message):
    with pytest.raises(ValueError, match=message):
        StyleTable.fit(captions, styles, **options)


def test_too_many_styles_are_refused():
    with pytest.raises(ValueError, match=r"`styles` must have 2 to 65535 different names, .* got 65536"):
        StyleTable.fit(["a"] * 65536, map(str, range(65536)))


def test_300_styles_and_one_of_70000_captions():
    rng = random.Random(0)
    rows = [(f"the {rng.randrange(500)} and {rng.randrange(9)}", "big") for _ in range(70_000)]
    rows += [(f"the {rng.randrange(500)} or {i}", f"small {i}") for i in range(299)]
    start = time.process_time()
    table = StyleTable.fit(*zip(*rows, strict=True))
    matrix = table.score_matrix([caption for caption, _ in rows[-299:]])
    assert time.process_time() - start < 5
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


# -- queries ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.cng("", "A"), "`ngram` must have 1 to 4 tokens, got 0 in ''"),
        (lambda t: t.cng("a b c d e"), "`ngram` must have 1 to 4 tokens, got 5 in 'a b c d e'"),
        (lambda t: t.cng("a", "Q"), "`style` is 'Q', not one of the table's 3 styles; they are: 'A', 'B', 'C'"),
        (lambda t: t.cng("a", "A", "print"), "`variant` must be one of 'paper', 'authors', got 'print'"),
        (lambda t: t.top_ngrams("A", 5), "`order` must be 1 to 4, got 5"),
        (lambda t: t.top_ngrams("a"), "`style` is 'a', not one of the table's 3 styles; near matches: 'A'"),
        (lambda t: t.top_ngrams("A", variant=""), "`variant` must be one of"),
        (lambda t: t.explain("a", "Q"), "`style` is 'Q'"),
        (lambda t: t.explain("a", "A", "x"), "`variant` must be one of"),
        (lambda t: t.explain(3, "A"), r"`caption\[0\]` must be a string, got int"),
        (lambda t: t.score_matrix(["a"], "x"), "`variant` must be one of"),
        (lambda t: t.score_matrix(["a", None]), r"`captions\[1\]` must be a string, got NoneType"),
    ],
)
def test_wrong_queries_are_refused(toy, call, message):
    with pytest.raises(ValueError, match=message):
        call(toy)


def test_top_ngrams(toy):
    best = toy.top_ngrams("A")
    assert best[0] == ("love", 1, 2, 1, pytest.approx(2 / 3))
    assert [weight.ngram for weight in best] == ["love", "i", "sun", "it", "the"]
    assert [weight.cng for weight in best] == sorted((weight.cng for weight in best), reverse=True)
    assert [weight.ngram for weight in toy.top_ngrams("A", 2, k=2)] == ["i love", "love it"]
    assert [weight.ngram for weight in toy.top_ngrams("A", 3)] == ["i love it", "i love the", "love the sun"]
    assert [weight.ngram for weight in toy.top_ngrams("A", min_df=2)] == ["love", "i"]
    assert toy.top_ngrams("A", variant="authors")[0].cng == pytest.approx(1)
    assert toy.top_ngrams("A", min_df=9) == []


def test_explain_lists_the_distinct_ngrams_in_reading_order(toy):
    parts = toy.explain("The sun, the zebra!", "A")
    assert [part.ngram for part in parts] == [
        *("the", "sun", "zebra", "the sun", "sun the", "the zebra", "the sun the", "sun the zebra", "the sun the zebra")
    ]
    assert [part.order for part in parts] == [1, 1, 1, 2, 2, 2, 3, 3, 4]
    assert parts[0] == ("the", 1, 1, 3, pytest.approx(-2 / 45))
    assert parts[3] == ("the sun", 2, 1, 2, pytest.approx(7 / 60))
    assert parts[2] == ("zebra", 1, 0, 0, 0.0)
    assert toy.explain("...", "A") == []


@given(CORPORA, CAPTIONS)
@settings(deadline=None)
def test_explain_equals_cng(rows, caption):
    table = table_of(rows)
    for part in table.explain(" ".join(caption), table.styles[0], "authors"):
        assert part.cng == table.cng(part.ngram, table.styles[0], "authors")


@given(CORPORA)
@settings(deadline=None)
def test_weights_keep_their_bounds_and_sum_to_0(rows):
    table = table_of(rows)
    n = len(table.styles)
    for caption, _ in rows:
        for part in table.explain(" ".join(caption), table.styles[0]):
            paper, authors = (table.cng(part.ngram, variant=variant) for variant in ("paper", "authors"))
            assert sum(paper.values()) == pytest.approx(0, abs=1e-12)
            assert all(-1 / n - 1e-12 <= weight <= (n - 1) / n + 1e-12 for weight in paper.values())
            assert all(-1 / (n - 1) < weight <= 1 + 1e-12 for weight in authors.values())
            if n == 2:
                assert paper[table.styles[0]] == pytest.approx(-paper[table.styles[1]], abs=1e-12)


def test_score_matrix_of_nothing(toy):
    assert toy.score_matrix([]).shape == (0, 3)


# -- real text --------------------------------------------------------------------------------------------------------
def test_goemotions_counts(shared_folder):
    train, test, table = goemotions(shared_folder)
    expected = GOLDEN["goemotions"]
    assert {"train": len(train), "test": len(test)} == expected["rows"]
    assert sum(map(len, table.tokenize(train.captions))) == expected["train_tokens"]
    assert [len(counts.keys) for counts in table.orders] == expected["distinct_ngrams_by_order"]
    assert [len(counts.df) for counts in table.orders] == expected["ngram_style_pairs_by_order"]
    for ngram, facts in expected["cng"].items():
        for variant in ("paper", "authors"):
            weights = {style: table.cng(ngram, style, variant) for style in facts[variant]}
            assert weights == pytest.approx(facts[variant], rel=1e-9)
        assert {w.ngram: (w.df, w.occurrences) for w in table.explain(ngram, "joy")} == {
            ngram: (facts["df"]["joy"], facts["occ"])
        }


def test_generated_corpus_has_the_counts_of_the_specification():
    bench = runpy.run_path(str(ROOT / "scripts" / "bench_style.py"))
    expected = GOLDEN["speed_corpus"]
    captions, styles = bench["generated_corpus"](expected["captions"], 215)
    table = StyleTable.fit(captions, styles)
    assert sum(map(len, captions)) == pytest.approx(expected["tokens"], rel=0.02)
    for counts, distinct, pairs in zip(
        table.orders, expected["distinct_ngrams_by_order"], expected["ngram_style_pairs_by_order"], strict=True
    ):
        assert (len(counts.keys), len(counts.df)) == pytest.approx((distinct, pairs), rel=0.02)


# -- the code ---------------------------------------------------------------------------------------------------------
def imported(script):
    for node in ast.walk(ast.parse(script.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def test_pickle_is_imported_nowhere():
    scripts = [*(ROOT / "shared" / "vlgauge").rglob("*.py"), *(ROOT / "metrics").rglob("*.py")]
    assert len(scripts) > 20
    assert [script for script in scripts if {"pickle", "joblib", "dill"} & set(imported(script))] == []
