"""Models of sentence order that raise an error, each with its message."""

import argparse
import json
import pickle

import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_pair_models import authors_model, bert, values_of, written
from tiny_rovist_c import CHECKPOINT, TINY

import vlgauge
from vlgauge.core.errors import WeightsNotFoundError
from vlgauge.core.pool import pool
from vlgauge.models.pairs.models import PINNED_BASE, find_pair_model


@pytest.fixture(scope="module")
def authors():
    return authors_model()


@pytest.fixture
def folder(tmp_path):
    """`folder(model)` writes a model and the tiny tokenizer."""
    return lambda model, **labels: written(tmp_path / "classifier", model, **labels)


# -- errors -----------------------------------------------------------------------------------------------------------
def test_without_a_model_the_paper_profile_says_where_it_is():
    with pytest.raises(WeightsNotFoundError, match=r"^`model`.*sop_model_epoch4\.pth\.tar.*//drive"):
        vlgauge.load("rovist_c").compute(predictions=[["A.", "B."]])


@pytest.mark.parametrize(
    ("model", "base", "profile", "message"),
    [
        (
            "nowhere/at.pth.tar",
            None,
            "paper",
            r"^`model`.*commit",
        ),
        (
            "owner/name",
            None,
            "paper",
            "a Hub id with its commit .owner/name@<40 hexadecimal digits>., got 'owner/name'",
        ),
        ("owner/name@main", None, "paper", "got 'owner/name@main'"),
        ("owner/name@" + "a" * 40, None, "embedded", r"^`model`.*under.*embedded"),
        (
            "owner/name@" + "a" * 40,
            None,
            "paper",
            r"owner/name.*revision",
        ),
        (str(CHECKPOINT), "owner/base", "paper", r"^`base`.*commit"),
    ],
)
def test_missing_files(model, base, profile, message, no_sockets):
    with pytest.raises(WeightsNotFoundError, match=message):
        find_pair_model(model, base, profile)


def test_a_checkpoint_needs_a_base_and_a_folder_has_one(tmp_path):
    with pytest.raises(ValueError, match=rf'^`base`.*base="{PINNED_BASE}"'):
        find_pair_model(str(CHECKPOINT))
    with pytest.raises(ValueError, match=r"^`base`.*`model`"):
        find_pair_model(str(TINY), str(TINY))
    with pytest.raises(ValueError, match=r"^`base`.*`model`"):
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


def without_tokenizer(folder):
    # Which of them there are is up to the version of transformers.
    for path in [path for pattern in ("tokenizer.json", "vocab.*", "*.model") for path in folder.glob(pattern)]:
        path.unlink()


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
        (remove("config.json"), r"^`model`.*folder with the config\.json"),
        (lambda f: (f / "config.json").write_text("{"), r"^`model`.*JSON.*config\.json"),
        (
            configure(auto_map={"AutoModel": "x.Y"}),
            r"^`model`.*without custom code",
        ),
        (without_tokenizer, r"^`model`.*got none"),
        (pickled, r"^`model`.*other formats"),
        (lambda f: (f / "adapter_config.json").write_text("{}"), r"^`model`.*weights.*safetensors"),
        (without_tensor("classifier.weight"), r"weights.*classifier\.weight"),
        (without_tensor("albert.pooler.bias"), r"albert\.pooler\.bias"),
        (configure(hidden_size=64), r"^`model`.*sequence"),
        (
            configure(num_labels=3, id2label={"0": "a", "1": "b", "2": "c"}),
            r"^`model`.*sequence",
        ),
        (cut_short, r"^`model`.*sequence"),
        (configure(model_type="unheard_of"), r"^`model`.*(sequence-pair classifier|unheard_of)"),
    ],
)
def test_broken_folders_are_refused(authors, folder, change, message):
    path = folder(authors)
    change(path)
    with pytest.raises(ValueError, match=message):
        values_of(path)


def test_three_logits_are_refused(folder):
    with pytest.raises(ValueError, match=r"^`model`.*got 3"):
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
        (drop("linear.bias"), r"`base`.*'changed\.pth\.tar'.*classifier\.bias"),
        (drop("albert_model.pooler.weight"), "missing: albert.pooler.weight"),
        (put("albert_model.extra", torch.zeros(1)), "not known: albert.extra"),
        (put("linear.weight", torch.zeros(2, 64)), r"`base`.*classifier\.weight"),
        (put("linear.weight", torch.zeros(3, 32)), r"`base`.*classifier\.weight"),
        (lambda content: content.pop("model"), r"^`model`.*'model'.*changed\.pth\.tar"),
        (put("linear.weight", 3), "^`model`.*got int under 'linear.weight'"),
        (lambda content: content.update(opt=Evil()), "nothing in it was executed"),
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
    with pytest.raises(ValueError, match=r"^`model`.*x\.pth.*fails with"):
        values_of(tmp_path / "x.pth", TINY)
    assert capsys.readouterr().out == ""


def test_a_base_of_another_width_or_family_is_refused(tmp_path, folder, authors):
    path = folder(authors)
    configure(hidden_size=64)(path)
    with pytest.raises(ValueError, match=r"`base`.*albert\.encoder"):
        values_of(CHECKPOINT, path)
    configure(model_type="bert")(path)
    with pytest.raises(ValueError, match=r"^`base`.*got 'bert'"):
        values_of(CHECKPOINT, path)
    without_tokenizer(path)
    with pytest.raises(ValueError, match=r"^`base`.*include"):
        values_of(CHECKPOINT, path)
