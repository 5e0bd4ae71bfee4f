"""Models are built from the tensors of their file only, without random initialization."""

import pytest
from tiny_clip import TINY

from vlgauge.models.clip.model import build_model, causal_mask, empty_model


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
