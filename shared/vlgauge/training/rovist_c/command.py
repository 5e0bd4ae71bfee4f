"""Train a classifier of sentence order for rovist_c, by the recipe of RoViST-C (Wang et al., 2022).

    vlgauge train rovist_c OUT --vist train.story-in-sequence.json --rocstories ROCStories_winter2017.csv
    vlgauge train rovist_c OUT --scenes 4000 --fresh --learning-rate 5e-4

Each two neighbouring sentences of a story make two samples, in order and swapped; 85 % of the stories are trained on,
the others choose the epoch. OUT gets weights (safetensors), configuration, tokenizer, training.json, training.svg and a
card. An interrupted run goes on where it stood when it is called again; a finished one is replaced with --overwrite.
"""

import argparse
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from vlgauge.encoders.pairs.classifier import longest_input, takes_segments
from vlgauge.errors import UsageError
from vlgauge.torch_use import resolved_device
from vlgauge.training.loop import Figures, Recipe, train_epochs
from vlgauge.training.options import add_run_options, check_packages, one_training, recipe_of
from vlgauge.training.report import write_report
from vlgauge.training.rovist_c import corpora, epochs, models, pairs, report

PURPOSE = "a classifier of sentence order for rovist_c"
PACKAGES = ("torch", "transformers", "tokenizers", "safetensors")
DEFAULTS = Recipe()
N_TEST_STORIES = 1_000
# Seeds of drawn stories; those of validation and test are of other splits anyway.
SCENES_SEED, TEST_SEED = 1, 2


@dataclass(frozen=True)
class Corpus:
    """Stories on three sides; those of `test` choose nothing, and may be none."""

    name: str
    training: corpora.Stories
    validation: corpora.Stories
    test: corpora.Stories


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the recipe."""
    parser.add_argument("output", metavar="OUT", type=Path, help="folder for the model")
    for kind in corpora.READERS:
        parser.add_argument(f"--{kind}", metavar="FILE", action="append", default=[], help="a corpus of this kind")
    parser.add_argument("--scenes", metavar="N", type=int, default=0, help="so many stories about drawn scenes")
    parser.add_argument("--test", metavar="FILE", help="held-out stories (jsonl); drawn ones with --scenes")
    parser.add_argument(
        "--base", metavar="MODEL", default=models.BASE, help=f"folder or Hub id (default: {models.BASE})"
    )
    parser.add_argument("--fresh", action="store_true", help="a small new model with a tokenizer of its own instead")
    add_run_options(parser, DEFAULTS)


def read_corpus(options: argparse.Namespace) -> Corpus:
    """The stories that the options name.

    Raises:
        ValueError: If they name none.
    """
    stories: corpora.Stories = []
    names = []
    for kind, read in corpora.READERS.items():
        for path in getattr(options, kind):
            stories += read(path)
            names.append(f"{kind} ({Path(path).name})")
    if options.scenes:
        stories += corpora.drawn_stories(options.scenes, SCENES_SEED, "train")
        names.append(f"{options.scenes} stories about drawn scenes")
    if not stories:
        raise UsageError("a corpus is missing; pass --vist, --rocstories, --jsonl or --scenes")
    training, validation = pairs.split_stories(stories, options.seed)
    test = corpora.drawn_stories(N_TEST_STORIES, TEST_SEED, "test") if options.scenes else []
    return Corpus(", ".join(names), training, validation, corpora.read_jsonl(options.test) if options.test else test)


def run(options: argparse.Namespace, say: Callable[[str], object]) -> None:
    """Read, train, measure, write."""
    check_packages("rovist_c", PACKAGES, plot=options.plot)
    with one_training(options, report.MAIN_FILES, say):
        _run(options, say)


def _run(options: argparse.Namespace, say: Callable[[str], object]) -> None:
    import torch

    device = resolved_device(options.device)
    corpus = read_corpus(options)
    torch.manual_seed(options.seed)
    if options.fresh:
        tokenizer, model, base = models.fresh_model(sentence for story in corpus.training for sentence in story)
    else:
        tokenizer, model, base = models.base_model(options.base)
    training, validation = (encoded_stories(tokenizer, model, side) for side in (corpus.training, corpus.validation))
    say(f"{base} on {device}: {corpus.name}; {len(training)} samples to train on, {len(validation)} to validate with")
    data = data_digest(base, training, validation)
    keep = partial(report.save_model, options.output, tokenizer, model, half=options.half)
    pad = tokenizer.pad_token_id
    recipe = recipe_of(options)

    def run_epoch(optimizer: Any, epoch: int) -> Figures:
        return epochs.run_epoch(model, training, optimizer, recipe, epoch, pad=pad, device=device)

    def validated() -> Figures:
        loss, accuracy = epochs.evaluated(model, validation, pad=pad, device=device)
        return {"validation_loss": loss, "validation_accuracy": accuracy}

    state = train_epochs(model, recipe, run_epoch, validated, options, data=data, device=device, keep=keep, say=say)
    found = measured(options.output, tokenizer, model, corpus, validation, device)
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
        "minutes": sum(epoch["seconds"] for epoch in state.rounds) / 60,
        "kept_epoch": state.best + 1,
        "recipe": asdict(recipe),
        "epochs": state.rounds,
    }
    write_report(options, record, report.CARD, report.FIGURES)


def data_digest(base: str, training: pairs.Encoded, validation: pairs.Encoded) -> str:
    """Digest of what is trained, and of the samples of both sides."""
    told = [base, *([side.ids, side.labels.tolist()] for side in (training, validation))]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def encoded_stories(tokenizer: Any, model: Any, stories: corpora.Stories) -> pairs.Encoded:
    """The samples of the stories as the model takes them."""
    maximum = longest_input(tokenizer, model.config)
    return pairs.encoded(tokenizer, pairs.samples(stories), maximum, segments=takes_segments(model))


def measured(
    folder: Path, tokenizer: Any, model: Any, corpus: Corpus, validation: pairs.Encoded, device: str
) -> dict[str, Any]:
    """How well the model does, as it was stored, on what it was not trained on."""
    from safetensors.torch import load_file

    stored = load_file(folder / "model.safetensors")
    model.load_state_dict({name: value.float() for name, value in stored.items()})
    found: dict[str, Any] = {"parameters": sum(parameter.numel() for parameter in model.parameters())}
    sides = {"validation": validation}
    if corpus.test:
        sides["test"] = encoded_stories(tokenizer, model, corpus.test)
    for side, data in sides.items():
        pad = tokenizer.pad_token_id
        found[f"{side}_accuracy"] = epochs.evaluated(model, data, pad=pad, device=device)[1]
        found[f"{side}_ordered_above_swapped"] = epochs.ordered_above_swapped(model, data, pad=pad, device=device)
    return found
