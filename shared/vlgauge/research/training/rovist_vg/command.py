"""Training of the heads of rovist_vg: pairs, epochs, measurement, and all outputs."""

import argparse
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import torch

from vlgauge.checkpoints.torch_runtime import resolve_device
from vlgauge.core.errors import UsageError
from vlgauge.inputs.text.story_idf import fit_idf
from vlgauge.inputs.text.word_lookup import mean_vectors, write_vectors
from vlgauge.inputs.text.word_vectors import WordVectorFile, word_vector_file
from vlgauge.models.clip.demo import DEMO_NAME
from vlgauge.models.clip.loading import clip_encoder
from vlgauge.models.grounding.model import CONFIG, IDF, VECTORS, WEIGHTS
from vlgauge.models.grounding.vit import VIT_NAME
from vlgauge.research.training.loop import Figures, train_epochs
from vlgauge.research.training.options import one_training, recipe_of
from vlgauge.research.training.report import RECORD, epoch_facts, write_report
from vlgauge.research.training.rovist_vg import heads, pairs
from vlgauge.research.training.rovist_vg.held_out import measure_held_out
from vlgauge.research.training.rovist_vg.options import DEFAULTS
from vlgauge.scenes import stories

SCENES_SEED = 11

# Output files of a finished training with fixed names.
MAIN_FILES = (WEIGHTS, CONFIG, RECORD, "README.md")

FIGURES = ("training_loss", "validation_loss")


def read_pairs(options: argparse.Namespace) -> tuple[list[pairs.PhraseRegion], str]:
    """Read the pairs that the options select, and return them with the names of their sources.

    Raises:
        ValueError: If there are no pairs.
    """
    found: list[pairs.PhraseRegion] = []
    names = []
    if options.csv:
        found += pairs.read_csv(options.csv, require_option(options.crops, "--crops"))
        names.append(options.csv.name)
    if options.flickr30k:
        folders = (options.flickr30k / "Annotations", options.flickr30k / "Sentences")
        found += pairs.read_flickr30k(*folders, require_option(options.images, "--images"))
        names.append("Flickr30k Entities")
    if options.scenes:
        found += pairs.draw_pairs(options.scenes, SCENES_SEED, "train")
        names.append(f"{options.scenes} stories about synthetic scenes")
    if not found:
        raise UsageError("pairs are required; pass --csv, --flickr30k or --scenes")
    return found, ", ".join(names)


def require_option(value: Any, option: str) -> Any:
    """Return the value of a required option.

    Returns:
        The value, unchanged.

    Raises:
        ValueError: If it is None.
    """
    if value is None:
        raise UsageError(f"{option} is required")
    return value


def word_vectors(options: argparse.Namespace, found: Sequence[pairs.PhraseRegion]) -> WordVectorFile:
    """Load the word vectors, or create them if there are only synthetic scenes."""
    if options.glove is None and options.scenes and not (options.csv or options.flickr30k):
        options.output.mkdir(parents=True, exist_ok=True)
        path = options.output / VECTORS
        write_vectors(path, pairs.index_words([pair.phrase for pair in found], options.seed))
        story_texts = [story.sentences for story in stories(options.scenes, SCENES_SEED, "train")]
        fit_idf(story_texts).save(options.output / IDF)
        return word_vector_file(path, argument="--glove")
    return word_vector_file(require_option(options.glove, "--glove"), argument="--glove")


def run(options: argparse.Namespace, say: Callable[[str], object]) -> None:
    """Read, train, measure, and write all outputs."""
    with one_training(options, MAIN_FILES, say):
        _run(options, say)


