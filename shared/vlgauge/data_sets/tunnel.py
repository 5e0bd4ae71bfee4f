"""The side of a data set that has the network and the token: what a child asks of the Hub is asked here, if it may."""

import itertools
import re
import secrets
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from vlgauge.box import MEGABYTE, Answer, Box, bounds
from vlgauge.errors import NetworkError, UsageError
from vlgauge.network import hub_requests
from vlgauge.network.answers import hub_answer

BOX = Box({name: f"vlgauge.data_sets.jobs:{name}" for name in ("configurations", "splits", "opened", "rows")})

# Of the visitor, True or None for that of this machine, False for none.
Token = str | bool | None


@dataclass(frozen=True)
class Pinned:
    """A data set at a commit, with the token that opens it."""

    id: str
    revision: str
    token: Token = field(default=None, repr=False)

    @property
    def root(self) -> str:
        """Where every file of it begins."""
        return f"hf://datasets/{self.id}@{self.revision}/"

    @property
    def path(self) -> str:
        """What `datasets` opens: never a folder of this machine that is called the same."""
        return f"hf://datasets/{self.id}"


# `datasets` reads ranges of up to 128 MB ahead and a row group of a Parquet file as a whole, each several times over.
_ADDED_BYTES, _SECONDS = 2048 * MEGABYTE, 10.0
_MOST_ANSWER = 512 * MEGABYTE
_MOST_ASKED = 2048 * MEGABYTE  # of the network, for one job
_AT_A_TIME = 4 * MEGABYTE
_MOST_OPEN = 8
_RANGE = re.compile(r"bytes=\d{1,15}-\d{0,15}")
_PASSED_ON = (
    *("content-type", "content-length", "content-range", "etag", "x-repo-commit", "x-linked-etag", "x-linked-size"),
    *("x-error-code", "x-error-message", "link", "retry-after"),
)
_SERVER_ERRORS = 500


_NUMBERS = itertools.count(1)


class Tunnel:
    """What a child may ask for: the files of one data set at one commit, and what the Hub lists of them."""

    def __init__(self, data_set: Pinned) -> None:
        self._data_set = data_set
        self._name = secrets.token_hex(8)
        self._open: OrderedDict[int, tuple[Any, Iterator[bytes]]] = OrderedDict()
        self._n_opened = 0
        self._left = 0
        self._fault: NetworkError | None = None
        self._end = weakref.finalize(self, _close_all, self._open)

    def run(self, job: str, take: Callable[[Answer], object] | None = None, **settings: Any) -> list[Answer]:
        """Let a child do a job on the data set.

        Raises:
            ValueError: If the data set cannot be read.
            NetworkError: If the Hub cannot be asked.
        """
        own = {"name": self._name, "id": self._data_set.id, "revision": self._data_set.revision}
        self._left, self._fault = _MOST_ASKED, None
        what = f"`dataset` {self._data_set.id!r}"
        try:
            with bounds(added_bytes=_ADDED_BYTES, seconds=_SECONDS):
                return BOX.run(
                    job,
                    own | settings,
                    what=what,
                    most=_MOST_ANSWER,
                    asked=self._asked,
                    take=take,
                    prefer=self._name,
                )
        except (ValueError, OSError) as error:
            if self._fault is not None:
                raise self._fault from error
            if isinstance(error, OSError) and not isinstance(error, NetworkError):
                raise NetworkError(str(error)) from None
            raise

    def _asked(self, question: dict[str, Any]) -> tuple[Mapping[str, Any], bytes]:
        try:
            if question["ask"] == "request":
                return self._request(question)
            return self._more(int(question["number"]), is_wanted=question["ask"] == "more")
        except NetworkError as error:
            self._fault = error
            raise

    def _request(self, question: Mapping[str, Any]) -> tuple[Mapping[str, Any], bytes]:
        """Send a request, if it is one that a reader of this data set has."""
        method, path = str(question["method"]), str(question["path"])
        if not self._is_own(method, path):
            return {"status": 404, "headers": {"x-error-code": "EntryNotFound"}, "number": None}, b""
        headers = {name: str(question[name]) for name in ("range", "content-type") if question.get(name)}
        if not _RANGE.fullmatch(headers.get("range", "bytes=0-")):
            raise UsageError("a part of a file must be one range")
        body = str(question.get("body") or "").encode()
        with hub_requests(self._data_set.id):
            answer = hub_answer(method, path, headers, body, self._data_set.token)
        if answer.status_code >= _SERVER_ERRORS:
            with hub_requests(self._data_set.id):
                answer.close()
                answer.raise_for_status()
        told = {name: answer.headers[name] for name in _PASSED_ON if name in answer.headers}
        self._n_opened = next(_NUMBERS)  # of no other tunnel, as a child may ask late
        self._open[self._n_opened] = answer, answer.iter_bytes(_AT_A_TIME)
        while len(self._open) > _MOST_OPEN:
            _close(self._open.popitem(last=False)[1][0])
        head = {"status": answer.status_code, "headers": told, "number": self._n_opened}
        if method == "HEAD":
            self._more(self._n_opened, is_wanted=False)
            return head | {"number": None}, b""
        more, content = self._more(self._n_opened)
        is_plain = "content-encoding" not in answer.headers
        if more["number"] is not None and is_plain and answer.headers.get("content-length") == str(len(content)):
            more = self._more(self._n_opened, is_wanted=False)[0]  # that was all
        return {**head, **more}, content

    def _more(self, number: int, *, is_wanted: bool = True) -> tuple[Mapping[str, Any], bytes]:
        """The next bytes of an answer."""
        if number not in self._open:
            raise OSError("an answer that is no longer open")
        parts = self._open[number][1]
        self._open.move_to_end(number)
        content = b""
        if is_wanted:
            with hub_requests(self._data_set.id):
                content = next(parts, b"")
        self._left -= len(content)
        if self._left < 0:
            raise NetworkError(f"a step through it asks for more than {_MOST_ASKED:,} bytes")
        if not content:
            _close(self._open.pop(number)[0])
        return {"number": number if content else None}, content

    def _is_own(self, method: str, path: str) -> bool:
        """Whether a path is one of the data set at its commit."""
        plain = unquote(urlsplit(path).path)
        if not path.startswith("/") or path.startswith("//") or ".." in plain.split("/") or "\\" in plain:
            return False
        of_set, commit = f"/api/datasets/{self._data_set.id}", self._data_set.revision
        if method == "POST":
            return plain == f"{of_set}/paths-info/{commit}"
        listed = (of_set, f"{of_set}/revision/{commit}", f"{of_set}/tree/{commit}")
        files = (f"{of_set}/tree/{commit}/", f"/datasets/{self._data_set.id}/resolve/{commit}/")
        return method in ("GET", "HEAD") and (plain in listed or plain.startswith(files))


def _close_all(opened: OrderedDict[int, tuple[Any, Iterator[bytes]]]) -> None:
    for answer, _ in opened.values():
        _close(answer)


def _close(answer: Any) -> None:
    with suppress(Exception):  # nobody wants the rest
        answer.close()
