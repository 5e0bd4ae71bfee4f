"""CIDEr-D against references: by hand, pair by pair, the COCO caption evaluation, document frequencies."""

import copy
import json
import math
import pickle
import re
import warnings

import datasets
import numpy as np
import pytest
from coco_captions import by_example, coco, needs_coco, random_examples, scores
from datasets.fingerprint import Hasher
from folders import TESTS

import vlgauge
from vlgauge.core.catalog import folder_module
from vlgauge.families.ngram.cider import DocumentFrequency, cider_d_scores

reference = folder_module("cider", "reference")
PLAIN = {"cider-d": reference.cider_d, "cider-r": reference.cider_r}
pytestmark = pytest.mark.filterwarnings("ignore:CIDEr-D takes document frequencies from the references of")


def plain_scores(predictions, references, df, variant="cider-d"):
    """Compute the mean of a variant by its definition over the references of each row."""
    return [
        np.mean([PLAIN[variant](own.split(), one.split(), df.counts, df.n_documents) for one in theirs])
        for own, theirs in zip(predictions, references, strict=True)
    ]


def test_by_hand():
    # ln 8 for x and y, ln 8 - ln 2 for a; one common n-gram; 1 bigram and 1.
    df, w, v = DocumentFrequency({("a",): 2}, 8), math.log(4), math.log(8)
    result = scores("cider", ["a x"], [["a y", "z z"]], df=df)
    expected = 10 / 4 * w * w / (w**2 + v**2)
    assert result["cider_details"][0]["per_reference"] == pytest.approx([expected, 0.0])
    assert result["cider"] == pytest.approx(expected / 2)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("given", [False, True])
