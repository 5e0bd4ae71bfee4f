"""The table of CLIP backbones: every row builds with its widths."""

import re

import pytest

from vlgauge.encoders.clip.architectures import CONVERTED_HUB_FILE, HALF, HUB_FILE, OPENAI_MEAN, OPENAI_STD, TABLE
from vlgauge.encoders.clip.model import empty_model


@pytest.mark.parametrize("name", TABLE)
def test_every_row_builds_with_its_widths(name):
    row = TABLE[name]
    model = empty_model(row)
    tower = model.visual
    assert next(model.parameters()).is_meta
    assert tuple(model.text_projection.shape) == (row.text_width, row.embed_width)
    if row.resnet:
        assert tower.attnpool.k_proj.in_features == row.image_width
        assert tower.attnpool.c_proj.out_features == row.embed_width
        assert tower.image_size == row.size
    else:
        assert tuple(tower.proj.shape) == (row.image_width, row.embed_width)
        assert tower.image_size == (row.size, row.size)
    activations = {type(module).__name__ for module in model.modules()} & {"QuickGELU", "GELU"}
    assert activations == {"QuickGELU" if row.quick_gelu else "GELU"}
    # Heads are 64 wide in every row.
    assert model.transformer.resblocks[0].attn.num_heads == row.text_width // 64


def test_the_table_is_complete():
    assert list(TABLE) == [
        "ViT-B/32", "ViT-B/16", "ViT-L/14", "RN50", "RN101", "RN50x4", "laion/ViT-B-32", "laion/ViT-L-14",
    ]  # fmt: skip
    for name, row in TABLE.items():
        assert row.repository.startswith("laion/" if name.startswith("laion/") else "timm/")
        assert (row.revision is None) == (row.sha256 is None) == (name in ("RN101", "RN50x4"))
        assert row.revision is None or re.fullmatch("[0-9a-f]{40}", row.revision)
        assert row.sha256 is None or re.fullmatch("[0-9a-f]{64}", row.sha256)
        assert row.files == (CONVERTED_HUB_FILE if name == "laion/ViT-L-14" else HUB_FILE,)
        assert (row.openai_sha256 is None) == name.startswith("laion/")
        assert row.openai_sha256 is None or re.fullmatch("[0-9a-f]{64}", row.openai_sha256)
        assert row.size == (288 if name == "RN50x4" else 224)
        colours = (HALF, HALF) if name == "laion/ViT-L-14" else (OPENAI_MEAN, OPENAI_STD)
        assert (row.mean, row.std) == colours
