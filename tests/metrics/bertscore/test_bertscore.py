"""BERTScore: formula, definition in loops, bert-score, several references, idf, rescaling, degenerate texts, errors."""

import functools
import json
import math
import random
from collections import defaultdict

import numpy as np
import pytest
import tiny_polos
import tiny_roberta
import torch
from folders import TESTS
from safetensors.torch import load_file

import vlgauge
from vlgauge.cli import main
from vlgauge.core.catalog import folder_module

reference = folder_module("bertscore", "reference")
formula = folder_module("bertscore", "formula")
GOLDEN = json.loads((TESTS / "golden" / "bertscore.json").read_text("utf-8"))
PARTS = ("bertscore_precision_scores", "bertscore_recall_scores", "bertscore_scores")
pytestmark = pytest.mark.filterwarnings("ignore:idf of bertscore is counted in:UserWarning")


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return str(tiny_polos.text_encoder(tmp_path_factory.mktemp("bert") / "tiny"))


@pytest.fixture(scope="module")
def roberta(tmp_path_factory):
    return str(tiny_roberta.roberta(tmp_path_factory.mktemp("roberta") / "tiny"))


def load(model, **settings):
    return vlgauge.load("bertscore", **{"model": model, "num_layers": 1, "device": "cpu", **settings})


def sentences(seed, n_rows):
    """Return random captions, and one to four references each."""
    rng = random.Random(seed)

    def text():
        words = ("".join(rng.choices("abcdefgh,", k=rng.randint(1, 5))) for _ in range(rng.randint(1, 7)))
        return " ".join(words)

    return [text() for _ in range(n_rows)], [[text() for _ in range(rng.randint(1, 4))] for _ in range(n_rows)]


def columns(result):
    return np.array([result[key] for key in PARTS])


# -- the formula ------------------------------------------------------------------------------------------------------
def test_an_example_worked_by_hand():
    # Two tokens of weights 1 and 3 with best similarities 0.5 and 0.9, and one token with 0.8.
    values, weights = np.array([0.5, 0.9, 0.8]), np.array([1.0, 3.0, 2.0])
    np.testing.assert_allclose(formula.compute_weighted_means(values, weights, np.array([2, 1])), [0.8, 0.8])
    np.testing.assert_allclose(formula.f_measure(np.array([0.5]), np.array([1.0])), [2 / 3])
    np.testing.assert_allclose(formula.rescale(np.array([0.9, 1.0]), 0.8), [0.5, 1.0])
    np.testing.assert_allclose(formula.inverse_frequencies(np.array([0, 1, 3]), 3), [math.log(4), math.log(2), 0.0])


def test_degenerate_values_of_the_formula():
    assert formula.compute_weighted_means(np.ones(2), np.zeros(2), np.array([2])).tolist() == [0.0]
    assert formula.compute_weighted_means(np.zeros(0), np.zeros(0), np.zeros(0, int)).tolist() == []
    found = formula.f_measure(np.array([0.0, 0.3, -0.2]), np.array([0.0, -0.3, -0.2]))
    np.testing.assert_allclose(found, [0.0, 0.0, -0.2])
    # Embeddings that overflow in half precision must not score 0.
    np.testing.assert_equal(formula.f_measure(np.array([np.nan, 1.0]), np.array([1.0, np.nan])), [np.nan, np.nan])


@pytest.mark.parametrize("idf", [False, True])
@pytest.mark.parametrize("kind", ["bert", "roberta"])
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_the_definition_in_loops(request, kind, layer, idf):
    folder = request.getfixturevalue(kind)
    predictions, references = sentences(layer, 10)
    metric = load(folder, num_layers=layer, idf=idf)
    found = columns(metric.compute(predictions=predictions, references=references))
    encoder = metric._encoder()
    ends = {encoder.tokenizer.cls_token_id, encoder.tokenizer.sep_token_id}

    def tokens(text):
        space = " " if kind == "roberta" else ""
        return encoder.tokenizer(space + text)["input_ids"]

    @functools.cache
    def vectors(text):
        with torch.no_grad():
            return encoder.model(torch.tensor([tokens(text)])).last_hidden_state[0].double().numpy()

    documents = [tokens(text) for own in references for text in own]

    @functools.cache
    def weights(text):
        return [0.0 if i in ends else reference.idf(i, documents) if idf else 1.0 for i in tokens(text)]

    for row, (text, own) in enumerate(zip(predictions, references, strict=True)):
        scored = [reference.bertscore(vectors(text), vectors(y), weights(text), weights(y)) for y in own]
        np.testing.assert_allclose(found[:, row], np.max(scored, axis=0), rtol=0, atol=1e-6)


