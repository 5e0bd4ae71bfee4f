"""The two sides of rovist_vg: heads, the vision transformer, checkpoints in our format and in the authors'."""

import hashlib
import json

import folders
import numpy as np
import pytest
import torch
from PIL import Image
from tiny_vit import TEXT_WIDTH, WIDTH, heads, old_names, tiny_vit, write_authors, write_ours

from vlgauge.core.errors import WeightsNotFoundError
from vlgauge.core.pool import pool
from vlgauge.inputs.images.cells import image_cell
from vlgauge.inputs.images.lazy_images import ImageCrop, SharedImage, WholeImage
from vlgauge.models.grounding.model import Heads, grounding_model, project_and_normalize
from vlgauge.models.grounding.vit import VisionEncoder, build_vit, vit_config

GOLDEN = json.loads((folders.GOLDEN / "rovist_vg.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    return [Image.fromarray(rng.integers(0, 256, (h, w, 3), dtype=np.uint8)) for h, w in ((20, 50), (32, 32), (70, 9))]


@pytest.fixture(scope="module")
def lazy_images(images):
    return [WholeImage(image_cell(image, "x"), f"images[0][{i}]", "early") for i, image in enumerate(images)]


@pytest.fixture
def encoder():
    return VisionEncoder(build_vit(tiny_vit().state_dict(), "vit"), "cpu")


def plain_pooled(images):
    """Compute pooled embeddings by the specification: bilinear resize of both sides, colors from -1 to 1."""
    squares = [np.asarray(image.resize((32, 32), Image.Resampling.BILINEAR), dtype=np.float32) for image in images]
    pixels = torch.from_numpy(np.stack(squares) / 127.5 - 1).permute(0, 3, 1, 2)
    with torch.no_grad():
        return tiny_vit()(pixels).pooler_output.numpy()


def test_convolutions_keep_their_precision(encoder, lazy_images):
    allowed = []
    encoder._model.register_forward_hook(lambda *_: allowed.append(torch.backends.cudnn.allow_tf32))
    encoder.image_hidden(lazy_images, batch_size=2)
    assert allowed == [False, False]


def test_heads_of_the_authors():
    case = GOLDEN["text_encoder"]
    weight, bias, x = (np.array(case[name]) for name in ("W", "b", "x"))
    out = np.array(case["out"])
    found = project_and_normalize(x, weight, bias)
    assert found == pytest.approx(out / np.linalg.norm(out, axis=1, keepdims=True), abs=1e-6)
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(len(x)))


def test_heads_refuse_other_widths_and_nan():
    weight, bias = np.ones((2, 3)), np.zeros(2)
    with pytest.raises(ValueError, match=r"3.*head.*1.*4"):
        project_and_normalize(np.ones((1, 4)), weight, bias)
    with pytest.raises(ValueError, match="got NaN"):
        project_and_normalize(np.array([[1.0, np.nan, 0.0]]), weight, bias)
    assert project_and_normalize(np.zeros((1, 3)), weight, bias).tolist() == [[0.0, 0.0]]


def test_pooled_vectors(encoder, lazy_images, images):
    assert encoder.image_hidden(lazy_images) == pytest.approx(plain_pooled(images), abs=1e-5)


def test_order_duplicates_batches_and_memory(encoder, lazy_images):
    once = encoder.image_hidden(lazy_images, batch_size=2)
    assert encoder.forwards["image"] == 3
    again = encoder.image_hidden([lazy_images[2], lazy_images[0], lazy_images[2]])
    assert encoder.forwards["image"] == 3
    assert np.array_equal(again, once[[2, 0, 2]])
    assert encoder.image_hidden([]).shape == (0, 64)
    fresh = VisionEncoder(build_vit(tiny_vit().state_dict(), "vit"), "cpu").image_hidden(
        lazy_images[::-1], batch_size=1
    )
    assert fresh[::-1] == pytest.approx(once, abs=5e-6)


def test_a_crop_is_seen_by_itself(encoder, images):
    whole = SharedImage(image_cell(images[0], "x"), "x", 1)
    cut = images[0].crop((3, 2, 30, 17))
    assert encoder.image_hidden([ImageCrop(whole, (3, 2, 30, 17), "x")]) == pytest.approx(plain_pooled([cut]), abs=1e-5)


def test_an_unreadable_image(encoder):
    with pytest.raises(ValueError, match=r"`images\[0\]\[1\]` must be"):
        encoder.image_hidden([WholeImage({"bytes": b"GIF89a", "path": None}, "images[0][1]", "early")])


@pytest.mark.parametrize("rename", [dict, old_names])
def test_both_spellings_of_the_parameters(rename, lazy_images, images):
    encoder = VisionEncoder(build_vit(rename(tiny_vit().state_dict()), "vit"), "cpu")
    assert encoder.image_hidden(lazy_images) == pytest.approx(plain_pooled(images), abs=1e-5)


def test_shape_is_told_by_the_weights():
    config = vit_config(old_names(tiny_vit().state_dict()))
    assert (config.hidden_size, config.num_hidden_layers, config.num_attention_heads) == (64, 2, 1)
    assert (config.image_size, config.patch_size, config.intermediate_size) == (32, 16, 48)
    assert config.pooler_act == "tanh"


def test_weights_that_are_no_transformer():
    state = tiny_vit().state_dict()
    del state["pooler.dense.weight"]
    with pytest.raises(ValueError, match="pooling layer"):
        build_vit(state, "vit")
    state = tiny_vit().state_dict() | {"more.weight": torch.ones(1)}
    with pytest.raises(ValueError, match=r"^`checkpoint`.*more\.weight"):
        build_vit(state, "vit")
    del state["more.weight"], state["layernorm.bias"]
    with pytest.raises(ValueError, match=r"^`checkpoint`.*layernorm\.bias"):
        build_vit(state, "vit")


@pytest.fixture(params=["authors", "ours", "ours, old names"])
def checkpoint(request, tmp_path):
    if request.param == "authors":
        return write_authors(tmp_path / "r2p_model_epoch2.pth.tar")
    return write_ours(tmp_path / "mine", old="old" in request.param)


def test_checkpoints(checkpoint, lazy_images, images):
    model = grounding_model(checkpoint)
    image_weight, image_bias, text_weight, text_bias = heads()
    expected = np.tanh(plain_pooled(images) @ image_weight.T + image_bias)
    assert model.regions(lazy_images) == pytest.approx(expected / np.linalg.norm(expected, axis=1)[:, None], abs=1e-5)
    vectors = np.random.default_rng(3).normal(size=(2, TEXT_WIDTH))
    expected = np.tanh(vectors @ text_weight.T + text_bias)
    assert model.words(vectors) == pytest.approx(expected / np.linalg.norm(expected, axis=1)[:, None], abs=1e-6)
    assert model.words(np.zeros((0, TEXT_WIDTH))).shape == (0, WIDTH)
    weights = checkpoint / "model.safetensors" if checkpoint.is_dir() else checkpoint
    assert model.identity == f"local@sha256-{hashlib.sha256(weights.read_bytes()).hexdigest()[:12]}"
    assert grounding_model(checkpoint) is model


def test_word_vectors_of_another_width(checkpoint):
    with pytest.raises(ValueError, match=r"^`glove_path`.*5.*got 6"):
        grounding_model(checkpoint).words(np.ones((2, 6)))


def test_no_checkpoint(tmp_path):
    with pytest.raises(WeightsNotFoundError, match=r"^`checkpoint`.*r2p_model_epoch2.*rovist_vg"):
        grounding_model()
    with pytest.raises(WeightsNotFoundError, match="'none'"):
        grounding_model(tmp_path / "none")
    with pytest.raises(WeightsNotFoundError, match=r"'model\.safetensors'"):
        grounding_model(tmp_path)
    (write_ours(tmp_path / "half") / "config.json").unlink()
    with pytest.raises(WeightsNotFoundError, match=r"'config\.json'"):
        grounding_model(tmp_path / "half")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{", r".*JSON.*line 1"),
        ("[]", r"format vlgauge-grounding-1.*got 'list'"),
        ('{"format": "x"}', r"format vlgauge-grounding-1.*got 'x'"),
        ('{"format": "vlgauge-grounding-1"}', r"'image_encoder'.*got None"),
        (
            '{"format": "vlgauge-grounding-1", "image_encoder": [], "word_vectors": {}}',
            r"'image_encoder'.*got \[\]",
        ),
        (
            '{"format": "vlgauge-grounding-1", "image_encoder": "x", "word_vectors": ["y"]}',
            r"'word_vectors'.*got 'x'.*'y'",
        ),
        (
            '{"format": "vlgauge-grounding-1", "image_encoder": "x", "word_vectors": {}, "image_encoder_sha256": 3}',
            r"got 'x' \(3\)",
        ),
    ],
)
def test_broken_configurations(tmp_path, config, message):
    folder = write_ours(tmp_path / "mine")
    (folder / "config.json").write_text(config)
    with pytest.raises(ValueError, match=f"`checkpoint` must .*config.json.*{message}|`checkpoint` must {message}"):
        grounding_model(folder)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"text_head.bias": None}, r".*got none.*'text_head\.bias'"),
        ({"text_head.bias": torch.ones(WIDTH + 1)}, "contain heads"),
        (
            {"text_head.bias": torch.full((WIDTH,), torch.nan)},
            r".*got NaN.*text_head\.bias",
        ),
        ({"image_head.weight": torch.ones(WIDTH, 63)}, r".*64 values.*63"),
    ],
)
def test_broken_heads(tmp_path, tensors, message):
    folder = write_ours(tmp_path / "mine", **tensors)
    with pytest.raises(ValueError, match=f"`checkpoint` must {message}"):
        grounding_model(folder)


