"""METEOR 1.5: pairs of the Java program to the last bit, its traps one by one, odd texts, and memory of a table."""

import gzip
import json
import platform
import tracemalloc

import numpy as np
import pytest
from meteor15 import (
    ORACLE,
    golden,
    needs_oracle,
    needs_wheel,
    program_alignment,
    program_statistics,
    toy_files,
    write_lists,
    write_table,
)

from vlgauge.families.ngram.meteor15.alignment import _Search
from vlgauge.families.ngram.meteor15.formula import scores_of, summands
from vlgauge.families.ngram.meteor15.paraphrases import ParaphraseTable, hashes_of_tokens
from vlgauge.families.ngram.meteor15.scoring import MAX_WORDS, coco_rows, distance_matrices
from vlgauge.families.ngram.meteor15.sources import open_sources
from vlgauge.families.ngram.meteor15.texts import TextFamily

# Powers of the C library of Linux and of Java are bitwise identical.
TOLERANCE = 0.0 if platform.libc_ver()[0] == "glibc" else 1e-12


@pytest.fixture(scope="module")
def material():
    return golden()


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    lists, table = toy_files(tmp_path_factory.mktemp("toy"))
    return open_sources(lists, table, metric="meteor")


def rows_of(hypotheses, references, sources):
    return list(coco_rows(hypotheses, references, sources))


def best_pair(pairs):
    return max(pairs, key=lambda pair: pair.score)


def check_rows(rows, sources):
    found = rows_of([row["hyp"] for row in rows], [row["refs"] for row in rows], sources)
    for row, expected in zip(found, rows, strict=True):
        assert list(map(program_statistics, row)) == expected["stats"], expected["hyp"]
        assert list(map(program_alignment, row)) == expected["align"], expected["hyp"]
        assert row.index(best_pair(row)) == expected["best"]
    scores = [best_pair(row).score for row in found]
    assert scores == pytest.approx([row["score"] for row in rows], rel=0, abs=TOLERANCE)
    return found


def oracle_rows():
    rows = json.loads(gzip.decompress(ORACLE.read_bytes()))["rows"]
    return [
        row | {"stats": [pair["stats"] for pair in row["pairs"]], "align": [pair["align"] for pair in row["pairs"]]}
        for row in rows
    ]


# -- equal to the program ---------------------------------------------------------------------------------------------
def test_toy_rows(material, toy):
    check_rows(material["toy"]["rows"], toy)


@needs_wheel
def test_golden_rows(material):
    check_rows(material["rows"], open_sources(metric="meteor"))


@needs_wheel
def test_golden_rows_without_paraphrases(material):
    rows = material["rows"]
    sources = open_sources(paraphrases=None, metric="meteor")
    found = rows_of([row["hyp"] for row in rows], [row["refs"] for row in rows], sources)
    expected = [row["score_without"] for row in rows]
    assert [best_pair(row).score for row in found] == pytest.approx(expected, rel=0, abs=TOLERANCE)
    assert all(pair.statistics[16:20] == [0, 0, 0, 0] for row in found for pair in row)


@needs_wheel
@needs_oracle
def test_every_row_and_corpus_of_the_oracle():
    rows = oracle_rows()
    found = check_rows(rows, open_sources(metric="meteor"))
    statistics = np.array([best_pair(row).statistics for row in found], dtype=np.float64)
    corpora = json.loads(gzip.decompress(ORACLE.read_bytes()))["corpora"]
    own = [float(scores_of(summands(statistics[corpus["rows"]]).sum(axis=0))) for corpus in corpora]
    assert own == pytest.approx([corpus["score"] for corpus in corpora], rel=0, abs=TOLERANCE)


@needs_wheel
def test_what_the_wrapper_sends(material):
    rows = material["protocol"]
    found = rows_of([row["hyp"] for row in rows], [row["refs"] for row in rows], open_sources(metric="meteor"))
    assert [program_statistics(best_pair(row)) for row in found] == [row["stats"] for row in rows]
    assert [best_pair(row).score for row in found] == pytest.approx(
        [row["score"] for row in rows], rel=0, abs=TOLERANCE
    )


# -- rules ------------------------------------------------------------------------------------------------------------
def scores(toy, *pairs):
    found = rows_of([own for own, _ in pairs], [[reference] for _, reference in pairs], toy)
    return [row[0].score for row in found]


def test_equal_texts_score_1_but_empty_ones_0(toy):
    assert scores(toy, ("the old lamp", "the old lamp"), ("", ""), ("lamp", ""), ("", "lamp")) == [1.0, 0.0, 0.0, 0.0]


