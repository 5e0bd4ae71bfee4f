"""The training of PAC-S end to end on a very small CLIP: files, columns, weights, resuming."""

# ruff: noqa: F811  # a fixture that is imported and an argument have one name

import csv
import json

import numpy as np
import pytest
import torch
from micro_clip import (
    FAST,
    MICRO_CONFIG,
    drawings,  # noqa: F401  # a fixture
    micro_backbone,  # noqa: F401  # a fixture
    train,  # noqa: F401  # a fixture
    untrained,
    weights,  # noqa: F401  # a fixture
)

from vlgauge.cli import main
from vlgauge.models.clip import architectures
from vlgauge.models.clip.heads import heads_digest, read_adapter, safetensors_metadata
from vlgauge.models.clip.loading import clip_encoder, clip_with_checkpoint
from vlgauge.research.training.pac_s import command, data, losses, report


def log_of(path):
    lines = path.with_suffix(".log.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def without_times(log):
    return [{name: value for name, value in line.items() if name != "seconds"} for line in log]


# -- output -----------------------------------------------------------------------------------------------------------
SCENES = ("--scenes", 20, "--test-scenes", 6, "--max-iterations", 10)


def test_heads_on_drawn_scenes(train, weights, tmp_path):
    status, printed, path = train(*SCENES)
    assert status == 0, printed
    adapter = read_adapter(path)
    base = clip_encoder("micro", weights=weights, device="cpu")
    state = base.model.state_dict()
    assert adapter.metadata["kind"] == "pac_s"
    assert adapter.metadata["architecture"] == "micro-clip"
    assert adapter.metadata["base_projections_sha256"] == heads_digest(state)
    assert adapter.metadata["base_weights"] == base.digest
    assert adapter.metadata["command"].startswith("vlgauge train pac_s --learning-rate 1e-3")
    recipe = json.loads(adapter.metadata["recipe"])
    assert (recipe["image_weight"], recipe["text_weight"], recipe["prompt"]) == (0.05, 0.1, "")
    assert adapter.metadata["scale"] == f"{state['logit_scale'].exp().item():.4f}, from the base"
    assert json.loads(adapter.metadata["rows"]) == {"training": 20, "validation": 2}
    encoder, loaded = clip_with_checkpoint("micro", path, weights=weights, device="cpu")
    assert encoder.digest == base.digest
    assert not np.allclose(loaded.tensors["visual.proj"], state["visual.proj"].numpy(), atol=1e-4)
    log = log_of(path)
    assert [line["iteration"] for line in log] == [0, 5, 10]
    assert set(log[1]) == {"iteration", "seconds", "validation_total"} | {
        f"train_{name}" for name in ("total", "real", "generated_image", "generated_text")
    }
    assert log[-1]["train_total"] < log[1]["train_total"]
    told = json.loads(adapter.metadata["comparison"])
    assert [entry["kind"] for entry in told] == ["all", *data.FOIL_KINDS]
    card = path.with_suffix(".md").read_text("utf-8")
    assert adapter.metadata["command"] in card
    assert "These are not the weights of the paper" in card
    assert all(f"| {kind} | " in card and f"| {kind} | " in printed for kind in data.FOIL_KINDS)
    assert not any(found.suffix == ".checkpoint" for found in tmp_path.iterdir())


def test_the_comparison_is_that_of_base_and_adapter(train, weights):
    _, _, path = train(*SCENES)
    encoder, adapter = clip_with_checkpoint("micro", path, weights=weights, device="cpu")
    foils = data.scene_foils(6, 0)
    shares = []
    for head in (None, adapter):
        right = 0
        for foil in foils:
            image = encoder.project(encoder.image_hidden([foil.image]), "image", head)[0]
            hidden = encoder.text_hidden([foil.right, foil.wrong], prompt="A photo depicts ").end
            text = encoder.project(hidden, "text", head)
            cosines = text @ image / np.linalg.norm(text, axis=1)
            right += cosines[0] > cosines[1]
        shares.append(right / len(foils))
    told = json.loads(adapter.metadata["comparison"])[0]
    assert [told["before"], told["after"]] == pytest.approx(shares)
    assert told["n_images"] == 6
    assert told["n_pairs"] == len(foils)
    assert told["low"] <= told["after"] - told["before"] <= told["high"]


def test_the_same_seed_gives_the_same_weights(train):
    paths = [train(*SCENES, "--seed", seed, out=f"{place}.safetensors")[2] for place, seed in enumerate((0, 0, 1))]
    adapters = [read_adapter(path) for path in paths]
    assert adapters[0].digest == adapters[1].digest != adapters[2].digest
    assert without_times(log_of(paths[0])) == without_times(log_of(paths[1]))


def test_files_with_gaps_are_trained_on(train, drawings):
    status, printed, path = train("--train", drawings, "--max-iterations", 10)
    assert status == 0, printed
    metadata = read_adapter(path).metadata
    assert json.loads(metadata["rows"]) == {"training": 20, "validation": 4}
    assert json.loads(metadata["generated"]) == {"images": 23, "captions": 23}
    assert "| another image's caption | 4 | 2 |" in printed


def test_csv_other_columns_and_foils(train, drawings, tmp_path):
    names = {"image": "file", "caption": "text", "generated_image": "drawn", "generated_caption": "said"}
    names |= {"group": "near"}
    lines = filter(None, drawings.read_text("utf-8").split("\n"))
    given = [json.loads(line) | {"group": "ab"[number % 2]} for number, line in enumerate(lines)]
    for name, part in (("train", given[:16]), ("validation", given[16:])):
        with (tmp_path / f"{name}.csv").open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.DictWriter(file, list(names.values()))
            writer.writeheader()
            writer.writerows({names[key]: value for key, value in row.items()} for row in part)
    foils = [{"file": row["image"], "text": row["caption"], "lie": "a cat sleeps"} for row in given[:4]]
    (tmp_path / "foils.jsonl").write_text("\n".join(map(json.dumps, foils)), "utf-8")
    options = [value for key, name in names.items() for value in (f"--{key.replace('_', '-')}-column", name)]
    status, printed, path = train(
        *("--train", tmp_path / "train.csv", "--validation", tmp_path / "validation.csv", "--max-iterations", 5),
        *("--test", tmp_path / "foils.jsonl", "--foil-column", "lie", "--image-folder", drawings.parent),
        *(*options, "--train-scale", "--prompt", "A photo depicts "),
    )
    assert status == 0, printed
    assert json.loads(read_adapter(path).metadata["rows"]) == {"training": 16, "validation": 8}
    assert "| foil | 4 | 2 |" in printed


def test_low_rank_updates_of_both_towers(train, weights, drawings):
    status, printed, path = train("--train", drawings, "--lora", 4, "--max-iterations", 10)
    assert status == 0, printed
    encoder, adapter = clip_with_checkpoint("micro", path, weights=weights, device="cpu")
    assert adapter is None
    base = clip_encoder("micro", weights=weights, device="cpu").model.state_dict()
    changed = {name for name, tensor in encoder.model.state_dict().items() if not torch.equal(tensor, base[name])}
    blocks = [f"{tower}transformer.resblocks.0" for tower in ("", "visual.")]
    parts = ("attn.in_proj_weight", "attn.out_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")
    assert changed == {"visual.conv1.weight", *(f"{block}.{part}" for block in blocks for part in parts)}
    assert json.loads(safetensors_metadata(path)["recipe"])["lora"] == 4
    assert log_of(path)[-1]["train_total"] < log_of(path)[1]["train_total"] + 1


RESNET_CONFIG = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 64, "layers": [1, 1, 1, 1], "width": 4},
    "text_cfg": MICRO_CONFIG["text_cfg"],
}
RESNET = architectures.ClipArchitecture(
    "micro-resnet", "micro-resnet", None, 16, size=64, config=RESNET_CONFIG, resnet=True, quick_gelu=False
)


