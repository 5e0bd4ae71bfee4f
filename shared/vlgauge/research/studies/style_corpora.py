"""Captions with style labels, read from the published files of style corpora."""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vlgauge.core.errors import MissingFileError, UsageError
from vlgauge.core.files import FilePath, decode_text, read_bytes, read_json, read_text, read_unpacked
from vlgauge.inputs.tables.files import read_rows, take_column
from vlgauge.research.protocols.files import entry
from vlgauge.stats.drawing import is_unlabeled

GOEMOTIONS_LABELS = (
    *("admiration", "amusement", "anger", "annoyance", "approval", "caring", "confusion", "curiosity", "desire"),
    *("disappointment", "disapproval", "disgust", "embarrassment", "excitement", "fear", "gratitude", "grief", "joy"),
    *("love", "nervousness", "optimism", "pride", "realization", "relief", "remorse", "sadness", "surprise", "neutral"),
)

_DIGITS = 9  # maximum length of a label number

# Placeholders of captions whose annotator left.
_NO_CAPTION = ("[DISCONNECT]", "[TIMEOUT]", "[RETURNED]")
# Without these images, the number of rows equals the number in Li and Harrison (2022), who give no reason.
_UNUSED_IMAGES = "ac8"


@dataclass(frozen=True)
class StyledCaptions:
    """Captions with their styles.

    Attributes:
        captions: Captions.
        styles: Style of each caption.
        groups: Subject of each caption, such as its image. None if the files do not contain it.
        dropped: Number of dropped rows by reason.
    """

    captions: list[str]
    styles: list[str]
    groups: list[str] | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.captions)


def read_table(
    path: FilePath,
    caption: str = "caption",
    style: str = "style",
    group: str | None = None,
    file_format: str | None = None,
) -> StyledCaptions:
    """Read captions, styles and optionally groups from columns of a CSV, TSV, JSON, JSONL or Parquet file.

    The path ``"-"`` is standard input.

    Args:
        path: File.
        caption: Name of the column of captions.
        style: Name of the column of styles.
        group: Name of the column of groups, such as image ids. None for no groups.
        file_format: Format of the file. None to infer it from the name.

    Raises:
        ValueError: If a caption is not a string, or a style or group is empty.
    """
    rows = read_rows(str(path), file_format)
    captions, styles = take_column(rows, caption), take_column(rows, style)
    for title, cells in ((caption, captions), (style, styles)):
        for row, cell in enumerate(cells):
            if not isinstance(cell, str) or (title == style and not cell.strip()):
                raise UsageError(f"FILE must have text in the column {title!r}, row {row} has: {cell!r}")
    groups = None if group is None else take_column(rows, group)
    for row, cell in enumerate(groups or ()):
        if is_unlabeled(cell):
            raise UsageError(f"FILE must have a group in the column {group!r}, row {row} has: {cell!r}")
    groups = groups and [str(cell) for cell in groups]
    return StyledCaptions(captions, styles, groups)


def read_personality_captions(path: FilePath) -> StyledCaptions:
    """Read PERSONALITY-CAPTIONS (Shuster et al., 2019), a JSON list of images with a comment in one of 215 styles.

    The additional comments of the test set also count as captions. Comments of annotators who left, and images that Li
    and Harrison (2022) appear to leave out, are dropped and counted.

    Raises:
        ValueError: If the file has another layout.
        OSError: If the file cannot be read.
    """
    kept: list[tuple[str, str, str]] = []
    dropped: Counter[str] = Counter()
    for i, row in enumerate(_json(path, list)):
        place = f"row {i} of {path}"
        image, style = entry(row, "image_hash", str, place), entry(row, "personality", str, place)
        more = entry(row, "additional_comments", list, place) if "additional_comments" in row else []
        for text in [entry(row, "comment", str, place), *more]:
            if not isinstance(text, str):
                raise UsageError(f"FILE must have strings as 'additional_comments', got {text!r} in {place}")
            mark = next((mark for mark in _NO_CAPTION if mark in f"{text} {style}"), None)
            if mark is None and image.startswith(_UNUSED_IMAGES):
                mark = f"image {_UNUSED_IMAGES}..."
            if mark is None:
                kept.append((text, style, image))
            else:
                dropped[mark] += 1
    return _gather_captions(kept, dropped, path)


def read_flickrstyle(folder: FilePath) -> StyledCaptions:
    """Read FlickrStyle (Gan et al., 2017), a folder with one text file per style, each with image i in line i.

    Raises:
        MissingFileError: If a file of the folder is missing.
    """
    files = {"humorous": "humor/funny_train.txt", "romantic": "romantic/romantic_train.txt"}
    missing = [name for name in files.values() if not (Path(folder) / name).is_file()]
    if missing:
        raise MissingFileError(
            f"FILE must be the folder of FlickrStyle with {' and '.join(files.values())}, got {os.fspath(folder)!r} "
            f"without {' and '.join(missing)}"
        )
    return read_lines({style: Path(folder) / name for style, name in files.items()})


