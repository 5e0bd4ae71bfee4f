"""METEOR: by hand, against the definition token by token, properties, odd input, processes, oracles."""

import gzip
import json
import random

import folders
import numpy as np
import pytest
from folders import TESTS
from one_pair import meteor_distances, meteor_score
from script_modules import script_module

from vlgauge.core.catalog import folder_module
from vlgauge.families.ngram import meteor
from vlgauge.families.ngram.meteor import meteor_matrices, meteor_scores
from vlgauge.inputs.text.ptb.tokens import coco_tokens
from vlgauge.inputs.text.treebank_tokens import treebank_tokens

GOLDEN = json.loads(gzip.decompress((folders.GOLDEN / "meteor.json.gz").read_bytes()))
SHARED = TESTS.parents[1] / "shared" / "oracles"  # next to the checkout, not part of it
TOLERANCE = 1e-12
plain_meteor = folder_module("meteor", "reference_2007").meteor_score
generate_captions = script_module("bench/generated.py").generate_captions

# Reference, hypothesis, score.
WORKED = [
    # 4 matches in one chunk, P = 4/4, R = 4/5: F = 0.8/0.98; 1 - 0.5 / 64
    ("a man rides a horse", "a man rides a", 0.8 / 0.98 * (1 - 1 / 128)),
    # the other way F = 0.8 / (0.72 + 0.1)
    ("a man rides a", "a man rides a horse", 0.8 / 0.82 * (1 - 1 / 128)),
    # all words match, none next to its neighbor: the last "the" matches the last "the"
    ("the cat sat on the mat", "on the mat sat the cat", 0.5),
    # chunks "cat" and "the mat": k = 3, P = 3/3, R = 3/4
    ("the cat the mat", "cat the mat", 0.75 / 0.975 * (1 - 1 / 54)),
    # only the last "a" of the reference is matched, so "a b" is one chunk
    ("a x a b", "a b", 0.5 / 0.95 * (1 - 1 / 16)),
    # matched by stem: "dogs run" is one chunk of 2, P = 2/2, R = 2/3
    ("dog running fast", "dogs run", 2 / 3 / (0.9 + 0.2 / 3) * (1 - 1 / 16)),
    # an equal word has priority over an equal stem further right: "dogs" alone, 1 chunk
    ("dogs x dog", "dogs", 1 / 3 / (0.9 + 0.1 / 3) * 0.5),
    # "ride" by its stem, "men" because "man" is among its synonyms. "bicycl" is not a synonym of "bike"
    ("a man rides a red bicycle", "two men ride bike", 10 / 29 * 15 / 16),
    # the other way "men" is not among the synonyms of "man"
    ("two men ride bike", "a man rides a red bicycle", 5 / 42),
    # synonyms, but the stems "babi" and "infant" have no common synonyms
    ("baby", "infant", 0.0),
    # the hypothesis is processed from the right: "auto" gets the only "car", next to "b", and "motorcar" gets none
    ("car b", "motorcar auto b", 2 / 3 / (0.6 + 0.1) * (1 - 1 / 16)),
    # each matches the rightmost: "auto" the second "car", so the order is kept in one chunk of 2
    ("car car red", "auto red", 2 / 3 / (0.9 + 0.2 / 3) * (1 - 1 / 16)),
]
WORDS = (
    "dog dogs dogs hound domestic track tracks run runs running ran man men human person bike bicycle bikes cycle "
    "wheel a a a the the couch sofa lounge car auto cars automobile machine machines x y z"
)


def random_captions(seed, count, longest=12):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS.split(), k=rng.randint(0, longest))) for _ in range(count)]


def plain_distances(captions):
    tokens = [caption.lower().split() for caption in captions]
    return np.array([[1 - plain_meteor(a, b) for b in tokens] for a in tokens])


def shared(name):
    if not (SHARED / name).is_file():
        pytest.skip(f"needs shared/oracles/{name}")
    return json.loads(gzip.decompress((SHARED / name).read_bytes()))


# -- by hand ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("reference", "hypothesis", "score"), WORKED)
def test_worked_examples(reference, hypothesis, score):
    assert meteor_score(reference.split(), hypothesis.split()) == pytest.approx(score, rel=1e-14)


def test_distance_has_the_reference_first():
    forth, back = 10 / 29 * 15 / 16, 5 / 42
    distances = meteor_distances(["A man rides a red bicycle.", "Two men ride bike!"])
    expected = [[1 - (1 - 0.5 / 6**3), 1 - forth], [1 - back, 1 - (1 - 0.5 / 4**3)]]
    assert distances == pytest.approx(np.array(expected), rel=1e-13)


# -- against the definition -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("longest", [3, 6, 12, 30])
@pytest.mark.parametrize("seed", range(3))
def test_distances_against_loops_over_tokens(seed, longest):
    captions = random_captions(f"{seed} {longest}", 24, longest)
    assert np.abs(meteor_distances(captions) - plain_distances(captions)).max() < TOLERANCE