def test_the_attention_pool_of_a_resnet(train, tmp_path, monkeypatch):
    monkeypatch.setitem(architectures.TABLE, "micro-resnet", RESNET)
    weights = untrained(RESNET_CONFIG, tmp_path / "resnet.safetensors")
    base = ("--backbone", "micro-resnet", "--weights", str(weights))
    status, printed, path = train(*SCENES, base=base)
    assert (status, path.exists()) == (2, False)
    assert "`--attention-pool` is required for a ResNet (" in printed
    status, printed, path = train(*SCENES, "--attention-pool", "--learning-rate", "1e-4", base=base)
    assert status == 0, printed
    encoder, adapter = clip_with_checkpoint("micro-resnet", path, weights=weights, device="cpu")
    before = encoder.model.state_dict()
    names = {name for name in before if name.startswith("visual.attnpool.")}
    assert set(adapter.tensors) == {*names, "text_projection"}
    moved = {name for name in names if not np.array_equal(adapter.tensors[name], before[name].numpy())}
    assert moved >= {name for name in names if name.endswith("weight")}
    # The loss before training equals the loss of the encoder's own features.
    pairs = data.scene_rows(2, 0, "validation")
    image, redrawn, text, said = (
        torch.from_numpy(encoder.project(hidden, side))
        for side, hidden in (
            ("image", encoder.image_hidden([pair.image for pair in pairs])),
            ("image", encoder.image_hidden([pair.generated_image for pair in pairs])),
            ("text", encoder.text_hidden([pair.caption for pair in pairs]).end),
            ("text", encoder.text_hidden([pair.generated_caption for pair in pairs]).end),
        )
    )
    scale = before["logit_scale"].exp()
    terms = [losses.contrastive_loss(*two, scale) for two in ((image, text), (redrawn, text), (image, said))]
    expected = (terms[0] + 0.05 * terms[1] + 0.1 * terms[2]).item()
    assert log_of(path)[0]["validation_total"] == pytest.approx(expected, rel=1e-5)


