"""Pairs of a region and a phrase: from a CSV beside crops, or from Flickr30k Entities."""

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from vlgauge.errors import UsageError
from vlgauge.files import read_text
from vlgauge.media.images import image_cell
from vlgauge.media.pictures import Box, CropPicture, ImagePicture, Picture, SharedImage
from vlgauge.regions.boxes import pixel_box
from vlgauge.regions.sources import image_head
from vlgauge.training.rovist_vg.function_words import content_words

COLUMNS = ("image_id", "noun_phrase", "bbox")
_BOX = re.compile(r"\[\s*-?[\d.]+(\s*,\s*-?[\d.]+){3}\s*\]")
_ENTITY = re.compile(r"\[/EN#(\d+)/\S+ ([^\]]+)\]")


@dataclass(frozen=True)
class Pair:
    """A region that a phrase speaks of, and the name of its image, by which training and validation are parted."""

    image: str
    picture: Picture
    phrase: str


def read_csv(path: Path, crops: Path) -> list[Pair]:
    """Pairs of a table with the columns image_id, noun_phrase and bbox; duplicates are dropped.

    The folder `crops` has a crop per box, named ``{image_id}_{bbox}.jpg`` as in the authors' code.
    """
    reader = csv.DictReader(io.StringIO(read_text(path, f"`{path}`"), newline=""))
    missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise UsageError(f"{path.name} must have the columns {', '.join(COLUMNS)}, got none named {missing[0]!r}")
    cells = {tuple((row[name] or "").strip() for name in COLUMNS): reader.line_num for row in reader}
    pairs = []
    for (image, phrase, box), line in cells.items():
        place = f"line {line} of {path.name}"
        if not phrase or not _BOX.fullmatch(box):
            raise UsageError(f"{place} must have a phrase and a box [x1, y1, x2, y2], got {phrase!r} and {box!r}")
        crop = crops / f"{image}_{box}.jpg"
        if crop.parent != crops or not crop.is_file():
            raise UsageError(f"{place} must have its crop in {crops}, got none named {f'{image}_{box}.jpg'!r}")
        pairs.append(Pair(image, ImagePicture(image_cell(str(crop), crop.name), crop.name, "early"), phrase))
    return pairs


def read_flickr30k(annotations: Path, sentences: Path, images: Path) -> list[Pair]:
    """Every phrase of Flickr30k Entities with each box of its entity, without its function words as in the paper.

    Entities without a box are left out, and so are phrases of function words alone, such as "them".
    """
    texts = sorted(sentences.glob("*.txt"))
    if not texts:
        raise UsageError(f"Flickr30k Entities must have sentences, got no file *.txt in {sentences}")
    pairs = []
    for text in texts:
        image, xml = images / f"{text.stem}.jpg", annotations / f"{text.stem}.xml"
        for file in (image, xml):
            if not file.is_file():
                raise UsageError(f"{text.name} must have its image and its annotation, got none named {file.name!r}")
        boxes = entity_boxes(xml)
        said = [(entity, content_words(phrase)) for entity, phrase in entity_phrases(text)]
        wanted = [(box, phrase) for entity, phrase in said if phrase for box in boxes.get(entity, ())]
        pairs += _crops(image, dict.fromkeys(wanted))
    return pairs


def _crops(image: Path, wanted: Iterable[tuple[Box, str]]) -> list[Pair]:
    cell = image_cell(str(image), image.name)
    size = image_head(cell, image.name).size
    found = []
    for box, phrase in wanted:
        pixels = pixel_box(box, size)
        if pixels is not None:
            # Batches are drawn in a random order: an image shared by its crops would stay in memory for long.
            crop = CropPicture(SharedImage(cell, image.name, 1), pixels, f"{image.name}, {box}")
            found.append(Pair(image.stem, crop, phrase))
    return found


def entity_phrases(text: Path) -> list[tuple[str, str]]:
    """Number and words of the entities of an image's sentences."""
    try:
        return _ENTITY.findall(text.read_text("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError(f"{text.name} must be text in UTF-8, got {error}") from None


def entity_boxes(xml: Path) -> dict[str, list[Box]]:
    """Boxes of each entity of an annotation."""
    content = xml.read_bytes()
    if b"<!" in content.replace(b"<!--", b""):
        raise UsageError(f"{xml.name} must be an annotation without a document type, got one")
    boxes: dict[str, list[Box]] = {}
    try:
        for thing in ElementTree.fromstring(content).iter("object"):
            for found in thing.findall("bndbox"):
                x1, y1, x2, y2 = (int(found.findtext(name, "")) for name in ("xmin", "ymin", "xmax", "ymax"))
                for name in thing.findall("name"):
                    boxes.setdefault(name.text or "", []).append((x1, y1, x2, y2))
    except (ElementTree.ParseError, ValueError) as error:
        raise UsageError(f"{xml.name} must be an annotation with boxes of whole numbers, got {error}") from None
    return boxes
