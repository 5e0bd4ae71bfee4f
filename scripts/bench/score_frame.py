"""Time `vlgauge.score` on a frame of captions against `compute` on the same lists.

Exits with status 1 when the frame takes more than 5 % longer: 10,000 rows, 4 metrics of text. The two take turns, and
the least time of each counts.
"""

import argparse
import random
import sys
import time
from pathlib import Path

import pandas as pd

import vlgauge

METRICS = ("bleu", "chrf", "cider", "rouge_l")
ROWS, MORE = 10_000, 1.05
WORDS = Path(__file__).parents[2] / "README.md"


def made_rows(n: int) -> tuple[list[str], list[list[str]]]:
    """Captions with five references each."""
    rng = random.Random(0)
    words = sorted({word for word in WORDS.read_text("utf-8").lower().split() if word.isalpha()})

    def caption() -> str:
        return " ".join(rng.choices(words, k=rng.randint(8, 14)))

    return [caption() for _ in range(n)], [[caption() for _ in range(5)] for _ in range(n)]


def main(arguments: list[str] | None = None) -> int:
    """Score both ways, print seconds; 1 if the frame takes more than is wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="little data, to see that it runs")
    smoke = parser.parse_args(arguments).smoke
    n_rows, turns = (50, 1) if smoke else (ROWS, 5)
    predictions, references = made_rows(n_rows)
    frame = pd.DataFrame({"caption": predictions, "refs": references, "other": range(n_rows)})
    metrics = [vlgauge.load(name, keep_in_memory=True) for name in METRICS]
    lists, frames = [], []
    for _ in range(turns):
        start = time.process_time()
        for metric in metrics:
            metric.compute(predictions=predictions, references=references)
        between = time.process_time()
        _ = vlgauge.score(frame, metrics, predictions="caption", references="refs").rows
        lists.append(between - start)
        frames.append(time.process_time() - between)
    ratio = min(frames) / min(lists)
    print(
        f"{n_rows} rows, {len(METRICS)} metrics: lists {min(lists):.2f} s, frame {min(frames):.2f} s, {ratio:.3f} times"
    )
    return int(not smoke and ratio > MORE)


if __name__ == "__main__":
    sys.exit(main())
