"""Time CLIP scores of captions against the loop of the authors' code, with the same weights and inputs in one run.

The load has the shape of Flickr8k-Expert: 17 rows per image, each caption in 3 of them, 5 references per row. The loop
encodes every row as it comes: images in batches of 64, texts in batches of 256 at 77 columns, three loaders with 6
workers. Both sides start cold in every round; times are medians, of wall time and of CPU time with that of the workers,
which other programs disturb less. Exits with status 1 when a score differs by more than 1e-6, or when the ratio of CPU
times on a CPU is below 20.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import open_clip
import torch
from PIL import Image
from torch.utils.data import DataLoader

import vlgauge
from vlgauge.encoders.clip.architectures import ClipArchitecture
from vlgauge.encoders.clip.backbones import architecture_of
from vlgauge.encoders.clip.encoder import ClipEncoder
from vlgauge.encoders.clip.model import build_model, empty_model, tokens_of
from vlgauge.encoders.clip.towers import ClipTowers
from vlgauge.encoders.features.memory import process_memory
from vlgauge.media.images import image_cell
from vlgauge.media.pictures import ImagePicture
from vlgauge.torch_use import resolved_device
from vlgauge.weights import files

Floats = npt.NDArray[np.float32]
Result = TypeVar("Result")

TOLERANCE, REQUIRED_RATIO = 1e-6, 20
PROMPT, W = "A photo depicts ", 2.5
ROWS_PER_IMAGE, ROWS_PER_CAPTION, N_REFERENCES = 17, 3, 5
WORDS = ("a", "the", "dog", "cat", "child", "runs", "sleeps", "over", "under", "near", "red", "small", "river")
SMOKE = ClipArchitecture(
    "smoke",
    "smoke",
    None,
    32,
    config={
        "embed_dim": 32,
        "quick_gelu": True,
        "vision_cfg": {"image_size": 224, "layers": 1, "width": 128, "patch_size": 32},
        "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 1, "layers": 1},
    },
)


class Rows:
    """What is scored: a path, a caption and five references per row."""

    def __init__(
        self, folder: Path, n_images: int, per_image: int = ROWS_PER_IMAGE, per_caption: int = ROWS_PER_CAPTION
    ) -> None:
        rng = np.random.default_rng(0)
        paths = [folder / f"{i}.jpg" for i in range(n_images)]
        for path in paths:
            Image.fromarray(rng.integers(0, 256, (375, 500, 3), dtype=np.uint8)).save(path)
        n_rows = n_images * per_image
        captions = [_caption(rng) for _ in range(-(-n_rows // per_caption))]
        references = [[_caption(rng) for _ in range(N_REFERENCES)] for _ in paths]
        self.paths = [paths[row // per_image] for row in range(n_rows)]
        self.captions = [captions[row // per_caption] for row in range(n_rows)]
        self.references = [references[row // per_image] for row in range(n_rows)]


def _caption(rng: np.random.Generator) -> str:
    return " ".join(rng.choice(WORDS, rng.integers(7, 17)))


def random_encoder(row: ClipArchitecture, device: str) -> ClipEncoder:
    """A CLIP of random weights, the same ones in every run."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        state = empty_model(row, "cpu").state_dict()
    return ClipEncoder(ClipTowers(build_model(row, state), row, device, "float32"), tokens_of(row), "0" * 64)


def scores(images: Floats, captions: Floats, references: Floats) -> Floats:
    """CLIP-S and RefCLIP-S of every row, shape ``(n_rows, 2)``, from projected vectors."""
    v, t, r = (x / np.sqrt((x * x).sum(axis=1, keepdims=True)) for x in (images, captions, references))
    plain = W * np.maximum((v * t).sum(axis=1), 0)
    nearest = np.einsum("id,ikd->ik", t, r.reshape(len(t), N_REFERENCES, -1)).max(axis=1)
    return np.stack([plain, 2 * plain * nearest / (plain + nearest)], axis=1)


class _Items(torch.utils.data.Dataset):
    """Items of a loader: each is made in a worker."""

    def __init__(self, items: Sequence[Any], make: Callable[[Any], Any]) -> None:
        self.items, self.make = items, make

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Any:
        return self.make(self.items[index])


def naive(rows: Rows, model: Any, row: ClipArchitecture, device: str, workers: int) -> Floats:
    """Scores as the authors' code makes them: no duplicate is noticed, every text has 77 columns."""
    transform = open_clip.image_transform(row.size, is_train=False, mean=row.mean, std=row.std)

    def encoded(items: Sequence[Any], make: Callable[[Any], Any], batch_size: int, encode: Any) -> Floats:
        loader = DataLoader(_Items(items, make), batch_size=batch_size, num_workers=workers, shuffle=False)
        with torch.no_grad():
            return np.concatenate([encode(batch.to(device)).float().cpu().numpy() for batch in loader])

    def tokens(text: str) -> torch.Tensor:
        return open_clip.tokenize(PROMPT + text)[0]

    flat = [text for texts in rows.references for text in texts]
    images = encoded(rows.paths, lambda path: transform(Image.open(path)), 64, model.encode_image)
    return scores(
        images, encoded(rows.captions, tokens, 256, model.encode_text), encoded(flat, tokens, 256, model.encode_text)
    )


