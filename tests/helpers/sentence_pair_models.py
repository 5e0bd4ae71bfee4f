"""The tiny model of sentence order in its folders."""

import torch
from tiny_rovist_c import CHECKPOINT, TINY
from transformers import (
    AlbertConfig,
    AlbertForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
)

from vlgauge.models.pairs.loading import pair_scorer
from vlgauge.models.pairs.models import read_authors_checkpoint

PAIRS = [("A dog ran.", "It stopped."), ("It stopped.", "A dog ran."), ("Rain.", "the dog ran home . again and again")]
SIZES = {"vocab_size": 400, "max_position_embeddings": 64}
SMALL = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, **SIZES}


def authors_model():
    """Return the authors' model as a transformers model."""
    config = AlbertConfig.from_pretrained(str(TINY))
    model = AlbertForSequenceClassification(config)
    state = read_authors_checkpoint(CHECKPOINT)
    state.pop("albert.embeddings.position_ids")
    model.load_state_dict(state)
    return model


def written(folder, model, **labels):
    """Write a model and the tiny tokenizer into a folder."""
    for name, value in labels.items():
        setattr(model.config, name, value)
    model.save_pretrained(str(folder))
    AutoTokenizer.from_pretrained(str(TINY)).save_pretrained(str(folder))
    return folder


def values_of(model, base=None, pairs=PAIRS, **options):
    return pair_scorer(str(model), base and str(base)).probabilities(pairs, **options).values


def bert(num_labels=2, **settings):
    torch.manual_seed(4)
    return BertForSequenceClassification(BertConfig(num_labels=num_labels, **{**SMALL, **settings}))
