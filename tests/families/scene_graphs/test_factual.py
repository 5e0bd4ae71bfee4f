"""Graphs that a T5 writes: its files, its batches, what becomes of what it writes, the metrics that take it."""

import json
import os
import pickle
import warnings

import pytest
import torch
from apart_cases import fake_encoder
from safetensors.torch import load_file, save_file
from tiny_t5 import CAPTIONS, written_t5
from transformers import AutoTokenizer, T5ForConditionalGeneration

import vlgauge
from vlgauge.core.errors import WeightsNotFoundError
from vlgauge.core.pool import pool
from vlgauge.families.scene_graphs import FactualParser, Graph
from vlgauge.families.scene_graphs import factual as module
from vlgauge.models import seq2seq
from vlgauge.research.verification import Data, Tools, Unchecked
from vlgauge.research.verification.protocols import check_protocols

METRICS = ("spice", "soft_spice", "capture")
LONG = " and ".join(["the brown dog is on the red bus"] * 12)
pytestmark = pytest.mark.filterwarnings("ignore:.*graphs were cut after")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(written_t5(tmp_path_factory.mktemp("t5"), seed=2))


def parser(folder, **settings):
    return FactualParser(folder, device="cpu", most_tokens=12, **settings)


def saying(monkeypatch, *texts):
    """Have the model write these texts, the last with no end."""
    found = [(text, i < len(texts) - 1) for i, text in enumerate(texts)]
    monkeypatch.setattr(seq2seq.Seq2Seq, "written", lambda self, ids, **options: found[: len(ids)])


def test_a_graph_is_what_the_model_writes_for_the_whole_sentence(folder):
    model = T5ForConditionalGeneration.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for caption in (*CAPTIONS[:3], LONG):
        ids = tokenizer(f"Generate Scene Graph: {caption}", return_tensors="pt")["input_ids"]
        with torch.no_grad():
            tokens = model.generate(ids, max_length=12, do_sample=False, decoder_start_token_id=0)
        told = tokenizer.decode(tokens[0], skip_special_tokens=True)
        assert parser(folder).graphs([caption]) == [module._graph(told)]


@pytest.mark.parametrize("beams", [1, 3])
def test_a_graph_depends_on_no_other_caption(folder, beams):
    captions = [*CAPTIONS[1:4], LONG]
    together = parser(folder, beams=beams).graphs(captions)
    assert together == [parser(folder, beams=beams).graphs([one])[0] for one in captions]
    assert together == parser(folder, beams=beams, batch_size=1).graphs(captions)
    assert together[::-1] == parser(folder, beams=beams, batch_size=3).graphs(captions[::-1])
    assert len({graph.tuples for graph in together}) >= 3


def test_only_the_released_batches_cut_the_longest_caption_and_at_a_number_of_tokens(folder, monkeypatch):
    seen = []

    def written(self, ids, **options):
        seen.append([list(own) for own in ids])
        return [("( dog )", True)] * len(ids)

    monkeypatch.setattr(seq2seq.Seq2Seq, "written", written)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for settings in ({}, {"variant": "released"}):
        parser(folder, **settings).graphs(["a dog is on the bed", "a dog"])
        parser(folder, **settings).graphs([LONG])
    (short, long), (whole,), (cut, kept), (longest,) = seen
    assert whole == tokenizer(f"Generate Scene Graph: {LONG}")["input_ids"]
    assert len(whole) > 100
    assert (kept, cut) == (short, [*long[:-2], long[-1]])
    assert longest == [*whole[:63], whole[-1]]


def test_sentences_are_parsed_apart(folder):
    first, second, both = parser(folder).graphs(
        ["a dog.", "the man and the horse ride", "A dog. The man and the horse ride"]
    )
    assert set(both.tuples) == {*first.tuples, *second.tuples}
    assert parser(folder).graphs(["", " . "])[0] == Graph(())


def test_what_is_no_graph_is_counted_and_says_nothing(folder, monkeypatch):
    saying(monkeypatch, "yes yes yes", "( dogs , v:chase , two cats ) , ( dog , is , brown ) , ( dog , is", "( bus", "")
    with pytest.warns(UserWarning, match=r"wrote no graph for 1 of 4 sentences but, for example, 'yes yes yes'"):
        found = parser(folder).graphs(["a", "a dog", "a dog cat", "a dog cat horse"])
    assert found[0] == found[3] == Graph(())
    assert found[1].tuples == (("dog",), ("two cat",), ("dog", "brown"), ("dog", "chase", "two cat"))
    assert found[2].tuples == (("bus",),)


