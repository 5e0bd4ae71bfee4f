"""Pairs of a region and a phrase: from a CSV beside crops, or from Flickr30k Entities."""

from __future__ import annotations

import ast
import csv
import re
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from PIL import Image

from vlgauge.images import image_cell
from vlgauge.pictures import Box
from vlgauge.pictures import CropPicture
from vlgauge.pictures import ImagePicture
from vlgauge.pictures import Picture
from vlgauge.pictures import SharedImage
from vlgauge.regions.boxes import pixel_box

COLUMNS = ("image_id", "noun_phrase", "bbox")
_ENTITY = re.compile(r"\[/EN#(\d+)/\S+ ([^\]]+)\]")


@dataclass(frozen=True)
class Pair:
    """A region that a phrase speaks of.

    Attributes:
        image: Name of the image, by which training and validation are parted.
        picture: The region.
        phrase: The words.
    """

    image: str
    picture: Picture
    phrase: str


def read_csv(path: Path, crops: Path) -> list[Pair]:
    """Pairs of a table with the columns image_id, noun_phrase and bbox; duplicates are dropped.

    Args:
        path: The table.
        crops: Folder with a crop per box, named ``{image_id}_{bbox}.jpg`` as in the released code.

    Raises:
        ValueError: If a column, a phrase or a crop is missing.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
        if missing:
            raise ValueError(f"{path.name} must have the columns {', '.join(COLUMNS)}, got none named {missing[0]!r}")
        rows = dict.fromkeys(tuple(row[name].strip() for name in COLUMNS) for row in reader)
    pairs = []
    for number, (image, phrase, box) in enumerate(rows, 1):
        crop = crops / f"{image}_{box}.jpg"
        if not crop.is_file():
            raise ValueError(f"{path.name} must have a crop for each pair, got none named {crop.name!r} in {crops}")
        if not phrase:
            raise ValueError(f"{path.name} must have a phrase in each row, got none in pair {number}")
        ast.literal_eval(box)
        pairs.append(Pair(image, ImagePicture(image_cell(str(crop), crop.name), crop.name, "early"), phrase))
    return pairs


def read_flickr30k(annotations: Path, sentences: Path, images: Path) -> list[Pair]:
    """Every phrase of Flickr30k Entities with each box of its entity; entities without a box are left out.

    Args:
        annotations: Folder with ``{image}.xml``.
        sentences: Folder with ``{image}.txt``.
        images: Folder with ``{image}.jpg``.

    Raises:
        ValueError: If an image or its annotation is missing.
    """
    pairs = []
    for text in sorted(sentences.glob("*.txt")):
        image, xml = images / f"{text.stem}.jpg", annotations / f"{text.stem}.xml"
        for file in (image, xml):
            if not file.is_file():
                raise ValueError(f"{text.name} must have its image and its annotation, got none named {file.name!r}")
        boxes = entity_boxes(xml)
        said = dict.fromkeys(_ENTITY.findall(text.read_text("utf-8")))
        wanted = [(box, phrase) for entity, phrase in said for box in boxes.get(entity, ())]
        cell = image_cell(str(image), image.name)
        with Image.open(image) as opened:
            size = opened.size
        for box, phrase in dict.fromkeys(wanted):
            pixels = pixel_box(box, size)
            if pixels is not None:
                # Batches are drawn in a random order: an image shared by its crops would stay in memory for long.
                crop = CropPicture(SharedImage(cell, image.name, 1), pixels, f"{image.name}, {box}")
                pairs.append(Pair(text.stem, crop, phrase))
    return pairs


def entity_boxes(xml: Path) -> dict[str, list[Box]]:
    """Boxes of each entity of an annotation."""
    boxes: dict[str, list[Box]] = {}
    for thing in ElementTree.parse(xml).getroot().iter("object"):
        found = thing.find("bndbox")
        if found is not None:
            x1, y1, x2, y2 = (int(found.findtext(name, "0")) for name in ("xmin", "ymin", "xmax", "ymax"))
            for name in thing.findall("name"):
                boxes.setdefault(name.text or "", []).append((x1, y1, x2, y2))
    return boxes
