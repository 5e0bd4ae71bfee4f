"""Which classifiers rovist_c takes, how they are read, and what it refuses."""

import argparse
import json
import math
import pickle
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from safetensors.torch import save_file
from transformers import AlbertConfig
from transformers import AlbertForSequenceClassification
from transformers import AutoTokenizer
from transformers import BertConfig
from transformers import BertForSequenceClassification
from transformers import DistilBertConfig
from transformers import DistilBertForSequenceClassification
from transformers import RobertaConfig

import vlgauge
from vlgauge.encoders import WeightsNotFound
from vlgauge.encoders import pool
from vlgauge.encoders.pair import pair_scorer
from vlgauge.encoders.pair_classifier import class_probabilities
from vlgauge.encoders.pair_classifier import longest_input
from vlgauge.encoders.pair_models import find_pair_model
from vlgauge.encoders.pair_models import read_authors_checkpoint

TINY = Path(__file__).parent / "golden" / "rovist_c_tiny"
CHECKPOINT = TINY / "sop_model_tiny.pth.tar"
PAIRS = [("A dog ran.", "It stopped."), ("It stopped.", "A dog ran."), ("Rain.", "the dog ran home . again and again")]
SIZES = {"vocab_size": 400, "max_position_embeddings": 64}
SMALL = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, **SIZES}


@pytest.fixture(scope="module")
def authors():
    """The authors' model as a folder of the transformers library."""
    config = AlbertConfig.from_pretrained(str(TINY))
    model = AlbertForSequenceClassification(config)
    state = read_authors_checkpoint(CHECKPOINT)
    state.pop("albert.embeddings.position_ids")
    model.load_state_dict(state)
    return model


@pytest.fixture
def folder(tmp_path):
    """`folder(model)` writes a model and the tiny tokenizer."""

    def write(model, **labels):
        for name, value in labels.items():
            setattr(model.config, name, value)
        target = tmp_path / "classifier"
        model.save_pretrained(str(target))
        AutoTokenizer.from_pretrained(str(TINY)).save_pretrained(str(target))
        return target

    return write


def values_of(model, base=None, pairs=PAIRS, **options):
    return pair_scorer(str(model), base and str(base)).probabilities(pairs, **options).values


def bert(num_labels=2, **settings):
    torch.manual_seed(4)
    return BertForSequenceClassification(BertConfig(num_labels=num_labels, **{**SMALL, **settings}))


# -- what is taken ----------------------------------------------------------------------------------------------------
def test_a_folder_gives_the_values_of_the_checkpoint(authors, folder):
    assert values_of(folder(authors)) == pytest.approx(values_of(CHECKPOINT, TINY), abs=1e-6)


def test_the_coherent_label_is_an_index_or_a_name(authors, folder):
    names = {0: "swapped", 1: "in order"}
    path = folder(authors, id2label=names, label2id={name: i for i, name in names.items()})
    one = values_of(path)
    assert values_of(path, label="in order") == pytest.approx(one, abs=0)
    assert values_of(path, label="swapped") == pytest.approx(1 - one, abs=1e-12)
    assert values_of(path, label=0) == pytest.approx(1 - one, abs=1e-12)
    with pytest.raises(ValueError, match="`coherent_label` must be 0, 1 or one of 'swapped', 'in order', got 'order'"):
        values_of(path, label="order")
    with pytest.raises(ValueError, match=r"`coherent_label` must be 0, 1 or one of .*, got 2"):
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
    with pytest.raises(ValueError, match="`coherent_label` must be left at 1 for a model with one logit, got 0"):
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
    from vlgauge.encoders import pair_classifier

    pool.unload()
    builds = []
    real = pair_classifier.load_pair_model
    monkeypatch.setattr(pair_classifier, "load_pair_model", lambda found: builds.append(found) or real(found))
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
    (entry,) = [entry for entry in pool.info() if entry["key"][0] == "pair"]
    assert entry["bytes"] > 50_000


def test_loading_leaves_global_random_numbers_and_settings_alone():
    from transformers.utils import logging

    pool.unload()
    state, verbosity, bars = torch.get_rng_state(), logging.get_verbosity(), logging.is_progress_bar_enabled()
    safe = set(torch.serialization.get_safe_globals())  # they come in no order
    values_of(CHECKPOINT, TINY)
    assert torch.equal(torch.get_rng_state(), state)
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == (verbosity, bars)
    assert set(torch.serialization.get_safe_globals()) == safe


# -- what is refused --------------------------------------------------------------------------------------------------
def test_without_a_model_the_paper_profile_says_where_it_is():
    with pytest.raises(WeightsNotFound, match=r"`model` is missing: .*sop_model_epoch4.pth.tar is at https://drive"):
        vlgauge.load("rovist_c").compute(predictions=[["A.", "B."]])


@pytest.mark.parametrize(
    ("model", "base", "profile", "message"),
    [
        (
            "nowhere/at.pth.tar",
            None,
            "paper",
            "`model` must be an existing folder or file, or a Hub id with its commit",
        ),
        (
            "owner/name",
            None,
            "paper",
            "a Hub id with its commit .owner/name@<40 hexadecimal digits>., got 'owner/name'",
        ),
        ("owner/name@main", None, "paper", "got 'owner/name@main'"),
        ("owner/name@" + "a" * 40, None, "embedded", "`model` must be a folder under the embedded profile"),
        (
            "owner/name@" + "a" * 40,
            None,
            "paper",
            r"owner/name \(revision a{40}; files .*is not in .*hf download owner/name",
        ),
        (str(CHECKPOINT), "owner/base", "paper", "`base` must be an existing folder, or a Hub id with its commit"),
    ],
)
def test_missing_files(model, base, profile, message, no_sockets):
    with pytest.raises(WeightsNotFound, match=message):
        find_pair_model(model, base, profile)


