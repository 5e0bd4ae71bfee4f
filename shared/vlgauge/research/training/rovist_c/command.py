"""Training of a classifier of sentence order: corpora, epochs, measurement, and all outputs."""

import argparse
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from vlgauge.checkpoints.torch_runtime import resolve_device
from vlgauge.core.errors import UsageError
from vlgauge.models.pairs.classifier import longest_input, takes_segments
from vlgauge.research.training.loop import Figures, train_epochs
from vlgauge.research.training.options import one_training, recipe_of
from vlgauge.research.training.report import RECORD, epoch_facts, write_report
from vlgauge.research.training.rovist_c import classifier, stories
from vlgauge.research.training.rovist_c.options import DEFAULTS

N_TEST_STORIES = 1_000
# Seeds of the synthetic stories of training and test, which belong to different splits.
SCENES_SEED, TEST_SEED = 1, 2
# Output files of a finished training with fixed names.
MAIN_FILES = ("model.safetensors", "config.json", RECORD, "README.md")

FIGURES = ("training_loss", "training_accuracy", "validation_loss", "validation_accuracy")


@dataclass(frozen=True)
class Corpus:
    """Stories for training, validation and test. Test stories do not affect the training, and may be empty."""

    name: str
    training: stories.Stories
    validation: stories.Stories
    test: stories.Stories


def read_corpus(options: argparse.Namespace) -> Corpus:
    """Read the stories that the options select.

    Raises:
        ValueError: If there are no stories.
    """
    found: stories.Stories = []
    names = []
    for kind, read in stories.READERS.items():
        for path in getattr(options, kind):
            found += read(path)
            names.append(f"{kind} ({Path(path).name})")
    if options.scenes:
        found += stories.draw_stories(options.scenes, SCENES_SEED, "train")
        names.append(f"{options.scenes} stories about synthetic scenes")
    if not found:
        raise UsageError("a corpus is required; pass --vist, --rocstories, --jsonl or --scenes")
    training, validation = stories.split_stories(found, options.seed)
    test = stories.draw_stories(N_TEST_STORIES, TEST_SEED, "test") if options.scenes else []
    return Corpus(", ".join(names), training, validation, stories.read_jsonl(options.test) if options.test else test)


def run(options: argparse.Namespace, say: Callable[[str], object]) -> None:
    """Read, train, measure, and write all outputs."""
    with one_training(options, MAIN_FILES, say):
        _run(options, say)


def _run(options: argparse.Namespace, say: Callable[[str], object]) -> None:
    recipe = recipe_of(options, DEFAULTS)
    device = resolve_device(options.device)
    corpus = read_corpus(options)
    torch.manual_seed(recipe.seed)
    if options.fresh:
        tokenizer, model, base = classifier.fresh_model(sentence for story in corpus.training for sentence in story)
    else:
        tokenizer, model, base = classifier.base_model(options.base)
    training, validation = (encode_stories(tokenizer, model, side) for side in (corpus.training, corpus.validation))
    say(f"{base} on {device}: {corpus.name}; {len(training)} training samples, {len(validation)} validation samples")
    data = data_digest(base, training, validation)
    keep = partial(classifier.save_model, options.output, tokenizer, model, half=options.half)

    def run_epoch(optimizer: Any, epoch: int) -> Figures:
        return classifier.run_epoch(model, training, optimizer, recipe, epoch)

    def validated() -> Figures:
        found = classifier.evaluate_model(model, validation)
        return {f"validation_{name}": found[name] for name in ("loss", "accuracy")}

    state = train_epochs(model, recipe, run_epoch, validated, options, data=data, device=device, keep=keep, say=say)
    found = measure_model(options.output, tokenizer, model, corpus, validation)
    for name, value in found.items():
        say(f"{name.replace('_', ' ')}: {value}")
    record = {
        "base": base,
        "corpus": corpus.name,
        "training_samples": len(training),
        **found,
        "training_stories": len(corpus.training),
        "validation_stories": len(corpus.validation),
        "test_stories": len(corpus.test),
        **epoch_facts(state, asdict(recipe)),
    }
    write_report(options, record, "rovist_c", FIGURES)


def data_digest(base: str, training: stories.Encoded, validation: stories.Encoded) -> str:
    """Return a digest of the base, and of the samples for training and validation."""
    content = [base, *([side.ids, side.labels.tolist()] for side in (training, validation))]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def encode_stories(tokenizer: Any, model: Any, story_texts: stories.Stories) -> stories.Encoded:
    """Encode the samples of the stories for the model."""
    maximum = longest_input(tokenizer, model.config)
    return stories.encode_samples(tokenizer, stories.samples(story_texts), maximum, segments=takes_segments(model))


def measure_model(
    folder: Path, tokenizer: Any, model: Any, corpus: Corpus, validation: stories.Encoded
) -> dict[str, Any]:
    """Measure the stored model on the validation and test stories.

    Returns:
        ``parameters``, and ``<side>_accuracy`` and ``<side>_ordered_above_swapped``, shares from 0 to 1.
    """
    stored = load_file(folder / "model.safetensors")
    model.load_state_dict({name: value.float() for name, value in stored.items()})
    found: dict[str, Any] = {"parameters": sum(parameter.numel() for parameter in model.parameters())}
    sides = {"validation": validation}
    if corpus.test:
        sides["test"] = encode_stories(tokenizer, model, corpus.test)
    for side, data in sides.items():
        figures = classifier.evaluate_model(model, data)
        found |= {f"{side}_{name}": figures[name] for name in ("accuracy", "ordered_above_swapped")}
    return found
