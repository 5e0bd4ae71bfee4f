"""Identity of a run: digests of the content of its files and of its settings, without times."""

import json
import os
from collections.abc import Iterable, Mapping
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

from datasets.fingerprint import Hasher

from vlgauge.checkpoints.files import sha256_of
from vlgauge.core.signatures import signature_value


def contents_of(paths: Iterable[str | Path]) -> dict[str, dict[str, Any]]:
    """Return size in bytes and SHA-256 of each file, as a JSON object by its path.

    Raises:
        OSError: If one cannot be read.
    """
    return {str(path): {"bytes": Path(path).stat().st_size, "sha256": sha256_of(Path(path))} for path in paths}


def identify_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as JSON values, with the content of files and folders that they name.

    Numbers and strings, and lists and mappings of them, are unchanged. Any other value becomes its name and a digest of
    its content. For a function, the digest covers its code.
    """
    return {name: _identify(value) for name, value in settings.items()}


def _identify(value: Any) -> Any:
    try:
        if isinstance(value, (str, os.PathLike)) and (content := _content_at(Path(value))) is not None:
            return content
    except (OSError, ValueError):  # not a valid path
        pass
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError):
        pass
    try:
        return f"{signature_value(value)} {Hasher.hash(_without_cache(value))}"
    except Exception:  # any object may raise anything when it is pickled
        return str(signature_value(value))


def _without_cache(value: Any) -> Any:
    """Copy an object without the values of its cached properties, which are computed from the rest."""
    kinds = type(value).__mro__
    cached = {name for kind in kinds for name, own in vars(kind).items() if isinstance(own, cached_property)}
    if not cached & getattr(value, "__dict__", {}).keys():
        return value
    value = copy(value)
    for name in cached:
        value.__dict__.pop(name, None)
    return value


def _content_at(path: Path) -> Any:
    if path.is_dir():
        return contents_of(sorted(file for file in path.rglob("*") if file.is_file()))
    return contents_of([path]) if path.is_file() else None
