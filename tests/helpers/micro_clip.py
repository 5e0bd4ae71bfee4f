"""A very small CLIP and synthetic rows to train PAC-S on, as fixtures of the tests of its training."""

import copy
import json

import pytest
import torch
from safetensors.torch import save_file

from vlgauge.cli import main
from vlgauge.models.clip import architectures
from vlgauge.research.training.pac_s import data

MICRO_CONFIG = {
    "embed_dim": 16,
    "quick_gelu": True,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "patch_size": 16, "head_width": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
}
MICRO = architectures.ClipArchitecture("micro", "micro-clip", None, 16, size=32, config=MICRO_CONFIG)
FAST = ["--learning-rate", "1e-3", "--validate-every", "5", "--no-plot", "--device", "cpu"]


def untrained(config, path):
    from open_clip.model import CLIP

    with torch.random.fork_rng():
        torch.manual_seed(0)
        save_file(CLIP(**copy.deepcopy(config)).state_dict(), path)
    return path


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Untrained CLIP for images of 32 pixels."""
    return untrained(MICRO_CONFIG, tmp_path_factory.mktemp("micro") / "micro.safetensors")


@pytest.fixture
def micro_backbone(monkeypatch):
    """Name of the untrained CLIP."""
    monkeypatch.setitem(architectures.TABLE, "micro", MICRO)


@pytest.fixture(scope="module")
def drawings(tmp_path_factory):
    """Files with 24 rows of 12 synthetic scenes: two captions per image, some without V' or T'."""
    folder = tmp_path_factory.mktemp("drawings")
    found = []
    for number, row in enumerate(data.scene_rows(12, 0, "train")):
        row.image.open().save(folder / f"{number}.png")
        row.generated_image.open().save(folder / f"{number}_redrawn.png")
        for caption, other in ((row.caption, row.generated_caption), (row.generated_caption, row.caption)):
            generated = {"generated_image": f"{number}_redrawn.png", "generated_caption": other}
            found.append({"image": f"{number}.png", "caption": caption, **generated})
    del found[3]["generated_image"]
    found[5]["generated_caption"] = None
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n\n" for row in found), "utf-8")
    return path


@pytest.fixture
def train(weights, micro_backbone, tmp_path, capsys):
    """Function `train(*options)` that trains the micro CLIP and returns exit status, output and path of the weights."""

    def run(*options, out="trained.safetensors", base=("--backbone", "micro", "--weights", str(weights))):
        path = tmp_path / out
        status = main(["train", "pac_s", *FAST, *base, "--out", str(path), *map(str, options)])
        printed = capsys.readouterr()
        return status, printed.out + printed.err, path

    return run
