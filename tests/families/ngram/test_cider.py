"""CIDEr-D: by hand, against the definition pair by pair, document frequencies and their file, oracles."""

import gzip
import json
import math
from decimal import Context

import folders
import numpy as np
import pytest
from folders import TESTS
from one_pair import cider_d

from vlgauge.core.catalog import folder_module
from vlgauge.families.base.parts import add_counts
from vlgauge.families.ngram import cider
from vlgauge.families.ngram.cider import (
    SCALE,
    DocumentFrequency,
    cider_d_of_examples,
    cider_d_scores,
    length_penalties,
    natural_log,
    ngrams,
)
from vlgauge.inputs.text.ngrams import token_ids
from vlgauge.inputs.text.ptb.tokens import coco_tokens
from vlgauge.inputs.text.treebank_tokens import treebank_tokens

plain_cider_d = folder_module("cider", "reference").cider_d
GOLDEN = json.loads(gzip.decompress((folders.GOLDEN / "trm.json.gz").read_bytes()))
SHARED = TESTS.parents[1] / "shared" / "oracles"  # next to the checkout, not part of it
WORDS = ["a", "man", "dog", "on", "the", "red", "horse", "rides", "near", "field"]
RARE = DocumentFrequency({}, 100)


def table(counts, documents):
    return DocumentFrequency({tuple(ngram.split(" ")): count for ngram, count in counts.items()}, documents)


def cider_d_distances(texts, df, tokenizer=coco_tokens):
    return SCALE - cider_d([tokenizer(text) for text in texts], df)


def oracle_table():
    return table(GOLDEN["cider_df"]["df"], GOLDEN["cider_df"]["documents"])


def random_texts(n_texts, *, longest=12, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.choice(WORDS, rng.integers(0, longest + 1)).tolist() for _ in range(n_texts)]


# -- by hand ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("text", "own"), [("", 0.0), ("a", 2.5), ("a b", 5.0), ("a b c", 7.5), ("a b c d", 10.0)])
def test_a_caption_with_itself(text, own):
    assert cider_d([text.split()], RARE) == pytest.approx(np.array([[own]]), abs=1e-14)


def test_two_captions_by_hand():
    # ln 8 for x and y, ln 8 - ln 2 for a; one common n-gram, twice in the first: clipped to min(2 w, w) w = w^2.
    df, w, v = table({"a": 2}, 8), math.log(4), math.log(8)
    first, second = ["a", "a", "x"], ["a", "y"]
    norms = math.sqrt(4 * w**2 + v**2) * math.sqrt(w**2 + v**2)
    penalty = math.exp(-1 / 72)  # 2 bigrams and 1
    expected = 10 / 4 * w * w / norms * penalty
    assert cider_d([first, second], df)[0, 1] == pytest.approx(expected, rel=1e-14)
    # The other way the reference has the larger count: min(w, 2 w) 2 w.
    assert cider_d([first, second], df)[1, 0] == pytest.approx(2 * expected, rel=1e-14)


def test_the_length_penalty_counts_bigrams():
    long, short = ["a"] * 7, ["a"]
    value = cider_d([long, short], RARE)[0, 1]
    assert value == pytest.approx(10 / 4 * (1 / 7) * math.exp(-36 / 72), rel=1e-14)
    assert cider_d([[], short], RARE).tolist() == [[0.0, 0.0], [0.0, pytest.approx(2.5)]]


def test_an_ngram_of_all_documents_has_no_weight():
    assert cider_d([["a"], ["a"]], table({"a": 100}, 100)).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert cider_d([["a", "b"]], DocumentFrequency({}, 1)).tolist() == [[0.0]]


# At these NumPy's logarithm on a processor with AVX-512 differs from the C library's.
APART = [9170, 19143, 94869, 102327, 136085, 136837, 141614, 147674]


@pytest.mark.parametrize("documents", [2, 100, *APART, 2**53 + 1])
def test_an_ngram_of_all_documents_has_no_weight_whatever_their_number(documents):
    df = DocumentFrequency({("a",): documents, ("b",): 2}, documents)
    assert df.weights([("a",)]).tolist() == [0.0]
    assert cider_d([["a"], ["a"]], df).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    found, _ = cider_d_scores(token_ids([["a"], ["a"]]), np.zeros(2, np.int64), df)
    assert found.tolist() == [0.0]


