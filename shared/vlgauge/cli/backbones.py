"""List the image and text encoders that metrics can use, and which ones are on this machine."""

import argparse

from vlgauge.api.prefetch.assets import clip_files
from vlgauge.api.prefetch.fetching import is_there
from vlgauge.core.results import to_json, to_table
from vlgauge.models.clip.architectures import TABLE, ClipArchitecture

_COLUMNS = ["name", "aliases", "width", "context", "pixels", "licence", "revision", "here"]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = (
        f"{__doc__} Any 'ARCHITECTURE:TAG' of open_clip works, too. Run `vlgauge prefetch clip:NAME` to fetch one."
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(options: argparse.Namespace) -> None:
    """Print all backbones."""
    found = [facts(row) for row in TABLE.values()]
    if options.json:
        print(to_json({"backbones": found}))
        return
    print(to_table(_COLUMNS, [[_cell(entry[column]) for column in _COLUMNS] for entry in found]))


def facts(row: ClipArchitecture) -> dict[str, object]:
    """Return the properties of a backbone.

    Returns:
        ``name``, ``aliases``, ``width``, ``context``, ``pixels``, ``licence``, ``revision`` ("newest" if no commit is
        pinned) and ``here``, whether the weights are available.
    """
    return {
        "name": row.name,
        "aliases": list(row.other_names),
        "width": row.embed_width,
        "context": row.context,
        "pixels": row.size,
        "licence": row.licence,
        "revision": row.revision or "newest",
        "here": row.repository is not None and bool(is_there(clip_files(row.name))),
    }


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text[:8] if len(text) == 40 and " " not in text and "/" not in text else text
