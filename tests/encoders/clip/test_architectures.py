"""The table of CLIP backbones: every row builds with its widths."""

import json
import re

import pytest

from vlgauge.encoders.clip.architectures import CONVERTED_HUB_FILE, HALF, HUB_FILE, OPENAI_MEAN, OPENAI_STD, TABLE
from vlgauge.encoders.clip.model import empty_model
from vlgauge.files import DATA

PUBLISHED = ["ViT-B/32", "ViT-B/16", "ViT-L/14", "RN50", "RN101", "RN50x4", "laion/ViT-B-32", "laion/ViT-L-14"]
OTHERS = ["ViT-L/14@336px", "longclip-b", "longclip-l", "specs"]
# Their shapes are those of layouts beside the checkout.
SIGLIP = [name for name in TABLE if name.startswith("siglip2-")]
UNPINNED = ("RN101", "RN50x4", *OTHERS)
SIZES = {"RN50x4": 288, "ViT-L/14@336px": 336}


@pytest.mark.parametrize("name", [*PUBLISHED, *OTHERS])
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
    assert {*TABLE} == {*PUBLISHED, *OTHERS, *SIGLIP}
    assert len(SIGLIP) == 12
    for name in (*PUBLISHED, *OTHERS):
        row = TABLE[name]
        makers = (
            "laion/" if name.startswith("laion/") else "timm/" if name[0].isupper() else ("BeichenZhang", "Xiaohud")
        )
        assert row.repository.startswith(makers)
        assert (row.revision is None) == (row.sha256 is None) == (name in UNPINNED)
        assert row.revision is None or re.fullmatch("[0-9a-f]{40}", row.revision)
        assert row.sha256 is None or re.fullmatch("[0-9a-f]{64}", row.sha256)
        assert (row.openai_sha256 is not None) == row.repository.startswith("timm/")
        assert row.openai_sha256 is None or re.fullmatch("[0-9a-f]{64}", row.openai_sha256)
        assert row.size == SIZES.get(name, 224)
        colours = (HALF, HALF) if name == "laion/ViT-L-14" else (OPENAI_MEAN, OPENAI_STD)
        assert (row.mean, row.std) == colours
        assert row.context == (248 if row.first_positions else 77)
    assert TABLE["laion/ViT-L-14"].files == (CONVERTED_HUB_FILE,)
    assert TABLE["ViT-B/32"].files == (HUB_FILE,)


@pytest.mark.parametrize("name", SIGLIP)
def test_siglip2(name):
    row = TABLE[name]
    assert row.repository == f"google/{name}"
    assert name.endswith(f"-{row.size}")
    assert (row.context, row.tokens, row.rgb_first, row.tanh_gelu, row.interpolation) == (
        64,
        "lower",
        True,
        True,
        "bilinear",
    )
    tower = empty_model(row).visual
    assert tower.image_size == (row.size, row.size)
    assert tower.trunk.num_features == row.embed_width
    assert str(tower.trunk.patch_embed.patch_size[0]) in name
    kinds = {getattr(module, "approximate", None) for module in tower.modules() if type(module).__name__ == "GELU"}
    assert kinds <= {"tanh"}


def test_pins_take_the_place_of_nothing_that_is_known():
    pins = json.loads((DATA / "backbone_pins.json").read_text("utf-8"))
    assert all(TABLE[name].revision == pin["revision"] for name, pin in pins.items())