def test_scores_against_loops_over_tokens():
    captions = [caption.split() for caption in random_captions(5, 200)]
    for reference, hypothesis in zip(captions[::2], captions[1::2], strict=True):
        expected = plain_meteor(reference, hypothesis)
        assert meteor_score(reference, hypothesis) == pytest.approx(expected, abs=TOLERANCE)


def test_generated_captions_against_loops_over_tokens():
    for captions in generate_captions(5, 10):
        texts = [" ".join(caption) for caption in captions]
        assert np.abs(meteor_distances(texts) - plain_distances(texts)).max() < TOLERANCE


# -- properties -------------------------------------------------------------------------------------------------------
def test_range():
    distances = meteor_distances(random_captions(6, 100))
    assert distances.min() > 0
    assert distances.max() == 1


@pytest.mark.parametrize("k", [1, 2, 5, 20])
def test_a_caption_is_not_at_distance_0_from_itself(k):
    tokens = [f"w{i}" for i in range(k)]
    assert meteor_score(tokens, tokens) == pytest.approx(1 - 0.5 / k**3, rel=1e-14)
    assert meteor_score(["a"] * k, ["a"] * k) == pytest.approx(1 - 0.5 / k**3, rel=1e-14)


def test_without_shared_stems_and_synonyms_it_is_1():
    assert (meteor_distances(["a man", "the woman", "an elephant"])[~np.eye(3, dtype=bool)] == 1).all()


def test_recall_counts_nine_times_as_much_as_precision():
    # 4 words of 4 against 4 of 8: F = 0.5 / (0.9 * 0.5 + 0.1) and 0.5 / (0.9 + 0.05).
    short, long = ["b", "c", "d", "e"], ["b", "c", "d", "e", "f", "g", "h", "i"]
    assert meteor_score(short, long) / meteor_score(long, short) == pytest.approx(0.95 / 0.55, rel=1e-14)


def test_more_chunks_score_lower():
    reference = ["b", "c", "d", "e"]
    scores = [
        meteor_score(reference, hypothesis.split()) for hypothesis in ("b c d e", "c d e b", "d e c b", "e d c b")
    ]
    assert scores == sorted(set(scores), reverse=True)
    assert scores[-1] == 0.5


def test_capitals_and_punctuation_do_not_matter():
    assert meteor_score(["A", "MAN"], ["a", "Man"]) == meteor_score(["a", "man"], ["a", "man"])
    assert (meteor_distances(["A man!", 'a "man"', "a MAN."]) == 1 - (1 - 0.5 / 8)).all()
    assert (meteor_distances(["A B", "a b"], tokenizer=str.split) == 1 - (1 - 0.5 / 8)).all()


def test_equal_captions_are_two_points_with_equal_rows():
    captions = random_captions(7, 6)
    order = [3, 0, 0, 5, 1, 3, 2, 4, 3]
    distances = meteor_distances([captions[i] for i in order])
    assert np.array_equal(distances, meteor_distances(captions)[np.ix_(order, order)])


def test_distinct_pairs_are_computed_once(monkeypatch):
    computed = []
    score = meteor._score
    monkeypatch.setattr(meteor, "_score", lambda *counts: computed.append(counts) or score(*counts))
    meteor_distances(["a dog", "a cat", "A dog.", "a dog"])
    assert len(computed) == 4


def test_scores_of_many_examples_are_those_of_each_pair():
    captions = [caption.split() for caption in random_captions(11, 60)]
    hypotheses, references = captions[:12], [captions[12 + 4 * i : 12 + 4 * i + i % 5] for i in range(12)]
    expected = [
        [meteor_score(reference, hypothesis) for reference in own]
        for hypothesis, own in zip(hypotheses, references, strict=True)
    ]
    assert list(meteor_scores(hypotheses, references)) == expected
    assert list(meteor_scores([], [])) == []


@pytest.mark.parametrize("most", [1, 7, 100])
def test_what_is_computed_together_does_not_change_the_numbers(monkeypatch, most):
    texts = random_captions(12, 30)
    hypotheses, references = [text.split() for text in texts[:5]], [[text.split() for text in texts[5:]]] * 5
    examples = [texts[:13], [], texts[13:14], texts[14:]]
    scores, matrices = list(meteor_scores(hypotheses, references)), list(meteor_matrices(examples))
    monkeypatch.setattr(meteor, "_TOKENS_AT_ONCE", most)
    monkeypatch.setattr(meteor, "_PAIRS_AT_ONCE", most)
    assert list(meteor_scores(hypotheses, references)) == scores
    assert all(np.array_equal(a, b) for a, b in zip(meteor_matrices(examples), matrices, strict=True))


