"""The smallest CLIP that the metrics support: random weights in a temporary file, and its table row."""

import importlib.util
import json
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from folders import GOLDEN

from vlgauge.inputs.images.cells import image_cell
from vlgauge.inputs.images.lazy_images import WholeImage
from vlgauge.models.clip.architectures import ClipArchitecture

PAC_S = GOLDEN / "pac_s"
IMAGES = PAC_S / "images"

TINY_CONFIG = {
    "embed_dim": 32,
    "quick_gelu": True,
    "vision_cfg": {"image_size": 224, "layers": 2, "width": 128, "patch_size": 32, "head_width": 64},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 1, "layers": 2},
}
TINY = ClipArchitecture("tiny", "tiny-quickgelu", None, 32, config=TINY_CONFIG)


@cache
def rand_clip():
    """Import the module that generates the weights with NumPy only."""
    spec = importlib.util.spec_from_file_location("rand_clip", PAC_S / "rand_clip.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    make, remembered = module.make, lru_cache(maxsize=4)(module.make)  # takes 0.2 seconds; tests must not modify them

    def make_once(config="tiny", seed=0, align=0.8):
        return (remembered if config == "tiny" else make)(config, seed, align)

    module.make = make_once
    return module


def tiny_state(seed=0, align=0.8, config="tiny"):
    """Return the tensors under OpenAI's names, new torch tensors at each call."""
    return rand_clip().to_torch(rand_clip().make(config, seed, align))


def write_tiny(folder, seed=0, align=0.8, *, suffix=".safetensors", config="tiny", extra=None):
    """Write the weights of `make(config, seed, align)` and the `extra` tensors, and return the path.

    The suffix ".pth" writes ``{"state_dict": ...}`` with `torch.save`.
    """
    import torch
    from safetensors.torch import save_file

    path = Path(folder) / f"{config}_s{seed}_a{align}{suffix}"
    if extra is None and path.is_file():
        return path
    state = {**tiny_state(seed, align, config), **(extra or {})}
    if suffix == ".safetensors":
        save_file(state, path)
    else:
        torch.save({"state_dict": state}, path)
    return path


def golden_json(name):
    """Return the content of a file of golden values."""
    return json.loads((PAC_S / name).read_text("utf-8"))


def golden_arrays(name):
    """Return the arrays of a file of golden values, keyed by name."""
    with np.load(PAC_S / name) as file:
        return dict(file)


PROMPT = "A photo depicts "
INPUTS = golden_json("inputs.json")


def lazy_images_of(case="edge", convert="late"):
    """Return the images of a case of the golden inputs."""
    names = INPUTS[case]["images"]
    return [WholeImage(image_cell(IMAGES / name, name), name, convert) for name in names]


def check_vectors(encoder, arrays, case):
    """Check the embeddings of a case of the golden inputs against the `arrays` of the authors' code."""
    images = encoder.image_hidden(lazy_images_of(case))
    texts = encoder.text_hidden(INPUTS[case]["candidates"], prompt=PROMPT, tokens=True)
    for ids, wanted in zip(texts.ids, arrays[f"{case}/tokens"], strict=True):
        np.testing.assert_array_equal(ids, wanted[: len(ids)])
        assert not wanted[len(ids) :].any()
    found = {
        "image_hidden": images,
        "text_hidden": texts.end,
        "image_features": encoder.project(images, "image"),
        "text_features": encoder.project(texts.end, "text"),
    }
    if len(texts.ids) > 7:
        found["text_token_features_row7"] = encoder.project(texts.tokens[7], "text")
    for name, vectors in found.items():
        assert vectors.dtype == np.float32
        if f"{case}/{name}" in arrays:
            np.testing.assert_allclose(vectors, arrays[f"{case}/{name}"], rtol=0, atol=1e-5, err_msg=name)
