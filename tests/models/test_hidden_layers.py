"""Text encoders with features of all layers: layers, tokens, caching, and errors."""

import json

import numpy as np
import pytest
import tiny_polos
import torch
from safetensors.torch import load_file, save_file
from transformers import RobertaConfig, RobertaModel

from vlgauge.core.errors import WeightsNotFoundError
from vlgauge.models.hidden_layers import AllLayersEncoder, find_layered, load_layered_encoder

TEXTS = ["a dog", "two cats sit on grass", "a dog", "", "the red bus"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_polos.text_encoder(tmp_path_factory.mktemp("texts") / "tiny")


def loaded(folder, setting="text_encoder"):
    found = find_layered(str(folder), profile="paper", setting=setting, hint="")
    return AllLayersEncoder(found, "cpu", setting)


@pytest.fixture(scope="module")
def encoder(folder):
    return loaded(folder)


@pytest.fixture
def copied(folder, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def test_layers_are_those_of_the_library(encoder):
    found = encoder.layers(TEXTS)
    for row, text in enumerate(TEXTS):
        inputs = encoder.tokenizer([text], return_tensors="pt")
        with torch.no_grad():
            hidden = torch.stack(encoder.model(**inputs, output_hidden_states=True).hidden_states)[:, 0].double()
        assert found.sizes[row] == hidden.shape[1]
        np.testing.assert_allclose(found.first[row], hidden[:, 0], rtol=0, atol=1e-5)
        np.testing.assert_allclose(found.means[row], hidden.mean((1, 2)), rtol=0, atol=1e-6)
        spreads = ((hidden - hidden.mean((1, 2), keepdim=True)) ** 2).sum((1, 2))
        np.testing.assert_allclose(found.spreads[row], spreads, rtol=1e-5)
    assert found.first.dtype == np.float32
    assert not found.truncated.any()


@pytest.mark.parametrize("batch_size", [1, 2, 64])
def test_a_text_does_not_depend_on_those_next_to_it(folder, encoder, batch_size):
    whole, other = encoder.layers(TEXTS), loaded(folder).layers(TEXTS[::-1], batch_size=batch_size)
    np.testing.assert_allclose(other.first[::-1], whole.first, rtol=0, atol=1e-6)
    np.testing.assert_allclose(other.means[::-1], whole.means, rtol=0, atol=1e-7)
    np.testing.assert_array_equal(whole[[0]].first, whole[[2]].first)


def test_what_was_read_is_remembered(folder, monkeypatch):
    encoder = loaded(folder)
    first = encoder.layers(TEXTS)
    monkeypatch.setattr(encoder, "hidden", None)
    np.testing.assert_array_equal(encoder.layers(TEXTS[::-1]).first[::-1], first.first)
    assert encoder.store.total > 0


def test_long_texts_keep_the_end_token(encoder):
    ids, cut = encoder.token_ids(["abcdefghi " * 20, "a"])
    assert [len(row) for row in ids] == [encoder.most_tokens, 3]
    assert ids[0][-1] == ids[1][-1]
    assert cut == [True, False]
    assert encoder.layers(["abcdefghi " * 20]).truncated.tolist() == [True]


def test_no_texts(encoder):
    assert encoder.layers([]).first.shape == (0, 3, 16)


def test_the_pool_holds_it_once(folder):
    how = {"profile": "paper", "device": "cpu", "setting": "text_encoder", "hint": "", "extra": "polos"}
    assert load_layered_encoder(str(folder), **how) is load_layered_encoder(str(folder), **how)


# -- errors -----------------------------------------------------------------------------------------------------------
def refusal(folder):
    with pytest.raises(ValueError, match=r"`(text_encoder|checkpoint)`") as caught:
        loaded(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_folder_without_a_model(tmp_path):
    assert "`text_encoder` must be a folder with the config.json of a model" in refusal(tmp_path)


def test_code_of_a_model(copied):
    config = json.loads((copied / "config.json").read_text())
    (copied / "config.json").write_text(json.dumps(config | {"auto_map": {"AutoModel": "evil.Model"}}))
    assert "without custom code" in refusal(copied)


def test_a_folder_without_its_tokenizer(copied):
    for name in ("vocab.txt", "tokenizer.json"):
        (copied / name).unlink(missing_ok=True)
    assert "`text_encoder` must include its tokenizer, got none in" in refusal(copied)


def test_a_tokenizer_of_another_model(copied):
    with (copied / "vocab.txt").open("a") as stream:
        stream.write("more\nwords\n")
    assert "must have the tokenizer of its model, which knows 141 tokens, got one with 143" in refusal(copied)


def test_a_tokenizer_with_other_ends(copied):
    (copied / "tokenizer.json").unlink(missing_ok=True)
    words = (copied / "vocab.txt").read_text("utf-8").split()
    (copied / "vocab.txt").write_text("\n".join([*words[5:], *words[:5]]) + "\n", "utf-8")
    told = refusal(copied)
    assert "must have the tokenizer of its model, with the tokens padding 0, got padding 136 in" in told


def test_a_tokenizer_of_a_bert_next_to_a_roberta(copied):
    config = RobertaConfig(
        vocab_size=141, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    RobertaModel(config).save_pretrained(str(copied))
    told = refusal(copied)
    assert "with the tokens padding 1, start 0, end 2, got padding 0, start 2, end 3 in" in told


def test_a_folder_without_weights(copied):
    (copied / "model.safetensors").unlink()
    assert "must have its weights in model.safetensors or pytorch_model.bin, got neither" in refusal(copied)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda state: state.pop("embeddings.word_embeddings.weight"), "missing: embeddings.word_embeddings.weight"),
        (lambda state: state.update(more=torch.zeros(1)), "not known: more"),
        (lambda state: state["embeddings.word_embeddings.weight"].fill_(float("nan")), "NaN or infinity"),
    ],
)
def test_other_tensors(copied, change, told):
    state = load_file(copied / "model.safetensors")
    change(state)
    save_file(state, copied / "model.safetensors")
    assert told in refusal(copied)


def test_the_embedded_profile_fetches_nothing():
    with pytest.raises(WeightsNotFoundError, match=r"^`text_encoder`.*embedded"):
        find_layered("owner/name", profile="embedded", setting="text_encoder", hint="")
