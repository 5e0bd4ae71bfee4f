"""The towers of CLIP: ResNets, other text towers, other heads, precision, insufficient device memory."""

import numpy as np
import pytest
from tiny_clip import IMAGES, TINY, TINY_CONFIG, write_tiny

from vlgauge.inputs.images.cells import image_cell
from vlgauge.inputs.images.lazy_images import WholeImage
from vlgauge.models.clip.architectures import ClipArchitecture
from vlgauge.models.clip.encoder import ClipEncoder
from vlgauge.models.clip.heads import Adapter, adapter_of
from vlgauge.models.clip.loading import clip_encoder
from vlgauge.models.clip.model import empty_model, tokens_of
from vlgauge.models.clip.towers import AutoBatchSize, ClipTowers

TEXTS = ["a dog", "two cats sleep on a sofa", "a red kite"]
RESNET_CONFIG = {
    "embed_dim": 24,
    "quick_gelu": True,
    "vision_cfg": {"image_size": 64, "layers": [1, 1, 1, 1], "width": 8, "patch_size": None},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
}
RESNET = ClipArchitecture("tiny-rn", "tiny-rn", None, 24, size=64, resnet=True, config=RESNET_CONFIG)
OTHER_TEXT = ClipArchitecture(
    "other", "other", None, 32, config={**TINY_CONFIG, "custom_text": True}, tokens="open_clip"
)


def images():
    names = ("syn_rgb.png", "syn_gray.png", "syn_224.png")
    return [WholeImage(image_cell(IMAGES / name, name), name) for name in names]


