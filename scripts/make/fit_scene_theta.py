"""Fit the theta of GROOViST on synthetic scenes for the embedded profile, and measure the resulting metric.

Run it again whenever the demo CLIP, the English pipeline or the sentences of the stories change.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import vlgauge
from vlgauge import scenes
from vlgauge.core.writing import write

TARGET = Path(vlgauge.__file__).parent / "data" / "groovist" / "theta_scenes.json"
FORMAT = "groovist-theta-1"
N_FITTED, FITTED_SEED = 300, 1
N_CHECKED, CHECKED_SEED = 200, 2
SOURCES = ("given", "grid", "whole")
# Noun phrases in texts such as "to the left of the star", which name a position and no object.
PLACES = ("the left", "the right")


def regions_of(stories: Sequence[scenes.SceneStory], source: str) -> list[Any] | None:
    """Return the boxes of each drawing and its whole area, per story and image. None if the metric detects regions."""
    if source != "given":
        return None
    return [
        [{"boxes": [*drawing.boxes, (0, 0, *drawing.image.size)]} for drawing in story.drawings()] for story in stories
    ]


def load(source: str, **settings: Any) -> Any:
    """Load the metric under the embedded profile."""
    regions = None if source == "given" else source
    return vlgauge.load("groovist", keep_in_memory=True, profile="embedded", regions=regions, **settings)


def fit(n_stories: int) -> list[dict[str, Any]]:
    """Fit one record per source of regions, from validation stories."""
    stories = scenes.stories(n_stories, FITTED_SEED, "validation")
    data = {"predictions": [story.sentences for story in stories], "images": [story.images() for story in stories]}
    records = []
    for source in SOURCES:
        fitted = load(source, theta=0.0).fit_theta(**data, regions=regions_of(stories, source))
        records.append({"format": FORMAT, **fitted})
    return records


def measure(source: str, n_stories: int) -> dict[str, float]:
    """Measure the metric on test stories.

    Returns:
        Shares of stories. ``right``: the original story scores higher than the next one. ``lowest``: a hallucinated
        object is the phrase with the lowest cosine, without `PLACES`. ``lowest of all``: the same with `PLACES`.
        ``lower``: the story with this object scores lower than without. ``mean`` and ``mean of other``: mean scores of
        the original and the next story.
    """
    stories = scenes.stories(n_stories, CHECKED_SEED, "test")
    metric = load(source)
    data = {"images": [story.images() for story in stories], "regions": regions_of(stories, source)}

    def score(versions: Sequence[scenes.SceneStory]) -> Any:
        return metric.compute(predictions=[story.sentences for story in versions], **data, return_details=True)

    invented = [story.with_hallucination(seed) for seed, story in enumerate(stories)]
    own, other = score(stories), score([*stories[1:], stories[0]])
    changed = score([story for story, _ in invented])
    pairs = list(zip(changed["groovist_details"], [phrase for _, phrase in invented], strict=True))
    first = np.array(own["groovist_scores"])
    return {
        "right": float(np.mean(first > np.array(other["groovist_scores"]))),
        "lowest": float(np.mean([lowest_phrase(detail, PLACES) == phrase for detail, phrase in pairs])),
        "lowest of all": float(np.mean([lowest_phrase(detail) == phrase for detail, phrase in pairs])),
        "lower": float(np.mean(first > np.array(changed["groovist_scores"]))),
        "mean": float(np.nanmean(first)),
        "mean of other": float(np.nanmean(other["groovist_scores"])),
    }


def lowest_phrase(detail: Mapping[str, Any], left_out: Sequence[str] = ()) -> str:
    """Return the phrase with the lowest cosine."""
    rows = [row for row in detail["noun_phrases"] if row["text"] not in left_out]
    return min(rows, key=lambda row: row["cosine"])["text"]


def main(arguments: list[str] | None = None, say: Callable[[str], object] = print) -> None:
    """Fit and measure, or only measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=TARGET, help="JSON file to write")
    parser.add_argument("--stories", type=int, default=N_FITTED, help=f"to fit on (default: {N_FITTED})")
    parser.add_argument("--checked", type=int, default=N_CHECKED, help=f"to measure on (default: {N_CHECKED})")
    parser.add_argument("--only-check", action="store_true", help="measure with the theta that is there")
    options = parser.parse_args(arguments)
    if not options.only_check:
        records = fit(options.stories)
        options.output.parent.mkdir(exist_ok=True)
        write(options.output, json.dumps(records, indent=2) + "\n")
        for record in records:
            say(f"{record['regions']}: theta {record['theta']:.4f} from {record['n_phrases']} phrases")
    for source in SOURCES:
        shares = ", ".join(f"{name} {value:.3f}" for name, value in measure(source, options.checked).items())
        say(f"{source}: {shares}")


if __name__ == "__main__":
    main()
