"""A tiny captioner of drawn scenes with random weights: what the two trainings next to this file share.

It reads pictures of one object, and writes words like "a small red circle on a white background".
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn
from transformers import (
    AutoConfig,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    VisionEncoderDecoderModel,
)
from transformers.modeling_outputs import BaseModelOutput

from vlgauge import scenes

SIDE = 48  # of a picture, in pixels
MAX_TOKENS = 24
PAD, START, END, UNKNOWN = "<pad>", "<s>", "</s>", "<unk>"


class DrawnImageConfig(PreTrainedConfig):
    """Size of a `DrawnImageEncoder`."""

    model_type = "drawn-pictures"
    hidden_size: int = 128


AutoConfig.register(DrawnImageConfig.model_type, DrawnImageConfig, exist_ok=True)


class DrawnImageEncoder(PreTrainedModel):
    """Four convolutions, and of each of their features the strongest anywhere in the picture."""

    config_class = DrawnImageConfig
    main_input_name = "pixel_values"

    def __init__(self, config: DrawnImageConfig) -> None:
        super().__init__(config)
        widths = [3, 16, 32, 64, config.hidden_size]
        self.layers = nn.Sequential(
            *itertools.chain.from_iterable(
                (nn.Conv2d(n_in, n_out, 3, 1 + (n_in > 3), 1, bias=False), nn.BatchNorm2d(n_out), nn.ReLU())
                for n_in, n_out in itertools.pairwise(widths)
            )
        )
        # What all pictures have in common would drown what tells shapes apart.
        self.norm = nn.BatchNorm1d(config.hidden_size)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Those that PyTorch gives; the small ones of large models learn nothing here."""

    def forward(self, pixel_values: torch.Tensor, **kwargs: Any) -> BaseModelOutput:
        """One vector per picture, shape ``(n, 1, hidden_size)``, from pixels of shape ``(n, 3, SIDE, SIDE)``."""
        return BaseModelOutput(self.norm(self.layers(pixel_values).amax((2, 3)))[:, None])


def captioner(seed: int, words: PreTrainedTokenizerFast) -> VisionEncoderDecoderModel:
    """Random weights of a seed."""
    torch.manual_seed(seed)
    tokens = {
        "pad_token_id": words.pad_token_id,
        "bos_token_id": words.bos_token_id,
        "eos_token_id": words.eos_token_id,
    }
    decoder = GPT2Config(
        vocab_size=len(words),
        n_positions=64,
        n_embd=64,
        n_layer=1,
        n_head=4,
        add_cross_attention=True,
        initializer_range=0.1,  # for vectors as short as these
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        **tokens,
    )
    model = VisionEncoderDecoderModel(encoder=DrawnImageEncoder(DrawnImageConfig()), decoder=GPT2LMHeadModel(decoder))
    for config in (model.config, model.generation_config):
        config.update({**tokens, "decoder_start_token_id": words.bos_token_id})
    model.generation_config.update(do_sample=True, top_k=0, max_new_tokens=MAX_TOKENS)
    return model


def tokenizer() -> PreTrainedTokenizerFast:
    """One token per word of the captions."""
    told = [text for scene in single_scenes("train") for text in scenes.captions(scene, seed=0, n=8)]
    known = [PAD, START, END, UNKNOWN, *sorted({word for text in told for word in text.split()})]
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(known)}, unk_token=UNKNOWN))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token=PAD, bos_token=START, eos_token=END, unk_token=UNKNOWN
    )


def single_scenes(split: str) -> list[scenes.Scene]:
    """All scenes of one object; no content is in two splits."""
    properties = itertools.product(scenes.SHAPES, scenes.COLOURS, scenes.SIZES, scenes.BACKGROUNDS)
    every = [scenes.Scene((scenes.SceneObject(*thing),), None, background) for *thing, background in properties]
    return [scene for scene in every if scene.split == split]


def pixels(images: list[Any]) -> torch.Tensor:
    """Pictures as the encoder takes them, shape ``(n, 3, SIDE, SIDE)``, in -1..1."""
    return torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).float() / 127.5 - 1


def labels(texts: list[str], words: PreTrainedTokenizerFast) -> torch.Tensor:
    """Captions as token ids, each with its end, filled up with -100."""
    rows = [torch.tensor(words(f"{text} {END}")["input_ids"]) for text in texts]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-100)
