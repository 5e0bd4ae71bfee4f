"""Time polos against the loop of the authors' code, with the same weights and inputs in one run.

The load has the shape of Flickr8k-Expert: 17 rows per image, each caption in 3 of them, 5 references per row. The loop
takes 32 rows at a time as they come and encodes all of them: the candidates, then the first references, and so on, by
the text encoder and by CLIP at 77 columns, and the picture of every row. CLIP ViT-B/32 and the head have the real
shapes and random weights; the text encoder is MiniLM, a quarter of the published one. Times are of the CPU of this
process, both sides cold. Exits with status 1 when a score differs by more than 1e-5 or the ratio is below 10.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import clip as clip_bench
import numpy as np
import numpy.typing as npt
import open_clip
import torch
from PIL import Image

import vlgauge
from vlgauge.catalog import folder_module
from vlgauge.clip_score.rows import text_rows
from vlgauge.encoders.clip.backbones import architecture_of
from vlgauge.encoders.clip.model import tokens_of
from vlgauge.encoders.features.memory import process_memory
from vlgauge.encoders.rated.files import head_of
from vlgauge.encoders.rated.models import PROMPT, PolosModels, text_encoder_of
from vlgauge.media.images import image_cell
from vlgauge.media.pictures import distinct_in_rgb

Floats = npt.NDArray[np.float64]

TOLERANCE, REQUIRED_RATIO, BATCH = 1e-5, 10, 32


def random_head(n_layers: int, n_in: int, hidden: Sequence[int]) -> Any:
    """A head whose values spread over 0 to 1."""
    rng = np.random.default_rng(0)
    sizes = [n_in, *hidden, 1]
    tensors = {f"scalar_mix.scalar_parameters.{i}": rng.normal(size=1) for i in range(n_layers)}
    tensors["scalar_mix.gamma"] = np.ones(1)
    for number in (1, 2, 3):
        shape = sizes[number], sizes[number - 1]
        tensors[f"ff.0.ff.linear_{number}.weight"] = rng.normal(size=shape) / np.sqrt(shape[1])
        tensors[f"ff.0.ff.linear_{number}.bias"] = np.zeros(shape[0])
    return head_of({name: array.astype(np.float32) for name, array in tensors.items()}, {}, "the bench")


def naive(models: PolosModels, rows: clip_bench.Rows) -> Floats:
    """Scores as the authors' code makes them: no duplicate is noticed, every text has 77 columns."""
    row, model, head = models.clip.row, models.clip.model, models.head
    transform = open_clip.image_transform(row.size, is_train=False, mean=row.mean, std=row.std)
    shares = torch.softmax(torch.from_numpy(head.scalars), 0)
    scores: list[float] = []

    def mixed(texts: Sequence[str]) -> torch.Tensor:
        hidden, there = models.text.hidden([np.array(ids) for ids in models.text.token_ids(texts)[0]])
        found = torch.zeros(len(texts), models.text.width)
        for share, layer in zip(shares, hidden, strict=True):
            inside = layer[there]
            found += share * (layer[:, 0] - inside.mean()) / torch.sqrt(inside.var(correction=0) + 1e-12)
        return head.gamma * found

    def read(texts: Sequence[str]) -> torch.Tensor:
        return model.encode_text(open_clip.tokenize([PROMPT + text for text in texts]))  # type: ignore[operator]

    with torch.no_grad():
        for start in range(0, len(rows.paths), BATCH):
            here = slice(start, start + BATCH)
            pixels = torch.stack([transform(Image.open(path).convert("RGB")) for path in rows.paths[here]])
            v, c, t = model.encode_image(pixels), read(rows.captions[here]), mixed(rows.captions[here])  # type: ignore[operator]
            values = []
            for texts in zip(*rows.references[here], strict=True):
                r, c_r = mixed(texts), read(texts)
                parts = (r, t, abs(t - r), t * r, v, c, abs(v - c), v * c, abs(c_r - c), c_r * c)
                x = torch.cat(parts, dim=1)
                for matrix, bias in zip(head.matrices[:2], head.biases[:2], strict=True):
                    x = torch.tanh(x @ torch.from_numpy(matrix).T + torch.from_numpy(bias))
                values.append(
                    torch.sigmoid(x @ torch.from_numpy(head.matrices[2]).T + torch.from_numpy(head.biases[2]))
                )
            scores += torch.stack(values).amax(dim=0)[:, 0].tolist()
    return np.array(scores)


def ours(models: PolosModels, rows: clip_bench.Rows, released: int | None = BATCH) -> Floats:
    """Scores by way of the package."""
    process_memory.clear()
    models.text.store.clear()
    read = text_rows(rows.captions, rows.references, tokens_of(models.clip.row), "truncate", PROMPT)
    pictures, picture_of = distinct_in_rgb([[image_cell(path, "images")] for path in rows.paths])
    score = folder_module("polos", "scoring").score
    found = score(
        models,
        read,
        pictures,
        picture_of,
        released=released,
        half=False,
        on_error="raise",
        batch_size=64,
        progress=False,
    )
    return found.scores


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the load, the models, and the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=4)
    parser.add_argument("--smoke", action="store_true", help="a tiny CLIP and one image, to see that it runs")
    options = parser.parse_args(arguments)
    row = clip_bench.SMOKE if options.smoke else architecture_of("ViT-B/32")
    clip = clip_bench.random_encoder(row, "cpu")
    text = text_encoder_of(None, profile="embedded", device="cpu")
    n_in = 4 * text.width + 6 * row.embed_width
    models = PolosModels(clip, text, random_head(text.n_layers, n_in, (8, 4) if options.smoke else (2304, 1152)))
    print(
        f"{row.architecture}, {text.identity}, {os.cpu_count()} cores, torch with {torch.get_num_threads()} threads; "
        f"load average {os.getloadavg()[0]:.1f}; vlgauge {vlgauge.__version__}, torch {torch.__version__}"
    )
    with tempfile.TemporaryDirectory() as folder:
        rows = clip_bench.Rows(Path(folder), 1 if options.smoke else options.images)
        (_, cpu), found = clip_bench.timed(lambda: ours(models, rows))
        (_, itemwise_cpu), _ = clip_bench.timed(lambda: ours(models, rows, None))
        (_, naive_cpu), expected = clip_bench.timed(lambda: naive(models, rows))
    difference = float(np.abs(found - expected).max())
    print(f"{len(rows.paths)} rows: CPU time of the loop {naive_cpu:.1f} s, here {cpu:.2f} s ({naive_cpu / cpu:.1f}x)")
    print(f"itemwise: {itemwise_cpu:.2f} s ({naive_cpu / itemwise_cpu:.1f}x)")
    print(f"maximum difference of scores: {difference:.1e}")
    slow = not options.smoke and naive_cpu / cpu < REQUIRED_RATIO
    return int(not difference <= TOLERANCE or slow)


if __name__ == "__main__":
    sys.exit(main())
