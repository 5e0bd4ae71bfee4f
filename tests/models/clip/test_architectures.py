"""The table of backbones: every row builds with its settings, and contains the source of its weights."""

import re
from collections import Counter

import pytest

from vlgauge.core.lean_imports import lean_import
from vlgauge.models.clip.architectures import HALF, TABLE
from vlgauge.models.clip.model import empty_model

SIGLIP = [name for name in TABLE if name.startswith("siglip2-")]


@pytest.mark.parametrize("name", [name for name in TABLE if name not in SIGLIP])
def test_a_row_builds_as_it_says(name):
    row = TABLE[name]
    model = empty_model(row)
    assert next(model.parameters()).is_meta
    tower = getattr(model, "text", model)  # a separate module in architectures with another text tower than CLIP
    assert tower.text_projection.shape[1] == row.embed_width
    assert tower.positional_embedding.shape[0] == row.context
    size = model.visual.image_size
    assert size in (row.size, (row.size, row.size))
    activations = {type(module).__name__ for module in model.modules()} & {"QuickGELU", "GELU"}
    assert activations == {"QuickGELU" if row.quick_gelu else "GELU"}
    assert row.resnet == hasattr(model.visual, "attnpool")
    # Heads are 64 wide in every row.
    assert tower.transformer.resblocks[0].attn.num_heads == tower.text_projection.shape[0] // 64


@pytest.mark.parametrize(
    ("name", "openai"), [("longclip-b", "ViT-B-16"), ("longclip-l", "ViT-L-14"), ("specs", "ViT-B-32")]
)
def test_a_long_clip_is_that_of_openai_but_for_its_positions(name, openai):
    expected = lean_import("open_clip").get_model_config(openai)
    expected["text_cfg"]["context_length"] = 248
    assert TABLE[name].config == expected | {"quick_gelu": True}


@pytest.mark.parametrize("name", TABLE)
def test_weights_are_named(name):
    row = TABLE[name]
    assert row.repository
    assert row.licence != "not stated"
    assert (row.revision is None) == (row.sha256 is None)
    assert row.revision is None or re.fullmatch("[0-9a-f]{40}", row.revision)
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in (row.sha256, row.openai_sha256) if digest)
    assert (row.openai_sha256 is not None) == row.repository.endswith(".openai")


def test_a_name_means_one_row():
    names = Counter(name.lower() for row in TABLE.values() for name in {row.name, *row.aliases, str(row.repository)})
    assert [name for name, times in names.items() if times > 1] == []


@pytest.mark.parametrize("name", SIGLIP)
def test_siglip2(name):
    row = TABLE[name]
    assert row.repository == f"google/{name}"
    assert name.endswith(f"-{row.size}")
    assert (row.context, row.tokens, row.rgb_first, row.tanh_gelu) == (64, "lower", True, True)
    assert (row.interpolation, row.mean, row.std) == ("bilinear", HALF, HALF)
    assert row.config["vision_cfg"]["image_size"] == row.size
    assert row.config["vision_cfg"]["timm_model_name"].endswith(f"{name.split('-')[2]}_siglip_{row.size}")


# One for each width and patch size.
@pytest.mark.parametrize("name", {name.rpartition("-")[0]: name for name in SIGLIP}.values())
def test_siglip2_is_built(name):
    row = TABLE[name]
    tower = empty_model(row).visual
    assert tower.image_size == (row.size, row.size)
    assert tower.trunk.num_features == row.embed_width
    assert str(tower.trunk.patch_embed.patch_size[0]) in name
    kinds = {getattr(module, "approximate", None) for module in tower.modules() if type(module).__name__ == "GELU"}
    assert kinds <= {"tanh"}