def test_files_of_something_else(tmp_path):
    torch.save({"state_dict": {}}, tmp_path / "other.pth")
    with pytest.raises(ValueError, match=r"^`checkpoint`.*'model'.*other\.pth"):
        grounding_model(tmp_path / "other.pth")
    torch.save({"model": {"image_encoder.linear.weight": 3}}, tmp_path / "numbers.pth")
    with pytest.raises(ValueError, match=r"^`checkpoint`.*state dict"):
        grounding_model(tmp_path / "numbers.pth")
    write_authors(tmp_path / "more.pth", **{"text_encoder.linear.bias": 3})
    with pytest.raises(ValueError, match=r"got int.*'text_encoder\.linear\.bias'"):
        grounding_model(tmp_path / "more.pth")
    write_authors(tmp_path / "more.pth", extra=torch.ones(1))
    with pytest.raises(ValueError, match="got also 'extra'"):
        grounding_model(tmp_path / "more.pth")
    folder = write_ours(tmp_path / "mine", config={"image_encoder": "vlgauge-toy-clip"})
    with pytest.raises(ValueError, match=r"^`checkpoint`.*two"):
        grounding_model(folder)


def test_code_in_a_checkpoint_is_not_run(tmp_path):
    class Evil:
        def __reduce__(self):
            return (print, ("executed",))

    torch.save({"model": Evil()}, tmp_path / "evil.pth")
    with pytest.raises(ValueError, match="executed"):
        grounding_model(tmp_path / "evil.pth")


def test_heads_are_plain_functions():
    matrices = [matrix.astype(np.float64) for matrix in heads()]
    model = Heads(*matrices)
    rows = np.random.default_rng(4).normal(size=(6, 64))
    assert model.image(rows)[::-1] == pytest.approx(model.image(rows[::-1].copy()), rel=1e-12)


@pytest.fixture(autouse=True)
def _unload():
    yield
    pool.unload()
