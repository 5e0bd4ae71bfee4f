"""Rows of captions and references as flat lists, and captions that are too long."""

import re

import numpy as np
import pytest

from vlgauge.families.clip_score.long_text import pieces_of, sentences
from vlgauge.families.clip_score.rows import pair_items, text_rows


class OverTen:
    """A tokenizer of characters."""

    context = 10

    def too_long(self, texts):
        return np.array([len(text) > 10 for text in texts], dtype=bool)

    def contains_special_token(self, text):
        return False


over_ten = OverTen()


# -- sentences --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("One.Two 3.5 a.b", ["One.Two 3.5 a.b"]),
        ("One.\n Two...  Three", ["One.", "Two...", "Three"]),
        ("", [""]),
        ("  ", ["  "]),
        ("One. ", ["One."]),
    ],
)
def test_sentences(text, parts):
    assert sentences(text) == parts


# -- pieces -----------------------------------------------------------------------------------------------------------
TEXTS = ["short", "One two. Three.", "short", "a very long text", "Three."]


def test_whole_texts():
    pieces = pieces_of(TEXTS, str, over_ten, "truncate")
    assert pieces.texts == ["short", "One two. Three.", "a very long text", "Three."]
    assert pieces.index.tolist() == [0, 1, 0, 2, 3]
    assert pieces.owner.tolist() == [0, 1, 2, 3, 4]
    assert pieces.is_long.tolist() == [False, True, False, True, False]


def test_split_texts():
    pieces = pieces_of(TEXTS, str, over_ten, "split")
    assert pieces.texts == ["short", "One two.", "Three.", "a very long text"]
    assert pieces.index.tolist() == [0, 1, 2, 0, 3, 2]
    assert pieces.owner.tolist() == [0, 1, 1, 2, 3, 4]
    assert pieces.n_owners == 5


def test_refused_texts():
    with pytest.raises(ValueError, match=r"^`text 1`.*at most 10 tokens"):
        pieces_of(TEXTS, lambda i: f"text {i}", over_ten, "error")
    assert pieces_of(["short"], str, over_ten, "error").texts == ["short"]


def test_no_texts():
    pieces = pieces_of([], str, over_ten, "split")
    assert (pieces.texts, len(pieces.index), pieces.n_owners) == ([], 0, 0)


# -- rows -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(4))
def test_pairs_of_rows(seed):
    rng = np.random.default_rng(seed)
    left, right = rng.integers(6, size=9), np.sort(rng.integers(6, size=11))
    ours, theirs = pair_items(left, right)
    wanted = [(i, j) for i in range(9) for j in range(11) if left[i] == right[j]]
    assert list(zip(ours.tolist(), theirs.tolist(), strict=True)) == wanted


@pytest.mark.parametrize("policy", ["truncate", "split"])
@pytest.mark.parametrize("seed", range(3))
def test_units_and_pairs(seed, policy):
    rng = np.random.default_rng(seed)
    pool = ["a", "b", "One two. Three.", "Three.", "Four five. Six. Seven."]
    predictions = rng.choice(pool, size=7).tolist()
    references = [None if rng.random() < 0.3 else rng.choice(pool, size=rng.integers(0, 4)).tolist() for _ in range(7)]
    rows = text_rows(predictions, references, over_ten, policy)

    def cut(text):
        return sentences(text) if policy == "split" and len(text) > 10 else [text]

    units = [(row, part) for row, text in enumerate(predictions) for part in cut(text)]
    texts = rows.pieces.texts
    found = [(row, texts[unit]) for row, unit in zip(rows.row_of_unit.tolist(), rows.units, strict=True)]
    assert found == units
    wanted = [
        (unit, number, part)
        for unit, (row, _) in enumerate(units)
        for number, text in enumerate(references[row] or ())
        for part in cut(text)
    ]
    numbers = rows.pair_references.tolist()
    assert [(u, n, texts[p]) for u, n, p in zip(rows.pairs[0], numbers, rows.pairs[1], strict=True)] == wanted
    assert rows.has_references == any(row is not None for row in references)


def test_place_of_a_long_reference():
    with pytest.raises(ValueError, match=re.escape("`references[2][1]`")):
        text_rows(["a"] * 3, [["b"], None, ["c", "a very long text"]], over_ten, "error")
