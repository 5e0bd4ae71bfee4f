"""What a run is known by: the content of what it reads, never its names, sizes or times alone."""

import hashlib
import json
import os
import random
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from types import EllipsisType, ModuleType
from typing import Any

import numpy as np

from vlgauge.files import open_file
from vlgauge.settings import warn
from vlgauge.signatures import named

WHOLE_BYTES = 2**30
"""Files up to this size are digested whole."""

N_BLOCKS, BLOCK_BYTES = 64, 2**20
_SEED = 0
_PROTOCOL = 4  # what `copy` asks objects for; nothing is pickled


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

    Numbers and texts stand as they are, and so do lists and tables of them; a function stands by its name, and any
    other object by its name and a digest of what it is made of, see `digest_of`.
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
        pass
    told = str(named(value))
    digest = None if _is_code(value) else digest_of(value)
    return told if digest is None else f"{told} {digest}"


def digest_of(value: Any) -> str | None:
    """SHA-256 of what `pickle` would take an object apart into, in every process the same; None where it cannot.

    Functions and classes in it count by their names.
    """
    found = hashlib.sha256()
    try:
        for piece in _pieces(value, {}):
            found.update(f"{len(piece)} ".encode() + piece)
    except Exception:  # anybody's object may raise anything
        return None
    return found.hexdigest()


def _taken_apart(value: Any) -> list[Any]:
    """What makes an object again, without what it has computed from the rest of it and kept."""
    reduced = value.__reduce_ex__(_PROTOCOL)
    parts = [reduced] if isinstance(reduced, str) else list(reduced)
    kept = {
        name for kind in type(value).__mro__ for name, own in vars(kind).items() if isinstance(own, cached_property)
    }
    if len(parts) > 2 and isinstance(parts[2], dict):
        parts[2] = {name: own for name, own in parts[2].items() if name not in kept}
    return [list(one) if isinstance(one, Iterator) else one for one in parts]


def _is_code(value: Any) -> bool:
    return isinstance(value, (type, ModuleType, partial)) or hasattr(value, "__qualname__")


def _pieces(value: Any, seen: dict[int, tuple[int, Any]]) -> Iterator[bytes]:
    """What tells an object from others; `seen` keeps those that it holds twice, or in a circle."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, EllipsisType)):
        yield f"{type(value).__name__} {value!r}".encode(errors="surrogatepass")
        return
    if _is_code(value):
        yield f"code {named(value)}".encode(errors="surrogatepass")
        return
    if id(value) in seen:
        yield f"again {seen[id(value)][0]}".encode()
        return
    seen[id(value)] = len(seen), value  # as long as it is kept, no other object has its number
    if isinstance(value, (set, frozenset)):
        # Their order is that of the hash seed.
        yield f"{type(value).__name__} {sorted(str(digest_of(one)) for one in value)}".encode()
        return
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        yield f"array {value.dtype.str} {value.shape}".encode()
        yield hashlib.sha256(value.tobytes()).digest()
        return
    if callable(getattr(value, "detach", None)):  # a tensor, whose pickle holds where it lay in memory
        yield f"tensor {value.dtype} {tuple(value.shape)}".encode()
        yield hashlib.sha256(value.detach().cpu().double().numpy().tobytes()).digest()
        return
    if type(value) in (list, tuple, dict):
        parts: Any = chain.from_iterable(value.items()) if isinstance(value, dict) else value
    elif isinstance(meta := getattr(value, "meta", None), Mapping):
        parts = [dict(meta)]  # of a pipeline of spaCy, whose bytes have the order of the hash seed
    else:
        parts = _taken_apart(value)
    yield f"{type(value).__module__}.{type(value).__qualname__}(".encode()
    for part in parts:
        yield from _pieces(part, seen)
    yield b")"


def _content_at(path: Path) -> Any:
    if path.is_file():
        return contents_of([path])
    if path.is_dir():
        return contents_of(sorted(file for file in path.rglob("*") if file.is_file()))
    return None
