"""Sending exports to the Hub: a pull request per repository, and only when it is asked for."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from vlgauge.checkpoints.hub import NOT_FOUND, hub_file
from vlgauge.checkpoints.hub.proposals import files_there, open_pull_request, refuse_offline
from vlgauge.core.errors import NetworkError
from vlgauge.leaderboard.cards import merged_card
from vlgauge.leaderboard.exporters import Export
from vlgauge.leaderboard.score_files import SCORE_FILES

MESSAGE = "Add results by vlgauge"


def plan(exports: Sequence[Export]) -> list[str]:
    """What would be sent, one line per file; asks nobody."""
    lines = []
    for export in exports:
        content = _bytes(export)
        digest = hashlib.sha256(content).hexdigest()[:16]
        lines.append(f"{export.kind} {export.repository}: {export.path}, {len(content)} bytes, sha256 {digest}")
    return lines


def send(exports: Sequence[Export], *, merged: bool = False, whole: bool = False) -> list[str]:
    """Open a pull request in every repository; returns their addresses.

    Front matter is merged with that of the card on the Hub. Where the files are all results of a repository, those of
    other scores there go.

    Raises:
        ValueError: If a card has another number for the same result.
        NetworkError: If an offline switch is set, or the Hub refuses.
    """
    refuse_offline()
    if merged:
        exports = [replace(export, content=_merged(export)) for export in exports]
    files: dict[tuple[str, str], dict[str, bytes]] = {}
    for export in exports:
        files.setdefault((export.kind, export.repository), {})[export.path] = _bytes(export)
    return [
        open_pull_request(kind, repository, own, MESSAGE, _older(kind, repository, own) if whole else ())
        for (kind, repository), own in files.items()
    ]


def _older(kind: str, repository: str, own: Mapping[str, bytes]) -> list[str]:
    return [path for path in files_there(kind, repository) if fnmatchcase(path, SCORE_FILES) and path not in own]


def card_of_dataset(repository: str) -> str:
    """The card of a data set as it is on the Hub now.

    Raises:
        NetworkError: If an offline switch is set, or it cannot be had.
    """
    refuse_offline()
    return hub_file(repository, "README.md", kind="dataset").read_bytes().decode("utf-8")


def _merged(export: Export) -> str:
    """The card of a model as it is on the Hub now, with the results of an export beside its own."""
    try:
        card = hub_file(export.repository, export.path).read_bytes()
    except NetworkError as error:
        # Without a card, the Hub makes one of the front matter; a repository that it does not show is told by the next.
        if error.status != NOT_FOUND:
            raise
        return str(export.content)
    return merged_card(str(export.content), card, export.repository)


def _bytes(export: Export) -> bytes:
    return export.content.encode("utf-8") if isinstance(export.content, str) else export.content
