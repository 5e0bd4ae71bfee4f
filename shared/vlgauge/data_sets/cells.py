"""Rows on their way from a child: JSON, with the bytes of pictures and clips behind it."""

import json
from collections.abc import Mapping
from typing import Any

from vlgauge.box import Answer, Garbled, bounded_json
from vlgauge.errors import UsageError
from vlgauge.files import MAX_DEPTH

# A cell within lists and objects, each of which is a pair of its kind and what it holds.
_MOST_DEEP = 3 * MAX_DEPTH + 4
_PLAIN = (str, int, float, bool, type(None))


def packed(row: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    """A row as the part of an answer."""
    content = bytearray()
    told = json.dumps({title: _packed(cell, content, 0) for title, cell in row.items()}, ensure_ascii=False)
    text = told.encode("utf-8", "surrogatepass")
    return {"n_text": len(text)}, text + content


def _packed(cell: Any, content: bytearray, depth: int) -> Any:
    if isinstance(cell, (bytes, bytearray)):
        content += cell
        return ["bytes", len(cell)]
    if isinstance(cell, _PLAIN):
        return cell
    if depth > MAX_DEPTH:
        return ["error", f"lists and objects more than {MAX_DEPTH} deep within each other"]
    if isinstance(cell, (list, tuple)):
        return ["list", [_packed(one, content, depth + 1) for one in cell]]
    if isinstance(cell, Mapping):
        return ["object", {str(key): _packed(one, content, depth + 1) for key, one in cell.items()}]
    return ["error", type(cell).__name__]


def unpacked(part: Answer) -> dict[str, Any]:
    """The row; a cell that no metric reads is the error that says so.

    Raises:
        Garbled: If it is none.
    """
    try:
        n_text = int(part.head["part"]["n_text"])
        body = memoryview(part.body)
        row = bounded_json(bytes(body[:n_text]), _MOST_DEEP)
        content = _Content(body[n_text:])
        return {str(title): _unpacked(cell, content) for title, cell in row.items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise Garbled(f"no row ({type(error).__name__})") from None


class _Content:
    """Bytes that follow one another."""

    def __init__(self, data: memoryview) -> None:
        self._data, self._at = data, 0

    def take(self, n_bytes: int) -> bytes:
        """The next bytes."""
        if not isinstance(n_bytes, int) or not 0 <= n_bytes <= len(self._data) - self._at:
            raise Garbled("a row with more bytes than came")
        start, self._at = self._at, self._at + n_bytes
        return bytes(self._data[start : self._at])


def _unpacked(cell: Any, content: _Content) -> Any:
    if isinstance(cell, _PLAIN):
        return cell
    kind, value = (*cell, None, None)[:2] if isinstance(cell, list) else (None, None)
    if kind == "bytes":
        return content.take(value)
    if kind == "list" and isinstance(value, list):
        return [_unpacked(one, content) for one in value]
    if kind == "object" and isinstance(value, dict):
        return {key: _unpacked(one, content) for key, one in value.items()}
    if kind == "error":
        return UsageError(f"a cell must be a text, a number, a list, an object or a file, got {str(value)[:80]}")
    raise Garbled("a cell of another kind")
