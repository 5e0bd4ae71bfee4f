"""Conversion of the input of a form, a file or an API call to rows that a metric can score.

Text is never used as a path of a file. Images are always uploads or bytes.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlgauge.core.errors import UsageError
from vlgauge.explain.examples import Example, examples_of
from vlgauge.families.base import Column, Metric
from vlgauge.families.base.columns import Captions, Images, References, Story, Text
from vlgauge.families.base.components import COMPONENTS, Components
from vlgauge.families.base.video_columns import OneImage, Videos
from vlgauge_workbench.uploads import is_upload

# Columns of files.
FILES = ("images", "videos")

# Limits of one example, because the page may be public.
MOST_CHARACTERS = 20_000  # of all texts of a column
MOST_TEXTS = 100
MOST_IMAGES = 50
LARGEST_FILE = 20_000_000  # bytes of an image
LARGEST_CLIP = 100_000_000


@dataclass(frozen=True)
class Field:
    """Form field of a column.

    Attributes:
        label: Label of the field.
        info: Format of the input.
        lines: Height of a text field.
    """

    label: str
    info: str = ""
    lines: int = 2


_FIELDS: dict[type[Column], Field] = {
    Story: Field("Story", "One sentence per line, or running text in one line", 6),
    Captions: Field("Captions", "One caption per line", 6),
    References: Field("References", "One reference per line", 4),
    Text: Field("Caption"),
    Components: Field(f"Scores: {', '.join(COMPONENTS)}", "Three numbers separated by commas", 1),
    OneImage: Field("Image"),
    Images: Field("Images, in order"),
    Videos: Field("Video"),
}
_LABELS = {
    ("predictions", Captions): "Model captions",
    ("references", Captions): "Human captions",
    ("styles", Text): "Style",
    ("predictions", Components): f"Model: {', '.join(COMPONENTS)}",
    ("references", Components): f"Human: {', '.join(COMPONENTS)}",
}


def field_of(column: Column) -> Field:
    """Return the form field of a column."""
    field = _FIELDS[type(column)]
    label = _LABELS.get((column.name, type(column)), field.label)
    return Field(label if is_needed(column) else f"{label} (optional)", field.info, field.lines)


def is_needed(column: Column) -> bool:
    """Return whether a form requires the column.

    Some file columns are optional only because a program can pass another input instead. A form requires them.
    """
    return not column.optional or column.name in FILES


def short_label(column: Column) -> str:
    """Return the label of a column without the format of its input."""
    return re.split("[,:]| \\(", field_of(column).label)[0]


def cell_of(column: Column, text: str) -> Any:
    """Convert the text of a form field to a cell of the column. None for empty text.

    Returns:
        A string, a list of lines for caption sets and stories of several lines, or a dictionary of scores.

    Raises:
        UsageError: If scores are not in a valid form.
    """
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if not lines:
        return None
    if isinstance(column, Components):
        return _components(column.name, text)
    if isinstance(column, Captions):
        return lines
    if isinstance(column, Story) and len(lines) > 1:
        return lines
    return text.strip()


def _components(name: str, text: str) -> dict[str, float]:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != len(COMPONENTS):
        raise UsageError.about(name, f"must be {len(COMPONENTS)} numbers separated by commas, got {text[:60]!r}")
    return dict(zip(COMPONENTS, numbers, strict=True))


def text_of(cell: Any) -> str:
    """Return the text of a form field for a cell."""
    if isinstance(cell, Mapping):
        return ", ".join(str(value) for value in cell.values())
    return cell if isinstance(cell, str) else "\n".join(cell or ())


def file_of(sent: Any, place: str) -> bytes | str:
    """Return the file of an image or a video that an API client sent.

    Args:
        sent: Base64 string, or an upload of ``gradio_client.handle_file``.
        place: Name of the argument, for error messages.

    Returns:
        Bytes, or the path of the upload.

    Raises:
        UsageError: If it is neither.
    """
    if is_upload(sent):
        return str(sent["path"])
    try:
        return base64.b64decode(sent.partition(",")[2] if sent.startswith("data:") else sent, validate=True)
    except (binascii.Error, ValueError, AttributeError):
        raise UsageError.about(
            place,
            f"must be the bytes of a file in base64, got {str(sent)[:60]!r}; "
            "gradio_client.handle_file(...) sends a file",
        ) from None


def check_size(name: str, cell: Any) -> None:
    """Check that an example is not larger than the limits.

    An image or a video is passed as bytes, or as the path of an upload.

    Raises:
        UsageError: If it is.
    """
    parts = cell if isinstance(cell, list) else [cell]
    if name in FILES:
        if len(parts) > MOST_IMAGES:
            raise UsageError.about(name, f"must be at most {MOST_IMAGES} images, got {len(parts):,}")
        limit = LARGEST_CLIP if name == "videos" else LARGEST_FILE
        largest = max((len(one) if isinstance(one, bytes) else Path(one).stat().st_size for one in parts), default=0)
        if largest > limit:
            raise UsageError.about(name, f"must have at most {limit / 1e6:g} MB a file, got {largest / 1e6:.1f} MB")
        return
    texts = [one for one in parts if isinstance(one, str)]
    if len(texts) > MOST_TEXTS:
        raise UsageError.about(name, f"must be at most {MOST_TEXTS} texts, got {len(texts):,}")
    n_characters = sum(map(len, texts))
    if n_characters > MOST_CHARACTERS:
        raise UsageError.about(name, f"must have at most {MOST_CHARACTERS:,} characters, got {n_characters:,}")


def examples_for(metric: Metric) -> list[Example]:
    """Return the bundled examples that a metric can score.

    These are the examples of its configuration, or otherwise the examples without a configuration.
    """
    examples = examples_of(metric.name)
    own = [one for one in examples if one.config == metric.config_name]
    return own or [one for one in examples if not one.config]
