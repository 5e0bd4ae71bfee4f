"""Queries of the style table, and its counts of real text."""

import ast
import runpy

import pytest
from folders import METRICS, ROOT, SCRIPTS
from hypothesis import given, settings
from style_definition import CAPTIONS, CORPORA, GOLDEN, TOY, columns_of, goemotions, table_of

from vlgauge.style import StyleTable


@pytest.fixture(scope="module")
def toy():
    return StyleTable.fit(*columns_of(TOY["corpus"]))


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
        (lambda t: t.explain(3, "A"), "`caption` must be a string, got int"),
        (lambda t: t.cng(None, "A"), "`ngram` must be a string, got NoneType"),
        (lambda t: t.top_ngrams("A", k=-1), "`k` must be a whole number of at least 1, got -1"),
        (lambda t: t.top_ngrams("A", k=2.5), "`k` must be a whole number of at least 1, got 2.5"),
        (lambda t: t.top_ngrams("A", 1.0), "`order` must be 1 to 4, got 1.0"),
        (lambda t: t.score_matrix("i love it"), "`captions` must be a list of strings, got one string; wrap it"),
        (lambda t: t.score_matrix([], "x"), "`variant` must be one of"),
        (lambda t: t.score_matrix([["a"]]), r"`captions\[0\]` must be a string, got list"),
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
    bench = runpy.run_path(str(SCRIPTS / "bench" / "style.py"))
    expected = GOLDEN["speed_corpus"]
    captions, styles = bench["generated_corpus"](expected["captions"], 215)
    table = StyleTable.fit(captions, styles)
    assert sum(map(len, captions)) == pytest.approx(expected["tokens"], rel=0.02)
    for counts, distinct, pairs in zip(
        table.orders, expected["distinct_ngrams_by_order"], expected["ngram_style_pairs_by_order"], strict=True
    ):
        assert (len(counts.keys), len(counts.df)) == pytest.approx((distinct, pairs), rel=0.02)


# -- the code ---------------------------------------------------------------------------------------------------------
def pickling(script):
    """What a script takes from the modules that unpickle, other than the error to catch."""
    for node in ast.walk(ast.parse(script.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in ("joblib", "dill"))
        elif isinstance(node, ast.ImportFrom) and node.module in ("pickle", "joblib", "dill"):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "pickle":
            yield node.attr


def test_nothing_is_unpickled():
    scripts = [*(ROOT / "shared" / "vlgauge").rglob("*.py"), *(METRICS).rglob("*.py")]
    assert len(scripts) > 20
    found = {(name, script.name) for script in scripts for name in pickling(script)}
    # The one reader of pickles knows no class and no function; see test_protocol_files.py.
    assert found <= {("UnpicklingError", script.name) for script in scripts} | {("Unpickler", "pickles.py")}
