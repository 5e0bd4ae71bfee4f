"""Train a tiny captioner with metrics as its reward, and see it cheat where nothing guards the first metric.

A captioner learns from captions that leave things out, and of which some are wrong. Then it writes captions by itself,
eight for each picture, and those that have a higher reward than the others of their picture become more likely (policy
gradient with the mean of the group as the baseline). Once the reward is pac_s without its guards, once with them, once
pac_s and cider; both look at references. Held-out pictures show what came of it. All numbers of pac_s are those of the
**demo** CLIP of the embedded profile.

    python examples/reward_captioner.py                # three seeds
    python examples/reward_captioner.py --seeds 1      # one of them
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from drawn_captioner import SIDE, captioner, labels, pixels, single_scenes, tokenizer
from torch import nn
from transformers.modeling_outputs import BaseModelOutput
from transformers.utils import logging

import vlgauge
from vlgauge import scenes
from vlgauge.families.ngram.cider import DocumentFrequency
from vlgauge.integrations.guards import GUARDS
from vlgauge.integrations.trl import combined_reward
from vlgauge.scenes.wording import COLOUR_WORDS, SHAPE_WORDS

GROUP, IMAGES = 8, 12  # captions of a picture, pictures of a step
# Factor of each metric, and the guards that are off. Both metrics look at the references, pac_s at the picture, too.
REWARDS: dict[str, tuple[dict[str, float], tuple[str, ...]]] = {
    "pac_s, unguarded": ({"pac_s": 1.0}, GUARDS),
    "pac_s": ({"pac_s": 1.0}, ()),
    "pac_s and cider": ({"pac_s": 1.0, "cider": 0.5}, ()),
}
NAMES = {word: name for named in (COLOUR_WORDS, SHAPE_WORDS) for name, said in named.items() for word in said}
TITLES = {
    "pac_s": "pac_s",
    "cider": "cider",
    "colour": "share with the right colour, said once",
    "shape": "share with the right shape, said once",
    "repeats": "share that says two words in a row twice",
    "words": "words",
}
COLUMNS = tuple(TITLES)


class Drawn:
    """Images of scenes with their references; `features` are the embeddings of the images."""

    def __init__(self, split: str, n_drawings: int, n_scenes: int | None = None) -> None:
        chosen = [scene for seed in range(n_drawings) for scene in single_scenes(split)[:n_scenes]]
        self.scenes = chosen
        count = len(chosen) // n_drawings
        self.images = [scenes.draw_scene(scene, size=SIDE, seed=i // count).image for i, scene in enumerate(chosen)]
        self.references = [scenes.captions(scene, seed=i, n=4) for i, scene in enumerate(chosen)]
        self.features = torch.empty(0)

    def __len__(self) -> int:
        return len(self.scenes)


def careless_caption(scene: scenes.Scene, seed: int) -> str:
    """Return a caption that omits objects; every third describes a scene in which one fact differs."""
    other = scenes.change_fact(scene, ("colour", "shape")[seed % 2], seed) if seed % 3 == 0 else None
    return scenes.captions(other or scene, seed=seed, complete=seed % 4 == 0)[0]


def learn_from_captions(model: Any, words: Any, drawn: Drawn, steps: int, seed: int) -> None:
    """Compute the cross-entropy of careless captions."""
    seen = pixels(drawn.images)
    told = labels([careless_caption(scene, seed=i) for i, scene in enumerate(drawn.scenes)], words)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    rng = np.random.default_rng(seed)
    model.train()
    for _ in range(steps):
        batch = rng.choice(len(drawn), 32, replace=False)
        loss = model(pixel_values=seen[batch], labels=told[batch]).loss
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    model.eval()


@torch.no_grad()
def look(model: Any, drawn: Drawn) -> None:
    """Store the embeddings of the images, because the encoder is not trained further."""
    parts = [model.encoder(pixel_values=batch)[0] for batch in pixels(drawn.images).split(256)]
    drawn.features = torch.cat(parts)


@torch.no_grad()
def captions_of(model: Any, features: torch.Tensor) -> torch.Tensor:
    """Return the token ids of one sampled caption per image, without the start token, shape ``(n, n_tokens)``."""
    return model.generate(encoder_outputs=BaseModelOutput(features))[:, 1:]


def likelihoods(model: Any, features: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Return the log-likelihood of each caption without padding, shape ``(n,)``."""
    pad = model.config.pad_token_id
    logits = model(encoder_outputs=BaseModelOutput(features), labels=ids).logits
    each = logits.log_softmax(-1).gather(-1, ids[..., None])[..., 0]
    return (each * (ids != pad)).sum(1)