def test_a_word_of_all_references_has_no_weight():
    texts = [["a"], ["a"]] * 9170
    example = np.arange(len(texts)) // 2
    scores, _ = cider_d_scores(token_ids(texts), example)
    assert not scores.any()
    # The first example has another word, too: that one counts, "a" still does not.
    texts[1] = ["a", "b"]
    texts[0] = ["a", "b"]
    scores, _ = cider_d_scores(token_ids(texts), example)
    assert scores[0] == pytest.approx(5.0)
    assert not scores[1:].any()


def test_logarithms_are_the_nearest_floats_on_every_processor():
    counts = np.random.default_rng(0).integers(1, 10**6, 200)
    exact = [float(Context(prec=50).ln(count)) for count in counts.tolist()]
    weights = cider.inverse_frequencies(counts, 10**6)
    assert weights.tolist() == [float(Context(prec=50).ln(10**6)) - one for one in exact]
    assert cider.inverse_frequencies(np.array([0, 1]), 7).tolist() == [natural_log(7)] * 2
    assert natural_log(1) == 0.0


def test_ngrams_come_by_length():
    assert list(ngrams(["a", "b", "a"])) == [("a",), ("b",), ("a",), ("a", "b"), ("b", "a"), ("a", "b", "a")]


# -- against the definition -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("n_texts", "longest", "seed"), [(1, 4, 0), (9, 3, 1), (12, 12, 2), (7, 30, 3)])
def test_all_pairs_against_the_definition(n_texts, longest, seed):
    texts = random_texts(n_texts, longest=longest, seed=seed)
    df = DocumentFrequency.from_references([[" ".join(text)] for text in texts], tokenizer=str.split)
    df = DocumentFrequency(df.counts, 3 * n_texts)
    found = cider_d(texts, df)
    expected = [[plain_cider_d(h, r, df.counts, df.n_documents) for r in texts] for h in texts]
    assert found == pytest.approx(np.array(expected), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("block", [1, 100, 10**6])
def test_examples_and_blocks_do_not_matter(block, monkeypatch):
    examples = [[], *(random_texts(n_texts, seed=n_texts) for n_texts in (15, 1, 4, 9, 2)), [[]], [["a"], []]]
    alone = [cider_d(texts, RARE) for texts in examples]
    monkeypatch.setattr(cider, "_BLOCK", block)
    together = list(cider_d_of_examples(iter(examples), RARE))
    assert [matrix.shape for matrix in together] == [(len(texts), len(texts)) for texts in examples]
    for found, expected in zip(together, alone, strict=True):
        assert found == pytest.approx(expected, rel=1e-12)
    assert list(cider_d_of_examples([], RARE)) == []


def test_examples_are_taken_some_at_a_time(monkeypatch):
    taken = []
    monkeypatch.setattr(cider, "_BLOCK", 100)
    next(cider_d_of_examples((taken.append(i) or [["a"] * 4] * 4 for i in range(100)), RARE))
    assert len(taken) == 4  # each with 32 tokens and pairs


def test_order_of_the_texts_does_not_matter():
    texts = random_texts(9)
    order = np.array([3, 8, 0, 1, 7, 2, 6, 5, 4])
    found = cider_d([texts[i] for i in order], RARE)
    assert found == pytest.approx(cider_d(texts, RARE)[np.ix_(order, order)], rel=1e-12)


def test_range_and_direction():
    texts = random_texts(40, seed=5)
    values = cider_d(texts, RARE)
    assert values.min() >= 0
    assert values.max() <= 10 + 1e-14
    assert not np.allclose(values, values.T)


def test_distances_are_10_less_the_score_of_the_normalized_captions():
    captions = ["A dog runs; fast!", "a dog runs fast", "...", "A cat."]
    tokens = [coco_tokens(caption) for caption in captions]
    assert np.array_equal(cider_d_distances(captions, RARE), 10 - cider_d(tokens, RARE))
    upper = cider_d_distances(captions, RARE, tokenizer=lambda text: text.upper().split())
    assert upper[0, 1] == pytest.approx(10 - 10 / 4 * (2 / 4 + 1 / 3))  # "A DOG" of 4 tokens each


# -- document frequencies ---------------------------------------------------------------------------------------------
EXAMPLES = [["A dog.", "a dog runs"], ["a dog", "the cat"], ["", "a cat"], []]


def test_one_document_per_example():
    df = DocumentFrequency.from_references(EXAMPLES)
    assert df.n_documents == 3  # the last example has no reference
    assert df.counts == {("a",): 3, ("dog",): 2, ("a", "dog"): 2, ("cat",): 2}


def test_pooled_documents_hold_both_sides():
    df = DocumentFrequency.from_pooled([["a"], ["b c"]], [["b"], ["c"]])
    assert (df.n_documents, df.counts) == (2, {("b",): 2})
    swapped = DocumentFrequency.from_pooled([["b"], ["c"]], [["a"], ["b c"]])
    assert swapped.counts == df.counts


def test_an_unknown_ngram_weighs_as_one_of_a_single_document():
    df = table({"a": 2, "b": 1}, 10)
    assert df.weights([("a",), ("b",), ("c",)]) == pytest.approx([math.log(5), math.log(10), math.log(10)])


@pytest.mark.parametrize(
    ("counts", "documents", "message"),
    [
        ({}, 0, r"^`n_documents`.*at least 1.*got 0"),
        ({"a b": 5}, 4, r"^`counts`.*from 1.*got 5"),
        ({"a": 0}, 4, r"^`counts`.*from 1.*got 0"),
    ],
)
def test_impossible_tables_are_refused(counts, documents, message):
    with pytest.raises(ValueError, match=message):
        table(counts, documents)


@pytest.mark.parametrize(
    ("counts", "documents", "message"),
    [
        ({"a": 2}, 10, r"^`counts`.*got 'a'"),
        ([("a",)], 10, r"^`counts`.*got list"),
        ({("a",): 1.5}, 10, r"^`counts`.*from 1.*got 1\.5"),
        ({("a",) * 5: 1}, 10, r"^`counts`.*1 to 4 tokens"),
        ({}, float("inf"), r"^`n_documents`.*at least 1.*got inf"),
        ({}, True, r"^`n_documents`.*at least 1.*got True"),
    ],
)
def test_tables_of_other_types_are_refused(counts, documents, message):
    with pytest.raises(ValueError, match=message):
        DocumentFrequency(counts, documents)


@pytest.mark.parametrize(
    ("references", "message"),
    [
        (None, "^`references` must have one list of captions per row, got None"),
        (3, "^`references` must have one list of captions per row, got 3"),
        ("a dog", "^`references` must have one list of captions per row, got 'a dog'"),
        ([["a"], 3], r"^`references\[1\]` must be a list of captions, got 3"),
        ([None], r"^`references\[0\]` must be a list of captions, got None"),
        ([["a", None]], r"^`references\[0\]` must be a list of captions, got \['a', None\]"),
    ],
)
def test_references_of_other_types_are_refused(references, message):
    with pytest.raises(ValueError, match=message):
        DocumentFrequency.from_references(references)


@pytest.mark.parametrize("eos", ["yes", 1, None])
def test_an_end_token_is_true_or_false(eos):
    with pytest.raises(ValueError, match=r"^`eos` must be True or False"):
        DocumentFrequency.from_references([["a"]], eos=eos)


def test_a_table_stays_as_it_was_made():
    counts = {("a",): 2}
    df = DocumentFrequency(counts, 10)
    counts[("a",)] = 9
    assert df.counts == {("a",): 2}


def test_a_reference_may_be_a_string_and_a_tokenizer_no_generator():
    assert DocumentFrequency.from_references(["a b", "a c"]).counts == {("a",): 2}
    with pytest.raises(ValueError, match=r"^`tokenizer`"):
        DocumentFrequency.from_references([["a"]], tokenizer=lambda text: (word for word in text.split()))


def test_saved_tables_come_back(tmp_path):
    df = DocumentFrequency({("a",): 3, ("new york", "\u2028é"): 2, ("b",): 1}, 7, "ptb-3.4.1")
    df.save(tmp_path / "df.gz")
    found = DocumentFrequency.load(str(tmp_path / "df.gz"))
    assert found.n_documents == 7
    assert found.counts == {("a",): 3, ("new york", "\u2028é"): 2}
    assert (found.digest, found.tokens) == (df.digest, "ptb-3.4.1")
    lines = gzip.decompress((tmp_path / "df.gz").read_bytes()).decode().split("\n")
    assert json.loads(lines[0]) == {
        **{"format": "vlgauge document frequencies", "version": 2, "tokens": "ptb-3.4.1"},
        **{"documents": 7, "entries": 2},
    }


def test_equal_tables_give_equal_bytes_and_digests(tmp_path):
    counts = {("b",): 2, ("a",): 3}
    for i, items in enumerate((counts, dict(reversed(counts.items())))):
        DocumentFrequency(items, 9).save(tmp_path / str(i))
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()
    assert (tmp_path / "0").read_bytes()[4:8] == bytes(4)  # no time of writing
    assert DocumentFrequency(counts, 9).digest != DocumentFrequency(counts, 10).digest


def packed(data):
    """Compress with a fixed time in the gzip header, so that the bytes are reproducible."""
    return gzip.compress(data, mtime=0)


HEADER = '{"format": "vlgauge document frequencies", "version": 2, "tokens": "", "documents": 9, "entries": 1}\n'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "other content"),
        (b"plain text", "gzipped file"),
        (packed(b"[1, 2]\n"), "other content"),
        (packed(b"no json\n"), "other content"),
        (packed(b"\xff\n"), "other content"),
        (packed((HEADER.replace('"tokens": ""', '"tokens": 3') + '["a", 2]\n').encode()), "`tokens`.*got 3"),
        (
            packed((HEADER.replace('"documents": 9', f'"documents": {2**63}') + '["a", 2]\n').encode()),
            "at most",
        ),
        (packed(HEADER.replace("2,", "3,", 1).encode()), "version 3"),
        (packed(HEADER.replace("vlgauge", "other").encode()), "format 'other"),
        (packed(HEADER.encode()), "0 of 1 entries"),
        (packed((HEADER + '["a", 10]\n').encode()), "got 10 for 'a'"),
        (packed((HEADER + '["a", "b"]\n').encode()), "got 'b' for 'a'"),
        (packed((HEADER + '["a", 2.7]\n').encode()), "got 2.7 for 'a'"),
        (packed((HEADER + '["a", true]\n').encode()), "got True for 'a'"),
        (packed((HEADER + '"ab5"\n').encode()), "'ab5'"),
        (
            packed((HEADER.replace('"entries": 1', '"entries": 2') + '["a", 2]\n["a", 3]\n').encode()),
            "invalid or repeated",
        ),
        (packed((HEADER + '["a", "b", "c", "d", "e", 2]\n').encode()), "1 to 4 tokens"),
        (packed((HEADER.replace('"documents": 9', '"documents": 2.5') + '["a", 2]\n').encode()), "got 2.5"),
        (packed((HEADER + '["a", 2]\n').encode())[:-9], "end-of-stream"),
        (packed(b"x" * 99)[:12] + b"\xff" * 20, "."),
    ],
)
def test_other_files_are_refused(tmp_path, content, reason):
    (tmp_path / "df").write_bytes(content)
    with pytest.raises(ValueError, match=rf"^`path`.*version 2.*{reason}"):
        DocumentFrequency.load(tmp_path / "df")


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(FileNotFoundError):
        DocumentFrequency.load(tmp_path / "none")


