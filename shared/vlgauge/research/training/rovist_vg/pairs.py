"""Pairs of a region and a phrase: from a CSV with crops, from Flickr30k Entities, or from synthetic scenes."""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.core.files import DATA
from vlgauge.inputs.images.cells import image_cell
from vlgauge.inputs.images.lazy_images import Box, ImageCrop, LazyImage, SharedImage, WholeImage
from vlgauge.inputs.tables.files import read_rows, take_column
from vlgauge.inputs.text.word_vectors import UNKNOWN
from vlgauge.models.detectors.boxes import pixel_box
from vlgauge.models.detectors.sources import image_head
from vlgauge.scenes import ObjectMention, SceneObject, SceneStory, stories
from vlgauge.scenes.wording import background_phrase, mention_of, noun_phrase

COLUMNS = ("image_id", "noun_phrase", "bbox")
_BOX = re.compile(r"\[\s*-?[\d.]+(\s*,\s*-?[\d.]+){3}\s*\]")
_ENTITY = re.compile(r"\[/EN#(\d+)/\S+ ([^\]]+)\]")


@dataclass(frozen=True)
class PhraseRegion:
    """Region, a phrase that describes it, and the name of its image, by which training and validation are split."""

    image: str
    region: LazyImage
    phrase: str


def read_csv(path: Path, crops: Path) -> list[PhraseRegion]:
    """Read pairs from a table with the columns image_id, noun_phrase and bbox. Duplicates are dropped.

    The folder `crops` has a crop per box, named ``{image_id}_{bbox}.jpg`` as in the authors' code.

    Raises:
        ValueError: If a column, phrase, box or crop is missing.
    """
    rows = read_rows(str(path), "csv")
    columns = [[str(cell).strip() for cell in take_column(rows, name)] for name in COLUMNS]
    pairs = []
    for image, phrase, box in dict.fromkeys(zip(*columns, strict=True)):
        if not phrase or not _BOX.fullmatch(box):
            raise UsageError(
                f"{path.name} must have a phrase and a box [x1, y1, x2, y2] in each row, got {phrase!r} and {box!r}"
            )
        crop = crops / f"{image}_{box}.jpg"
        if crop.parent != crops or not crop.is_file():
            raise UsageError(f"{crops} must have the crop of each row of {path.name}, got none named {crop.name!r}")
        pairs.append(PhraseRegion(image, WholeImage(image_cell(str(crop), crop.name), crop.name, "early"), phrase))
    return pairs


