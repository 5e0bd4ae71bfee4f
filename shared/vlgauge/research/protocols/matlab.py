"""Reader of untrusted MATLAB files, versions 5 to 7, which runs scipy in the sandbox.

Supported values are cell arrays, structures, strings and numbers. The sandbox is required, because a single changed
byte in the type of a string can crash the process of scipy's reader.
"""

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from vlgauge.core.errors import UsageError
from vlgauge.core.files import limit_unpacked_size, read_bytes
from vlgauge.inputs.sandbox import run

_HEADER_BYTES, _MAX_DEPTH = 128, 16


def read_matlab(path: Path, names: Sequence[str]) -> dict[str, list[Any]]:
    """Read variables of a MATLAB file, each flattened in column-major order.

    Numbers become floats, texts strings, cell arrays lists, and structures tuples of their fields. Other variables are
    ignored.

    Returns:
        Values by name of the variable.

    Raises:
        ValueError: If the file is not a MATLAB file of version 5 to 7, or a variable is missing or has another type.
        OSError: If the file cannot be read.
    """
    data = read_bytes(path, f"`{path}`")
    if data[124:128] in (b"\x00\x02IM", b"\x02\x00MI"):
        raise UsageError.about(str(path), "must be a MATLAB file of version 5 to 7, got 7.3", "save it with -v7")
    if len(data) < _HEADER_BYTES or data[126:128] not in (b"IM", b"MI"):
        raise UsageError.about(str(path), "must be a MATLAB file of version 5 to 7")
    settings = {"path": str(path), "names": list(names)}
    task, most = "vlgauge.research.protocols.matlab:variables", limit_unpacked_size(len(data))
    (part,) = run(task, settings, data, subject=f"`{path}`", most_bytes=most)
    found = dict(zip(names, _unpack_values(json.loads(part.body)), strict=True))
    return {name: value if isinstance(value, list) else [value] for name, value in found.items()}


def _unpack_values(value: Any) -> Any:
    """Convert values from JSON, in which a structure is an object with a single key."""
    if isinstance(value, list):
        return [_unpack_values(one) for one in value]
    if isinstance(value, dict):
        return tuple(_unpack_values(one) for one in value.get("structure", ()))
    return value


# -- In a worker process ----------------------------------------------------------------------------------------------
def variables(settings: dict[str, Any], data: bytes) -> Iterator[tuple[None, bytes]]:
    """Yield None and the values of the variables as a single JSON list, in the order of their names.

    Args:
        settings: ``path`` of the file for messages, and ``names`` of the variables.
        data: Content of the file.

    Raises:
        UsageError: If the file is damaged, or a variable is missing or has another type.
    """
    from scipy import io as readers

    path, names = settings["path"], settings["names"]
    file: Any = io.BytesIO(data)
    try:
        there = sorted(name for name, *_ in readers.whosmat(file))
        file.seek(0)
        read = readers.loadmat(file, variable_names=names)
    except MemoryError:
        raise
    except Exception as error:
        # scipy does not validate the content, so a damaged file can raise almost any exception.
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise UsageError.about(path, f"must be a valid MATLAB file, got: {why}") from None
    for name in names:
        if name not in read:
            raise UsageError.about(path, f"must have the variable {name!r}, got {', '.join(there)[:200] or 'none'}")
    try:
        plain = [_plain(read[name], 0) for name in names]
    except ValueError as error:
        raise UsageError.about(path, f"must be a valid MATLAB file, got: {error}") from None
    yield None, json.dumps(plain, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _plain(value: Any, depth: int) -> Any:
    """Convert an array of scipy to lists, strings and numbers, in column-major order."""
    kind = value.dtype.kind if hasattr(value, "ravel") else ""
    if depth > _MAX_DEPTH:
        raise UsageError(f"more than {_MAX_DEPTH} arrays within each other")
    if kind == "V":
        fields = value.dtype.names
        return [{"structure": [_plain(one[name], depth + 1) for name in fields]} for one in value.ravel(order="F")]
    if kind == "O":
        return [_plain(one, depth + 1) for one in value.ravel(order="F")]
    if kind == "U":
        texts = [str(one) for one in value.ravel()]
        return texts[0] if len(texts) == 1 else texts or ""
    if kind in tuple("biuf"):
        return value.ravel(order="F").astype(float).tolist()
    raise UsageError("an array other than cells, structures, strings and numbers")


def members(value: Any) -> list[Any]:
    """Return the fields of a structure in order, or the elements of a cell array.

    Any other value becomes a list of one.
    """
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], tuple):
        value = value[0]
    return list(value) if isinstance(value, (list, tuple)) else [value]


def text_of(value: Any, place: str) -> str:
    """Return the string inside nested cells, with every run of whitespace replaced with a single space.

    Raises:
        ValueError: If the cells do not contain a single string.
    """
    inner = _inner(value)
    if inner == []:
        return ""
    if not isinstance(inner, str):
        raise UsageError(f"{place} must be a string, got {_kind(inner)}")
    return " ".join(inner.split())


def number_of(value: Any, place: str) -> float:
    """Return the number inside nested cells.

    Raises:
        ValueError: If the cells do not contain a single number.
    """
    inner = _inner(value)
    if not isinstance(inner, float):
        raise UsageError(f"{place} must be a number, got {_kind(inner)}")
    return inner


def _inner(value: Any) -> Any:
    """Return the content of nested lists with one element each."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value


def _kind(value: Any) -> str:
    names = {str: "a string", float: "a number", tuple: "a structure"}
    return f"{len(value)} of them" if isinstance(value, list) else names.get(type(value), type(value).__name__)