def test_scores_come_before_all_are_computed(monkeypatch):
    computed = []
    counts = meteor._counts
    monkeypatch.setattr(meteor, "_TOKENS_AT_ONCE", 100)
    monkeypatch.setattr(meteor, "_counts", lambda *captions: computed.append(captions) or counts(*captions))
    scores = meteor_scores([["a", "dog"]] * 1_000, [[["a", "dog"]]] * 1_000)
    assert computed == []
    next(scores)
    assert len(computed) == 1
    assert len(list(scores)) == 999
    assert len(computed) > 10


def test_an_example_does_not_depend_on_the_others():
    captions = random_captions(8, 3_000, 8)  # more than are kept
    examples = [captions[i : i + 3] for i in range(0, 3_000, 3)]
    together = list(meteor_matrices(examples))
    assert len(together) == 1_000
    for i in (999, 0, 500):
        assert np.array_equal(together[i], meteor_distances(examples[i]))
    assert np.array_equal(meteor_distances(captions[:50])[:3, :3], together[0])


# -- processes --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n_examples", [0, 300])
def test_workers_do_not_change_the_numbers(n_examples):
    captions = random_captions(9, 4 * n_examples)
    examples = [captions[i : i + 2 + i % 3] for i in range(0, len(captions), 4)]
    alone = list(meteor_matrices(iter(examples), tokenizer=lambda text: text.split()))
    shared_out = list(meteor_matrices(iter(examples), tokenizer=lambda text: text.split(), workers=2))
    assert len(alone) == len(shared_out) == n_examples
    assert all(np.array_equal(a, b) for a, b in zip(alone, shared_out, strict=True))


@pytest.mark.parametrize(("workers", "most"), [(1, 32), (2, 160)])
def test_examples_are_taken_when_they_are_needed(workers, most):
    taken = []
    matrices = meteor_matrices((taken.append(i) or ["a", "b"] for i in range(1_000)), workers=workers)
    assert taken == []
    next(matrices)
    assert 0 < len(taken) <= most


def test_large_examples_are_taken_one_by_one():
    taken = []
    captions = [f"w{i}" for i in range(100)]
    next(meteor_matrices(taken.append(i) or captions for i in range(10)))
    assert len(taken) == 1


# -- degenerate input and errors --------------------------------------------------------------------------------------
def test_no_caption_one_caption_empty_captions():
    assert meteor_distances([]).shape == (0, 0)
    assert meteor_distances(["a"]) == pytest.approx(np.array([[0.5]]))
    assert (meteor_distances(["", "?", "\u2026"]) == 1).all()
    assert meteor_distances(["", "a"]).tolist() == [[1, 1], [1, 0.5]]
    assert meteor_score([], []) == meteor_score([], ["a"]) == meteor_score(["a"], []) == 0


def test_odd_tokens():
    tokens = ["\U0001f600", "日本", "\ud800", "", "ice_cream", "a b"]
    assert meteor_score(tokens, tokens) == pytest.approx(1 - 0.5 / 6**3, rel=1e-14)
    assert meteor_score(["icecream"], ["ice_cream"]) == 0


def test_4_000_words():
    rng = random.Random(10)
    captions = [" ".join(rng.choices(WORDS.split(), k=4_000)) for _ in range(2)]
    unknown = [" ".join(f"{letter}{i}" for i in range(8_000)) for letter in "pq"]
    distances = meteor_distances([*captions, *unknown])
    assert (distances[2, 3], distances[3, 2]) == (1.0, 1.0)
    assert (distances[:2, :2] < 0.7).all()


def test_20_000_equal_words_matched_by_stem_or_synonym():
    # All words form one chunk, even if every token has 20,000 candidates.
    for reference, hypothesis in (("dogs", "dog"), ("car", "auto")):
        score = meteor_score([reference] * 20_000, [hypothesis] * 20_000)
        assert score == pytest.approx(1 - 0.5 / 20_000**3, rel=1e-14)


def test_nothing_heavy_is_imported(run_python, tmp_path):
    code = "import sys, vlgauge.families.ngram.meteor\n"
    code += "print(*{'nltk', 'evaluate', 'torch', 'scipy'} & sys.modules.keys())"
    assert run_python(code, cwd=tmp_path).split() == []


# -- oracles ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_golden_distances(case):
    distances = meteor_distances(case["captions"], tokenizer=treebank_tokens)
    assert np.abs(distances - np.array(case["meteor"])).max() < TOLERANCE


def test_shared_distances():
    for case in shared("trm_kbm.json.gz")["cases"]:
        distances = meteor_distances(case["predictions"] + case["references"], tokenizer=treebank_tokens)
        assert np.abs(distances - np.array(case["distances"]["meteor"])).max() < TOLERANCE, case["name"]


def test_shared_captions_are_tokens_of_coco():
    coco = shared("coco_fakecap.json.gz")
    for captions in coco["references"][:30]:
        assert np.array_equal(
            meteor_distances(captions), meteor_distances([" ".join(coco_tokens(one)) for one in captions])
        )