def test_a_stem_alone_gains_nothing(tmp_path):
    # Listed by stem and by synonym, so that the match is not definite, and half of one word counts as zero.
    lists = write_lists(tmp_path / "a.jar", synsets={"dog": "00000001"})
    sources = open_sources(lists, None, metric="meteor")
    assert scores(sources, ("dogs", "dog")) == [0.0]
    assert scores(sources, ("hounds", "hound"))[0] > 0


def test_a_pair_listed_twice_is_not_definite(tmp_path):
    lists = write_lists(tmp_path / "a.jar")
    once = open_sources(lists, write_table(tmp_path / "once.gz", [("cup", "ball")]), metric="meteor")
    assert scores(once, ("cup", "ball")) == [pytest.approx(0.6)]
    twice = open_sources(lists, write_table(tmp_path / "twice.gz", [("cup", "ball")] * 2), metric="meteor")
    assert scores(twice, ("cup", "ball")) == [0.0]


def test_line_ends_and_separators(toy):
    (row,) = rows_of(["a\nlamp|||s"], [["a\r\nrug ||| a lamps", ""]], toy)
    assert [list(pair.own) for pair in row] == [["a", "lamps"]] * 3
    assert [list(pair.reference) for pair in row] == [["a", "rug"], ["a", "lamps"], []]
    assert [(pair.reference_index, pair.score) for pair in row] == [(0, pytest.approx(0.1)), (0, 1.0), (1, 0.0)]


def test_distances_have_the_reference_first(toy):
    texts = ["the old lamp", "lamp", "the lamp ||| here"]
    matrix, empty = distance_matrices(texts, toy)([texts, []])
    expected = [[1 - scores(toy, (own, reference.replace("|||", " ")))[0] for own in texts] for reference in texts]
    assert matrix[0].tolist() == [one if i < 2 else matrix[0, 2] for i, one in enumerate(expected[0])]
    assert matrix[0, 1] != matrix[1, 0]
    assert matrix.diagonal().tolist() == [0.0, 0.0, 0.0]
    assert empty.shape == (0, 0)


@needs_wheel
@pytest.mark.parametrize("text", ["一只狗在草地上跑", "\ud800 x", "a" * 50_000, "." * 2_000, "' " * 2_000, " \u00a0 "])
def test_odd_texts(text):
    found = rows_of([text, "a dog"], [[text, "a dog"], [text]], open_sources(metric="meteor"))
    assert best_pair(found[0]).score == (1.0 if text.strip() else 0.0)
    assert best_pair(found[1]).score == 0.0


@needs_wheel
def test_captions_of_400_words():
    words = ["a", "dog", "and", "the", "cat", "run", "on", "green", "grass", "near", "an", "old", "red", "house"]
    own = " ".join(words[(7 * i * i + i) % len(words)] for i in range(400))
    other = " ".join(words[(5 * i * i + 3 * i) % len(words)] for i in range(400))
    (row,) = rows_of([own], [[other, own]], open_sources(metric="meteor"))
    assert 0 < row[0].score < row[1].score == 1.0


def test_a_text_of_absurd_length_is_refused_by_row(toy):
    long = " ".join("abcdefgh"[i * i % 7] for i in range(MAX_WORDS + 1))
    message = r"at most 2,048 words per text for METEOR 1.5, got 2,049 words in row {} in the text .* 'a b e c c e"
    for own, reference in ((long, "a"), ("a", long), (long, long[::-1])):
        with pytest.raises(ValueError, match=message.format(1)):
            rows_of(["a", own], [["a"], ["a", reference]], toy)
    with pytest.raises(ValueError, match=message.format(7)):
        coco_rows([long], [["a"]], toy, rows=[7])
    with pytest.raises(ValueError, match=r"got 2,049 words.*'a b e"):
        list(distance_matrices(["a", long], toy)([["a", long]]))
    assert scores(toy, (long, long)) == [1.0]


