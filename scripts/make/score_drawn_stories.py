"""Write examples/human_scores.csv and examples/model_scores.csv, the example inputs of `vlgauge d-hm`.

They contain the scores of original and of degraded synthetic stories.
"""

# The "human" stories are original synthetic stories. The "model" stories are worse: every third story is shuffled,
# repetitive, or about other images. groovist, rovist_c and rovist_nr score them under the embedded profile.

import argparse
import csv
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from retold import Told, picture_columns, retell_stories

import vlgauge

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
N_STORIES, SEED = 18, 42
METRICS: dict[str, dict[str, Any]] = {
    "groovist": {"device": "cpu"},
    "rovist_c": {"context": "prefix", "device": "cpu"},
    "rovist_nr": {},
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Score and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", metavar="FOLDER", type=Path, default=EXAMPLES, help="of the two files")
    folder = parser.parse_args(arguments).output
    stories = retell_stories(N_STORIES, SEED)
    human = stories[:N_STORIES]
    # The kinds of version alternate: kind 1 for the first story, kind 2 for the second, and so on.
    model = [stories[(1 + i % 3) * N_STORIES + i] for i in range(N_STORIES)]
    scores = component_scores([*human, *model])
    ids = [story.name for story in human]
    write(folder / "human_scores.csv", ids, scores[:N_STORIES])
    write(folder / "model_scores.csv", ids, scores[N_STORIES:])
    return 0


def component_scores(stories: Sequence[Told]) -> list[dict[str, float]]:
    """Compute the three scores of each story."""
    found = {}
    for name, settings in METRICS.items():
        metric: Any = vlgauge.load(name, keep_in_memory=True, profile="embedded", **settings)
        own = picture_columns([story.seen for story in stories]) if name == "groovist" else {}
        found[name] = metric.compute(predictions=[story.sentences for story in stories], **own)[f"{name}_scores"]
    return [dict(zip(METRICS, row, strict=True)) for row in zip(*found.values(), strict=True)]


def write(path: Path, ids: Sequence[str], scores: Sequence[Mapping[str, float]]) -> None:
    """Write a table with one row per story and four digits."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["id", *METRICS])
        rows.writerows(
            [name, *(f"{row[metric]:.4f}" for metric in METRICS)] for name, row in zip(ids, scores, strict=True)
        )


if __name__ == "__main__":
    sys.exit(main())
