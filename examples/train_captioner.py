"""Train a tiny captioner of drawn scenes, with metrics after every epoch.

A `Seq2SeqTrainer` trains a vision encoder-decoder with random weights on the CPU, in minutes. After every epoch it
draws four captions of each held-out picture, `GenerationMetrics` scores them by pac_s, trm and cider, and the
checkpoint that is best by the direction of one of them is kept. All numbers of pac_s are those of the **demo** CLIP of
the embedded profile: good for a look at the loop, and no published numbers.

    python examples/train_captioner.py                # table, and build/train_captioner/metrics.png
    python examples/train_captioner.py --best trm     # of which less is better
"""

from __future__ import annotations

import argparse
import io
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import datasets
import torch
from drawn_captioner import SIDE, captioner, labels, pixels, single_scenes, tokenizer
from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments, TrainerCallback
from transformers.utils import logging

import vlgauge
from vlgauge import scenes
from vlgauge.integrations.scalars import greater_is_better
from vlgauge.integrations.transformers import GenerationMetrics

METRICS = ("pac_s", "trm", "cider")
PER_IMAGE = 4  # drawn captions, and references


def training_rows(n_drawings: int, n_scenes: int | None) -> list[dict[str, Any]]:
    """Return an image and a caption of each drawing of each scene."""
    return [
        {"image": scenes.draw_scene(scene, size=SIDE, seed=seed).image, "caption": scenes.captions(scene, seed=seed)[0]}
        for seed in range(n_drawings)
        for scene in single_scenes("train")[:n_scenes]
    ]


def held_out_rows(n_scenes: int | None) -> datasets.Dataset:
    """Return images of scenes that are not in the training data, one per caption to sample, with all references.

    As a data set they stay files: metrics know a file again, and look at it once.
    """
    rows = []
    for number, scene in enumerate(single_scenes("test")[:n_scenes]):
        file = io.BytesIO()
        scenes.draw_scene(scene, size=SIDE).image.save(file, "PNG")
        told = scenes.captions(scene, seed=number, n=PER_IMAGE)
        rows += [
            {"image": {"bytes": file.getvalue()}, "captions": told, "caption": one, "scene": number} for one in told
        ]
    return datasets.Dataset.from_list(rows).cast_column("image", datasets.Image())


class ImagesEncoded(TrainerCallback):
    """Number of images that the CLIP of a metric had encoded after each evaluation."""

    def __init__(self, metric: Any) -> None:
        self.counts: list[int] = []
        self._metric = metric

    def on_evaluate(self, *args: Any, **kwargs: Any) -> None:
        """Read the number."""
        self.counts.append(self._metric.clip.encoder_and_adapter()[0].forwards["image"])


def train(options: argparse.Namespace, output: Path) -> tuple[Any, list[int]]:
    """Return the trainer after training, and the number of images encoded up to each evaluation."""
    words = tokenizer()
    held_out = held_out_rows(4 if options.smoke else None)
    pac_s = vlgauge.load("pac_s", profile="embedded", keep_in_memory=True)
    metrics = GenerationMetrics(
        [pac_s, *METRICS[1:]],
        tokenizer=words,
        rows=held_out,
        columns={"images": "image", "references": "captions"},
        groups="scene",
    )

    def collate(rows: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        images, texts = [row["image"] for row in rows], [row["caption"] for row in rows]
        return {"pixel_values": pixels(images), "labels": labels(texts, words)}

    encoded = ImagesEncoded(pac_s)
    trainer = Seq2SeqTrainer(
        captioner(options.seed, words),
        Seq2SeqTrainingArguments(
            str(output / "checkpoints"),
            num_train_epochs=options.epochs,
            per_device_train_batch_size=32,
            per_device_eval_batch_size=128,
            learning_rate=3e-3,
            lr_scheduler_type="cosine",
            warmup_steps=50,
            eval_on_start=True,
            save_total_limit=1,
            logging_strategy="epoch",
            remove_unused_columns=False,
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
            seed=options.seed,
            **metrics.arguments(best=options.best),
        ),
        data_collator=collate,
        train_dataset=training_rows(*((1, 32) if options.smoke else (8, None))),
        eval_dataset=held_out,
        compute_metrics=metrics,
        processing_class=words,
        callbacks=[metrics, encoded],
    )
    trainer.train()
    return trainer, encoded.counts


def table(rows: Sequence[dict[str, Any]], best: float) -> str:
    """Return the metrics of each evaluation as a table; a star marks the checkpoint that was kept."""
    lines = ["epoch" + "".join(f"{name:>9}" for name in METRICS)]
    for row in rows:
        numbers = "".join(f"{row.get(f'eval_{name}', float('nan')):9.3f}" for name in METRICS)
        lines.append(f"{row['epoch']:5.0f}{numbers}{' *' if row['epoch'] == best else ''}")
    return "\n".join(lines)


def plot(rows: Sequence[dict[str, Any]], best: float, path: Path) -> None:
    """Plot the metrics over epochs, one panel each."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 2.8), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(METRICS)), METRICS, strict=True):
        known = [(row["epoch"], row[f"eval_{name}"]) for row in rows if f"eval_{name}" in row]
        axes.plot(*zip(*known, strict=True), marker=".")
        axes.axvline(best, color="0.6", linestyle=":")
        axes.set(title=f"{name}, {'higher' if greater_is_better(name) else 'lower'} is better", xlabel="epoch")
    figure.suptitle(
        "Held-out synthetic scenes; demo CLIP, no published numbers; dotted: the checkpoint kept", fontsize=9
    )
    figure.savefig(path, dpi=120)


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, print the table, and draw the plot."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--best", choices=METRICS, default="pac_s", help="the metric that chooses the checkpoint")
    parser.add_argument("--output", type=Path, default=Path("build/train_captioner"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--smoke", action="store_true", help="a few pictures and two epochs, to see that it runs")
    options = parser.parse_args(arguments)
    options.epochs = 2 if options.smoke else options.epochs
    options.output.mkdir(parents=True, exist_ok=True)
    logging.set_verbosity_error()
    warnings.filterwarnings("ignore", ".*demo CLIP")  # said below
    warnings.filterwarnings("ignore", ".*are empty and were scored as such")  # of random weights
    start, cpu = time.perf_counter(), time.process_time()
    trainer, encoded = train(options, options.output)
    minutes, cpu_minutes = (time.perf_counter() - start) / 60, (time.process_time() - cpu) / 60
    rows = [row for row in trainer.state.log_history if "eval_loss" in row]
    best = int(Path(trainer.state.best_model_checkpoint).name.rpartition("-")[2])
    epoch = next(row["epoch"] for row in rows if row["step"] == best)
    print(table(rows, epoch))
    plot(rows, epoch, options.output / "metrics.png")
    print(f"* kept by {options.best}; pac_s is by a demo CLIP that knows synthetic scenes only: no published number")
    print(f"pictures encoded by the first evaluation: {encoded[0]}, by all later ones: {encoded[-1] - encoded[0]}")
    print(f"{minutes:.1f} minutes, {cpu_minutes:.1f} of CPU time; wrote {options.output / 'metrics.png'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
