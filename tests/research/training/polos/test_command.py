"""`vlgauge train polos`: synthetic and user-supplied rows, both variants, saved files, and errors."""

import json

import numpy as np
import pytest
import tiny_polos
from PIL import Image
from tiny_clip import TINY, write_tiny

import vlgauge
from vlgauge.cli import main
from vlgauge.core.pool import pool
from vlgauge.models.clip.architectures import TABLE
from vlgauge.models.clip.loading import clip_encoder
from vlgauge.models.rated import models as polos_models
from vlgauge.research.training.polos.network import ReferenceBatch, material_of, new_network, scores_of
from vlgauge.research.training.polos.ratings import PENALTIES, draw_rows, read_rows

WORDS = ("dog", "cat", "bus", "boat", "bird", "tree")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    yield tmp_path_factory.mktemp("polos")
    pool.unload()


@pytest.fixture
def models(folder, monkeypatch):
    """Options that name tiny models."""
    monkeypatch.setitem(TABLE, "tiny", TINY)
    settings = tiny_polos.settings(folder, write_tiny(folder))
    return ["--backbone", "tiny", "--weights", str(settings["weights"]), "--text-encoder", settings["text_encoder"]]


def write_rows(folder, n=12, scale=4, **changes):
    """Write a file of rated captions of small images, with high ratings for captions that name the right object."""
    rng = np.random.default_rng(0)
    lines = []
    for number in range(n):
        Image.fromarray(rng.integers(0, 255, (20, 20, 3)).astype(np.uint8)).save(folder / f"{number}.png")
        word = WORDS[number % len(WORDS)]
        for told, rating in ((word, scale), (WORDS[(number + 1) % len(WORDS)], 0)):
            references = [f"the {word} here", f"one {word}"][: 1 + number % 2]
            row = {"image": f"{number}.png", "caption": f"a {told}", "references": references, "rating": rating}
            lines.append(json.dumps(row | (changes if number == n - 1 else {})))
    path = folder / "rows.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    return path


def train(*words):
    common = ("--hidden", "8", "4", "--no-plot", "--no-progress", "--device", "cpu", "--batch-size", "8")
    return main([str(word) for word in ("train", "polos", *words, *common)])


@pytest.mark.parametrize("variant", ["itemwise", "released"])
def test_a_head_is_fitted_and_scores(models, tmp_path, variant, capsys):
    rows, out = write_rows(tmp_path), tmp_path / "out"
    words = ("--rows", rows, "--scale", 0, 4, "--test", rows, "--learning-rate", "1e-2", "--accumulate", 1)
    assert train(out, *words, *models, "--epochs", 4, "--variant", variant) == 0
    record = json.loads((out / "training.json").read_text("utf-8"))
    assert record["variant"] == variant
    assert record["training_rows"] + record["validation_rows"] == 24
    assert record["epochs"][-1]["training_loss"] < record["epochs"][0]["training_loss"]
    assert 0 <= record["test_loss"] < 0.5
    assert "Kendall" in (out / "README.md").read_text("utf-8")
    metric = vlgauge.load(
        "polos",
        backbone=TINY,
        weights=models[3],
        text_encoder=models[5],
        checkpoint=out / "head.safetensors",
        device="cpu",
        keep_in_memory=True,
    )
    image = str(tmp_path / "0.png")
    found = metric.compute(predictions=["a dog"], images=[image], references=[["the dog here"]])
    assert found["polos_signature"].count(f"|head:{record['head'][:8]}|") == 1
    assert "wrote" in capsys.readouterr().out


def test_what_is_trained_scores_as_the_metric_does(models, folder, tmp_path):
    rows = read_rows(write_rows(tmp_path), (0, 4))
    clip = clip_encoder(TINY, weights=models[3], device="cpu")
    text = polos_models.text_encoder_of(models[5], profile="paper", device="cpu")
    head = polos_models.polos_models(
        **tiny_polos.settings(folder, write_tiny(folder)),
        profile="paper",
        device="cpu",
        dtype="float32",
        feature_cache=None,
    ).head
    import torch

    network = new_network(3, head.matrices[0].shape[1], (8, 4))
    with torch.no_grad():
        network.scalars.copy_(torch.from_numpy(head.scalars))
        network.gamma.fill_(head.gamma)
        for linear, matrix, bias in zip(network.linear, head.matrices, head.biases, strict=True):
            linear.weight.copy_(torch.from_numpy(matrix))
            linear.bias.copy_(torch.from_numpy(bias))
    network.eval()
    every = np.arange(len(rows))
    settings = {**tiny_polos.settings(folder, write_tiny(folder)), "device": "cpu", "keep_in_memory": True}
    columns = {
        "predictions": [row.caption for row in rows],
        "references": [list(row.references) for row in rows],
        "images": [str(tmp_path / f"{number // 2}.png") for number in every],
    }
    for variant in ("itemwise", "released"):
        material = material_of(rows, clip, text, variant, device="cpu")
        found = material.scores(network, every).detach().numpy()
        metric = vlgauge.load("polos", **settings, variant=variant, released_batch_size=len(rows))
        np.testing.assert_allclose(found, metric.compute(**columns)["polos_scores"], rtol=0, atol=2e-6)
    assert ReferenceBatch
    assert scores_of