# -- oracles ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_distances_of_the_authors_code(case):
    tokens = [text.split() for text in case["coco_normalize"]]
    expected = np.array(case["distances"]["cider_d"])
    assert 10 - cider_d(tokens, oracle_table()) == pytest.approx(expected, abs=1e-12)
    captions = [*case["predictions"], *case["references"]]
    assert cider_d_distances(captions, oracle_table(), treebank_tokens) == pytest.approx(expected, abs=1e-12)


def shared(name):
    return json.loads(gzip.decompress((SHARED / name).read_bytes()))


@pytest.mark.skipif(not SHARED.exists(), reason="needs the reference material next to the checkout")
def test_coco_captions_of_the_reference_material():
    oracle = shared("trm_kbm.json.gz")
    df = table(oracle["cider_df"]["df"], oracle["cider_df"]["documents"])
    for case in oracle["cases"]:
        found = cider_d_distances([*case["predictions"], *case["references"]], df, treebank_tokens)
        assert found == pytest.approx(np.array(case["distances"]["cider_d"]), abs=1e-12)


def test_length_penalty():
    found = length_penalties(np.array([5, 1, 0, 0, 13]), np.array([5, 0, 0, 7, 1]))
    # Lengths are counted without the first token, so that one word is as long as none.
    assert found == pytest.approx([1, 1, 1, math.exp(-36 / 72), math.exp(-144 / 72)], abs=1e-15)


def test_counts_of_parts_make_the_table_of_the_whole():
    references = [["a dog runs", "a dog"], [], ["a cat"], ["the dog runs"], ["a"]] * 20
    whole = DocumentFrequency.from_references(references)
    parts = [cider.document_counts(references[start : start + 7]) for start in range(0, 100, 7)]
    found = cider.sum_documents(add_counts(reversed(parts)))
    assert (found.counts, found.n_documents, found.digest) == (whole.counts, 80, whole.digest)
