"""Compare the cost of a hallucinated object with the cost of a synonym, for scene graph metrics on synthetic scenes."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import vlgauge
from vlgauge import scenes
from vlgauge.families.scene_graphs import synsets
from vlgauge.scenes.wording import COLOUR_WORDS, SHAPE_WORDS, SIZE_WORDS

METRICS = ("spice", "soft_spice", "capture", "aloha", "chair")
N_REFERENCES = 5
# References use only the first word of each entry. Words in a common WordNet synset with it are synonyms.
WORDS = {words[0]: words[1:] for words in (*SHAPE_WORDS.values(), *SIZE_WORDS.values(), *COLOUR_WORDS.values())}
FIRST = {other: word for word, others in WORDS.items() for other in others}
SYNONYMS = {word: [other for other in others if synsets(word) & synsets(other)] for word, others in WORDS.items()}


@dataclass(frozen=True)
class CaptionedScene:
    """Scene with a correct caption, and two variants of the caption.

    Attributes:
        caption: Correct caption with the words of the references.
        synonym: Caption with a synonym that no reference contains.
        invented: Caption with a shape replaced by one that is not in the scene.
        references: Correct references.
        objects: Shapes of the scene.
    """

    caption: str
    synonym: str
    invented: str
    references: list[str]
    objects: list[str]


def caption_scene(scene: scenes.Scene, rng: np.random.Generator) -> CaptionedScene:
    """Generate the captions of a scene."""
    texts = scenes.captions(scene, seed=int(rng.integers(2**31)), n=N_REFERENCES + 1)
    caption, *references = [_replace_object(text, FIRST) for text in texts]
    there = [thing.shape for thing in scene.objects]
    said = [word for word in caption.split() if SYNONYMS.get(word)]
    word, shape = str(rng.choice(said)), str(rng.choice(there))
    other = str(rng.choice([one for one in SHAPE_WORDS if one not in there]))
    return CaptionedScene(
        caption,
        _replace_object(caption, {word: str(rng.choice(SYNONYMS[word]))}),
        _replace_object(caption, {shape: other}),
        references,
        there,
    )


def _replace_object(text: str, words: Mapping[str, str]) -> str:
    return " ".join(words.get(word, word) for word in text.split())


def scores(name: str, rows: Sequence[CaptionedScene]) -> dict[str, np.ndarray]:
    """Compute the scores of the captions of each kind. Higher is better."""
    settings: dict[str, Any] = {"table": [list(words) for words in SHAPE_WORDS.values()]} if name == "chair" else {}
    metric = vlgauge.load(name, profile="embedded", progress=False, keep_in_memory=True, **settings)
    found = {}
    for kind in ("caption", "synonym", "invented"):
        texts = [getattr(row, kind) for row in rows]
        result = metric.compute(predictions=texts, references=[row.references for row in rows]) or {}
        values = result[f"{name}_scores"]
        found[kind] = np.array(values) if metric.higher_is_better else -np.array(values)
    return found


def shares(found: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Compute the share of scenes in which the hallucinated object has a cost, and a higher one than the synonym.

    The mean costs are returned as well.
    """
    invented, synonym = (found["caption"] - found[kind] for kind in ("invented", "synonym"))
    return {
        "worse": float((invented > 1e-9).mean()),
        "worse than the synonym": float((invented > synonym + 1e-9).mean()),
        "cost of the invented object": float(invented.mean()),
        "cost of the synonym": float(synonym.mean()),
    }


def rows_of(n: int, seed: int) -> list[CaptionedScene]:
    """Sample `n` scenes with their captions."""
    rng = np.random.default_rng(seed)
    return [caption_scene(scene, rng) for scene in scenes.scenes(n, seed=seed, split="test")]


def main(words: Sequence[str] | None = None) -> None:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=300, help="number of scenes (default: 300)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(words)
    rows = rows_of(options.scenes, options.seed)
    header: list[str] = []
    for name in METRICS:
        by_name = shares(scores(name, rows))
        if not header:
            header = ["metric", *by_name]
            print(f"| {' | '.join(header)} |\n| --- |{' ---: |' * len(by_name)}")
        print(f"| {name} | " + " | ".join(f"{value:.3f}" for value in by_name.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
