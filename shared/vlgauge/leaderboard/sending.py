"""Pull requests with exports to repositories of the Hub, opened only on request."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from vlgauge.checkpoints.hub import NOT_FOUND, hub_file
from vlgauge.checkpoints.hub.proposals import check_online, files_there, open_pull_request
from vlgauge.core.errors import NetworkError
from vlgauge.leaderboard.cards import merge_card
from vlgauge.leaderboard.exporters import Export
from vlgauge.leaderboard.score_files import SCORE_FILES

MESSAGE = "Add results by vlgauge"


def plan(exports: Sequence[Export]) -> list[str]:
    """Return a line per file that `send` would upload, without network access."""
    lines = []
    for export in exports:
        content = _bytes(export)
        digest = hashlib.sha256(content).hexdigest()[:16]
        lines.append(f"{export.kind} {export.repository}: {export.path}, {len(content)} bytes, sha256 {digest}")
    return lines


def send(exports: Sequence[Export], *, merged: bool = False, whole: bool = False) -> list[str]:
    """Open a pull request in every repository.

    Args:
        exports: Files to upload.
        merged: Whether to merge front matter with the card on the Hub.
        whole: Whether the files are all results of a repository, so that files of other scores in it are deleted.

    Returns:
        URLs of the pull requests.

    Raises:
        ValueError: If a card has a different value for the same result.
        NetworkError: If an offline switch is set, or the Hub rejects the request.
    """
    check_online()
    if merged:
        exports = [replace(export, content=_merge_card(export)) for export in exports]
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
    """Return the current card of a dataset on the Hub.

    Raises:
        NetworkError: If an offline switch is set, or the card cannot be downloaded.
    """
    check_online()
    return hub_file(repository, "README.md", kind="dataset").read_bytes().decode("utf-8")


def _merge_card(export: Export) -> str:
    """Return the current card of a model on the Hub with the results of an export added to its own results."""
    try:
        card = hub_file(export.repository, export.path).read_bytes()
    except NetworkError as error:
        # Without a card, the front matter becomes the card. If the repository is missing, the next request fails.
        if error.status != NOT_FOUND:
            raise
        return str(export.content)
    return merge_card(str(export.content), card, export.repository)


def _bytes(export: Export) -> bytes:
    return export.content.encode("utf-8") if isinstance(export.content, str) else export.content