def test_a_checkpoint_needs_a_base_and_a_folder_has_one(tmp_path):
    with pytest.raises(
        ValueError, match=r"`base` is missing: .* which `vlgauge prefetch rovist_c` fetches, and tells its commit"
    ):
        find_pair_model(str(CHECKPOINT))
    with pytest.raises(ValueError, match="`base` must be left out unless `model` is a checkpoint file"):
        find_pair_model(str(TINY), str(TINY))
    with pytest.raises(ValueError, match="`base` must be left out unless `model` is a checkpoint file"):
        find_pair_model(None, str(TINY), "embedded")


def test_a_missing_package_is_named(monkeypatch):
    import sys

    pool.unload()
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match=r'pip install "vlgauge\[rovist-c\]"'):
        values_of(CHECKPOINT, TINY)


def remove(*names):
    def change(folder):
        for name in names:
            (folder / name).unlink()

    return change


def configure(**settings):
    def change(folder):
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | settings))

    return change


def without_tensor(name):
    def change(folder):
        tensors = load_file(folder / "model.safetensors")
        del tensors[name]
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    return change


def cut_short(folder):
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[: len(data) // 2])


def pickled(folder):
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (remove("config.json"), "`model` must be a folder with config.json"),
        (lambda f: (f / "config.json").write_text("{"), "`model` must have JSON in config.json"),
        (
            configure(auto_map={"AutoModel": "x.Y"}),
            "`model` must be a model of the transformers library, got one with code",
        ),
        (remove("tokenizer.json"), "`model` must come with its tokenizer, got none"),
        (pickled, "`model` must have all its weights as safetensors, got others or none"),
        (lambda f: (f / "adapter_config.json").write_text("{}"), "`model` must have all its weights as safetensors"),
        (without_tensor("classifier.weight"), "fails with: no weights for classifier.weight"),
        (without_tensor("albert.pooler.bias"), "fails with: no weights for albert.pooler.bias"),
        (configure(hidden_size=64), "`model` must be a sequence-pair classifier that loads"),
        (
            configure(num_labels=3, id2label={"0": "a", "1": "b", "2": "c"}),
            "`model` must be a sequence-pair classifier",
        ),
        (cut_short, "`model` must be a sequence-pair classifier that loads"),
        (configure(model_type="unheard_of"), "`model` must be a sequence-pair classifier that loads|unheard_of"),
    ],
)
def test_broken_folders_are_refused(authors, folder, change, message):
    path = folder(authors)
    change(path)
    with pytest.raises(ValueError, match=message):
        values_of(path)


def test_three_logits_are_refused(folder):
    with pytest.raises(ValueError, match="`model` must have one or two logits, got 3"):
        values_of(folder(bert(num_labels=3)))


class Evil:
    def __reduce__(self):
        return (print, ("executed",))


@pytest.fixture
def checkpoint(tmp_path):
    """`checkpoint(change)` writes a copy of the authors' checkpoint with a change."""

    def write(change):
        with torch.serialization.safe_globals([argparse.Namespace]):
            content = torch.load(CHECKPOINT, weights_only=True)
        change(content)
        torch.save(content, tmp_path / "changed.pth.tar")
        return tmp_path / "changed.pth.tar"

    return write


def drop(name):
    return lambda content: content["model"].pop(name)


def put(name, value):
    return lambda content: content["model"].update({name: value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop("linear.bias"), "must be a whole checkpoint of `base`, got 'changed.pth.tar' without classifier.bias"),
        (drop("albert_model.pooler.weight"), "without albert.pooler.weight"),
        (put("albert_model.extra", torch.zeros(1)), "with unknown albert.extra"),
        (put("linear.weight", torch.zeros(2, 64)), "of other sizes than `base` in classifier.weight"),
        (put("linear.weight", torch.zeros(3, 32)), "of other sizes than `base` in classifier.weight"),
        (lambda content: content.pop("model"), "with its weights under 'model', got 'changed.pth.tar' without them"),
        (put("linear.weight", 3), "with its weights under 'model'"),
        (lambda content: content.update(opt=Evil()), "must be a checkpoint that can be read safely"),
    ],
)
def test_broken_checkpoints_are_refused(checkpoint, capsys, change, message):
    with pytest.raises(ValueError, match=message):
        values_of(checkpoint(change), TINY)
    assert "executed" not in capsys.readouterr().out


def test_position_ids_and_other_entries_do_not_matter(checkpoint):
    path = checkpoint(
        lambda content: (content["model"].pop("albert_model.embeddings.position_ids"), content.pop("opt"))
    )
    assert values_of(path, TINY) == pytest.approx(values_of(CHECKPOINT, TINY), abs=0)


def test_a_pickle_is_no_checkpoint(tmp_path, capsys):
    (tmp_path / "x.pth").write_bytes(pickle.dumps({"model": Evil()}))
    with pytest.raises(ValueError, match="must be a checkpoint that can be read safely"):
        values_of(tmp_path / "x.pth", TINY)
    assert capsys.readouterr().out == ""


def test_a_base_of_another_width_or_family_is_refused(tmp_path, folder, authors):
    path = folder(authors)
    configure(hidden_size=64)(path)
    with pytest.raises(ValueError, match=r"of other sizes than `base` in albert.encoder.* and \d+ more"):
        values_of(CHECKPOINT, path)
    configure(model_type="bert")(path)
    with pytest.raises(ValueError, match="`base` must be a configuration of ALBERT, got 'bert'"):
        values_of(CHECKPOINT, path)
    remove("tokenizer.json")(path)
    with pytest.raises(ValueError, match="`base` must come with its tokenizer"):
        values_of(CHECKPOINT, path)
