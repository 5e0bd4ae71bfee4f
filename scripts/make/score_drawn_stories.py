"""Write examples/human_scores.csv and examples/model_scores.csv, the example inputs of `vlgauge d-hm`.

They contain the scores of original and of degraded synthetic stories.
"""

# The "human" stories are original synthetic stories. The "model" stories are worse: every third story is shuffled,
# repetitive, or about other images. groovist, rovist_c and rovist_nr score them under the embedded profile.

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from retold import RetoldStory, image_columns, retell_stories

import vlgauge

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
N_STORIES, SEED = 18, 42
METRICS: dict[str, dict[str, Any]] = {
    "groovist": {"device": "cpu"},
    "rovist_c": {"context": "prefix", "device": "cpu"},
    "rovist_nr": {},
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Score and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", metavar="FOLDER", type=Path, default=EXAMPLES, help="of the two files")
    folder = parser.parse_args(arguments).output
    human, model = retell_stories(N_STORIES, SEED)
    scores = component_scores([*human, *model])
    write(folder / "human_scores.csv", scores[:N_STORIES])
    write(folder / "model_scores.csv", scores[N_STORIES:])


def component_scores(stories: Sequence[RetoldStory]) -> list[dict[str, float]]:
    """Compute the three scores of each story."""
    found = {}
    for name, settings in METRICS.items():
        metric: Any = vlgauge.load(name, keep_in_memory=True, profile="embedded", **settings)
        own = image_columns([story.seen for story in stories]) if name == "groovist" else {}
        found[name] = metric.compute(predictions=[story.sentences for story in stories], **own)[f"{name}_scores"]
    return [dict(zip(METRICS, row, strict=True)) for row in zip(*found.values(), strict=True)]


def write(path: Path, scores: Sequence[Mapping[str, float]]) -> None:
    """Write a table with one row per story and four digits."""
    names = pd.Index([f"story-{number}" for number in range(1, len(scores) + 1)], name="id")
    pd.DataFrame(scores, names).to_csv(path, float_format="%.4f", lineterminator="\n")


if __name__ == "__main__":
    main()
