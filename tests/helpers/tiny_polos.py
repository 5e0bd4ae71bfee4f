"""Small models of Polos for tests: a BERT of letters, and heads for it and the tiny CLIP."""

import string

import numpy as np
from tiny_clip import TINY

from vlgauge.models.clip.loading import clip_encoder
from vlgauge.models.rated import models as polos_models
from vlgauge.models.rated.files import head_of, metadata_of, write_head

WIDTH, LAYERS = 16, 2


def text_encoder(folder, seed=0, kind="bert"):
    """Write a folder with a BERT of two layers and its tokenizer, whose words are letters."""
    import torch
    from transformers import BertConfig, BertModel

    folder.mkdir(parents=True)
    letters = string.ascii_lowercase + string.digits + string.punctuation
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", "utf-8")
    (folder / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "BertTokenizer", "do_lower_case": true}', "utf-8"
    )
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=40,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        BertModel(config).save_pretrained(str(folder))
    return folder


def tensors(n_in, seed=0, hidden=(8, 4), layers=LAYERS + 1):
    """Return the tensors of a head under the names of the authors' checkpoint."""
    rng = np.random.default_rng(seed)
    sizes = [n_in, *hidden, 1]
    found = {f"scalar_mix.scalar_parameters.{i}": rng.normal(size=1) for i in range(layers)}
    found["scalar_mix.gamma"] = np.array([1.2])
    for number in (1, 2, 3):
        shape = sizes[number], sizes[number - 1]
        found[f"ff.0.ff.linear_{number}.weight"] = rng.normal(size=shape) / np.sqrt(shape[1])
        found[f"ff.0.ff.linear_{number}.bias"] = rng.normal(size=shape[0])
    return {name: array.astype(np.float32) for name, array in found.items()}


def head(path, clip, text, seed=0):
    """Write a head for the tiny CLIP of a file and a text encoder of a folder."""
    encoder = clip_encoder(TINY, weights=clip, device="cpu")
    texts = polos_models.text_encoder_of(str(text), profile="paper", device="cpu")
    about = metadata_of(encoder.model.state_dict(), encoder.architecture, texts)
    write_head(path, head_of(tensors(4 * texts.width + 6 * TINY.embed_width, seed), about, "the test"))
    return path


def settings(folder, clip, seed=0, text_seed=0):
    """Return settings of the metric with these models, which are created in a folder."""
    text = folder / f"text_{text_seed}"
    if not text.is_dir():
        text_encoder(text, text_seed)
    path = folder / f"head_{seed}_{text_seed}_{clip.stem}.safetensors"
    if not path.is_file():
        head(path, clip, text, seed)
    return {"backbone": TINY, "weights": clip, "text_encoder": str(text), "checkpoint": str(path)}