def learn_from_reward(
    model: Any, words: Any, drawn: Drawn, reward: Callable[..., Any], steps: int, seed: int
) -> Iterator[int]:
    """Yield each step of a policy gradient; the advantage of a caption is its reward minus the mean of its image."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(model.decoder.parameters(), lr=1e-3)
    for step in range(1, steps + 1):
        rows = np.repeat(rng.choice(len(drawn), IMAGES, replace=False), GROUP)
        features = drawn.features[rows]
        ids = captions_of(model, features)
        texts = words.batch_decode(ids, skip_special_tokens=True)
        given = {"image": [drawn.images[row] for row in rows], "references": [drawn.references[row] for row in rows]}
        found = [float("nan") if value is None else value for value in reward(texts, texts, **given)]
        groups = torch.tensor(found).view(IMAGES, GROUP)
        # An undefined reward speaks neither for nor against its caption.
        advantages = (groups - groups.nanmean(1, keepdim=True)).nan_to_num(0.0).flatten()
        loss = -(advantages * likelihoods(model, features, ids)).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.decoder.parameters(), 1.0)
        optimizer.step()
        yield step


def measured(model: Any, words: Any, drawn: Drawn, metrics: dict[str, Any], seed: int) -> dict[str, Any]:
    """Measure sampled captions of held-out images, and return an example."""
    torch.manual_seed(seed)
    texts = words.batch_decode(captions_of(model, drawn.features), skip_special_tokens=True)
    facts_of = [facts(text, scene) for text, scene in zip(texts, drawn.scenes, strict=True)]
    colour, shape, repeats = (statistics.fmean(told) for told in zip(*facts_of, strict=True))
    return {
        "pac_s": metrics["pac_s"].compute(predictions=texts, images=drawn.images)["pac_s"],
        "cider": metrics["cider"].compute(predictions=texts, references=drawn.references)["cider"],
        "colour": colour,
        "shape": shape,
        "repeats": repeats,
        "words": statistics.fmean(len(text.split()) for text in texts),
        "example": texts[0],
    }


def facts(text: str, scene: scenes.Scene) -> tuple[bool, bool, bool]:
    """Return whether a caption names the object's color once and no other, its shape, and a repeated word pair."""
    said = [NAMES.get(word, word) for word in text.split()]
    (thing,) = scene.objects
    colour = [word for word in said if word in scenes.COLOURS] == [thing.colour]
    shape = [word for word in said if word in scenes.SHAPES] == [thing.shape]
    pairs = list(itertools.pairwise(said))
    return colour, shape, len(set(pairs)) < len(pairs)


def compare_rewards(
    n_seeds: int, steps: tuple[int, int, int], sizes: dict[str, tuple[int, int | None]]
) -> list[dict[str, Any]]:
    """Return the measurements at each step of all reward trainings, which start from the same careless captioner.

    Args:
        n_seeds: Number of trainings with each reward.
        steps: From captions, from rewards, and between two measurements.
        sizes: Drawings per scene, and scenes, of each split.
    """
    words = tokenizer()
    train, held_out = (Drawn(split, *sizes[split]) for split in ("train", "test"))
    model: Any = captioner(0, words)
    learn_from_captions(model, words, train, steps[0], seed=0)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    for drawn in (train, held_out):
        look(model, drawn)
    silent: dict[str, Any] = {"keep_in_memory": True, "progress": False}
    # The dozen images of a step do not show which words are rare.
    corpus = train.references
    metrics: dict[str, Any] = {
        "pac_s": vlgauge.load("pac_s", profile="embedded", **silent),
        "cider": vlgauge.load("cider", df=DocumentFrequency.from_references(corpus), **silent),
    }
    # The variant whose RefPAC-S has a lowest value, and CIDEr-D with an end token, without which captions that stop
    # after a word such as "a" get high rewards.
    end: dict[str, Any] = {"df": DocumentFrequency.from_references(corpus, eos=True), "eos": True}
    terms = {
        "pac_s": vlgauge.load("pac_s", profile="embedded", variant="paper", **silent),
        "cider": vlgauge.load("cider", **end, **silent),
    }
    rows = []
    for seed, (name, (weights, unguarded)) in itertools.product(range(n_seeds), REWARDS.items()):
        model.load_state_dict(start)
        chosen = {terms[key]: weight for key, weight in weights.items()}
        reward = combined_reward(chosen, references="references", unguarded=unguarded)
        for step in itertools.chain([0], learn_from_reward(model, words, train, reward, steps[1], seed)):
            if step % steps[2] == 0:
                state = torch.get_rng_state()
                found = measured(model, words, held_out, metrics, seed)
                torch.set_rng_state(state)
                rows.append({"reward": name, "seed": seed, "step": step, **found})
                print(line(rows[-1]), flush=True)
    return rows


