"""A T5 with random weights and facts as words, so that its outputs are meaningless graphs."""

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

WORDS = [
    *("a", "the", "dog", "cat", "horse", "man", "bus", "box", "bed", "red", "brown", "small"),
    *("is", "ride", "runs", "on", "in", "of", "and", ".", "generate", "scene", "graph", ":"),
]
FACTS = [f"(thing{i},{said}{i})" for i in range(50) for said in ("is,quality", "near,thing", "on,thing", "in,thing")]
PADDING, END, UNKNOWN = "<pad>", "</s>", "<unk>"
CAPTIONS = [
    "a dog",
    "a brown dog is on the red bus",
    "the man and the horse ride in a small red box",
    "a cat . the dog runs",
    "man",
    "the small cat is on the bed and the brown dog is in the box",
]


def tiny_t5(seed=0, facts=FACTS, **settings):
    """Return model and tokenizer, which can generate only the words of `facts` and the end token."""
    vocabulary = {word: i for i, word in enumerate([PADDING, END, UNKNOWN, *WORDS, *facts])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(single=f"$A {END}", special_tokens=[(END, 1)])
    torch.manual_seed(seed)
    sizes = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 2}
    config = T5Config(
        vocab_size=len(vocabulary), feed_forward_proj="gated-gelu", pad_token_id=0,
        eos_token_id=1, decoder_start_token_id=0, **({"tie_word_embeddings": False} | sizes | settings),
    )  # fmt: skip
    model = T5ForConditionalGeneration(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.normal_(0, 1 if parameter.shape[0] == len(vocabulary) else 2 * parameter.shape[1] ** -0.5)
        if not config.tie_word_embeddings:
            # One of the facts is always more likely than a word with zero weights.
            model.lm_head.weight[[0, *range(2, 3 + len(WORDS))]] = 0.0
            model.lm_head.weight[1] *= 2
    special = {"pad_token": PADDING, "eos_token": END, "unk_token": UNKNOWN}
    return model, PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=512, **special)


def written_t5(folder, **settings):
    """Write such a model into a folder."""
    model, tokenizer = tiny_t5(**settings)
    model.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    return folder