# -- bert-score -------------------------------------------------------------------------------------------------------
def golden_model(tmp_path_factory, kind):
    """Write a model whose weights come from a formula, so that they do not depend on the version of torch."""
    folder = tmp_path_factory.mktemp("golden") / kind
    tiny_polos.text_encoder(folder) if kind == "bert" else tiny_roberta.roberta(folder)
    tiny_roberta.write_wave_weights(folder)
    return str(folder)


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_golden_numbers_of_bert_score(tmp_path_factory, tmp_path, case):
    folder = golden_model(tmp_path_factory, case["model"])
    settings = {"num_layers": case["num_layers"], "idf": case["idf"], "prefix_space": case["prefix_space"]}
    if case["rescaled"]:
        (tmp_path / "baseline.csv").write_text(GOLDEN["baseline"])
        settings["baseline"] = tmp_path / "baseline.csv"
    with pytest.warns(UserWarning, match="more than 40 tokens"):
        found = load(folder, **settings).compute(predictions=GOLDEN["predictions"], references=GOLDEN["references"])
    expected = np.array(case["scores"])
    np.testing.assert_allclose(columns(found), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("batch_size", [1, 64])
@pytest.mark.parametrize("idf", [False, True])
@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_equal_to_bert_score_if_it_is_installed(tmp_path_factory, kind, idf, batch_size):
    theirs = pytest.importorskip("bert_score")
    folder = golden_model(tmp_path_factory, kind)
    predictions, references = sentences(7, 40)
    found = columns(load(folder, idf=idf).compute(predictions=predictions, references=references))
    how = {"model_type": folder, "num_layers": 1, "idf": idf, "device": "cpu", "batch_size": batch_size, "nthreads": 0}
    expected = np.array([part.numpy() for part in theirs.score(predictions, references, **how)])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


# -- properties -------------------------------------------------------------------------------------------------------
def test_properties(bert):
    predictions, references = sentences(3, 30)
    metric = load(bert)
    whole = columns(metric.compute(predictions=predictions, references=references))
    assert (np.abs(whole) <= 1 + 1e-6).all()
    assert (whole[2] <= whole[:2].max(axis=0) + 1e-9).all()
    # More references never lower a score, and their order does not matter.
    first = columns(metric.compute(predictions=predictions, references=[own[:1] for own in references]))
    assert (first <= whole + 1e-6).all()
    turned = columns(metric.compute(predictions=predictions, references=[own[::-1] for own in references]))
    np.testing.assert_allclose(turned, whole, rtol=0, atol=1e-6)
    # Precision and recall change places with caption and reference.
    swapped = columns(metric.compute(predictions=[own[0] for own in references], references=predictions))
    np.testing.assert_allclose(swapped[[1, 0, 2]], first, rtol=0, atol=1e-6)
    same = columns(metric.compute(predictions=predictions, references=predictions))
    np.testing.assert_allclose(same, 1.0, rtol=0, atol=1e-6)


def test_each_part_takes_its_own_best_reference(bert):
    predictions, references = sentences(4, 30)
    detailed = load(bert).compute(predictions=predictions, references=references, return_details=True)
    for row, detail in enumerate(detailed["bertscore_details"]):
        for part, key in zip(("precision", "recall", "f"), PARTS, strict=True):
            assert detailed[key][row] == max(one[part] for one in detail["per_reference"])
        cosines, weights = np.array(detail["cosines"]), np.array(detail["weights"])
        best = detail["per_reference"][detail["best_reference"]]
        assert cosines.shape == (len(detail["tokens"]), len(detail["reference_tokens"]))
        assert best["precision"] == pytest.approx((cosines.max(axis=1) * weights).sum() / weights.sum(), abs=1e-6)
        assert not detail["truncated"]


def test_groups_and_blocks_do_not_change_scores(bert, monkeypatch):
    from vlgauge.models import token_matches

    predictions, references = sentences(5, 40)
    whole = columns(load(bert).compute(predictions=predictions, references=references))
    monkeypatch.setattr(token_matches, "_BLOCK_BYTES", 4096)
    monkeypatch.setattr(token_matches, "_GROUP_ENTRIES", 1000)
    np.testing.assert_allclose(
        columns(load(bert).compute(predictions=predictions, references=references)), whole, rtol=0, atol=1e-6
    )


def test_each_distinct_text_is_encoded_once(bert, monkeypatch):
    metric = load(bert)
    encoder = metric._encoder()
    seen = []
    run = encoder.last_layer
    monkeypatch.setattr(encoder, "last_layer", lambda batch: seen.extend(row.tobytes() for row in batch) or run(batch))
    metric.compute(predictions=["a cat", "A cat", "a dog"], references=[["a dog", "a cat"], ["a dog"], ["a bird"]])
    assert len(seen) == len(set(seen)) == 3


def test_rescaling_is_linear_in_each_part(bert, tmp_path):
    (tmp_path / "b.csv").write_text("LAYER,P,R,F\n0,0,0,0\n1,.5,.25,-1\n")
    predictions, references = sentences(6, 10)
    raw = columns(load(bert).compute(predictions=predictions, references=references))
    found = load(bert, baseline=tmp_path / "b.csv").compute(predictions=predictions, references=references)
    baseline = np.array([[0.5], [0.25], [-1.0]])
    np.testing.assert_allclose(columns(found), (raw - baseline) / (1 - baseline), rtol=0, atol=1e-9)


def test_ways_to_give_the_same_idf(bert, tmp_path):
    predictions, references = sentences(8, 12)
    texts = [text for own in references for text in own]
    (tmp_path / "texts.txt").write_text("\n".join(texts) + "\n")
    counted = load(bert, idf=True)
    whole = columns(counted.compute(predictions=predictions, references=references))
    encoder = counted._encoder()
    documents = [encoder.tokenizer(text)["input_ids"] for text in texts]
    every = {token for document in documents for token in document}
    table = defaultdict(lambda: math.log(len(texts) + 1), {i: reference.idf(i, documents) for i in every})
    for idf in ("references", texts, tmp_path / "texts.txt", table):
        found = load(bert, idf=idf).compute(predictions=predictions, references=references)
        np.testing.assert_allclose(columns(found), whole, rtol=0, atol=1e-9)
    # A corpus is counted once for all calls.
    part = load(bert, idf=texts).compute(predictions=predictions[:3], references=references[:3])
    np.testing.assert_allclose(columns(part), whole[:, :3], rtol=0, atol=1e-6)


def test_counts_of_parts_are_those_of_the_whole(bert):
    predictions, references = sentences(9, 12)
    metric = load(bert, idf=True)
    whole = metric.compute(predictions=predictions, references=references)
    counts = [metric.count({"references": references[i : i + 5]}) for i in range(0, 12, 5)]
    added = {
        name: {key: sum(own[name].get(key, 0) for own in counts) for own in counts for key in own[name]}
        for name in counts[0]
    }
    apart = load(bert, idf=True)
    apart.use_counts(added)
    for i in range(0, 12, 4):
        found = apart.compute(predictions=predictions[i : i + 4], references=references[i : i + 4])
        np.testing.assert_allclose(columns(found), columns(whole)[:, i : i + 4], rtol=0, atol=1e-6)
        assert found["bertscore_signature"] == whole["bertscore_signature"]
    assert load(bert).count({"references": references}) is None


def test_the_first_word_of_a_roberta(roberta):
    predictions, references = ["dog on a"], ["a dog"]
    spaced = load(roberta).compute(predictions=predictions, references=references)
    plain = load(roberta, prefix_space=False).compute(predictions=predictions, references=references)
    assert spaced["bertscore"] != plain["bertscore"]
    assert "|prefix_space:" in spaced["bertscore_signature"]


def test_the_layer_of_a_published_layout(roberta):
    """The checkpoint has the names of roberta-large: the prefix of the model, and the head of the pretraining."""
    from pathlib import Path

    names = set(load_file(Path(roberta) / "model.safetensors"))
    assert any(name.startswith("roberta.encoder.layer.2.") for name in names)
    assert any(name.startswith("lm_head.") for name in names)
    encoder = load(roberta, num_layers=2)._encoder()
    assert encoder.n_layers == 3
    with torch.no_grad():
        from transformers import RobertaModel

        whole = RobertaModel.from_pretrained(roberta, add_pooling_layer=False, attn_implementation="eager").eval()
        ids = torch.tensor([[0, 20, 30, 2]])
        expected = whole(ids, output_hidden_states=True).hidden_states[2]
        np.testing.assert_allclose(encoder.model(ids).last_hidden_state, expected, rtol=0, atol=1e-6)


# -- degenerate rows --------------------------------------------------------------------------------------------------
def test_empty_captions_and_rows_without_references(bert):
    with pytest.warns(UserWarning, match="^`references`.*empty strings"):
        found = load(bert).compute(
            predictions=["", "  ", "a cat", "a cat"], references=[["a dog"], ["a"], [], ["", "a cat"]]
        )
    assert found["bertscore_scores"][:2] == [0.0, 0.0]
    assert found["bertscore_precision_scores"][:2] == found["bertscore_recall_scores"][:2] == [0.0, 0.0]
    assert math.isnan(found["bertscore_scores"][2])
    assert found["bertscore_scores"][3] == pytest.approx(1.0, abs=1e-6)
    assert found["bertscore_undefined"] == found["bertscore_recall_undefined"] == 1


def test_rows_without_any_reference(bert):
    found = load(bert, idf=True).compute(predictions=["a", "b"], references=[[], []], return_details=True)
    assert np.isnan(columns(found)).all()
    assert found["bertscore_details"] == [{}, {}]


def test_a_single_reference_has_no_idf(bert):
    with pytest.warns(UserWarning, match="counted in 1 references"):
        found = load(bert, idf=True).compute(predictions=["a cat"], references=["a cat"])
    assert found["bertscore"] == 0.0


def test_long_texts_are_cut(bert):
    with pytest.warns(UserWarning, match="1 of 2 distinct captions and references have more than 40 tokens"):
        found = load(bert).compute(predictions=["abcdefgh " * 9], references=["abc"], return_details=True)
    assert len(found["bertscore_details"][0]["tokens"]) == 40
    assert found["bertscore_details"][0]["truncated"]


def test_other_references_are_warned_of_once(bert):
    metric = load(bert, idf=True)
    metric.compute(predictions=["a"], references=["b"])
    with pytest.warns(UserWarning, match="references of this call differ from an earlier one"):
        metric.compute(predictions=["a"], references=["c"])


# -- settings and errors ----------------------------------------------------------------------------------------------
def test_recommended_layers():
    from vlgauge.models.token_encoders import ROBERTA, layer_of

    assert layer_of(ROBERTA, None) == layer_of("roberta-large", None) == 17
    assert layer_of("google-bert/bert-base-uncased@abc", None) == 9
    assert layer_of("someone/roberta-large", 3) == 3


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_near(bert, dtype):
    predictions, references = sentences(10, 10)
    whole = columns(load(bert).compute(predictions=predictions, references=references))
    half = columns(load(bert, dtype=dtype).compute(predictions=predictions, references=references))
    np.testing.assert_allclose(half, whole, rtol=0, atol=0.02)


@pytest.mark.parametrize(
    ("settings", "argument", "fact"),
    [
        ({"model": 3}, "model", "got 3"),
        ({"model": "owner/unknown", "num_layers": None}, "num_layers", "owner/unknown"),
        ({"model": "someone/roberta-large", "num_layers": None}, "num_layers", "someone/roberta-large"),
        ({"num_layers": -1}, "num_layers", "-1"),
        ({"num_layers": 1.5}, "num_layers", "1.5"),
        ({"num_layers": True}, "num_layers", "True"),
        ({"num_layers": "17"}, "num_layers", "17"),
        ({"idf": "reference"}, "idf", "reference"),
        ({"idf": 1}, "idf", "got 1"),
        ({"idf": []}, "idf", "list of texts"),
        ({"idf": ["a", 1]}, "idf", "list of texts"),
        ({"idf": {}}, "idf", "empty mapping"),
        ({"idf": {"a": 1.0}}, "idf", "for 'a'"),
        ({"idf": {-1: 1.0}}, "idf", "-1"),
        ({"idf": {True: 1.0}}, "idf", "True"),
        ({"idf": {1: -0.5}}, "idf", "-0.5"),
        ({"idf": {1: math.nan}}, "idf", "nan"),
        ({"idf": {1: math.inf}}, "idf", "inf"),
        ({"idf": {1: "heavy"}}, "idf", "heavy"),
        ({"idf": b"x"}, "idf", "got"),
        ({"baseline": "no/such/file.csv"}, "baseline", "no/such/file.csv"),
        ({"baseline": True}, "baseline", "True"),
        ({"prefix_space": 1}, "prefix_space", "1"),
        ({"dtype": "int8"}, "dtype", "int8"),
        ({"batch_size": 0}, "batch_size", "0"),
        ({"batch_size": 2.5}, "batch_size", "2.5"),
        ({"profile": "best"}, "profile", "best"),
        ({"layers": 3}, "layers", "num_layers"),
        ({"idf": [""]}, "idf", "at least one text, got ['']"),
        ({"idf": ["a", "\ud800"]}, "idf[1]", "valid Unicode"),
        ({"model": ""}, "model", "got ''"),
    ],
)
def test_wrong_settings(bert, settings, argument, fact):
    with pytest.raises((ValueError, TypeError)) as caught:
        load(**{"model": bert, **settings})
    assert f"`{argument}`" in str(caught.value)
    assert fact in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("", "other content|no row|layer 1"),
        ("P,R,F\n1,2,3\n", "LAYER,P,R,F"),
        ("LAYER,P,R,F\n1,x,0,0\n", "LAYER,P,R,F"),
        ("LAYER,P,R,F\n1,0\n", "LAYER,P,R,F"),
        ("LAYER,P,R,F\none,0,0,0\n", "LAYER,P,R,F"),
        ("LAYER,P,R,F\n0,0,0,0\n", "layer 1"),
        ("LAYER,P,R,F\n1,1,0,0\n", "below 1"),
        ("LAYER,P,R,F\n1,nan,0,0\n", "below 1"),
        ("LAYER,P,R,F\n1,inf,0,0\n", "below 1"),
        ("LAYER,P,R,F\n1,0,0,0,7\n", "other content"),
        ("LAYER,P,R,F\n1,0,0,0\n1,0.5,0.5,0.5\n", "other content"),
        ("LAYER,P,R,F,F\n1,0,0,0,0.5\n", "other content"),
        (f"LAYER,P,R,F\n1,{'9' * 200_000},0,0\n", "other content|below 1"),
    ],
)
def test_wrong_baselines(bert, tmp_path, text, fact):
    (tmp_path / "b.csv").write_text(text)
    with pytest.raises(ValueError, match=rf"^`baseline`.*({fact})"):
        load(bert, baseline=tmp_path / "b.csv").compute(predictions=["a"], references=["b"])


