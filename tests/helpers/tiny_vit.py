"""A vision transformer of two layers with random weights, and checkpoints of it in both layouts."""

import json

import numpy as np
import torch
from safetensors.torch import save_file

TEXT_WIDTH, WIDTH = 5, 7

# transformers 5 -> transformers 4, and so the published files.
OLD_NAMES = (
    ("layers.", "encoder.layer."),
    (".attention.q_proj.", ".attention.attention.query."),
    (".attention.k_proj.", ".attention.attention.key."),
    (".attention.v_proj.", ".attention.attention.value."),
    (".attention.o_proj.", ".attention.output.dense."),
    (".mlp.fc1.", ".intermediate.dense."),
    (".mlp.fc2.", ".output.dense."),
)


def tiny_vit(seed=0):
    """Return the model in evaluation mode."""
    from transformers import ViTConfig, ViTModel

    generator = torch.Generator().manual_seed(seed)
    config = ViTConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=1, intermediate_size=48, image_size=32, patch_size=16
    )
    model = ViTModel(config).eval()
    for name, tensor in model.state_dict().items():
        scale = 0.2 if tensor.ndim > 1 else 0.05
        tensor.copy_(torch.randn(tensor.shape, generator=generator) * scale + ("norm" in name and "weight" in name))
    return model


def old_names(state):
    """Return the tensors under the names of the published files."""
    renamed = {}
    for name, tensor in state.items():
        for new, old in OLD_NAMES:
            name = name.replace(new, old)
        renamed[name] = tensor
    return renamed


def heads(seed=1):
    """Return image weight, image bias, text weight and text bias."""
    rng = np.random.default_rng(seed)
    shapes = ((WIDTH, 64), (WIDTH,), (WIDTH, TEXT_WIDTH), (WIDTH,))
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


def write_authors(path, **more):
    """Write a checkpoint in the format of the authors of RoViST."""
    image = {f"image_encoder.image_model.{k}": v for k, v in old_names(tiny_vit().state_dict()).items()}
    names = ("image_encoder.linear.weight", "image_encoder.linear.bias", "text_encoder.linear.weight")
    tensors = zip((*names, "text_encoder.linear.bias"), map(torch.from_numpy, heads()), strict=True)
    torch.save({"epoch": 2, "model": image | dict(tensors) | more, "valid_loss": 1.0, "train_loss": [1.0]}, path)
    return path


def write_ours(folder, *, old=False, config=None, **more):
    """Write a checkpoint in our format."""
    folder.mkdir(exist_ok=True)
    state = tiny_vit().state_dict()
    tensors = {f"image_encoder.{k}": v.contiguous() for k, v in (old_names(state) if old else state).items()}
    names = ("image_head.weight", "image_head.bias", "text_head.weight", "text_head.bias")
    tensors |= dict(zip(names, map(torch.from_numpy, heads()), strict=True)) | more
    save_file({name: tensor for name, tensor in tensors.items() if tensor is not None}, folder / "model.safetensors")
    known = {
        "format": "vlgauge-grounding-1",
        "image_encoder": "google/vit-base-patch16-224-in21k",
        "word_vectors": {"file": "v.txt", "sha256": None},
    }
    (folder / "config.json").write_text(json.dumps(known | (config or {})))
    return folder
