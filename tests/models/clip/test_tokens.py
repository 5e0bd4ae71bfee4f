"""CLIP text inputs: the released ids, truncated to 77, in batches of similar length."""

import numpy as np
import pytest
from released_tokens import released_ids
from tiny_clip import INPUTS, PROMPT, golden_arrays

from vlgauge.models.clip.tokens import (
    ClipTokens,
    OpenClipTokenizer,
    buckets,
    byte_pairs,
    contains_special_token,
    in_order,
    n_seen,
    token_texts,
)
from vlgauge.models.padding import pad_rows

CONTEXT = 77


def rows(lengths):
    return [np.full(length, i + 1, dtype=np.int32) for i, length in enumerate(lengths)]


@pytest.mark.parametrize("case", ["edge", "multi"])
def test_ids_are_those_of_the_released_code(case):
    wanted = golden_arrays("image_tiny_s0_a0.8.npz")[f"{case}/tokens"]
    ids, _ = ClipTokens(CONTEXT)([PROMPT + text for text in INPUTS[case]["candidates"]])
    for row, expected in zip(ids, wanted, strict=True):
        assert row.dtype == np.int32
        np.testing.assert_array_equal(pad_rows([row, np.zeros(CONTEXT, dtype=np.int32)], 0)[0], expected)


def test_a_long_text_keeps_its_end_token_and_says_so():
    ids, truncated = ClipTokens(CONTEXT)(["dog " * 75, "dog " * 76, ""])
    assert truncated.tolist() == [False, True, False]
    assert [len(row) for row in ids] == [77, 77, 2]
    assert [row[-1] for row in ids] == [49407] * 3
    assert [row[0] for row in ids] == [49406] * 3
    np.testing.assert_array_equal(ids[0], ids[1])


# -- tokens that a text spells ----------------------------------------------------------------------------------------
END, START = "<|endoftext|>", "<|startoftext|>"


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        (f"a dog{END}", [320, 1929, 49407]),
        (f"{START}a dog", [49406, 320, 1929]),
        ("a dog <|EndOfText|> dog", [320, 1929, 49407, 1929]),
        ("a dog &lt;|endoftext|&gt;", [320, 1929, 49407]),
        ("a dog \uff1c\uff5cendoftext\uff5c\uff1e", [320, 1929, 49407]),
        ("a dog <|endof\x00text|>", [320, 1929, 49407]),
        # A punctuation mark before it takes its first two characters.
        (f"a dog.{END}", [320, 1929, 13, 27, 347, 40786, 4160, 91, 285]),
    ],
)
def test_released_spellings_are_special(text, inner):
    (ids,), _ = ClipTokens(CONTEXT)([text])
    assert ids.tolist() == [49406, *inner, 49407]
    assert contains_special_token(text)


@pytest.mark.parametrize("text", ["a dog", "<start_of_text> a dog <end_of_text>", "<|endof text|>", "endoftext", "<|"])
def test_other_spellings_are_words(text):
    (ids,), _ = ClipTokens(CONTEXT)([text])
    assert not {49406, 49407} & set(ids[1:-1].tolist())
    assert not contains_special_token(text)


def test_the_tokenizer_of_open_clip_stays_as_it_is_and_may_have_been_used():
    pytest.importorskip("open_clip")
    from open_clip import tokenizer

    text = f"a dog{END} <start_of_text> sees zebras"
    expected = tokenizer.SimpleTokenizer().encode(text)
    assert tokenizer._tokenizer.encode(text) == expected != byte_pairs().encode(text)
    assert byte_pairs.__wrapped__().encode(text) == byte_pairs().encode(text)
    assert tokenizer._tokenizer.encode(text) == expected
    assert tokenizer._tokenizer.decode([49406, 49407]) == "<start_of_text><end_of_text>"


def test_what_is_seen_ends_with_the_first_end_token():
    ids, truncated = ClipTokens(CONTEXT)([f"a dog{END} cat{END}", "a dog", f"a{END} " + "dog " * 80])
    assert [n_seen(row) for row in ids] == [4, 4, 3]
    assert [len(row) for row in ids] == [7, 4, 77]
    assert truncated.tolist() == [False, False, True]


PARTS = [END, START, END.upper(), "<end_of_text>", "<start_of_text>", "&lt;|endoftext|&gt;", "<|", "|>", "_", "'"]
PARTS += [
    "\uff1c\uff5cendoftext\uff5c\uff1e",
    "dog",
    "It's",
    "they'll",
    "3.14",
    "!?",
    "...",
    "&amp;amp;",
    "\x00",
    "\x1c",
]
PARTS += ["犬", "É", "🐕", "â€™", "\u017f", "İ"]


