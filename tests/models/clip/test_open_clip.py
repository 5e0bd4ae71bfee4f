"""Backbones that open_clip lists: its metadata, and its ids, pixels and embeddings on small generated weights."""

from copy import deepcopy
from dataclasses import asdict, replace

import numpy as np
import pytest
from PIL import Image
from safetensors.torch import save_file

from vlgauge.inputs.images.cells import image_cell
from vlgauge.inputs.images.lazy_images import WholeImage
from vlgauge.models.clip.architectures import TABLE
from vlgauge.models.clip.backbones import open_clip_architecture
from vlgauge.models.clip.loading import clip_encoder
from vlgauge.models.clip.pixels import prepare_image

# Fields of a row in addition to its architecture. open_clip has the other ones for the models that it lists.
OF_OURS = {"name", "repository", "revision", "files", "sha256", "openai_sha256", "licence", "aliases", "only_for"}
PAIRS = {row.name: alias for row in TABLE.values() for alias in row.aliases if ":" in alias}
TEXTS = ["a dog", "Two cats &amp; a mat, asleep.", "word " * 90]
# A small image tower of timm in the place of one of its kind.
SMALLER = {"convnext_base": "convnext_atto", "eva02_base_patch16_clip_224": "eva02_tiny_patch14_224"}


def small(name):
    """Return keyword arguments of open_clip's model for a row, of the same kind with one or two layers."""
    import open_clip

    config = deepcopy(open_clip.get_model_config(TABLE[name].architecture))
    image, text = config["vision_cfg"], config["text_cfg"]
    text |= {"width": 32, "heads": 1, "layers": 2}
    if trunk := image.get("timm_model_name"):
        image["timm_model_name"] = SMALLER[trunk]
    elif TABLE[name].resnet:
        image |= {"layers": [1, 1, 1, 1], "width": 8}
    else:
        image |= {"layers": 2, "width": 64, "head_width": 64}
    return {**config, "embed_dim": 32}


def new_model(config):
    """Build an open_clip model from its keyword arguments."""
    import open_clip

    kind = open_clip.CustomTextCLIP if config.pop("custom_text", False) else open_clip.CLIP
    return kind(**config)


@pytest.mark.parametrize("name", PAIRS)
def test_a_row_says_what_open_clip_says(name):
    row, theirs = (asdict(found) for found in (TABLE[name], open_clip_architecture(PAIRS[name])))
    assert {key: row[key] for key in row.keys() - OF_OURS} == {key: theirs[key] for key in row.keys() - OF_OURS}


@pytest.mark.parametrize("name", PAIRS)
def test_numbers_are_those_of_open_clip(name, tmp_path):
    import open_clip
    import torch
    from open_clip.transform import PreprocessCfg, image_transform_v2

    architecture, _, tag = PAIRS[name].partition(":")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = new_model(small(name)).eval()
    save_file(model.state_dict(), tmp_path / "open_clip_model.safetensors")
    row = replace(TABLE[name], config=small(name), embed_width=32)
    # None of them has another tokenizer than the plain one.
    assert not [key for key in open_clip.get_model_config(architecture)["text_cfg"] if "tokenizer" in key]
    published = open_clip.get_pretrained_cfg(architecture, tag)
    keywords = {key: published[key] for key in ("mean", "std", "interpolation", "resize_mode") if key in published}
    transform = image_transform_v2(PreprocessCfg(size=row.size, **keywords), is_train=False)

    rng = np.random.default_rng(0)
    drawn = [Image.fromarray(rng.integers(0, 256, (*size, 3), np.uint8)) for size in ((61, 99), (400, 250))]
    lazy_images = [WholeImage(image_cell(image, "images"), "images") for image in drawn]
    encoder = clip_encoder(row, weights=tmp_path, device="cpu")
    texts = encoder.project(encoder.text_hidden(TEXTS).end, "text")
    images = encoder.project(encoder.image_hidden(lazy_images), "image")
    with torch.no_grad():
        their_pixels = torch.stack([transform(image) for image in drawn])
        their_images = model.encode_image(their_pixels).numpy()
        their_texts = model.encode_text(open_clip.tokenize(TEXTS)).numpy()
    pixels = np.stack([prepare_image(lazy_image, row) for lazy_image in lazy_images]) / 255
    normal = ((pixels - row.mean) / row.std).transpose(0, 3, 1, 2)
    np.testing.assert_allclose(normal, their_pixels, rtol=0, atol=1e-5)
    np.testing.assert_allclose(texts, their_texts, rtol=0, atol=2e-5)
    np.testing.assert_allclose(images, their_images, rtol=0, atol=2e-5)