def read_lines(files: Mapping[str, FilePath]) -> StyledCaptions:
    """Read one text file per style with one caption per line. Line i of all files has the same subject.

    Bytes that are not UTF-8 are replaced, because FlickrStyle contains one. Blank lines are dropped and counted.

    Raises:
        ValueError: If a file is not UTF-8 text.
        OSError: If a file cannot be read.
    """
    kept: list[tuple[str, str, str]] = []
    blank = 0
    for style, path in files.items():
        # Lines end only at a line feed. splitlines() would also split at U+2028 and shift the following lines.
        lines = read_bytes(path, "FILE").decode("utf-8", errors="replace").split("\n")
        kept += [(line.strip(), style, str(i)) for i, line in enumerate(lines) if line.strip()]
        blank += sum(not line.strip() for line in lines[:-1])
    return _gather_captions(kept, {"blank line": blank} if blank else {}, ", ".join(map(str, files.values())))


def read_senticap(path: FilePath, split: str | None = None) -> StyledCaptions:
    """Read SentiCap (Mathews et al., 2016), ``senticap_dataset.json``, with sentences for images of MS COCO.

    Args:
        path: File.
        split: Split, such as "train". None for all.

    Raises:
        ValueError: If the file has another layout.
        OSError: If the file cannot be read.
    """
    kept: list[tuple[str, str, str]] = []
    for i, image in enumerate(entry(_json(path, dict), "images", list, str(path))):
        place = f"image {i} of {path}"
        if split is not None and entry(image, "split", str, place) != split:
            continue
        name = entry(image, "filename", str, place)
        for sentence in entry(image, "sentences", list, place):
            sentiment = entry(sentence, "sentiment", int, place)
            if sentiment not in (0, 1):
                raise UsageError(f"FILE must have sentiment 0 or 1, got {sentiment!r} in {place}")
            kept.append((entry(sentence, "raw", str, place), ("negative", "positive")[sentiment], name))
    return _gather_captions(kept, {}, path)


def read_goemotions(path: FilePath, labels: FilePath | None = None) -> StyledCaptions:
    """Read GoEmotions (Demszky et al., 2020): text, label numbers and id, separated by tabs, without quoting.

    Texts with several emotions are dropped and counted, because they have no unique style. A header is allowed.

    Args:
        path: File, which may be packed.
        labels: File with the names of the emotions. None for the published ones.

    Raises:
        ValueError: If a row is malformed.
        OSError: If a file cannot be read.
    """
    names = GOEMOTIONS_LABELS if labels is None else tuple(read_text(labels, "FILE").split())
    text = decode_text(read_unpacked(path, "FILE"), "FILE", path)
    captions, styles, several = [], [], 0
    for number, line in enumerate(text.split("\n"), 1):
        cells = line.removesuffix("\r").split("\t")
        if cells == [""] or (number == 1 and cells[:2] == ["text", "label"]):
            continue
        numbers = cells[1].split(",") if len(cells) == 3 else [""]
        if not all(cell.isdecimal() and len(cell) <= _DIGITS and int(cell) < len(names) for cell in numbers):
            expected = f"text, numbers below {len(names)} and id, separated by tabs"
            raise UsageError(f"FILE must have {expected}, got {line[:60]!r} in line {number} of {path}")
        if len(numbers) > 1:
            several += 1
        else:
            captions.append(cells[0])
            styles.append(names[int(numbers[0])])
    if not captions:
        raise UsageError(f"FILE must have at least one caption, got none in {path}")
    return StyledCaptions(captions, styles, None, {"several labels": several} if several else {})


READERS: dict[str, Callable[[FilePath], StyledCaptions]] = {
    "table": read_table,
    "personality-captions": read_personality_captions,
    "flickrstyle": read_flickrstyle,
    "senticap": read_senticap,
    "goemotions": read_goemotions,
}
"""Reader of each kind of corpus."""


def _gather_captions(kept: Sequence[tuple[str, str, str]], dropped: Mapping[str, int], path: object) -> StyledCaptions:
    if not kept:
        raise UsageError(f"FILE must have at least one caption, got none in {path}")
    captions, styles, groups = map(list, zip(*kept, strict=True))
    return StyledCaptions(captions, styles, groups, dict(dropped))


def _json(path: FilePath, kind: type) -> Any:
    content = read_json(path, "FILE")
    if not isinstance(content, kind):
        raise UsageError(f"FILE must contain JSON of type {kind.__name__}, got {type(content).__name__} in {path}")
    return content
