"""Time RoViST-C on generated stories with the shipped model against one pair at a time, and compare the scores.

Stories repeat each other's sentences now and then, as those of a model do: a distinct pair is scored once.
"""

import argparse
import math
import random
import sys
import time
from typing import Any

import vlgauge
from vlgauge import scenes
from vlgauge.encoders.pairs.loading import pair_scorer
from vlgauge.encoders.pairs.models import find_pair_model, load_pair_model
from vlgauge.pool import pool

TOLERANCE = 1e-6
N_REFERENCE = 200
SHARE_REPEATED = 0.2


def generated_stories(n_stories: int) -> list[list[str]]:
    """Stories about drawn scenes, of which a share comes again."""
    rng = random.Random(0)
    drawn = [story.sentences for story in scenes.stories(n_stories, seed=5, split="test")]
    return [rng.choice(drawn[:50]) if rng.random() < SHARE_REPEATED else story for story in drawn]


def scored(stories: list[list[str]], **settings: Any) -> tuple[list[float], float, int]:
    """Scores from an empty memory, seconds, and the number of pairs that went through the model."""
    pool.unload()
    scorer: Any = pair_scorer(profile="embedded", device="cpu")
    metric: Any = vlgauge.load("rovist_c", profile="embedded", device="cpu", keep_in_memory=True, **settings)
    start = time.perf_counter()
    result = metric.compute(predictions=stories)
    return result["rovist_c_scores"], time.perf_counter() - start, scorer.forwards


def one_at_a_time(stories: list[list[str]]) -> tuple[list[float], float]:
    """The same by a loop over stories and pairs, each pair by itself, and its seconds."""
    import torch

    tokenizer, model = load_pair_model(find_pair_model(None, profile="embedded"))
    scores = []
    start = time.perf_counter()
    with torch.no_grad():
        for story in stories:
            values = []
            for k in range(1, len(story)):
                if story[k - 1].strip() == story[k].strip():
                    values.append(0.0)
                    continue
                inputs = tokenizer(story[k - 1], story[k], return_tensors="pt", return_token_type_ids=True)
                values.append(float(torch.softmax(model(**inputs).logits[0], dim=0)[1]))
            scores.append(sum(values) / len(values) if values else math.nan)
    return scores, time.perf_counter() - start


def largest_difference(first: list[float], second: list[float]) -> float:
    """Largest difference of scores, infinite where only one of two is defined."""
    pairs = zip(first, second, strict=True)
    differences = [abs(a - b) for a, b in pairs if not (math.isnan(a) and math.isnan(b))]
    return max((math.inf if math.isnan(value) else value for value in differences), default=0.0)


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; 1 if scores differ by more than the tolerance, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="12 stories")
    n_stories = 12 if parser.parse_args(arguments).smoke else 5_000
    stories = generated_stories(n_stories)
    few = stories[:N_REFERENCE]
    scored(stories[:8])  # imports, as in a session already running
    scores, seconds, forwards = scored(stories)
    expected, slow = one_at_a_time(few)
    n_pairs = sum(len(story) - 1 for story in stories)
    ratio = (slow / len(few)) / (seconds / len(stories))
    differences = {
        "one pair at a time": largest_difference(scores[: len(few)], expected),
        "batches of 7": largest_difference(scored(few, batch_size=7)[0], scores[: len(few)]),
        "stories backwards": largest_difference(scored(few[::-1])[0][::-1], scores[: len(few)]),
    }
    print(f"{n_stories} stories, {n_pairs} pairs, {forwards} of them distinct: {seconds:.2f} s")
    print(f"{n_stories / seconds:.0f} stories and {n_pairs / seconds:.0f} pairs per second")
    print(f"one pair at a time, from {len(few)} stories: {len(few) / slow:.0f} stories per second; ratio {ratio:.1f}x")
    for name, difference in differences.items():
        print(f"largest difference to {name}: {difference:.1e}")
    return int(not max(differences.values()) <= TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
