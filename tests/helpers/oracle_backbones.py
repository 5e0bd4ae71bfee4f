"""Backbones of the oracles: generated weights in the released layouts, with the outputs of the authors' code."""

import importlib.util
import json
import lzma
from dataclasses import replace

import numpy as np

from vlgauge.inputs.images.cells import image_cell
from vlgauge.inputs.images.lazy_images import WholeImage
from vlgauge.models.clip.architectures import TABLE

# Their code ignores the tag of orientation, which is applied here.
TURNED = "11_rgb_exif6_80x50.jpg"


def maker(folder, name):
    """Import the module that generates the weights of an oracle with NumPy only."""
    spec = importlib.util.spec_from_file_location(f"{folder.name}_{name}", folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def unpacked(packed, path):
    """Write the decompressed content of an oracle file."""
    path.write_bytes(lzma.decompress(packed.read_bytes()))
    return path


def inputs(folder):
    """Return the texts and the image names of an oracle."""
    given = json.loads((folder / "inputs.json").read_text("utf-8"))
    return {row["id"]: row["text"] for row in given["texts"]}, sorted(
        path.name for path in (folder / "images").iterdir()
    )


def oracle_images(folder, names):
    """Return the images of an oracle."""
    return [WholeImage(image_cell(folder / "images" / name, name), name) for name in names]


def arrays(path):
    """Return the arrays of an oracle file, keyed by name."""
    with np.load(path) as file:
        return dict(file)


def unit(vectors):
    """Return the L2-normalized vectors."""
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def tiny_clip_row(name, shape):
    """Return the table row with the sizes of a generated model: a CLIP, or a Long-CLIP."""
    config = {
        "embed_dim": shape["d"],
        "quick_gelu": True,
        "vision_cfg": {
            "image_size": shape["res"],
            "layers": shape["vl"],
            "width": shape["vw"],
            "patch_size": shape["p"],
            "head_width": 64,
        },
        "text_cfg": {
            "context_length": shape["ctx"],
            "vocab_size": 49408,
            "width": shape["tw"],
            "heads": shape["tw"] // 64,
            "layers": shape["tl"],
        },
    }
    return replace(TABLE[name], embed_width=shape["d"], size=shape["res"], config=config, revision=None, sha256=None)