def _run(options: argparse.Namespace, say: Callable[[str], object]) -> None:
    recipe = recipe_of(options, DEFAULTS)
    device = resolve_device(options.device)
    found, corpus = read_pairs(options)
    vectors = word_vectors(options, found)
    found, rows = with_vectors(found, vectors, say)
    torch.manual_seed(recipe.seed)
    images, net, config = image_side(options, found, vectors.width, device)
    data = data_digest(found, vectors, config)
    config["word_vectors"] = {"file": vectors.path.name, "sha256": vectors.sha256}
    parts = heads.split_by_image([pair.image for pair in found], options.seed)
    training, validation = (heads.PairSide(images, torch.from_numpy(np.asarray(rows)), part) for part in parts)
    say(f"{corpus}: {len(training.rows)} training pairs, {len(validation.rows)} validation pairs, on {device}")
    keep = partial(heads.save_checkpoint, options.output, net, config, half=options.half)
    heads.check_sides(training, validation, recipe)

    def run_epoch(optimizer: Any, epoch: int) -> Figures:
        return {"training_loss": heads.run_epoch(net, training, optimizer, recipe, epoch, device)}

    def validated() -> Figures:
        return {"validation_loss": heads.validation_loss(net, validation, recipe, device)}

    state = train_epochs(net, recipe, run_epoch, validated, options, data=data, device=device, keep=keep, say=say)
    shares = measure_training(options, vectors)
    for name, share in shares.items():
        say(f"{name}: {100 * share:.1f}%")
    record = {
        "corpus": corpus,
        "image_encoder": config["image_encoder"],
        "word_vectors": vectors.identity,
        "training_pairs": len(training.rows),
        "validation_pairs": len(validation.rows),
        "held_out": shares,
        **epoch_facts(state, {**asdict(recipe), "data": data}),
    }
    write_report(options, record, "rovist_vg", FIGURES)


def with_vectors(
    found: Sequence[pairs.PhraseRegion], vectors: WordVectorFile, say: Callable[[str], object]
) -> tuple[list[pairs.PhraseRegion], np.ndarray]:
    """Select the pairs whose phrases have a word with a vector.

    Returns:
        The pairs, and the embeddings of their phrases, shape ``(n_kept, d)``.

    Raises:
        UsageError: If no phrase has such a word.
    """
    rows, kept = mean_vectors([pair.phrase for pair in found], vectors)
    if not kept:
        raise UsageError(
            f"no phrase has a word in {vectors.path.name}; pass word embeddings of this language as --glove"
        )
    if len(kept) < len(found):
        say(f"{len(found) - len(kept)} of {len(found)} pairs have no word in {vectors.path.name}: left out")
    return [found[i] for i in kept], rows


def data_digest(found: Sequence[pairs.PhraseRegion], vectors: WordVectorFile, config: Mapping[str, Any]) -> str:
    """Return a digest of the training data with 16 hexadecimal digits. Images are identified by name and content."""
    rows = [(pair.image, pair.region.place, pair.region.key.hex(), pair.phrase) for pair in found]
    content = [vectors.sha256, sorted(config.items()), rows]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def image_side(
    options: argparse.Namespace, found: Sequence[pairs.PhraseRegion], text_width: int, device: str
) -> tuple[Any, Any, dict[str, Any]]:
    """Return the inputs of the image side, the untrained model, and the image part of the configuration.

    Raises:
        ValueError: If the encoder is not valid.
        WeightsNotFoundError: If weights are missing.
    """
    name = options.encoder or (DEMO_NAME if options.scenes else VIT_NAME)
    images = [pair.region for pair in found]
    if name == VIT_NAME:
        vit = heads.load_pretrained_vit(options.vit)
        net = heads.grounding_net(vit, vit.config.pooler_output_size, text_width, options.width)
        return heads.DecodedRegions(images, vit.config.image_size), net, {"image_encoder": VIT_NAME}
    is_demo = name == DEMO_NAME
    encoder = clip_encoder(None if is_demo else name, profile="embedded" if is_demo else "paper", device=device)
    hidden = encoder.image_hidden(images)
    net = heads.grounding_net(None, hidden.shape[1], text_width, options.width)
    known = {"image_encoder": name, "image_encoder_sha256": encoder.digest}
    return torch.from_numpy(hidden), net, known


def measure_training(options: argparse.Namespace, vectors: WordVectorFile) -> dict[str, float]:
    """Measure a training on synthetic scenes on held-out synthetic stories. Empty for other trainings."""
    if not options.scenes or not options.test:
        return {}
    idf = options.output / IDF
    return measure_held_out(options.output, vectors.path, idf if idf.is_file() else None, options.test)