@pytest.mark.parametrize(
    ("columns", "argument"),
    [
        ({"predictions": "a", "references": ["b"]}, "predictions"),
        ({"predictions": [1], "references": ["b"]}, "predictions"),
        ({"predictions": [None], "references": ["b"]}, "predictions"),
        ({"predictions": ["a"], "references": [1]}, "references"),
        ({"predictions": ["a"], "references": [[None]]}, "references"),
        ({"predictions": ["a"], "references": ["b", "c"]}, "references"),
        ({"predictions": ["a"]}, "references"),
        ({"references": ["a"]}, "predictions"),
        ({"predictions": ["\ud800"], "references": ["b"]}, "predictions"),
        ({"predictions": ["a"], "references": ["['b', 'c']"]}, "references"),
        ({"predictions": [], "references": []}, "predictions"),
    ],
)
def test_wrong_rows(bert, columns, argument):
    with pytest.raises((ValueError, TypeError), match=argument):
        load(bert).compute(**columns)


def test_a_layer_that_the_model_does_not_have(bert):
    with pytest.raises(ValueError, match=r"^`num_layers` must be at most 2.*got 9"):
        load(bert, num_layers=9).compute(predictions=["a"], references=["b"])


def test_a_file_without_texts(bert, tmp_path):
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(ValueError, match=r"^`idf` must have at least one text"):
        load(bert, idf=tmp_path / "empty.txt").compute(predictions=["a"], references=["b"])