def test_an_interrupted_run_goes_on(models, tmp_path, monkeypatch):
    from vlgauge.research.training.polos import command

    rows = write_rows(tmp_path)
    words = ("--rows", rows, "--scale", 0, 4, *models, "--epochs", 3, "--learning-rate", "1e-2")
    assert train(tmp_path / "whole", *words) == 0
    real, calls = command.one_epoch, []

    def stops(*given):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(command, "one_epoch", stops)
    assert train(tmp_path / "parts", *words) == 130
    monkeypatch.setattr(command, "one_epoch", real)
    assert train(tmp_path / "parts", *words) == 0
    whole, parts = (json.loads((tmp_path / name / "training.json").read_text()) for name in ("whole", "parts"))
    assert whole["head"] == parts["head"]
    assert not (tmp_path / "parts" / "interrupted").exists()


def test_a_finished_training_is_kept(models, tmp_path, capsys):
    rows = write_rows(tmp_path)
    words = (tmp_path / "out", "--rows", rows, "--scale", 0, 4, *models, "--epochs", 1)
    assert train(*words) == 0
    assert train(*words) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert train(*words, "--overwrite") == 0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"rating": 5},
            "rows.jsonl, row 22` must have a rating from 0 to 4, got 5; pass another scale with --scale LOW HIGH",
        ),
        ({"rating": -0.5}, "must have a rating from 0 to 4, got -0.5"),
        ({"rating": "good"}, "must have a rating from 0 to 4, got 'good'"),
        ({"rating": True}, "must have a rating from 0 to 4, got True"),
        ({"references": []}, "must have a list of at least one string in the column 'references', got []"),
        ({"references": "a dog"}, "must have a list of at least one string in the column 'references', got 'a dog'"),
        ({"rating": None}, "must have the columns image, caption, references, rating, got the columns"),
        ({"image": "none.png"}, "none.png"),
    ],
)
def test_rows_that_are_refused(models, tmp_path, capsys, change, told):
    rows = write_rows(tmp_path, **change)
    assert train(tmp_path / "out", "--rows", rows, "--scale", 0, 4, *models) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out" / "head.safetensors").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--scale", 4, 1), "`--scale` must be two numbers, the lower first, got 4 and 1"),
        (("--accumulate", 0), "`--accumulate` must be at least 1, got 0"),
        (("--dropout", 1), "`--dropout` must be from 0 to below 1, got 1.0"),
        (("--clip-norm", 0), "`--clip-norm` must be above 0, got 0"),
        (("--epochs", 0), "`--epochs` must be at least 1, got 0"),
    ],
)
def test_options_that_are_refused(tmp_path, capsys, words, told):
    assert train(tmp_path / "out", "--rows", tmp_path / "none.jsonl", *words) == 2
    assert told in capsys.readouterr().err


def test_options_of_drawn_rows(tmp_path, capsys):
    assert train(tmp_path / "out", "--scenes", 3) == 2
    assert "at least 4, got 3" in capsys.readouterr().err
    assert train(tmp_path / "out", "--scenes", 4, "--test", "a.jsonl") == 2
    assert "`--test`" in capsys.readouterr().err


def test_rows_of_one_image(models, tmp_path, capsys):
    assert train(tmp_path / "out", "--rows", write_rows(tmp_path, 1), "--scale", 0, 4, *models) == 2
    assert "`--rows`" in capsys.readouterr().err


def test_drawn_ratings_fall_with_what_is_wrong():
    rows = draw_rows(40, 1, "train")
    assert len(rows) == 240
    assert all(0 <= row.rating <= 1 and row.references and row.caption not in row.references for row in rows)
    means = np.array([row.rating for row in rows]).reshape(40, 6).mean(0)
    right, incomplete, wrong, other_wrong, two_wrong, foreign = means
    assert right > incomplete > max(wrong, other_wrong) > two_wrong > foreign
    assert [row.caption for row in draw_rows(40, 1, "train")] == [row.caption for row in rows]
    assert min(PENALTIES.values()) > 0