def test_equals_the_definition(seed, given):
    predictions, references = random_examples(40, seed)
    counted = DocumentFrequency.from_references(references, tokenizer=str.split)
    df = DocumentFrequency({("a",): 30, ("dog", "runs"): 4, ("nobody",): 2}, 50) if given else counted
    settings = {"df": df} if given else {}
    result = scores("cider", predictions, references, **settings)
    assert result["cider_scores"] == pytest.approx(plain_scores(predictions, references, df), rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("eos", [False, True])
def test_cider_r_equals_the_definition(seed, eos):
    predictions, references = random_examples(40, seed)
    df = DocumentFrequency({("a",): 30, ("dog", "runs"): 4, ("<eos>",): 50}, 50)
    result = scores("cider", predictions, references, variant="cider-r", df=df, eos=eos)
    if eos:
        predictions, references = (
            [f"{text} <eos>" for text in predictions],
            [[f"{text} <eos>" for text in own] for own in references],
        )
    expected = plain_scores(predictions, references, df, "cider-r")
    assert result["cider_scores"] == pytest.approx(expected, rel=1e-10, abs=1e-13)
    assert 0 <= min(result["cider_scores"]) < max(result["cider_scores"]) <= 10
    assert "|variant:cider-r|" in f"{result['cider_signature']}|"


@pytest.mark.parametrize("rows", ["random", pytest.param("coco", marks=needs_coco)])
def test_cider_r_equals_the_scorer_of_the_authors(rows):
    golden = json.loads((TESTS / "golden" / "cider_r.json").read_text("utf-8"))["scores"][rows]
    assert len(golden) == 500
    if rows == "random":
        predictions, references = random_examples(500, 3)
    else:
        predictions = coco()["tokenized_candidates"][:500]
        references = [own[:1] for own in coco()["tokenized_references"][:500]]
    found = scores("cider", predictions, references, variant="cider-r", tokenizer=str.split)["cider_scores"]
    empty = [score for text, score in zip(predictions, found, strict=True) if not text]
    assert empty == [0.0] * golden.count(None)  # NaN there
    defined = [score for score, own in zip(found, golden, strict=True) if own is not None]
    assert defined == pytest.approx([own for own in golden if own is not None], rel=1e-12, abs=1e-13)


def test_cider_r_penalizes_repetition_and_relative_differences_in_length():
    df = DocumentFrequency({("a",): 2}, 10)
    for variant in PLAIN:
        same = scores("cider", ["a dog runs"], [["a dog runs"]], df=df, variant=variant)["cider"]
        assert same == pytest.approx(7.5)
    # An equal length, and a word that is one too many.
    d, r = (scores("cider", ["a dog runs dog"], [["a dog runs now"]], df=df, variant=v)["cider"] for v in PLAIN)
    assert r == pytest.approx(d * math.exp(-math.log(2) / 3) ** 0.8)
    words = " ".join(f"w{i}" for i in range(40))
    ratios = []
    for own, other in ((words, f"{words} {words.upper()}"), ("w0", "w0 w1")):  # half as long
        d, r = (scores("cider", [own], [[other]], df=df, tokenizer=str.split, variant=v)["cider"] for v in PLAIN)
        ratios.append(r / d)
    assert ratios[0] > 1e6
    assert ratios[1] < 1


def test_other_variants_are_refused():
    with pytest.raises(ValueError, match=r"^`variant` must be one of 'cider-d', 'cider-r', got 'cider'"):
        vlgauge.load("cider", variant="cider")


def test_a_table_of_the_references_is_the_default():
    predictions, references = random_examples(60, 5)
    table = DocumentFrequency.from_references(references)
    given, default = (scores("cider", predictions, references, **s) for s in ({"df": table}, {}))
    assert given["cider_scores"] == pytest.approx(default["cider_scores"], rel=1e-12, abs=1e-13)
    assert re.search(r"\|df:references@[0-9a-f]{8}\|", default["cider_signature"])
    fewer = scores("cider", predictions, [captions[:1] for captions in references])
    assert fewer["cider_signature"] != default["cider_signature"]
    assert f"|df:given@{table.digest[:8]}|" in given["cider_signature"]


def ended(tokens):
    return [*tokens.split(), "<eos>"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("given", [False, True])
def test_an_end_token_is_one_more_word_of_each_text(seed, given):
    predictions, references = random_examples(40, seed)
    counted = DocumentFrequency.from_references(references, tokenizer=ended)
    assert counted.counts[("<eos>",)] == 40
    table = DocumentFrequency.from_references(references, eos=True)
    assert table.digest == counted.digest
    assert table.eos
    result = scores("cider", predictions, references, eos=True, **({"df": table} if given else {}))
    by_hand = scores("cider", predictions, references, tokenizer=ended)
    assert result["cider_scores"] == pytest.approx(by_hand["cider_scores"], rel=1e-12, abs=1e-13)
    more = [f"{text} <eos>" for text in predictions], [[f"{text} <eos>" for text in own] for own in references]
    assert result["cider_scores"] == pytest.approx(plain_scores(*more, table), rel=1e-10, abs=1e-13)
    assert [one["tokens"] for one in result["cider_details"]] == list(map(ended, predictions))
    without = scores("cider", predictions, references)
    assert result["cider_scores"] != pytest.approx(without["cider_scores"])
    assert "eos" not in without["cider_signature"]
    assert "|eos:True|" in result["cider_signature"]


def test_an_end_token_needs_a_table_that_counts_it(tmp_path):
    references = [["a dog", "a red dog"], ["a cat"], []]
    plain, end = (DocumentFrequency.from_references(references, eos=eos) for eos in (False, True))
    assert (plain.eos, end.eos) == (False, True)
    plain.save(tmp_path / "plain.gz")
    end.save(tmp_path / "end.gz")
    with pytest.raises(
        ValueError, match=r"^`df` must count the end token '<eos>' in every document with eos=True, got"
    ):
        vlgauge.load("cider", df=plain, eos=True)
    with pytest.raises(ValueError, match=r"^`df` must count the end token"):
        scores("cider", ["a dog"], [["a dog"]], df=str(tmp_path / "plain.gz"), eos=True)
    rows = ["a dog", "a red cat"], [["a dog"], ["a cat"]]
    # Without an end token in the captions, that of the table makes no difference.
    own, other = (scores("cider", *rows, df=str(tmp_path / f"{name}.gz")) for name in ("plain", "end"))
    assert own["cider_scores"] == other["cider_scores"]
    found = scores("cider", *rows, df=str(tmp_path / "end.gz"), eos=True)
    assert found["cider_scores"] == scores("cider", *rows, df=end, eos=True)["cider_scores"]


@pytest.mark.parametrize("eos", [1, "true", None])
def test_other_values_of_eos_are_refused(eos):
    with pytest.raises(ValueError, match=r"^`eos` must be"):
        vlgauge.load("cider", eos=eos)


def test_an_unfinished_caption_loses_by_an_end_token():
    references = [["a man with a dog", "a man walks a dog"], ["a red bus stops"], ["two cats sleep"]] * 20
    predictions = [own[0] for own in references]
    cut = ["a man with a", *predictions[1:]]
    lost = []
    for eos in (False, True):
        whole, short = (scores("cider", texts, references, eos=eos)["cider_scores"][0] for texts in (predictions, cut))
        lost.append(whole - short)
    assert lost[1] > lost[0] > 0


def test_a_saved_table(tmp_path):
    predictions, references = random_examples(20, 6)
    table = DocumentFrequency({("a",): 30}, 50)
    table.save(tmp_path / "df.jsonl.gz")
    saved = scores("cider", predictions, references, df=str(tmp_path / "df.jsonl.gz"))
    assert saved["cider_scores"] == scores("cider", predictions, references, df=table)["cider_scores"]
    assert f"|df:df.jsonl.gz@{table.digest[:8]}|" in saved["cider_signature"]


def test_one_image_has_no_rare_ngrams():
    assert scores("cider", ["a dog"], [["a dog"]])["cider"] == 0.0


def test_few_documents_are_warned_of():
    with pytest.warns(UserWarning, match="2 rows"):
        scores("cider", ["a", "b"], [["a"], ["b"]])


def test_without_references_undefined_and_no_document():
    predictions, references = random_examples(20, 8)
    whole = scores("cider", predictions, references)
    more = scores("cider", ["a dog", *predictions], [[], *references])
    assert math.isnan(more["cider_scores"][0])
    assert more["cider_scores"][1:] == whole["cider_scores"]
    nothing = scores("cider", ["a"], [[]])
    assert math.isnan(nothing["cider"])
    assert nothing["cider_undefined"] == 1


def test_captions_without_tokens():
    assert scores("cider", ["", "a dog"], [["a dog"], ["...", "!"]])["cider_scores"] == [0.0, 0.0]
    assert cider_d_scores(*by_example([[]], [[[]]]))[0].tolist() == [0.0]


@pytest.mark.parametrize("df", ["pooled", 3, None, "nowhere.gz", "x" * 5000])
def test_other_sources_are_refused(df):
    with pytest.raises(ValueError, match=r"^`df`.*'references'.*DocumentFrequency"):
        scores("cider", ["a"], [["a"]], df=df)


def test_each_caption_is_split_once_however_often_it_stands():
    split = []

    def tokenizer(caption):
        split.append(caption)
        return caption.split()

    predictions, references = ["a dog", "a cat", "a dog"], [["a dog", "a cat"], [], ["a dog"]]
    details = scores("cider", predictions, references, tokenizer=tokenizer)["cider_details"]
    assert split == ["a dog", "a cat"]
    assert (details[0]["tokens"], details[0]["references"]) == (["a", "dog"], [["a", "dog"], ["a", "cat"]])
    assert (details[1], details[2]["references"]) == ({}, [["a", "dog"]])


def test_tokenizers():
    predictions, references = ["A dog!"], [["a dog"]]
    df = DocumentFrequency({}, 10)
    assert scores("cider", predictions, references, df=df)["cider"] == pytest.approx(5.0)
    by_spaces = scores("cider", predictions, references, df=df, tokenizer=str.split)
    assert by_spaces["cider"] == 0.0
    assert "|tokenizer:custom(builtins.str.split)" in by_spaces["cider_signature"]
    with pytest.raises(ValueError, match=r"^`tokenizer`.*got 'words'"):
        scores("cider", predictions, references, tokenizer="words")
    with pytest.raises(ValueError, match=r"^`tokenizer`.*got 'A dog!'"):
        scores("cider", predictions, references, tokenizer=str)


NO_TEXTS = {
    "numbers": [1],
    "bytes": [b"a"],
    "lists": [["a"]],
    "none in it": ["a", None],
    "set": {"a"},
    "text": "a",
    "none": None,
}


@pytest.mark.parametrize("found", NO_TEXTS.values(), ids=NO_TEXTS)
def test_a_tokenizer_that_returns_no_list_of_texts_is_told_by_its_caption(found):
    predictions, references = ["a dog", "a cat"], [["the dog"], ["the cat"]]
    with pytest.raises(ValueError, match=r"^`tokenizer`.*cat"):
        scores("cider", predictions, references, tokenizer=lambda text: found if text == "a cat" else text.split())


def test_an_error_of_the_tokenizer_is_its_own():
    with pytest.raises(TypeError, match="concatenate"):
        scores("cider", ["a"], [["b"]], tokenizer=lambda text: [text + 1])


@needs_coco
def test_coco_caption_evaluation():
    """Compare both raw captions and captions tokenized by the Java program."""
    material = coco()
    for kind, settings in (("", {}), ("tokenized_", {"tokenizer": str.split})):
        result = scores("cider", material[f"{kind}candidates"], material[f"{kind}references"], **settings)
        assert result["cider_scores"] == pytest.approx(material["per_image"]["cider_d"], abs=1e-12)
        assert result["cider"] == pytest.approx(material["corpus"]["cider_d"], abs=1e-12)


def test_the_digest_of_the_references_has_no_order():
    candidates, references = random_examples(5, 7)
    found = {
        scores("cider", [candidates[i] for i in order], [references[i] for i in order])["cider_signature"]
        for order in ([0, 1, 2, 3, 4], [4, 2, 0, 3, 1])
    }
    assert len(found) == 1
    others = scores("cider", candidates, [*references[:4], [*references[4], "another one"]])
    assert others["cider_signature"] not in found


def test_the_digest_of_the_references_knows_where_each_ends():
    found = {scores("cider", ["a"], [own])["cider_signature"] for own in (["a b"], ["a", "b"], ["ab"], ["a", "b", "."])}
    assert len(found) == 4


# -- several calls ----------------------------------------------------------------------------------------------------
def many_examples(n=200, seed=0):
    candidates, references = random_examples(n, seed)
    return {"predictions": candidates, "references": references}


OTHERS = r"df=DocumentFrequency\.from_references"


def fresh(**settings):
    return vlgauge.load("cider", keep_in_memory=True, **settings)


def test_other_references_in_a_second_call_are_told_once():
    rows, metric = many_examples(), fresh()
    first, second, third = ({name: column[i : i + 60] for name, column in rows.items()} for i in (0, 60, 120))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metric.compute(**first)
        metric.compute(**first)
        metric.compute(**{name: column[::-1] for name, column in first.items()})  # equal except for their order
    with pytest.warns(UserWarning, match=OTHERS) as told:
        metric.compute(**second)
    assert len(told) == 1
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metric.compute(**third)
        metric.compute(**first)
        given = fresh(df=DocumentFrequency.from_references(rows["references"]))
        for part in (first, second, third):
            given.compute(**part)


@pytest.mark.filterwarnings("ignore:.*from the references of .* rows, too few")
def test_batches_of_a_data_set_are_told_and_the_fingerprint_stays(recwarn):
    rows, metric = many_examples(), fresh()
    whole = metric.compute(**rows)["cider_scores"]
    data = datasets.Dataset.from_dict(rows)

    def add_scores(batch):
        return {"score": metric.compute(**batch)["cider_scores"]}

    before = Hasher.hash(add_scores)
    found = data.map(add_scores, batched=True, batch_size=100, load_from_cache_file=False)
    assert found["score"] != pytest.approx(whole)
    assert Hasher.hash(add_scores) == before
    again = data.map(add_scores, batched=True, batch_size=100, load_from_cache_file=False)
    assert again._fingerprint == found._fingerprint
    assert len([one for one in recwarn if re.search(OTHERS, str(one.message))]) == 1


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda metric: pickle.loads(pickle.dumps(metric))])
def test_a_copy_begins_anew(duplicate):
    rows, metric = many_examples(), fresh()
    metric.compute(**{name: column[:60] for name, column in rows.items()})
    twin = duplicate(metric)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twin.compute(**{name: column[60:] for name, column in rows.items()})


LONG = (
    "a man in a red coat and a hat walks with a small brown dog along a quiet street while the sun sets behind houses"
)


@pytest.mark.parametrize(("n_rows", "caption", "is_told"), [(12, LONG, True), (9, LONG, False), (12, "a man", False)])
def test_captions_many_times_longer_than_references_are_told(n_rows, caption, is_told):
    predictions = [f"{caption} number {row}" for row in range(n_rows)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        vlgauge.load("cider", df=DocumentFrequency({("a",): 2}, 10)).compute(
            predictions=predictions, references=[["a man walks", "the dog and a man"]] * n_rows
        )
    told = [str(one.message) for one in caught if "length penalty" in str(one.message)]
    assert len(told) == is_told
    if told:
        assert "captions have 27.0 tokens on average and references 4.0" in told[0]


def test_long_references_excuse_long_captions():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vlgauge.load("cider", df=DocumentFrequency({("a",): 2}, 10)).compute(
            predictions=[LONG] * 12, references=[["a man walks", LONG]] * 12
        )
