"""TIFA160 of DSG (Cho et al., 2024): images of five text-to-image models for 160 captions, with human ratings.

The repository j-min/DSG contains all files: ``tifa160-likert-anns.csv`` (ratings from 1 to 5), ``dsg-1k-anns.csv``
(captions, questions and dependencies), and the answers of three models in ``mplug_dsg.csv``, ``instructblip_dsg.csv``
and ``pali17b_dsg.csv``. The images are in the download of TIFA (Hu et al., 2023).
"""

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.families.judged.question_graphs import GraphQuestion, check_graph, dsg_score, is_number, parents_of
from vlgauge.research.protocols.files import FilePath, Folder, entry, find_named_files, placed_rows, tidy
from vlgauge.research.protocols.ratings import CORRELATIONS, RatedCaptions

RATINGS_FILE, QUESTIONS_FILE = "tifa160-likert-anns.csv", "dsg-1k-anns.csv"
ANSWERS = {"dsg_mplug": "mplug_dsg.csv", "dsg_instructblip": "instructblip_dsg.csv", "dsg_pali17b": "pali17b_dsg.csv"}
ENDINGS = (".jpg", ".png")
SPLIT = "tifa160"

ImageKey = tuple[str, str]
"""Text-to-image model, and id of the caption."""
Parents = dict[int, tuple[int, ...]]


@dataclass(frozen=True)
class RatedImages(RatedCaptions):
    """Task with rated images of the same captions. Intervals resample captions with all their images."""

    group_unit: ClassVar[str] = "captions"


def read_dsg_tifa160(
    files: Sequence[FilePath], *, images: FilePath | None = None, independent: bool = False
) -> RatedImages:
    """Read TIFA160: 800 images, each with a caption and up to five ratings, whose mean is used.

    `released` contains the scores of DSG by the answers of each file. An answer is right if it is exactly "yes". As in
    the authors' code, images without answers get 0: the five images of the caption tifa160_134.

    Args:
        files: The files, or folders with them. Files with answers are optional.
        images: Folder of the images, named ``<caption id>_<model>.jpg``.
        independent: Whether to count answers regardless of the answers to their parents.

    Returns:
        One row per image.

    Raises:
        UsageError: If a file is missing or has another layout, a caption has no questions, or an image has answers to
            some of its questions only.
        OSError: If a file cannot be read.
    """
    paths = find_named_files(files, [RATINGS_FILE, QUESTIONS_FILE], optional=list(ANSWERS.values()))
    ratings = _ratings(paths[RATINGS_FILE])
    captions, parents = _questions(paths[QUESTIONS_FILE], {item for _, item in ratings})
    folder = Folder(images, paths[RATINGS_FILE])
    columns: dict[str, list[Any]] = {
        "predictions": [captions[item] for _, item in ratings],
        "images": [folder.image(f"{item}_{model}", ENDINGS) for model, item in ratings],
    }
    released = {
        name: _scores(paths[file], ratings, parents, independent) for name, file in ANSWERS.items() if file in paths
    }
    rules = {"ratings": "mean", "dependencies": "none" if independent else "parents", "unanswered": 0}
    means = np.array([math.fsum(own) / len(own) for own in ratings.values()]).reshape(-1, 1)
    groups = [item for _, item in ratings]
    return RatedImages("dsg_tifa160", columns, groups, rules, means, CORRELATIONS, released=released)


def _ratings(path: Path) -> dict[ImageKey, list[float]]:
    """Read the ratings of each image."""
    found: dict[ImageKey, list[float]] = {}
    for row, place in placed_rows(path):
        key = entry(row, "t2i_model", str, place), entry(row, "item_id", str, place)
        rating = entry(row, "answer", str, place).strip()
        if rating not in ("1", "2", "3", "4", "5"):
            raise UsageError(f"{place} must have a rating from 1 to 5 as 'answer', got {rating!r:.60}")
        found.setdefault(key, []).append(float(rating))
    return found


def _questions(path: Path, items: set[str]) -> tuple[dict[str, str], dict[str, Parents]]:
    """Read the captions, and the parents of their questions, of the rated items."""
    captions: dict[str, str] = {}
    parents: dict[str, Parents] = {}
    for row, place in placed_rows(path):
        item = entry(row, "item_id", str, place)
        if item not in items:
            continue
        text = tidy(entry(row, "text", str, place))
        if captions.setdefault(item, text) != text:
            raise UsageError(f"{place} must have the 'text' of the rows above about {item!r}, got {text!r:.60}")
        own = parents.setdefault(item, {})
        number = _number(row, "proposition_id", place, own)
        own[number] = parents_of(entry(row, "dependency", str, place), place)
    if missing := sorted(items - captions.keys()):
        raise UsageError(f"`{path}` must have the questions of {missing[0]!r}, got none")
    return captions, parents


def _scores(
    path: Path, images: Mapping[ImageKey, object], parents: Mapping[str, Parents], independent: bool
) -> list[float]:
    """Compute the score of each image from the answers of a file."""
    answers: dict[ImageKey, dict[int, bool]] = {}
    for row, place in placed_rows(path):
        if entry(row, "dsg_prompt_split", str, place) != SPLIT:
            continue
        key = entry(row, "t2i_model", str, place), entry(row, "item_id", str, place)
        if key not in images:
            raise UsageError(f"{place} must be about an image with ratings, got {key[1]!r} of {key[0]!r}")
        own = answers.setdefault(key, {})
        number = _number(row, "question_id", place, own)
        own[number] = entry(row, "answer", str, place) == "yes"
    if not answers:
        raise UsageError(f"`{path}` must have answers with 'dsg_prompt_split' {SPLIT!r}, got none")
    for (model, item), own in answers.items():
        known = parents[item]
        if own.keys() != known.keys():
            raise UsageError(
                f"`{path}` must have an answer to each question about {item!r}, got {sorted(own)} for the image of "
                f"{model!r}, and the questions {sorted(known)}"
            )
        # Not checked for all questions, because a caption without answers has an unknown parent.
        check_graph([GraphQuestion(number, "", own) for number, own in known.items()], f"the questions about {item!r}")
    return [
        dsg_score(answers[key], dict.fromkeys(answers[key], ()) if independent else parents[key[1]])
        if key in answers
        else 0.0
        for key in images
    ]


def _number(row: Mapping[str, Any], name: str, place: str, taken: Container[int]) -> int:
    text = entry(row, name, str, place).strip()
    if not is_number(text):
        raise UsageError(f"{place} must have the number of a question as {name!r}, got {text!r:.60}")
    if (number := int(text)) in taken:
        raise UsageError(f"{place} must have another {name!r} than the rows above, got {number} again")
    return number
