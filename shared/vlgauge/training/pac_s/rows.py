"""Training rows: from JSON lines or CSV, or drawn; and pairs of a right and a wrong caption to test with."""

from dataclasses import dataclass
from pathlib import Path

from vlgauge.errors import UsageError
from vlgauge.media.pictures import Picture
from vlgauge.training.pac_s.options import Columns
from vlgauge.training.row_files import picture_field, records, text_field


@dataclass(frozen=True)
class Row:
    """One image with one of its captions.

    Attributes:
        image: v.
        caption: t.
        generated_image: v', drawn after the caption; None leaves the row out of that term.
        generated_caption: t', written after the image; None leaves the row out of that term.
        group: Rows of one group are put into one batch, as hard negatives of each other; None for a row by itself.
    """

    image: Picture
    caption: str
    generated_image: Picture | None
    generated_caption: str | None
    group: str | None = None


@dataclass(frozen=True)
class Foil:
    """An image with a caption that is right and one that is wrong.

    Attributes:
        image: What both are about.
        right: The caption that should score higher.
        wrong: The other.
        kind: What is wrong with it.
        group: Pairs of one group are not independent; None for those of one image.
    """

    image: Picture
    right: str
    wrong: str
    kind: str
    group: str | None = None


def read_rows(path: Path, columns: Columns, folder: Path | None = None) -> list[Row]:
    """Training rows of JSON lines, or of a CSV with a header; images are opened later.

    Relative image paths start in `folder`, None for that of the file.
    """
    folder = folder or path.parent
    rows = []
    for place, fields in records(path):
        image = picture_field(fields, columns.image, folder, place)
        caption = text_field(fields, columns.caption, place)
        if image is None or caption is None:
            missing = columns.image if image is None else columns.caption
            raise UsageError(f"`{place}` must have the column {missing!r}, got the columns {sorted(fields)}")
        generated = picture_field(fields, columns.generated_image, folder, place)
        said, group = (text_field(fields, name, place) for name in (columns.generated_caption, columns.group))
        rows.append(Row(image, caption, generated, said, group))
    if len({row.image.key for row in rows}) < 2:
        raise UsageError(f"`{path}` must have rows of at least 2 images, got {len(rows)} rows")
    return rows


def read_foils(path: Path, columns: Columns, folder: Path | None = None) -> list[Foil]:
    """Test pairs of a file with the columns of image, caption and foil."""
    foils = []
    for place, fields in records(path):
        image = picture_field(fields, columns.image, folder or path.parent, place)
        right, wrong = text_field(fields, columns.caption, place), text_field(fields, columns.foil, place)
        if image is None or right is None or wrong is None:
            wanted = f"{columns.image}, {columns.caption} and {columns.foil}"
            raise UsageError(f"`{place}` must have the columns {wanted}, got the columns {sorted(fields)}")
        foils.append(Foil(image, right, wrong, "foil"))
    if not foils:
        raise UsageError(f"`{path}` must have at least one row, got none")
    return foils
