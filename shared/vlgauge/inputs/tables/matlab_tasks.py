"""Task of a sandbox worker that reads untrusted MATLAB files with scipy."""

import io
import json
from collections.abc import Iterator
from typing import Any

from scipy import io as readers

from vlgauge.core.errors import UsageError, convert_errors

_MAX_DEPTH = 16


def variables(data: bytes, path: str, names: list[str]) -> Iterator[tuple[None, bytes]]:
    """Yield None and the values of the variables as a single JSON list, in the order of their names.

    Args:
        data: Content of the file.
        path: Path of the file in messages.
        names: Names of the variables.

    Raises:
        UsageError: If the file is damaged, or a variable is missing or has another type.
    """
    file: Any = io.BytesIO(data)
    with convert_errors("must be a valid MATLAB file, got one", path):
        there = sorted(name for name, *_ in readers.whosmat(file))
        file.seek(0)
        read = readers.loadmat(file, variable_names=names)
    for name in names:
        if name not in read:
            raise UsageError.about(path, f"must have the variable {name!r}, got {', '.join(there)[:200] or 'none'}")
    with convert_errors("must be a valid MATLAB file, got one", path):
        plain = [_plain(read[name], 0) for name in names]
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
