"""Guesses of the source column for each column of a metric, based on names and kinds of content."""

import re
from collections.abc import Mapping, Sequence

from vlgauge.api.row_sources.source import Kind
from vlgauge.families.base.columns import Captions, Column, Images, References, Story, Text
from vlgauge.families.base.components import Components
from vlgauge.families.base.video_columns import OneImage, Videos

# Kinds of content that can fill a column of a metric, best first. In tables, images and videos are file names, which
# are of the kind "text".
KINDS: dict[type[Column], tuple[Kind, ...]] = {
    Text: ("text",),
    Story: ("texts", "text"),
    Captions: ("texts",),
    References: ("texts", "text"),
    OneImage: ("image", "text"),
    Images: ("images", "image", "text", "texts"),
    Videos: ("video", "text", "scores"),
    Components: ("scores",),
}

# Names of columns, likeliest first. They are compared without case.
NAMES = {
    "predictions": (
        *("predictions", "prediction", "story", "candidate", "generated", "generated_caption", "caption", "output"),
        *("candidates", "text", "txt", "captions"),
    ),
    "references": ("references", "reference", "refs", "ground_truth", "captions", "sentences", "raw"),
    "styles": ("styles", "style"),
    "images": ("images", "image", "picture", "jpg", "jpeg", "png", "webp", "image_path", "file_name"),
    "videos": ("videos", "video", "clip", "mp4"),
    "id": ("id", "story_id", "image_id", "__key__"),
    "groups": (),  # groups are never guessed
}
# Names of columns that identify rows or files and cannot contain captions.
_NAMES_ROWS = re.compile(r"(?:^|[\W_])(?:id|ids|key|index|uuid|file|filename|path|url)$|[a-z]I[dD]$|__$", re.IGNORECASE)
_NUMBERED = re.compile(r"(?:ref|reference|caption)s?_?\d+", re.IGNORECASE)


def guess_titles(columns: Sequence[Column], kinds: Mapping[str, Kind]) -> dict[str, list[str]]:
    """Guess the source column of each metric column and of the column ``"id"``.

    Args:
        columns: Columns of one metric, or of several metrics one after the other.
        kinds: Kind of content by column name of the source.

    Returns:
        Column names of the source by column of the metric, several for numbered references. Empty if no column is
        likely.
    """
    found: dict[str, list[str]] = {}
    for column in columns:
        if found.get(column.name):
            continue  # already guessed for another metric
        taken = {title for titles in found.values() for title in titles}
        free = {title: kind for title, kind in kinds.items() if title not in taken}
        found[column.name] = _guess(column, free)
    known = {title.lower(): title for title in reversed(list(kinds))}
    found["id"] = [known[name] for name in NAMES["id"] if name in known][:1]
    return found


def _guess(column: Column, kinds: Mapping[str, Kind]) -> list[str]:
    """Guess by name among columns of suitable kinds, or else by the best kind other than text."""
    fitting = {title: kind for title, kind in kinds.items() if kind in KINDS[type(column)]}
    known = {title.lower(): title for title in reversed(list(fitting))}
    for name in NAMES.get(column.name, ()):
        if name in known:
            return [known[name]]
    if isinstance(column, References):
        numbered = [title for title in fitting if _NUMBERED.fullmatch(title)]
        if numbered:
            return numbered
    if column.optional:
        return []
    fitting = {title: kind for title, kind in fitting.items() if not _NAMES_ROWS.search(title)}
    telling = [kind for kind in KINDS[type(column)] if kind != "text" or isinstance(column, Text)]
    return next(([title] for kind in telling for title in fitting if fitting[title] == kind), [])