def test_the_curve_is_drawn(train):
    _, _, path = train(*SCENES[:4], "--max-iterations", 5)
    assert not path.with_suffix(".svg").exists()
    pytest.importorskip("matplotlib")
    options = [option for option in FAST if option != "--no-plot"]
    arguments = ["--backbone", "micro", "--weights", json.loads(read_adapter(path).metadata["recipe"])["weights"]]
    target = path.with_name("again.safetensors")
    given = [*options, *arguments, "--out", str(target), *map(str, SCENES[:4]), "--max-iterations", "5"]
    assert main(["train", "pac_s", *given]) == 0
    assert target.with_suffix(".svg").read_text("utf-8").startswith("<?xml")
    assert read_adapter(target).digest == read_adapter(path).digest


# -- stopping and resuming --------------------------------------------------------------------------------------------
def test_an_interrupted_training_goes_on_bit_by_bit(train, monkeypatch):
    whole = train(*SCENES)[2]

    def interrupted(path, lines):
        written(path, lines)
        if lines[-1]["iteration"] == 5:
            raise KeyboardInterrupt

    written = command.write_log
    monkeypatch.setattr(command, "write_log", interrupted)
    status, printed, path = train(*SCENES, out="parts.safetensors")
    assert (status, path.exists()) == (130, False)
    assert printed.endswith("vlgauge train: interrupted; repeat the command with --resume to continue\n")
    monkeypatch.setattr(command, "write_log", written)
    status, printed, path = train(*SCENES, out="parts.safetensors")
    assert status == 2
    assert "`--resume` requires a checkpoint and is required by one, but '" in printed
    assert "exists; pass --resume to continue, or delete it" in printed
    status, printed, path = train(*SCENES, "--learning-rate", "2e-3", "--resume", out="parts.safetensors")
    assert status == 2
    assert "parts.checkpoint` must be the state of this training, got a state with other data, base or" in printed
    checkpoint, content = path.with_suffix(".checkpoint"), path.with_suffix(".checkpoint").read_bytes()
    checkpoint.write_bytes(content[:99])
    status, printed, _ = train(*SCENES, "--resume", out="parts.safetensors")
    assert status == 2
    assert "parts.checkpoint` must be a complete and unmodified state of a training, got another file" in printed
    checkpoint.write_bytes(content)
    status, printed, path = train(*SCENES, "--resume", out="parts.safetensors")
    assert status == 0, printed
    assert read_adapter(path).digest == read_adapter(whole).digest
    assert without_times(log_of(path)) == without_times(log_of(whole))
    assert "--resume" not in read_adapter(path).metadata["command"]


def test_an_interruption_before_the_first_checkpoint_keeps_nothing(train, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "train_learner", interrupted)
    status, printed, _ = train(*SCENES)
    assert status == 130
    assert printed.endswith("vlgauge train: interrupted; no checkpoint was written yet\n")


def test_training_stops_when_the_validation_loss_no_longer_falls(train):
    """Check a large rate, at which the loss rises after a while: the weights are taken at its lowest point."""
    status, printed, path = train(
        *("--scenes", 40, "--test-scenes", 2, "--learning-rate", 0.01, "--patience", 20, "--max-iterations", 400)
    )
    assert status == 0, printed
    log = log_of(path)
    best = min(log, key=lambda line: line["validation_total"])
    assert log[-1]["iteration"] == best["iteration"] + 20 < 400
    trained = read_adapter(path)
    assert trained.metadata["iterations"] == f"{log[-1]['iteration']}, weights of iteration {best['iteration']}"
    options = ("--scenes", 40, "--test-scenes", 2, "--learning-rate", 0.01, "--max-iterations", best["iteration"])
    assert read_adapter(train(*options, out="best.safetensors")[2]).digest == trained.digest


# -- bundled files ---------------------------------------------------------------------------------------------------
def test_the_shipped_adapter_belongs_to_the_shipped_demo_model_and_is_better():
    encoder, adapter = clip_with_checkpoint(profile="embedded", device="cpu")
    assert adapter.metadata["base_weights"] == encoder.digest
    assert adapter.metadata["command"].startswith("vlgauge train pac_s --scenes ")
    told = json.loads(adapter.metadata["comparison"])
    assert told[0]["kind"] == "all"
    assert 0 < told[0]["low"] < told[0]["after"] - told[0]["before"]
    # The same pairs again, on fewer scenes.
    foils = [foil for foil in data.scene_foils(60, 0) if foil.kind in ("colour", "size", "background")]
    assert np.mean(report.margins(encoder, adapter, foils) > 0) > 0.97
