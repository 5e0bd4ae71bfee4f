"""Which column of a source a metric's column is, by what it holds and what it is called."""

import re
from collections.abc import Mapping, Sequence

from vlgauge.base.columns import Captions, Column, Images, References, Story, Text
from vlgauge.base.components import Components
from vlgauge.base.video_columns import OneImage, Videos
from vlgauge.row_sources.source import Kind

# What a column of a metric can be made of, the best first. A picture or clip in a table is a name, that is a text.
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

# What it is called, the likeliest first; compared without case.
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
    "groups": (),  # which rows belong together is not guessed
}
# What names rows or files is no caption.
_NAMES_ROWS = re.compile(r"(?:^|[\W_])(?:id|ids|key|index|uuid|file|filename|path|url)$|[a-z]I[dD]$|__$", re.IGNORECASE)
_NUMBERED = re.compile(r"(?:ref|reference|caption)s?_?\d+", re.IGNORECASE)


def guessed_titles(columns: Sequence[Column], kinds: Mapping[str, Kind]) -> dict[str, list[str]]:
    """The likeliest title of each column, and of the column ``"id"``; several for numbered references.

    Args:
        columns: Columns of a metric, or of several one after the other.
        kinds: What each column of the source holds, by its title.

    Returns:
        Titles by name of the column; an empty list where none is likely.
    """
    found: dict[str, list[str]] = {}
    for column in columns:
        if found.get(column.name):
            continue  # guessed for another metric
        taken = {title for titles in found.values() for title in titles}
        free = {title: kind for title, kind in kinds.items() if title not in taken}
        found[column.name] = _guess(column, free)
    known = {title.lower(): title for title in reversed(list(kinds))}
    found["id"] = [known[name] for name in NAMES["id"] if name in known][:1]
    return found


def _guess(column: Column, kinds: Mapping[str, Kind]) -> list[str]:
    """By name among those of a kind that can be right, else the first of the best kind that is no mere text."""
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