def line(row: dict[str, Any]) -> str:
    """Return a row as text."""
    numbers = "".join(f"{row[name]:9.2f}" for name in COLUMNS)
    return f"{row['reward']:17}{row['step']:5}{numbers}  {row.get('example', '')}".rstrip()


def summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return means over the seeds, of the start and of the last step with each reward."""
    last = max(row["step"] for row in rows)
    chosen = {
        "start": [row for row in rows if row["step"] == 0],
        **{name: [row for row in rows if row["step"] == last and row["reward"] == name] for name in REWARDS},
    }
    return [
        {"reward": name, "step": own[0]["step"], **{key: statistics.fmean(row[key] for row in own) for key in COLUMNS}}
        for name, own in chosen.items()
    ]


def plot(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Plot the measurements over the steps, one line per seed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 5), layout="constrained")
    colours = dict(zip(REWARDS, ("tab:red", "tab:orange", "tab:blue"), strict=True))
    for axes, key in zip(figure.subplots(2, 3).flat, COLUMNS, strict=True):
        for (name, _), own in itertools.groupby(rows, lambda row: (row["reward"], row["seed"])):
            points = [(row["step"], row[key]) for row in own]
            axes.plot(*zip(*points, strict=True), color=colours[name], label=name)
        axes.set(title=TITLES[key], xlabel="step")
    handles = {label: line for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), [f"reward: {name}" for name in handles], loc="outside lower center", ncols=2)
    figure.suptitle("Held-out drawn scenes; pac_s by a demo CLIP, no published numbers", fontsize=9)
    figure.savefig(path, dpi=120)


def main(arguments: Sequence[str] | None = None) -> int:
    """Train with both rewards, print the table, and draw the plot."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("build/reward_captioner"))
    parser.add_argument("--smoke", action="store_true", help="one seed, a few pictures and steps, to see that it runs")
    options = parser.parse_args(arguments)
    options.seeds = 1 if options.smoke else options.seeds
    options.output.mkdir(parents=True, exist_ok=True)
    logging.set_verbosity_error()
    warnings.filterwarnings("ignore", ".*demo CLIP")  # said below
    warnings.filterwarnings("ignore", ".*are empty and were scored as such")
    warnings.filterwarnings("ignore", ".*are 0 because neither image nor references are similar to the caption")
    start, cpu = time.perf_counter(), time.process_time()
    steps = (20, 2, 1) if options.smoke else (1500, 120, 20)
    sizes: dict[str, tuple[int, int | None]] = (
        {"train": (1, 32), "test": (1, 4)} if options.smoke else {"train": (12, None), "test": (2, None)}
    )
    print(f"{'reward':17} step" + "".join(f"{name:>9}" for name in COLUMNS))
    rows = compare_rewards(options.seeds, steps, sizes)
    (options.output / "rows.json").write_text(json.dumps(rows, indent=1))
    plot(rows, options.output / "rewards.png")
    print("\nmeans over the seeds", *map(line, summary(rows)), sep="\n")
    print("pac_s is by a demo CLIP that knows synthetic scenes only: no published number")
    minutes, cpu_minutes = (time.perf_counter() - start) / 60, (time.process_time() - cpu) / 60
    print(f"{minutes:.1f} minutes, {cpu_minutes:.1f} of CPU time; wrote {options.output / 'rewards.png'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