def ours(rows: Rows, encoder: ClipEncoder) -> Floats:
    """Scores by way of the package."""
    pictures = [ImagePicture(image_cell(path, f"images[{i}]"), f"images[{i}]") for i, path in enumerate(rows.paths)]
    texts = [*rows.captions, *(text for texts in rows.references for text in texts)]
    hidden = encoder.text_hidden(texts, prompt=PROMPT, progress=False).end
    projected = encoder.project(hidden, "text")
    images = encoder.project(encoder.image_hidden(pictures, progress=False), "image")
    return scores(images, projected[: len(images)], projected[len(images) :])


def timed(work: Callable[[], Result]) -> tuple[npt.NDArray[np.float64], Result]:
    """Seconds of wall time and of CPU time, and the result."""
    before = _clocks()
    result = work()
    return _clocks() - before, result


def _clocks() -> npt.NDArray[np.float64]:
    # `os.times` counts in hundredths of a second, in which the smaller model is done.
    workers = resource.getrusage(resource.RUSAGE_CHILDREN)
    return np.array([time.perf_counter(), time.process_time() + workers.ru_utime + workers.ru_stime])


def cold(encoder: ClipEncoder) -> None:
    """Forget every vector and every digest of an image."""
    process_memory.clear()
    files._DIGESTS.clear()
    encoder.forwards.clear()


def compare(rows: Rows, encoder: ClipEncoder, device: str, rounds: int, workers: int) -> int:
    """Run both sides, print what was found, and say whether it is enough."""
    model, row = encoder.model, encoder.row
    times: dict[str, list[npt.NDArray[np.float64]]] = {"naive": [], "ours": [], "warm": []}
    difference = 0.0
    for _ in range(rounds):
        cold(encoder)
        seconds, found = timed(lambda: ours(rows, encoder))
        times["ours"].append(seconds)
        forwards = dict(encoder.forwards)
        seconds, again = timed(lambda: ours(rows, encoder))
        times["warm"].append(seconds)
        seconds, expected = timed(lambda: naive(rows, model, row, device, workers))
        times["naive"].append(seconds)
        difference = max(difference, float(np.abs(found - expected).max()), float(np.abs(again - found).max()))
    disk = timed_from_disk(rows, encoder)
    medians = {name: np.median(values, axis=0) for name, values in times.items()}
    (naive_wall, naive_cpu), (wall, cpu) = medians["naive"], medians["ours"]
    n_texts = len(rows.captions) * (1 + N_REFERENCES)
    print(f"{len(rows.paths)} rows: {len(rows.paths)} images and {n_texts} texts in the loop, {forwards} here")
    print(f"wall time: naive loop {naive_wall:.2f} s, here {wall:.3f} s, ratio {naive_wall / wall:.1f}x")
    print(f"CPU time: naive loop {naive_cpu:.2f} s, here {cpu:.3f} s, ratio {naive_cpu / cpu:.1f}x")
    print(f"again from memory: {1e3 * medians['warm'][0]:.0f} ms; from the disk: {1e3 * disk:.0f} ms")
    print(f"maximum difference of scores: {difference:.1e}")
    print(f"load average at the end: {os.getloadavg()[0]:.1f}")
    slow = device == "cpu" and row is not SMOKE and naive_cpu / cpu < REQUIRED_RATIO
    return int(not difference <= TOLERANCE or slow)


def timed_from_disk(rows: Rows, encoder: ClipEncoder) -> float:
    """Seconds for the same rows when the vectors come from a folder."""
    with tempfile.TemporaryDirectory() as folder:
        cached = encoder.with_feature_cache(folder)
        cold(encoder)
        ours(rows, cached)
        cold(encoder)
        seconds, _ = timed(lambda: ours(rows, cached))
        assert not encoder.forwards
    return float(seconds[0])


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the load, the model, and the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backbone", default="ViT-B/32", help="name of the table of backbones; weights are random")
    parser.add_argument("--images", type=int, default=None, help="number of images (6 on a CPU, 1,000 on a GPU)")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=6, help="workers of each loader of the loop")
    parser.add_argument("--smoke", action="store_true", help="a tiny model and one image, to see that it runs")
    options = parser.parse_args(arguments)
    device = resolved_device(options.device)
    row = SMOKE if options.smoke else architecture_of(options.backbone)
    encoder = random_encoder(row, device)
    print(
        f"{row.architecture} on {device}, {os.cpu_count()} cores, torch with {torch.get_num_threads()} threads; "
        f"load average {os.getloadavg()[0]:.1f}; vlgauge {vlgauge.__version__}, torch {torch.__version__}, "
        f"open_clip {open_clip.__version__}, numpy {np.__version__}, Pillow {Image.__version__}"
    )
    # Six workers are what the authors' code starts, however few cores there are.
    warnings.filterwarnings("ignore", message="This DataLoader will create", category=UserWarning)
    with tempfile.TemporaryDirectory() as folder:
        rows = Rows(Path(folder), options.images or (1 if options.smoke else 6 if device == "cpu" else 1000))
        ours(Rows(Path(folder), 1), encoder)  # what happens once in a process
        rounds, workers = (1, 0) if options.smoke else (options.rounds, options.workers)
        return compare(rows, encoder, device, rounds, workers)


if __name__ == "__main__":
    sys.exit(main())
