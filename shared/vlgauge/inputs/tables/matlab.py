"""Reader of untrusted MATLAB files, versions 5 to 7, which runs scipy in the sandbox.

Supported values are cell arrays, structures, strings and numbers. The sandbox is required, because a single changed
byte in the type of a string can crash the process of scipy's reader.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vlgauge.core.errors import UsageError
from vlgauge.core.files import limit_unpacked_size, read_bytes
from vlgauge.inputs.sandbox import run

_HEADER_BYTES = 128


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
    task, most = "vlgauge.inputs.tables.matlab_tasks:variables", limit_unpacked_size(len(data))
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
