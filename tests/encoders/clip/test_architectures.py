"""The table of CLIP backbones: every row builds with its widths, and nothing in a built model is random."""

import re

import pytest
from tiny_clip import TINY

from vlgauge.encoders.clip.architectures import (
    CONVERTED_HUB_FILE,
    HALF,
    HUB_FILE,
    OPENAI_MEAN,
    OPENAI_STD,
    TABLE,
    architecture_of,
)
from vlgauge.encoders.clip.model import build_model, causal_mask, empty_model


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


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ViT-B-32", "must be one of 'ViT-B/32', .* got 'ViT-B-32'; did you mean 'ViT-B/32'"),
        ("ViT-B-32:openai", "must have the activation of its weights, .* use 'ViT-B-32-quickgelu:openai'"),
        ("ViT-B-16:mine", "must be 'ViT-B-16:TAG' with one of the tags openai, .* got 'ViT-B-16:mine'"),
        ("nothing:openai", "must be an architecture that open_clip has weights for, got 'nothing'"),
        ("coca_ViT-B-32:laion2b_s13b_b90k", "must be a CLIP with plain preprocessing"),
    ],
)
def test_unknown_backbones(name, message):
    with pytest.raises(ValueError, match=f"`backbone` {message}"):
        architecture_of(name)


def test_any_other_backbone_takes_its_settings_from_its_tag():
    row = architecture_of("ViT-H-14-378-quickgelu:dfn5b")
    assert (row.resize, row.size, row.image_width, row.text_width, row.embed_width) == ("squash", 378, 1280, 1024, 1024)
    row = architecture_of("ViT-L-14:laion2b_s32b_b82k")
    assert (row.mean, row.std, row.repository) == (HALF, HALF, TABLE["laion/ViT-L-14"].repository)
    assert architecture_of("RN50-quickgelu:yfcc15m").resnet


def test_the_mask_is_built_again():
    import torch

    row = TINY
    wanted = empty_model(row, "cpu").attn_mask
    assert torch.equal(causal_mask(77), wanted)
    state = empty_model(row, "cpu").state_dict()
    built = build_model(row, state)
    assert torch.equal(built.attn_mask, wanted)
    assert "attn_mask" not in built.state_dict()


def test_a_missing_tensor_is_never_random():
    state = dict(empty_model(TINY, "cpu").state_dict())
    del state["visual.proj"]
    with pytest.raises(RuntimeError, match=r"Missing key.*visual\.proj"):
        build_model(TINY, state)


def test_building_draws_no_random_number():
    import torch

    state = empty_model(TINY, "cpu").state_dict()
    before = torch.random.get_rng_state()
    build_model(TINY, state)
    assert torch.equal(before, torch.random.get_rng_state())