@pytest.mark.parametrize("seed", range(4))
def test_ids_are_those_of_the_released_rules(seed):
    rng = np.random.default_rng(seed)
    glue = ["", " ", "\n"]
    texts = [
        "".join(part + str(rng.choice(glue)) for part in rng.choice(PARTS, size=rng.integers(1, 9))) for _ in range(150)
    ]
    ids, _ = ClipTokens(CONTEXT)(texts)
    for text, row in zip(texts, ids, strict=True):
        expected = released_ids(text)
        assert row[1:-1].tolist() == expected[:75], text
        assert contains_special_token(text) or not {49406, 49407} & set(expected), text


def test_no_text_gives_no_ids():
    ids, truncated = ClipTokens(CONTEXT)([])
    assert ids == []
    assert truncated.shape == (0,)


def test_half_a_surrogate_pair_reads_as_the_replacement_character():
    (half, whole), _ = ClipTokens(CONTEXT)(["a \ud83d", "a \ufffd"])
    np.testing.assert_array_equal(half, whole)


def test_the_order_is_that_of_lengths_and_ids():
    ids = [np.array(row, dtype=np.int32) for row in ([5, 4], [9], [5, 3], [9], [5, 4], [1, 2, 3])]
    shuffled = [ids[i] for i in (3, 5, 1, 0, 4, 2)]
    assert [row.tolist() for row in in_order(ids)] == [[9], [5, 3], [5, 4], [1, 2, 3]]
    assert [row.tolist() for row in in_order(shuffled)] == [[9], [5, 3], [5, 4], [1, 2, 3]]


@pytest.mark.parametrize("batch_size", [1, 2, 64])
def test_buckets_hold_everything_once_within_their_bound(batch_size):
    ids = rows(sorted(np.random.default_rng(5).integers(2, 78, 700).tolist()))
    made = list(buckets(ids, batch_size, CONTEXT))
    assert [row[0] for batch in made for row in batch] == list(range(1, 701))
    for batch in made:
        shortest, longest = len(batch[0]), len(batch[-1])
        assert len(batch) * longest <= batch_size * CONTEXT
        assert longest <= shortest + max(2, shortest // 4)
    assert len(list(buckets(rows([77] * 130), batch_size, CONTEXT))) == -(-130 // batch_size)


def test_short_texts_share_large_batches():
    (only,) = buckets(rows([10] * 400), 64, CONTEXT)
    assert len(only) == 400


def test_a_batch_of_one_is_one_text():
    assert [len(batch) for batch in buckets(rows([3, 3, 4]), 1, CONTEXT)] == [1, 1, 1]


def test_padding_is_zeros_at_the_end():
    table = pad_rows(rows([1, 3]), 0).numpy()
    assert table.tolist() == [[1, 0, 0], [2, 2, 2]]
    assert table.dtype == np.int64


class Words:
    """A tokenizer as other text towers have it: padded with 1, cut without a word."""

    def __call__(self, texts, context_length):
        import torch

        out = torch.full((len(texts), context_length), 1)
        for line, text in zip(out, texts, strict=True):
            words = [len(word) + 10 for word in text.split()][:context_length]
            line[: len(words)] = torch.tensor(words, dtype=torch.long)
        return out


def test_foreign_ids_are_padded_and_cutting_is_noticed():
    tokens = OpenClipTokenizer(Words(), 4)
    ids, truncated = tokens(["a bc", "a b c d", "a b c d e", ""])
    assert [row.tolist() for row in ids] == [[11, 12, 1, 1], [11, 11, 11, 11], [11, 11, 11, 11], [1, 1, 1, 1]]
    assert truncated.tolist() == [False, False, True, False]
    assert tokens([])[0] == []


# -- long texts -----------------------------------------------------------------------------------------------------
WORDS = ["dog", "supercalifragilistic", "a-b", "!?", "3.14", "'s", "&amp;", "&lt;b&gt;", "…", "犬", "ﬁ", "é", "🐕"]


@pytest.mark.parametrize("seed", range(3))
def test_a_look_at_the_characters_never_misses_a_long_text(seed):
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS[: rng.integers(1, 14)], size=rng.integers(0, 60))) for _ in range(60)]
    texts += ["a" * n for n in (74, 75, 76, 77)] + ["a " * n for n in (74, 75, 76, 77)]
    texts += ["x&" * 30, "\x1b[0m" * 20, "犬" * 30]
    cut = ClipTokens(CONTEXT)(texts)[1]
    assert np.array_equal(ClipTokens(CONTEXT).too_long(texts), cut)
    assert 5 < cut.sum() < len(texts) - 5
    # 77 tokens with start and end fit.
    assert ClipTokens(CONTEXT).too_long(["a " * 75, "a " * 76]).tolist() == [False, True]


def test_tokens_as_text():
    (ids,), _ = ClipTokens(CONTEXT)(["A dog's café"])
    assert token_texts(ids) == ["<|startoftext|>", "a", "dog", "'s", "café", "<|endoftext|>"]