def read_flickr30k(annotations: Path, sentences: Path, images: Path) -> list[PhraseRegion]:
    """Read every phrase of Flickr30k Entities with each box of its entity, without function words as in the paper.

    Entities without a box are left out, and so are phrases of function words alone, such as "them".

    Raises:
        ValueError: If there are no sentences, or an image or annotation is missing.
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


def _crops(image: Path, wanted: Iterable[tuple[Box, str]]) -> list[PhraseRegion]:
    cell = image_cell(str(image), image.name)
    size, _ = image_head(cell, image.name)
    found = []
    for box, phrase in wanted:
        pixels = pixel_box(box, size)
        if pixels is not None:
            # Batches have a random order, so an image shared by its crops would stay in memory for a long time.
            crop = ImageCrop(SharedImage(cell, image.name, 1), pixels, f"{image.name}, {box}")
            found.append(PhraseRegion(image.stem, crop, phrase))
    return found


def entity_phrases(text: Path) -> list[tuple[str, str]]:
    """Return the number and the words of each entity in an image's sentences.

    Raises:
        UsageError: If the file is not UTF-8 text.
    """
    try:
        return _ENTITY.findall(text.read_text("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError(f"{text.name} must be text in UTF-8, got {error}") from None


def entity_boxes(xml: Path) -> dict[str, list[Box]]:
    """Return the boxes of each entity of an annotation.

    Raises:
        ValueError: If the file is not valid XML with integer boxes, or has a document type.
    """
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
        raise UsageError(f"{xml.name} must be an annotation with boxes of integers, got {error}") from None
    return boxes


# -- Function words ---------------------------------------------------------------------------------------------------
# Words that do not describe the content of a region, which the paper removes from its training phrases.
FUNCTION_WORDS = frozenset((DATA / "function_words.txt").read_text("utf-8").split())


def content_words(phrase: str) -> str:
    """Return the phrase without function words and punctuation marks, which may be empty."""
    return " ".join(word for word in phrase.split() if not _says_nothing(word))


def _says_nothing(word: str) -> bool:
    return word.lower() in FUNCTION_WORDS or not any(map(str.isalnum, word))


# -- Synthetic scenes -------------------------------------------------------------------------------------------------
WIDTH = 48
MARGIN = 0.3  # maximum margin around a box, relative to its sides
N_VIEWS = 2  # views per object, so that most pairs are of objects


def draw_pairs(n_stories: int, seed: int, split: str) -> Iterator[PhraseRegion]:
    """Yield regions of synthetic stories with phrases that describe them.

    Each view of an object, with some of its surroundings, has a phrase that may omit words, and its noun, because the
    metric scores nouns only. The whole image has a phrase for its background.
    """
    rng = np.random.default_rng([seed, 1])
    for story in stories(n_stories, seed, split):
        yield from _pairs_of(story, rng)


def _pairs_of(story: SceneStory, rng: np.random.Generator) -> Iterator[PhraseRegion]:
    for scene, drawing in zip(story.scenes, story.drawings(), strict=True):
        buffer = io.BytesIO()
        drawing.image.save(buffer, "PNG")
        cell = {"bytes": buffer.getvalue(), "path": None}
        whole = (0, 0, *drawing.image.size)
        ground = background_phrase(scene.background, rng)
        said = [(phrase, whole) for phrase in (ground, ground.split()[-1])]
        for thing, box in zip(scene.objects, drawing.boxes, strict=True):
            for _ in range(N_VIEWS):
                seen = widen_box(box, drawing.image.size, rng)
                said += [(phrase, seen) for phrase in phrases_of(thing, rng)]
        for phrase, box in said:
            yield PhraseRegion(story.key, ImageCrop(SharedImage(cell, scene.key, 1), box, scene.key), phrase)


def phrases_of(thing: SceneObject, rng: np.random.Generator) -> list[str]:
    """Return phrases such as "a red disc" and "circle"."""
    partial = noun_phrase(mention_of(thing, rng, complete=False), rng)
    return [partial, noun_phrase(ObjectMention(thing.shape), rng).split()[-1]]


def widen_box(box: Box, size: tuple[int, int], rng: np.random.Generator) -> Box:
    """Return the box extended on each side by up to `MARGIN` of its size, within the image."""
    left, top, right, bottom = box
    grown = rng.random(4) * MARGIN * [right - left, bottom - top, right - left, bottom - top]
    return (
        max(0, int(left - grown[0])),
        max(0, int(top - grown[1])),
        min(size[0], int(right + grown[2])),
        min(size[1], int(bottom + grown[3])),
    )


def index_words(phrases: Sequence[str], seed: int) -> Iterator[tuple[str, npt.NDArray[np.float64]]]:
    """Yield word vectors by random indexing: a random direction per word, plus a small share of co-occurring words.

    They do not encode meaning, which the head learns. The last one, for "unk", is the mean of all.

    Yields words and their vectors, shape ``(WIDTH,)``.
    """
    words = sorted({word for phrase in phrases for word in phrase.split()})
    own = dict(zip(words, np.random.default_rng([seed, 2]).standard_normal((len(words), WIDTH)), strict=True))
    together: dict[str, Counter[str]] = {word: Counter() for word in words}
    for phrase in phrases:
        split = phrase.split()
        for word in split:
            together[word].update(other for other in split if other != word)
    made = {}
    for word in words:
        others = together[word]
        context = sum((count * own[other] for other, count in others.items()), np.zeros(WIDTH))
        made[word] = own[word] + 0.2 * context / max(others.total(), 1)
    yield from made.items()
    yield UNKNOWN, np.mean(list(made.values()), axis=0)
