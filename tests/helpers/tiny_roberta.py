"""Small RoBERTa for tests, with the files and tensor names of the published models, including the pretraining head."""

import json

LAYERS = 3
MERGES = ("Ġ a", "Ġ d", "Ġd o", "d o", "Ġ t", "t h", "Ġt h", "i n", "in g", "c a", "ca t", "Ġ ca", "o n", "Ġ on")


def roberta(folder, seed=0, **settings):
    """Write a folder with a RoBERTa of byte pairs, and return the folder.

    Args:
        folder: Folder to create.
        seed: Seed of the weights.
        **settings: Other values of the configuration, such as ``hidden_size``.
    """
    import torch
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import RobertaConfig, RobertaForMaskedLM

    folder.mkdir(parents=True)
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *sorted(ByteLevel.alphabet())]
    pieces += ["".join(merge.split()) for merge in MERGES] + ["<mask>"]
    (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}), "utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(MERGES) + "\n", "utf-8")
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "RobertaTokenizer", "model_max_length": 40}), "utf-8"
    )
    own = {"hidden_size": 16, "num_hidden_layers": LAYERS, "num_attention_heads": 2, "intermediate_size": 32}
    config = RobertaConfig(
        **{**own, "vocab_size": len(pieces), "max_position_embeddings": 42, "type_vocab_size": 1, **settings}
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        RobertaForMaskedLM(config).save_pretrained(str(folder))
    return folder


def write_wave_weights(folder):
    """Replace the weights in a folder by sines of their index, which are the same with every version of torch."""
    import numpy as np
    import torch
    from safetensors.torch import load, save_file

    path = folder / "model.safetensors"
    found = {}
    for number, (name, tensor) in enumerate(sorted(load(path.read_bytes()).items())):
        wave = np.sin(np.arange(tensor.numel()) * 1.37 + number) * (0.02 if tensor.ndim == 1 else 0.3)
        norm = 1.0 if name.endswith("LayerNorm.weight") else 0.0
        found[name] = torch.from_numpy((wave + norm).reshape(tensor.shape).astype(np.float32))
    save_file(found, path, metadata={"format": "pt"})
