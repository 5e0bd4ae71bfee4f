"""The advice of pages on how to read a number is tested on numbers."""

import numpy as np
import pytest

import vlgauge
from vlgauge.core.catalog import metric_reading

pytestmark = pytest.mark.filterwarnings("ignore:.* is a mean over sets of")


def load(name, **settings):
    return vlgauge.load(name, profile="embedded", keep_in_memory=True, **settings)


def reading(name):
    return " ".join(metric_reading(name))


def bleu_of(predictions, references):
    return load("bleu").compute(predictions=predictions, references=references)["bleu_scores"]


def test_bleu_without_four_words_in_a_row_is_next_to_nothing_but_not_0():
    assert "at most 0.032 (a perfect caption of three words)" in reading("bleu")
    rng = np.random.default_rng(0)
    others = [" ".join(rng.permutation(list("abcdefgh"))[: rng.integers(1, 4)]) for _ in range(300)]
    longer = [" ".join(rng.permutation(list("abcdefgh"))) for _ in range(300)]
    scores = np.array(bleu_of(["a b c", *others, *longer], [["a b c"]] + [["c b a d e f g h", "a b c d"]] * 600))
    assert scores[0] == pytest.approx(0.0316, abs=5e-5)
    none = scores[np.array(scores) < 0.1]
    assert len(none) > 550
    assert none.min() > 0.0
    assert none.max() <= 0.032


@pytest.mark.parametrize(("length", "told"), [(3, 0.0316), (2, 0.001), (1, 0.00003)])
def test_the_card_of_bleu_tells_what_perfect_short_captions_have(length, told):
    caption = " ".join("abc"[:length])
    assert bleu_of([caption], [[caption]])[0] == pytest.approx(told, rel=0.06)


def test_every_noun_raises_rovist_vg():
    assert "every noun raises the score" in reading("rovist_vg")
    assert "A noun that is in none of the images raises it a little" in reading("rovist_vg")
    score = load("rovist_vg").rescore
    seen = {"text": "dog", "cosine": 0.8, "idf": 2.0}
    not_shown, common, unlike = ({"text": "cat", "cosine": c, "idf": idf} for c, idf in ((0, 2), (0.8, 0), (-0.3, 2)))
    alone = score({"nouns": [seen]})
    assert all(score({"nouns": [seen, other]}) > alone for other in (not_shown, common, unlike))


def test_a_word_may_come_again_within_a_run_of_four():
    assert "a sequence itself may contain a word twice" in reading("rovist_nr")
    metric = load("rovist_nr")
    stories = ["Dog dog dog dog. Cat runs.", "A dog and hen dog. Cat runs.", "Dog runs. Dog sits."]
    again, next_run, elsewhere = metric.compute(predictions=stories)["rovist_nr_scores"]
    assert again == 1.0
    assert max(next_run, elsewhere) < 1.0
    loop = " ".join(["The dog and the dog and the dog and the dog and the dog ran."] * 5)
    assert metric.compute(predictions=[loop])["rovist_nr"] < 0.0
    assert load("rovist_nr", variant="paper").compute(predictions=[loop])["rovist_nr"] >= 0.0


def test_words_in_the_wrong_order_cost_most_of_meteor():
    assert "Chunks cost up to 60% of the score" in reading("meteor")
    words = ["one", "two", "three", "four", "five", "six"]
    rows = {"predictions": [" ".join(words[::-1])], "references": [[" ".join(words)]]}
    assert load("meteor").compute(**rows)["meteor"] == pytest.approx(0.4)
    assert load("meteor", version="2007").compute(**rows)["meteor"] == pytest.approx(0.5)


def test_mmd_is_0_on_average_by_the_unbiased_estimator_alone():
    assert "By the unbiased estimator" in reading("mmd_bert")
    rng = np.random.default_rng(0)
    rows = [[f"{side}{row}-{i}" for i in range(5)] for row in range(60) for side in "ab"]
    vectors = {name: rng.normal(size=8).tolist() for own in rows for name in own}
    columns = {"predictions": rows[::2], "references": rows[1::2], "embeddings": vectors}
    unbiased, biased = (load("mmd_bert", estimator=name).compute(**columns) for name in ("unbiased", "biased"))
    assert abs(unbiased["mmd_bert"]) < 3 * np.std(unbiased["mmd_bert_scores"]) / np.sqrt(60)
    assert min(biased["mmd_bert_scores"]) > 0.1


def test_distances_without_tanh_and_sentences_said_twice_are_settings():
    assert "By default, tanh is applied to grounding" in reading("d_hm")
    assert "by default, a sentence that repeats the previous one counts as 0" in reading("rovist_c")
