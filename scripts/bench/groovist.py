"""Time GROOViST: the arithmetic on given features, and the share of the encoder with weights made on the spot."""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import vlgauge

LIMIT_SECONDS = 2.0
N_PHRASES, N_IMAGES, N_REGIONS, WIDTH = 12, 5, 10, 512
SETTINGS: dict[str, Any] = {"theta": 0.6, "keep_in_memory": True, "progress": False}


def generated_features(n_stories: int, seed: int = 0) -> tuple[list[list[str]], list[dict[str, Any]]]:
    """Phrases of each story and vectors of its phrases and regions, at random."""
    rng = np.random.default_rng(seed)
    words = ("dog", "tree", "house", "lake", "bride", "boat", "car", "table", "river", "street")
    phrases, features = [], []
    for _ in range(n_stories):
        own = [f"the {words[k % 10]} {int(number)}" for k, number in enumerate(rng.integers(0, 500, N_PHRASES))]
        text = rng.normal(size=(N_PHRASES, WIDTH)).astype(np.float32)
        images = list(rng.normal(size=(N_IMAGES, N_REGIONS, WIDTH)).astype(np.float32))
        phrases.append(own)
        features.append({"text": dict(zip(own, text, strict=True)), "images": images})
    return phrases, features


def plain_scores(phrases: Sequence[Sequence[str]], features: Sequence[dict[str, Any]], theta: float) -> list[float]:
    """The score by the definition, one phrase and one region at a time, without weights."""
    scores = []
    for own, vectors in zip(phrases, features, strict=True):
        total = 0.0
        for phrase in own:
            t = np.asarray(vectors["text"][phrase], dtype=np.float64)
            regions = [np.asarray(vector, dtype=np.float64) for image in vectors["images"] for vector in image]
            cosines = [float(t @ v / np.sqrt((t @ t) * (v @ v))) for v in regions]
            s = 2.5 * max(cosines)
            total += s if s >= theta else s - theta
        scores.append(total / len(own))
    return scores


def time_arithmetic(n_stories: int) -> float:
    """Seconds for stories whose features are given, the best of three."""
    phrases, features = generated_features(n_stories)
    metric: Any = vlgauge.load("groovist", **SETTINGS)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        metric.compute(predictions=["x"] * n_stories, noun_phrases=phrases, features=features)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def worst_difference() -> float:
    """Largest difference between the metric and the definition."""
    phrases, features = generated_features(3, seed=1)
    metric: Any = vlgauge.load("groovist", **SETTINGS | {"concreteness": None, "theta": 0.3})
    result = metric.compute(predictions=["x"] * 3, noun_phrases=phrases, features=features)
    expected = plain_scores(phrases, features, 0.3)
    return max(abs(a - b) for a, b in zip(result["groovist_scores"], expected, strict=True))


def time_encoder(n_stories: int, backbone: str = "ViT-B/32") -> dict[str, float]:
    """Seconds of a whole call with random weights of the real shape, and of the parts of the encoder in it."""
    import open_clip
    import torch
    from safetensors.torch import save_file

    from vlgauge.encoders.clip.backbones import architecture_of
    from vlgauge.encoders.clip.loading import clip_encoder

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(0)
        model = open_clip.create_model(architecture_of(backbone).architecture, load_weights=False)
        path = Path(folder) / "random.safetensors"
        save_file({name: tensor.contiguous() for name, tensor in model.state_dict().items()}, path)
        encoder = clip_encoder(backbone, weights=path)
        metric: Any = vlgauge.load("groovist", **SETTINGS, backbone=backbone, weights=path, regions="grid")
        pixels = rng.integers(0, 256, (n_stories, N_IMAGES, 375, 500, 3), dtype=np.uint8)
        images = [[Image.fromarray(image) for image in story] for story in pixels]
        phrases, _ = generated_features(n_stories)
        data = {"predictions": ["x"] * n_stories, "images": images, "noun_phrases": phrases}
        seconds = {}
        for name in ("cold", "warm"):
            start = time.perf_counter()
            metric.compute(**data)
            seconds[name] = time.perf_counter() - start
        seconds["pictures"], seconds["texts"] = encoder.forwards["image"], encoder.forwards["text"]
    return seconds


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; 1 if the arithmetic is too slow or wrong, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="20 stories, no encoder")
    parser.add_argument("--stories", type=int, default=2, help="for the encoder (default: 2)")
    options = parser.parse_args(arguments)
    n_stories = 20 if options.smoke else 1000
    seconds, difference = time_arithmetic(n_stories), worst_difference()
    print(f"{n_stories} stories from given features: {seconds:.3f} s; largest difference {difference:.1e}")
    if not options.smoke:
        found = time_encoder(options.stories)
        share = 1 - found["warm"] / found["cold"]
        print(
            f"{options.stories} stories through ViT-B/32, {found['pictures']:.0f} pictures and {found['texts']:.0f} "
            f"phrases: {found['cold']:.2f} s, again from memory {found['warm']:.2f} s: the encoder takes {share:.1%}"
        )
    return int(seconds > LIMIT_SECONDS or not difference <= 1e-6)


if __name__ == "__main__":
    sys.exit(main())
