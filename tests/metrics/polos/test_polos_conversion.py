"""The authors' checkpoint: read as tensors only, compared with the public encoders, and kept as a head."""

import shutil
import zipfile

import numpy as np
import pytest
import torch
from polos_oracle import ROW, Oracle
from safetensors.numpy import load_file, save_file

import vlgauge
from vlgauge.cli import main
from vlgauge.core.pool import pool
from vlgauge.models.clip.architectures import TABLE
from vlgauge.models.clip.checkpoints import read_state
from vlgauge.models.rated import models as polos_models
from vlgauge.models.rated.conversion import convert_polos
from vlgauge.models.rated.files import read_head, tensors_of, write_head


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    yield tmp_path_factory.mktemp("polos")
    pool.unload()


@pytest.fixture
def oracle(shared_folder, folder):
    return Oracle(shared_folder / "oracles" / "polos", folder)


@pytest.fixture
def checkpoint(oracle):
    path = oracle.folder / "reprod" / "reprod.ckpt"
    if not path.is_file():
        with zipfile.ZipFile(oracle.source / "checkpoint" / "reprod.zip") as packed:
            packed.extractall(oracle.folder)
    return path


def converted(oracle, path, text=None, weights=None):
    encoder = polos_models.text_encoder_of(str(text or oracle.text_encoder), profile="paper", device="cpu")
    return convert_polos(path, ROW, read_state(weights or oracle.clip, ROW), encoder)


def rewritten(checkpoint, path, change):
    """Write the tensors and settings of the checkpoint with a change, without the objects of pytorch-lightning."""
    from vlgauge.checkpoints.reading import read_torch_object

    kinds = [
        type(name, (), {"__module__": f"pytorch_lightning.callbacks.{module}"})
        for name, module in (("EarlyStopping", "early_stopping"), ("ModelCheckpoint", "model_checkpoint"))
    ]
    content = read_torch_object(checkpoint, allowed=kinds)
    kept = {"state_dict": dict(content["state_dict"]), "hyper_parameters": dict(content["hyper_parameters"])}
    change(kept)
    torch.save(kept, path)
    return path


def test_the_head_of_the_checkpoint(oracle, checkpoint):
    head = converted(oracle, checkpoint)
    wanted = load_file(oracle.source / "weights" / "head.safetensors")
    for name, array in tensors_of(head).items():
        np.testing.assert_array_equal(array, wanted[name], err_msg=name)


@pytest.mark.filterwarnings("ignore:.*captions and references")
def test_the_command_and_a_score(oracle, checkpoint, capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(TABLE, "tiny-polos", ROW)
    out = tmp_path / "head.safetensors"
    words = [
        "--kind",
        "polos",
        "--backbone",
        "tiny-polos",
        "--base",
        oracle.clip,
        "--text-encoder",
        oracle.text_encoder,
    ]
    assert main([str(word) for word in ("convert", checkpoint, *words, "-o", out)]) == 0
    assert "its encoders equal ViT-B/32 and local@sha256-" in capsys.readouterr().out
    metric = vlgauge.load("polos", keep_in_memory=True, **(oracle.settings | {"checkpoint": out}))
    found = metric.compute(**oracle.columns(range(4)))["polos_scores"]
    np.testing.assert_allclose(found, oracle.scores["itemwise"][:4], rtol=0, atol=1e-5)


def test_a_head_is_read_as_it_was_written(oracle, checkpoint, tmp_path):
    head = converted(oracle, checkpoint)
    write_head(tmp_path / "head.safetensors", head)
    again = read_head(tmp_path / "head.safetensors")
    assert again.digest == head.digest
    assert again.metadata["clip_sha256"] == head.metadata["clip_sha256"]


def test_another_text_encoder_is_refused(oracle, checkpoint, tmp_path):
    shutil.copytree(oracle.text_encoder, tmp_path / "other", copy_function=shutil.copyfile)
    (tmp_path / "other").chmod(0o755)
    state = load_file(oracle.text_encoder / "model.safetensors")
    name = "encoder.layer.1.output.dense.bias"
    save_file({**state, name: state[name] + np.float32(0.5)}, tmp_path / "other" / "model.safetensors")
    with pytest.raises(ValueError, match=rf"got 1 different.*{name}"):
        converted(oracle, checkpoint, text=tmp_path / "other")


def test_another_clip_is_refused(oracle, checkpoint, tmp_path):
    state = load_file(oracle.clip)
    name = "visual.ln_post.bias"
    save_file({**state, name: state[name] + np.float32(0.5)}, tmp_path / "clip.safetensors")
    with pytest.raises(ValueError, match=rf"ViT-B/32.*got 1 different.*{name}"):
        converted(oracle, checkpoint, weights=tmp_path / "clip.safetensors")


@pytest.mark.parametrize(
    ("name", "value"), [("final_activation", "Sigmoid"), ("pool", "avg"), ("layer", "12"), ("activations", "ReLU")]
)
def test_another_formula_is_refused(oracle, checkpoint, tmp_path, name, value):
    path = rewritten(checkpoint, tmp_path / "a.ckpt", lambda kept: kept["hyper_parameters"].update({name: value}))
    with pytest.raises(ValueError, match=rf"^`checkpoint`.*{name}.*got '{value}'"):
        converted(oracle, path)


def test_another_width_is_refused(oracle, checkpoint, tmp_path):
    def narrow(kept):
        name = "ff.0.ff.linear_1.weight"
        kept["state_dict"][name] = kept["state_dict"][name][:, :-1].clone()

    path = rewritten(checkpoint, tmp_path / "a.ckpt", narrow)
    with pytest.raises(ValueError, match=r"=.*3200 numbers.*3199"):
        converted(oracle, path)


def test_what_is_no_checkpoint_of_polos_is_refused(oracle, tmp_path):
    torch.save({"state_dict": {"weight": torch.zeros(3)}}, tmp_path / "a.ckpt")
    with pytest.raises(ValueError, match=r"^`checkpoint`.*ff\.\*"):
        converted(oracle, tmp_path / "a.ckpt")


class Evil:
    def __reduce__(self):
        return print, ("executed",)


def test_code_in_a_checkpoint_is_refused(oracle, checkpoint, tmp_path, capsys):
    path = rewritten(checkpoint, tmp_path / "a.ckpt", lambda kept: kept.update(callbacks=Evil()))
    with pytest.raises(ValueError, match="pickle that refers to"):
        converted(oracle, path)
    assert "executed" not in capsys.readouterr().out
