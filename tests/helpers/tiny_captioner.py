"""A tiny encoder-decoder that generates words of synthetic scenes from meaningless input, and rows for it."""

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    PreTrainedTokenizerFast,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
    Trainer,
    TrainingArguments,
)
from transformers import T5ForConditionalGeneration as T5

from vlgauge import scenes

WORDS = [word for line in (scenes.COLOURS, scenes.SHAPES, scenes.SIZES, scenes.BACKGROUNDS) for word in line]
WORDS += ["a", "on", "above", "below", "background"]


def tokenizer():
    """Return a tokenizer with one token per word."""
    vocabulary = {word: i for i, word in enumerate(["<pad>", "</s>", "<unk>", *WORDS])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")


def model(seed=4, size=16):
    """Return a model with random weights. Seed 4 generates different captions under every version of transformers."""
    torch.manual_seed(seed)
    config = T5Config(
        vocab_size=len(WORDS) + 3, d_model=size, d_kv=8, d_ff=32, num_layers=1, num_heads=2, decoder_start_token_id=0
    )
    return T5(config)


def rows(n, repeated=1, size=64):
    """Return scenes with captions and images of `size` pixels, each scene in `repeated` consecutive rows."""
    words, made = tokenizer(), []
    for number, scene in enumerate(scenes.scenes(n, seed=0, split="test")):
        image = scenes.draw_scene(scene, size=size).image
        told = [text for seed in range(2) for text in scenes.captions(scene, seed=seed)]
        made += [
            {
                "input_ids": [3 + (number + i) % 20 for i in range(2 + number % 3)],
                "labels": [*words(" ".join(label.label for label in scene.objects))["input_ids"], 1],
                "image": image,
                "captions": told,
                "scene": number,
            }
        ] * repeated
    return made


def collate(batch):
    """Pad the ids to the same length."""

    def filled(name, value):
        width = max(len(row[name]) for row in batch)
        return torch.tensor([row[name] + [value] * (width - len(row[name])) for row in batch])

    ids = filled("input_ids", 0)
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": filled("labels", -100)}


def captions_of(model, rows):
    """Return the captions of the most likely words, generated one row at a time."""
    words = tokenizer()
    ids = [model.generate(torch.tensor([row["input_ids"]]), max_length=8, do_sample=False)[0] for row in rows]
    return [words.decode(row, skip_special_tokens=True) for row in ids]


ARGUMENTS = {
    "per_device_eval_batch_size": 4,
    "report_to": [],
    "use_cpu": True,
    "disable_tqdm": True,
    "remove_unused_columns": False,
    "seed": 0,
}


def plain_trainer(folder, data, evaluation, **arguments):
    """Return a `Trainer`, which does not generate, with an evaluation attached."""
    made = Trainer(
        model(),
        TrainingArguments(str(folder), **ARGUMENTS, **arguments),
        data_collator=collate,
        train_dataset=data,
        eval_dataset=data,
    )
    evaluation.attach(made)
    return made


def trainer(folder, data, metrics, *, batch_eval=False, callbacks=None, train=None, **arguments):
    """Return a trainer that evaluates `data` with `metrics`."""
    chosen = {
        **ARGUMENTS,
        "predict_with_generate": True,
        "generation_max_length": 8,
        "batch_eval_metrics": batch_eval,
        **arguments,
    }
    return Seq2SeqTrainer(
        model(),
        Seq2SeqTrainingArguments(str(folder), **chosen),
        data_collator=collate,
        train_dataset=train,
        eval_dataset=data,
        compute_metrics=metrics,
        processing_class=tokenizer(),
        callbacks=callbacks,
    )