def random_encoder(row, dtype="float32"):
    """Return an encoder with torch's random initialization, and its module."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = empty_model(row, "cpu")
    return ClipEncoder(ClipTowers(model, row, "cpu", dtype), tokens_of(row), "ab" * 32), model


def pixels_of(encoder):
    from vlgauge.models.clip.pixels import prepare_image

    return encoder._towers.pixels(np.stack([prepare_image(image, encoder.row) for image in images()]))


def unit(vectors):
    return vectors / np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True))


# ----------------------------------------------------------------------------------------------------------------------
# Other towers
# ----------------------------------------------------------------------------------------------------------------------
def test_a_resnet_gives_pooled_vectors():
    import torch

    encoder, model = random_encoder(RESNET)
    hidden = encoder.image_hidden(images())
    with torch.no_grad():
        wanted = model.encode_image(pixels_of(encoder)).numpy()
    np.testing.assert_allclose(hidden, wanted, rtol=0, atol=1e-6)
    assert encoder.project(hidden, "image") is hidden
    assert encoder.image_hidden([]).shape == (0, 24)
    assert encoder.text_hidden(TEXTS).end.shape == (3, 16)


def test_the_head_of_a_resnet_is_its_pool():
    import torch

    encoder, model = random_encoder(RESNET)
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    head = [name for name in state if name.startswith("visual.attnpool.")]
    for name in head:
        state[name] += 0.05 * torch.randn(state[name].shape, generator=torch.Generator().manual_seed(4))
    about = {"kind": "custom", "architecture": "tiny-rn", "base_projections_sha256": "0"}
    adapter = adapter_of(state, about)
    own = encoder.image_hidden(images())
    other = encoder.image_hidden(images(), adapter=adapter)
    changed = empty_model(RESNET, "cpu")
    changed.load_state_dict(state)
    with torch.no_grad():
        wanted = changed.eval().encode_image(pixels_of(encoder)).numpy()
    np.testing.assert_allclose(other, wanted, rtol=0, atol=1e-6)
    assert abs(own - other).max() > 1e-3
    assert encoder.forwards["image"] == 6
    np.testing.assert_array_equal(encoder.image_hidden(images(), adapter=adapter), other)
    np.testing.assert_array_equal(encoder.image_hidden(images()), own)
    assert encoder.forwards["image"] == 6
    np.testing.assert_allclose(
        encoder.project(np.eye(16), "text", adapter), adapter.tensors["text_projection"], rtol=0, atol=1e-7
    )


def test_an_adapter_replaces_both_matrices_of_a_vit():
    encoder, _ = random_encoder(TINY)
    rng = np.random.default_rng(8)
    matrices = [rng.standard_normal((width, 32)).astype(np.float32) for width in (128, 64)]
    adapter = Adapter(dict(zip(("visual.proj", "text_projection"), matrices, strict=True)), "d", {})
    for side, matrix in zip(("image", "text"), matrices, strict=True):
        hidden = rng.standard_normal((5, len(matrix))).astype(np.float32)
        np.testing.assert_allclose(encoder.project(hidden, side, adapter), hidden @ matrix, rtol=1e-6, atol=1e-5)
    before = encoder.image_hidden(images())
    np.testing.assert_array_equal(encoder.image_hidden(images(), adapter=adapter), before)
    assert encoder.forwards["image"] == 3


def test_another_text_tower_reads_at_full_length():
    import torch
    from open_clip import tokenize

    encoder, model = random_encoder(OTHER_TEXT)
    hidden = encoder.text_hidden([*TEXTS, "dog " * 100])
    with torch.no_grad():
        wanted = model.encode_text(tokenize([*TEXTS, "dog " * 100])).numpy()
    np.testing.assert_allclose(hidden.end, wanted, rtol=0, atol=1e-5)
    assert encoder.project(hidden.end, "text") is hidden.end
    assert hidden.truncated.tolist() == [False, False, False, True]
    with pytest.raises(ValueError, match=r"^`tokens`"):
        encoder.text_hidden(TEXTS, tokens=True)


def test_another_text_tower_is_built_from_a_file(tmp_path):
    from safetensors.torch import save_file

    _, model = random_encoder(OTHER_TEXT)
    save_file(model.state_dict(), tmp_path / "other.safetensors")
    encoder = clip_encoder(OTHER_TEXT, weights=tmp_path / "other.safetensors", device="cpu")
    assert encoder.text_hidden(TEXTS).end.shape == (3, 32)
    wrong = {name: tensor for name, tensor in model.state_dict().items() if name != "text.ln_final.weight"}
    save_file(wrong, tmp_path / "wrong.safetensors")
    with pytest.raises(ValueError, match=r"missing: text\.ln_final\.weight"):
        clip_encoder(OTHER_TEXT, weights=tmp_path / "wrong.safetensors", device="cpu")


# ----------------------------------------------------------------------------------------------------------------------
# Precision and memory of the device
# ----------------------------------------------------------------------------------------------------------------------
def test_bfloat16_is_near_and_its_ends_are_float32(tmp_path):
    import torch

    path = write_tiny(tmp_path)
    exact, near = (clip_encoder(TINY, weights=path, device="cpu", dtype=dtype) for dtype in ("float32", "bfloat16"))
    assert exact is not near
    types = {}

    def note(name):
        def hook(module, inputs, output):
            types.setdefault(name, (inputs[0].dtype, output.dtype))

        return hook

    model = near.model
    watched = {
        "patches": model.visual.conv1,
        "first norm": model.visual.ln_pre,
        "norm in a block": model.transformer.resblocks[0].ln_1,
        "matrix in a block": model.transformer.resblocks[0].mlp.c_fc,
        "last norm": model.ln_final,
    }
    hooks = [module.register_forward_hook(note(name)) for name, module in watched.items()]
    for side in ("image", "text"):
        hidden = [
            encoder.image_hidden(images()) if side == "image" else encoder.text_hidden(TEXTS).end
            for encoder in (exact, near)
        ]
        one, other = (unit(encoder.project(h, side)) for encoder, h in zip((exact, near), hidden, strict=True))
        assert 0 < abs((one * other).sum(axis=-1) - 1).max() < 1e-3
    for hook in hooks:
        hook.remove()
    assert types.pop("matrix in a block")[1] == torch.bfloat16
    assert set(types.values()) == {(torch.float32, torch.float32)}


def test_half_precision_needs_a_gpu(tmp_path):
    with pytest.raises(ValueError, match=r"^`dtype`.*got 'float16'"):
        clip_encoder(TINY, weights=write_tiny(tmp_path), device="cpu", dtype="float16")
    with pytest.raises(ValueError, match=r"^`dtype`.*'float32'.*'bfloat16'.*half"):
        clip_encoder(TINY, dtype="double")


def full_above(limit, sizes):
    import torch

    def forward(batch):
        sizes.append(len(batch))
        if len(batch) > limit:
            raise torch.OutOfMemoryError("full")
        return [item * 10 for item in batch]

    return AutoBatchSize(forward)


def test_a_full_device_halves_the_batch_once():
    sizes = []
    halved = full_above(4, sizes)
    with pytest.warns(UserWarning, match="batch_"):
        assert halved([1, 2, 3, 4, 5, 6, 7]) == [10, 20, 30, 40, 50, 60, 70]
    assert halved([1] * 7) == [10] * 7
    assert sizes == [7, 4, 3, 4, 3]


def test_a_device_that_stays_full_raises():
    import torch

    with pytest.warns(UserWarning, match="4"), pytest.raises(torch.OutOfMemoryError):
        full_above(2, [])([1] * 8)
    with pytest.raises(torch.OutOfMemoryError):
        full_above(0, [])([1])