def test_the_embedded_profile_downloads_nothing():
    with pytest.raises(FileNotFoundError, match=r"`model`.*embedded"):
        load("roberta-large", profile="embedded").compute(predictions=["a"], references=["b"])


def test_the_command_line_scores_records_and_compares(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    first, references = sentences(3, 8)
    for name, texts in (("a", first), ("b", [own[0] for own in references])):
        rows = zip(texts, references, strict=True)
        lines = [json.dumps({"id": i, "predictions": text, "references": own}) for i, (text, own) in enumerate(rows)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    words = ["--profile", "embedded", "--no-progress"]
    record = ["--record", "results.jsonl", "--model", "a/m", "--dataset", "a/d", "--split", "test"]
    assert main(["score", "bertscore", "a.jsonl", *words, *record, "--report", "page.html"]) == 0
    expected = vlgauge.load("bertscore", profile="embedded").compute(predictions=first, references=references)
    recorded = json.loads((tmp_path / "results.jsonl").read_text("utf-8"))
    assert recorded["value"] == pytest.approx(expected["bertscore"], abs=1e-6)
    assert recorded["signature"] == expected["bertscore_signature"]
    capsys.readouterr()
    assert main(["compare", "bertscore", "a.jsonl", "b.jsonl", *words, "--format", "json"]) == 0
    (compared,) = json.loads(capsys.readouterr().out)["metrics"]
    found = {one["name"]: one["value"] for one in compared["systems"]}
    assert found == pytest.approx({"a": expected["bertscore"], "b": 1.0}, abs=1e-6)
