"""What a run is known by: the content of what it reads, never its names, sizes or times alone."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vlgauge.files import open_file
from vlgauge.settings import warn
from vlgauge.signatures import named

WHOLE_BYTES = 2**30
"""Files up to this size are digested whole."""

N_BLOCKS, BLOCK_BYTES = 64, 2**20
_SEED = 0


def contents_of(paths: Iterable[str | Path]) -> dict[str, dict[str, Any]]:
    """Size and digest of each file by its path; one warning names the number of those that are too large for the whole.

    Raises:
        OSError: If one cannot be read.
    """
    found = {str(path): content_of(path) for path in paths}
    if large := [path for path, content in found.items() if content["sampled"]]:
        warn(
            f"{len(large)} files of more than {WHOLE_BYTES:,} bytes, such as {large[0]!r}, are known by a sampled "
            f"digest, of size, head, tail and {N_BLOCKS} blocks; a change elsewhere is not seen when the run goes on"
        )
    return found


def content_of(path: str | Path) -> dict[str, Any]:
    """What a file is known by: its size, and the SHA-256 of all of it, or of parts of a large one.

    The parts are head, tail and blocks at places that the size alone decides, so that they are the same in every run.

    Raises:
        OSError: If it cannot be read.
    """
    digest = hashlib.sha256()
    with open_file(path, "FILE") as file:
        size = os.fstat(file.fileno()).st_size
        if sampled := size > WHOLE_BYTES:
            places = random.Random(f"{_SEED} {size}")
            inside = sorted(places.randrange(BLOCK_BYTES, size - BLOCK_BYTES) for _ in range(N_BLOCKS))
            for start in (0, *inside, size - BLOCK_BYTES):
                file.seek(start)
                digest.update(file.read(BLOCK_BYTES))
        else:
            while block := file.read(BLOCK_BYTES):
                digest.update(block)
    return {"bytes": size, "sha256": digest.hexdigest(), "sampled": sampled}


def settings_told(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as a run keeps them, with the content of files and folders that they name.

    Numbers and texts stand as they are, and so do lists and tables of them; what else there is stands by its name.
    """
    return {name: _told(value) for name, value in settings.items()}


def _told(value: Any) -> Any:
    try:
        if isinstance(value, (str, os.PathLike)) and (content := _content_at(Path(value))) is not None:
            return content
    except (OSError, ValueError):  # no path
        pass
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError):
        return str(named(value))


def _content_at(path: Path) -> Any:
    """The content of a file, or of all files of a folder; None if there is neither."""
    if path.is_file():
        return contents_of([path])
    if path.is_dir():
        return contents_of(sorted(file for file in path.rglob("*") if file.is_file()))
    return None
