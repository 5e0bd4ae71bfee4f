"""Time metrics that share image towers, against their authors' way: one picture and one caption at a time, per metric.

The weights are random and of the real shape. clip_s and pac_s see the same towers, so each distinct picture and each
distinct prompted caption must be encoded once for both; the plain loop encodes both for every row of every metric.
Every picture has some rows, and every caption is in two of them. Prints ratios of wall time and of CPU time, which
other programs disturb less. Exits with status 1 when a score differs by more than 1e-5, when a picture was encoded
twice, or when the ratio of CPU times is below what `--ratio` asks for.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import torch
from clip import PROMPT, SMOKE, Rows, timed
from PIL import Image
from safetensors.torch import save_file

import vlgauge
from vlgauge.encoders.clip.architectures import ClipArchitecture
from vlgauge.encoders.clip.backbones import architecture_of
from vlgauge.encoders.clip.heads import adapter_of, heads_digest, heads_of, read_adapter, write_adapter
from vlgauge.encoders.clip.loading import clip_encoder
from vlgauge.encoders.clip.model import build_model, empty_model
from vlgauge.torch_use import resolved_device

TOLERANCE = 1e-5
# Of each metric w, and whether it has a head of its own; a metric that shares the towers is one more line.
METRICS = {"clip_s": (2.5, False), "pac_s": (2.0, True)}


def made_weights(row: ClipArchitecture, folder: Path) -> tuple[Path, Path]:
    """A file of random weights, and one of a head beside them."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model: Any = empty_model(row, "cpu").eval()
        with torch.no_grad():
            image = model.encode_image(torch.randn(1, 3, row.size, row.size))
            # All cosines of random weights have about one sign; below 0 every score would be 0.
            if torch.cosine_similarity(image, model.encode_text(open_clip.tokenize(PROMPT))) < 0:
                model.text_projection.neg_()
        state = {name: tensor.clone().contiguous() for name, tensor in model.state_dict().items()}
    save_file(state, folder / "clip.safetensors")
    about = {"kind": "pac_s", "architecture": row.architecture, "base_projections_sha256": heads_digest(state)}
    other = {name: matrix[:, ::-1] + 0.1 * matrix for name, matrix in heads_of(state).items()}
    write_adapter(folder / "head.safetensors", adapter_of(other, about))
    return folder / "clip.safetensors", folder / "head.safetensors"


def plain(rows: Rows, models: dict[str, Any], row: ClipArchitecture, device: str) -> dict[str, np.ndarray]:
    """Scores of every metric: each row's picture and caption through its model, alone, 77 columns wide."""
    transform = open_clip.image_transform(row.size, is_train=False, mean=row.mean, std=row.std)
    found: dict[str, np.ndarray] = {}
    for name, (w, _) in METRICS.items():
        model = models[name]
        scores: list[float] = []
        for path, caption in zip(rows.paths, rows.captions, strict=True):
            with torch.no_grad():
                image = model.encode_image(transform(Image.open(path)).unsqueeze(0).to(device))
                text = model.encode_text(open_clip.tokenize(PROMPT + caption).to(device))
            scores.append(w * max(float(torch.cosine_similarity(image, text)), 0.0))
        found[name] = np.array(scores)
    return found


def ours(rows: Rows, metrics: dict[str, Any]) -> dict[str, np.ndarray]:
    """Scores of every metric by its call."""
    return {
        name: np.array(metric.compute(predictions=rows.captions, images=[*map(str, rows.paths)])[f"{name}_scores"])
        for name, metric in metrics.items()
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Make rows and weights, run both sides, print what was found; 1 if it is not enough."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--backbone", default="ViT-B/32", help="name of the table of backbones; weights are random")
    parser.add_argument("--images", type=int, default=20, help="number of pictures")
    parser.add_argument("--rows", type=int, default=5, help="captions per picture")
    parser.add_argument("--ratio", type=float, default=0.0, help="least ratio of CPU times")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--smoke", action="store_true", help="a tiny model and two pictures, to see that it runs")
    options = parser.parse_args(arguments)
    device = resolved_device(options.device)
    row = replace(architecture_of(options.backbone), name="random", revision=None, sha256=None, openai_sha256=None)
    if options.smoke:
        row = replace(row, architecture="smoke", config=SMOKE.config, embed_width=32)
        options.images, options.rows = 2, 3
    with tempfile.TemporaryDirectory() as folder:
        weights, head = made_weights(row, Path(folder))
        state = clip_encoder(row, weights=weights, device=device).model.state_dict()
        heads = read_adapter(head).tensors
        models = {
            name: build_model(row, {**state, **(_tensors(heads, device) if own else {})}).to(device).eval()
            for name, (_, own) in METRICS.items()
        }
        shared: dict[str, Any] = {"backbone": row, "weights": weights, "device": device, "progress": False}
        metrics = {
            name: vlgauge.load(name, keep_in_memory=True, **(shared | {"checkpoint": head} if own else shared))
            for name, (_, own) in METRICS.items()
        }
        ours(Rows(Path(folder), 1, 1, 2), metrics)  # what happens once in a process
        rows = Rows(Path(folder), options.images + 1, options.rows, 2)
        # The first picture is known by now.
        rows.paths, rows.captions = rows.paths[options.rows :], rows.captions[options.rows :]
        encoder = clip_encoder(row, weights=weights, device=device)
        encoder.forwards.clear()
        fast, found = timed(lambda: ours(rows, metrics))
        forwards = dict(encoder.forwards)
        slow, expected = timed(lambda: plain(rows, models, row, device))
    difference = max(float(np.abs(found[name] - expected[name]).max()) for name in METRICS)
    n_loop = len(rows.paths) * len(METRICS)
    above = sum(int((scores > 0).sum()) for scores in expected.values())
    print(f"{', '.join(METRICS)}: {len(rows.paths)} rows of {options.images} pictures, {row.architecture} on {device}")
    print(f"forwards: {n_loop} pictures and {n_loop} texts in the loop, {forwards} here")
    for what, theirs, own in zip(("wall time", "CPU time"), slow, fast, strict=True):
        print(f"{what}: plain loop {theirs:.2f} s, here {own:.3f} s, ratio {theirs / own:.1f}x")
    print(f"maximum difference of scores: {difference:.1e}, {above} of {n_loop} above 0")
    print(f"load average {os.getloadavg()[0]:.1f}")
    once = forwards == {"image": options.images, "text": len(set(rows.captions))}
    return int(not difference <= TOLERANCE or not above or not once or slow[1] / fast[1] < options.ratio)


def _tensors(heads: dict[str, np.ndarray], device: str) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(matrix).to(device) for name, matrix in heads.items()}


if __name__ == "__main__":
    sys.exit(main())
