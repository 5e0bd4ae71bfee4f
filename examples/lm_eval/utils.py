"""What the task files next to this one name: rows, pictures, and scores of all captions at once."""

import statistics
from pathlib import Path
from typing import Any

from PIL import Image

import vlgauge

FOLDER = Path(__file__).resolve().parents[1]  # where the paths of the rows start


def one_row_per_image(rows: Any) -> Any:
    """Return the rows with the correct caption; the others have the same images and references."""
    return rows.filter(lambda row: row["kind"] == "right")


def load_images(row: dict[str, Any]) -> list[Image.Image]:
    """Return the image of a row for the model."""
    return [Image.open(FOLDER / row["images"]).convert("RGB")]


def caption_with_its_row(row: dict[str, Any], results: list[str]) -> dict[str, tuple[Any, ...]]:
    """Return the inputs of each metric for a row."""
    example = (results[0], row["references"], str(FOLDER / row["images"]))
    return dict.fromkeys(("pac_s", "cider", "bleu"), example)


def pac_s(examples: list[tuple[Any, ...]]) -> float:
    """Score all captions by their images."""
    captions, _, images = zip(*examples, strict=True)
    metric: Any = vlgauge.load("pac_s", profile="embedded", keep_in_memory=True)
    return metric.compute(predictions=list(captions), images=list(images))["pac_s"]


def cider(examples: list[tuple[Any, ...]]) -> float:
    """Score all captions by their references."""
    return by_references("cider", examples)


def bleu(examples: list[tuple[Any, ...]]) -> float:
    """Score all captions by their references."""
    return by_references("bleu", examples)


def by_references(name: str, examples: list[tuple[Any, ...]]) -> float:
    """Score all captions by a metric without images."""
    captions, references, _ = zip(*examples, strict=True)
    metric: Any = vlgauge.load(name, keep_in_memory=True)
    return metric.compute(predictions=list(captions), references=list(references))[name]


def mean_of_numbers(values: list[Any]) -> float | str:
    """Return the mean of numbers or of lists of one number; of strings, which are signatures, the distinct ones."""
    if isinstance(values[0], str):
        return " ".join(dict.fromkeys(values))
    return statistics.fmean(value[0] if isinstance(value, list) else value for value in values)