@pytest.mark.parametrize("text", [")(", "( , , )", "((((", "( a , b", "\x00", ", , ,", "( is , is , is )", "(" * 5000])
def test_no_text_of_a_model_breaks_a_call(folder, monkeypatch, text):
    saying(monkeypatch, text, text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (graph,) = parser(folder).graphs(["a dog"])
    assert all(part for parts in graph.tuples for part in parts)


def test_graphs_without_an_end_are_told_of(folder):
    with pytest.warns(UserWarning, match=r"\d of 7 graphs were cut after 12 tokens; raise `most_tokens`"):
        parser(folder).graphs(CAPTIONS)


@pytest.mark.parametrize("name", METRICS)
def test_metrics_take_it_by_its_name(folder, name, monkeypatch):
    written = seq2seq.Seq2Seq.written
    # Of what has no end of itself only the beginning.
    monkeypatch.setattr(seq2seq.Seq2Seq, "written", lambda *own, **more: written(*own, **more | {"most_tokens": 12}))
    settings = {} if name == "spice" else {"encoder": fake_encoder}
    metric = vlgauge.load(name, keep_in_memory=True, progress=False, parser=f"factual:{folder}", **settings)
    result = metric.compute(predictions=CAPTIONS, references=[[one] for one in CAPTIONS])
    assert result[f"{name}_scores"][1] == pytest.approx(1.0, abs=1e-5) or name == "capture"
    assert f"|parser:{FactualParser(folder).identity}" in result[f"{name}_signature"]
    assert next(one for one in pool.info() if one["key"][0] == "seq2seq")["bytes"] > 0


def test_it_goes_to_other_processes_without_its_model(folder):
    again = pickle.loads(pickle.dumps(parser(folder, beams=2)))
    assert again.identity == parser(folder, beams=2).identity
    assert {parser(folder).identity, parser(folder, variant="released").identity}.isdisjoint({again.identity})


def test_the_model_is_looked_for_before_anything_is_read(no_sockets):
    metric = vlgauge.load("spice", keep_in_memory=True, parser="factual", profile="embedded")
    with pytest.raises(WeightsNotFoundError, match=r"must have its model in a folder .*'rules'"):
        metric.compute(predictions=["a dog"], references=["a dog"])
    metric = vlgauge.load("spice", keep_in_memory=True, parser="factual")
    with pytest.raises(WeightsNotFoundError, match=r"lizhuang144/flan-t5-base-VG-factual-sg .*FOLDER"):
        metric.compute(predictions=["a dog"], references=["a dog"])


def test_it_is_not_needed_where_graphs_are_given():
    metric = vlgauge.load("spice", keep_in_memory=True, progress=False, parser="factual")
    graphs = {"predictions": ["( dog )"], "references": [["( dog )"]]}
    assert metric.compute(predictions=["."], references=["."], graphs=graphs)["spice"] == 1.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variant": "old"}, "`variant` must be one of 'paper', 'released'"),
        ({"beams": 0}, "`beams` must be"),
        ({"most_tokens": 1}, "`most_tokens` must be"),
        ({"batch_size": 0}, "`batch_size` must be"),
    ],
)
def test_settings_that_are_none(settings, message):
    with pytest.raises(ValueError, match=message):
        FactualParser(**settings)


# -- files ------------------------------------------------------------------------------------------------------------
def test_weights_of_torch_save_are_read_too(folder, tmp_path):
    written_t5(tmp_path, seed=2)
    state = load_file(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").unlink()
    state["decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"] = torch.zeros(32, 2)
    torch.save(state, tmp_path / "pytorch_model.bin")
    assert parser(str(tmp_path)).graphs(CAPTIONS) == parser(folder).graphs(CAPTIONS)
    assert parser(str(tmp_path)).identity != parser(folder).identity


def test_tied_weights_stand_once_in_a_file(tmp_path):
    written_t5(tmp_path, tie_word_embeddings=True)
    assert "lm_head.weight" not in load_file(tmp_path / "model.safetensors")
    assert len(parser(str(tmp_path)).graphs(CAPTIONS)) == len(CAPTIONS)


def changed_state(path, change):
    state = load_file(path / "model.safetensors")
    change(state)
    save_file(state, path / "model.safetensors")


def without_tokenizer(path):
    (path / "tokenizer.json").unlink()


def of_another_kind(path):
    told = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(told | {"model_type": "bart"}))


LAYER = "encoder.block.0.layer.0.SelfAttention.q.weight"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: (path / "config.json").unlink(), "must have a model of the kind t5 with its config.json"),
        (of_another_kind, "must have a model of the kind t5"),
        (without_tokenizer, "must include its tokenizer"),
        (lambda path: (path / "model.safetensors").unlink(), "must have its weights in model.safetensors"),
        (lambda path: changed_state(path, lambda state: state.pop(LAYER)), f"missing: {LAYER}"),
        (lambda path: changed_state(path, lambda state: state.update(more=state[LAYER].clone())), "not known: more"),
        (lambda path: changed_state(path, lambda state: state[LAYER].fill_(torch.nan)), "NaN or infinity"),
        (lambda path: changed_state(path, lambda state: state.update({LAYER: torch.zeros(2, 2)})), "of another shape"),
        (lambda path: (path / "tokenizer.json").write_text("{"), "must have a T5 that loads"),
        (lambda path: (path / "model.safetensors").write_bytes(b"<html>"), "a web page"),
    ],
)
def test_folders_that_are_none(tmp_path, damage, message):
    written_t5(tmp_path)
    damage(tmp_path)
    with pytest.raises(ValueError, match=f"`parser`.*{message}"):
        parser(str(tmp_path)).graphs(["a dog"])


@pytest.mark.weights
def test_the_published_model_reads_a_caption():
    try:
        (graph,) = FactualParser(device="cpu").graphs(["a brown dog chases two cats"])
    except WeightsNotFoundError as error:
        pytest.skip(str(error))
    assert {("dog", "brown"), ("dog", "chase", "cat")} <= set(graph.tuples)


@pytest.mark.weights
def test_soft_spice_agrees_with_people_as_published():
    """Kendall's tau-c of 54.20, by the released model; the folder of flickr8k.json is in VLGAUGE_DATA."""
    data = Data([os.environ["VLGAUGE_DATA"]] if "VLGAUGE_DATA" in os.environ else [])
    found = [
        one
        for one in check_protocols(data, Tools(vlgauge.load, ["soft_spice"]))
        if isinstance(one, Unchecked) or one.row.settings
    ]
    if any(isinstance(one, Unchecked) for one in found):
        pytest.skip("; ".join(one.why for one in found))
    assert [one.is_met for one in found] == [True]
