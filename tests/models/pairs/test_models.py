"""Classifiers of rovist_c: supported models, loading, and errors."""

import math
import shutil
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_pair_models import PAIRS, SIZES, authors_model, bert, values_of, written
from tiny_rovist_c import CHECKPOINT, TINY
from transformers import (
    AlbertConfig,
    AutoTokenizer,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    RobertaConfig,
)

import vlgauge
from vlgauge.core.pool import pool
from vlgauge.models.pairs import models
from vlgauge.models.pairs.classifier import class_probabilities, longest_input
from vlgauge.models.pairs.loading import pair_scorer


@pytest.fixture(scope="module")
def authors():
    return authors_model()


@pytest.fixture
def folder(tmp_path):
    """`folder(model)` writes a model and the tiny tokenizer."""
    return lambda model, **labels: written(tmp_path / "classifier", model, **labels)


# -- supported models -------------------------------------------------------------------------------------------------
def test_a_folder_gives_the_values_of_the_checkpoint(authors, folder):
    assert values_of(folder(authors)) == pytest.approx(values_of(CHECKPOINT, TINY), abs=1e-6)


def test_the_coherent_label_is_an_index_or_a_name(authors, folder):
    names = {0: "swapped", 1: "in order"}
    path = folder(authors, id2label=names, label2id={name: i for i, name in names.items()})
    one = values_of(path)
    assert values_of(path, label="in order") == pytest.approx(one, abs=0)
    assert values_of(path, label="swapped") == pytest.approx(1 - one, abs=1e-12)
    assert values_of(path, label=0) == pytest.approx(1 - one, abs=1e-12)
    with pytest.raises(ValueError, match=r"^`coherent_label`.*got 'order'"):
        values_of(path, label="order")
    with pytest.raises(ValueError, match=r"^`coherent_label`.*got 2"):
        values_of(path, label=2)


def test_other_families_with_and_without_segments(folder, tmp_path):
    with_segments = bert()
    path = folder(with_segments)
    tokenizer = AutoTokenizer.from_pretrained(str(path))
    inputs = tokenizer(*PAIRS[0], return_token_type_ids=True, return_tensors="pt")
    with torch.no_grad():
        logits = with_segments.eval()(**inputs).logits[0].tolist()
    assert values_of(path)[0] == pytest.approx(1 / (1 + math.exp(logits[0] - logits[1])), abs=1e-6)
    shutil.rmtree(path)
    small = {"dim": 32, "hidden_dim": 32, "n_layers": 1, "n_heads": 2, **SIZES}
    without = DistilBertForSequenceClassification(DistilBertConfig(num_labels=2, **small))
    assert ((values_of(folder(without)) > 0) & (values_of(folder(without)) < 1)).all()


def test_one_logit_goes_through_the_sigmoid(folder):
    model = bert(num_labels=1)
    path = folder(model)
    inputs = AutoTokenizer.from_pretrained(str(path))(*PAIRS[0], return_token_type_ids=True, return_tensors="pt")
    with torch.no_grad():
        logit = float(model.eval()(**inputs).logits)
    assert values_of(path)[0] == pytest.approx(1 / (1 + math.exp(-logit)), abs=1e-6)
    with pytest.raises(ValueError, match=r"^`coherent_label`.*be 1.*got 0"):
        values_of(path, label=0)


def test_half_precision_on_disk_is_float32_in_memory(authors, folder):
    path = folder(authors)
    tensors = {name: value.half() for name, value in load_file(path / "model.safetensors").items()}
    save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})
    scorer = pair_scorer(str(path))
    assert {p.dtype for p in scorer._model.parameters()} == {torch.float32}
    assert scorer.probabilities(PAIRS).values == pytest.approx(values_of(CHECKPOINT, TINY), abs=5e-2)


def test_softmax_and_sigmoid_do_not_overflow():
    logits = np.array([[0.0, 1000.0], [1000.0, 0.0], [2.0, 2.0]])
    with np.errstate(all="raise", under="ignore"):
        assert class_probabilities(logits, 1).tolist() == [1.0, 0.0, 0.5]
        assert class_probabilities(np.array([[-1000.0], [0.0]]), 1).tolist() == [0.0, 0.5]


def test_positions_of_roberta_start_behind_the_padding():
    class Tokenizer:
        model_max_length = 10**30

    assert longest_input(Tokenizer, RobertaConfig(max_position_embeddings=514, pad_token_id=1)) == 512
    assert longest_input(Tokenizer, AlbertConfig()) == 512
    Tokenizer.model_max_length = 128
    assert longest_input(Tokenizer, AlbertConfig()) == 128


# -- the pool ---------------------------------------------------------------------------------------------------------
def test_metrics_share_a_model_and_threads_build_it_once(monkeypatch):
    from vlgauge.models.pairs import classifier

    pool.unload()
    builds = []
    real = classifier.load_pair_model
    monkeypatch.setattr(classifier, "load_pair_model", lambda found: builds.append(found) or real(found))
    results = []

    def score():
        metric = vlgauge.load("rovist_c", model=str(CHECKPOINT), base=str(TINY), keep_in_memory=True)
        results.append(metric.compute(predictions=[["A dog ran.", "It stopped."]])["rovist_c"])

    threads = [threading.Thread(target=score) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(builds), len(results), len(set(results))) == (1, 4, 1)
    assert [key[0] for key in pool.encoders].count("pair") == 1


def test_loading_leaves_global_random_numbers_and_settings_alone():
    from transformers.utils import logging

    pool.unload()
    state, verbosity, bars = torch.get_rng_state(), logging.get_verbosity(), logging.is_progress_bar_enabled()
    safe = set(torch.serialization.get_safe_globals())  # they come in no order
    values_of(CHECKPOINT, TINY)
    assert torch.equal(torch.get_rng_state(), state)
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == (verbosity, bars)
    assert set(torch.serialization.get_safe_globals()) == safe


def test_a_tokenizer_of_transformers_5_is_read_as_it_was_written_by_4(monkeypatch, tmp_path):
    """Check the leading space of the shipped model's training, which the general class of transformers 4 strips."""
    import transformers

    if not hasattr(transformers, "TokenizersBackend"):
        pytest.skip("is compared with what transformers 5 reads")
    expected = transformers.AutoTokenizer.from_pretrained(str(models.EMBEDDED))
    texts = ["a dog runs. It is red", "one bus", ""], ["it drives; away", "Ünder", "x"]
    four = SimpleNamespace(
        PreTrainedTokenizerFast=transformers.PreTrainedTokenizerFast,
        AutoTokenizer=transformers.AutoTokenizer,
        __version__="4.57.0",
    )
    monkeypatch.setitem(sys.modules, "transformers", four)
    found = models.find_pair_model(None, profile="embedded")
    made = models._tokenizer_of(found)
    assert made(*texts)["input_ids"] == expected(*texts)["input_ids"]

    class Changing(transformers.PreTrainedTokenizerFast):
        def __init__(self, **given):
            super().__init__(**given | {"add_prefix_space": False})
            self.backend_tokenizer.normalizer = None

    four.PreTrainedTokenizerFast = Changing
    with pytest.raises(ValueError, match=r"4\.57\.0 loads"):
        models._tokenizer_of(found)