def test_a_repeated_word_needs_little_memory(toy):
    # A row of bits per candidate would need 128 MB for half of the maximum length.
    texts = [" ".join(["lamp"] * n) for n in (MAX_WORDS // 2, MAX_WORDS // 2 - 1)]
    sizes = np.array([len(text.split()) for text in texts])
    family = TextFamily(toy.lists, toy.table, map(str.split, texts))
    candidates = family.candidates(np.array([0]), np.array([1]))
    assert len(candidates.pair) == sizes.prod()
    tracemalloc.start()
    try:
        _Search(candidates, np.zeros(len(candidates.pair), np.bool_), sizes[1:], int(sizes[0]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**27


# -- the table --------------------------------------------------------------------------------------------------------
def paraphrases_of(table, texts):
    """Return the pairs of a table with both sides in a set of texts."""
    texts = sorted(texts)
    hashes, _ = hashes_of_tokens(texts)
    text_of = dict(zip(hashes.tolist(), texts, strict=True))
    owners, found = table.pairs().of(hashes)
    pairs = {}
    for owner, text in zip(owners.tolist(), found.tolist(), strict=True):
        if text in text_of:
            pairs.setdefault(texts[owner], []).append(text_of[text])
    return pairs


@pytest.fixture
def readings(monkeypatch):
    """Every reading of a table."""
    made = []
    read = ParaphraseTable._read
    monkeypatch.setattr(ParaphraseTable, "_read", lambda self: made.append(self) or read(self))
    return made


def test_a_table_is_read_once(tmp_path, readings, monkeypatch):
    monkeypatch.setenv("VLGAUGE_HOME", str(tmp_path / "home"))
    pairs = [("big dog", "hound"), ("big dog", "large dog"), ("cat", "kitten"), ("big dog", "dog")]
    table = ParaphraseTable(write_table(tmp_path / "a.gz", pairs), is_known=False)
    assert paraphrases_of(table, {"big dog", "hound", "dog"}) == {"big dog": ["hound", "dog"]}
    found = paraphrases_of(table, {"cat", "kitten", "big dog", "large dog"})
    assert found == {"cat": ["kitten"], "big dog": ["large dog"]}
    assert table.pairs().longest == 2
    assert readings == [table]
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("damage", [b"", b"x", None])
def test_hashes_of_the_known_table_are_kept(tmp_path, readings, monkeypatch, damage):
    monkeypatch.setenv("VLGAUGE_HOME", str(tmp_path / "home"))
    path = write_table(tmp_path / "a.gz", [("cup", "ball"), ("cup", "the ball")])

    def found():
        return paraphrases_of(ParaphraseTable(path, is_known=True), {"cup", "ball", "the ball"})

    assert found() == found() == {"cup": ["ball", "the ball"]}
    assert len(readings) == 1
    (kept,) = (tmp_path / "home" / "paraphrases").iterdir()
    kept.write_bytes(kept.read_bytes()[:-1] if damage is None else damage)
    assert found() == found() == {"cup": ["ball", "the ball"]}
    assert len(readings) == 2


def test_hashes_that_cannot_be_kept(tmp_path, readings, monkeypatch):
    (tmp_path / "home").write_text("no folder")
    monkeypatch.setenv("VLGAUGE_HOME", str(tmp_path / "home"))
    path = write_table(tmp_path / "a.gz", [("cup", "ball")])
    for _ in range(2):
        assert paraphrases_of(ParaphraseTable(path, is_known=True), {"cup", "ball"}) == {"cup": ["ball"]}
    assert len(readings) == 2


def test_tables_in_any_order_and_with_any_blanks(tmp_path):
    pairs = [("b", "c"), (" a\t b ", "c"), ("b", "a  b"), ("b\r", "\u00e9")]
    table = ParaphraseTable(write_table(tmp_path / "a.gz", pairs), is_known=False)
    assert paraphrases_of(table, {"a b", "b", "c", "\u00e9"}) == {"b": ["c", "a b", "\u00e9"], "a b": ["c"]}


def test_a_table_of_several_blocks(tmp_path, monkeypatch):
    monkeypatch.setenv("VLGAUGE_HOME", str(tmp_path / "home"))
    # The lines are long, so that chunks of decompressed data end within pairs.
    pairs = [(f"{'x' * 997} {i % 5}", f"{'y' * (i % 1000)} {i}") for i in range(4_000)]
    path = write_table(tmp_path / "a.gz", pairs)
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).removesuffix(b"\n")))
    texts = {text for pair in pairs for text in map(" ".join, map(str.split, pair))}
    found = paraphrases_of(ParaphraseTable(path, is_known=False), texts)
    assert {phrase: len(own) for phrase, own in found.items()} == {f"{'x' * 997} {k}": 800 for k in range(5)}
    assert found[f"{'x' * 997} 3"][:2] == ["yyy 3", "yyyyyyyy 8"]
    known = ParaphraseTable(
        write_table(tmp_path / "b.gz", [tuple(" ".join(text.split()) for text in pair) for pair in pairs]),
        is_known=True,
    )
    assert paraphrases_of(known, texts) == found
