"""Rows of a data set of the Hub: streamed, of one commit, with nothing decoded or run that is in it."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, get_args

from vlgauge.box import Answer, Beyond, bounded_json
from vlgauge.data_sets.cells import unpacked
from vlgauge.data_sets.tunnel import BOX, Pinned, Token, Tunnel
from vlgauge.data_sets.words import in_words
from vlgauge.errors import NetworkError, UsageError
from vlgauge.installed import check_version
from vlgauge.network import hub_requests, unreachable
from vlgauge.row_sources.source import Kind, Origin

PREFIX = "hub:"
MOST_FOUND = 20
_MOST_DEEP = 8

_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)


def search(words: str, token: Token = None) -> list[str]:
    """Ids of data sets of the Hub that are found by words, the most downloaded first.

    Raises:
        NetworkError: If the Hub cannot be asked.
    """
    from huggingface_hub import HfApi

    _refuse_unreachable()
    with hub_requests():
        found = HfApi(token=token).list_datasets(search=words, limit=MOST_FOUND, sort="downloads", gated=False)
        return [one.id for one in found]


def pinned(identity: str, revision: str | None = None, token: Token = None) -> Pinned:
    """The data set at the commit that is now the newest, or at a revision.

    Raises:
        ValueError: If it is none, is not there, private, or a script.
        NetworkError: If the Hub cannot be asked.
    """
    if _ID.fullmatch(identity):
        BOX.start()  # whoever wants a commit opens it next
    return pinned_with_files(identity, revision, token)[0]


def pinned_with_files(identity: str, revision: str | None = None, token: Token = None) -> tuple[Pinned, list[str]]:
    """The same, and the paths of its files.

    Raises:
        ValueError: As `pinned`.
        NetworkError: As `pinned`.
    """
    from huggingface_hub import HfApi

    if not _ID.fullmatch(identity):
        raise UsageError.about("dataset", f"must be OWNER/NAME of a data set of the Hub, got {identity[:80]!r}")
    _refuse_unreachable()
    with hub_requests(), in_words(identity):
        about = HfApi(token=token).dataset_info(identity, revision=revision)
    files = [one.rfilename for one in about.siblings or ()]
    if f"{identity.partition('/')[2]}.py" in files:
        raise UsageError(f"`dataset` must have data files, got {identity!r}, which is a script; scripts are not run")
    if not re.fullmatch("[0-9a-f]{40}", about.sha or ""):
        raise NetworkError("the server is no Hub: it names no commit of the data set")
    return Pinned(identity, str(about.sha), token), files


def configurations(data_set: Pinned) -> list[str]:
    """Names of its configurations, the default one first.

    Raises:
        ValueError: If it cannot be opened, or its data lie elsewhere.
        NetworkError: If the Hub cannot be asked.
    """
    return _names("configurations", data_set, first="default")


def splits(data_set: Pinned, config: str) -> list[str]:
    """Names of the splits of a configuration, "test" first.

    Raises:
        ValueError: As `configurations`.
        NetworkError: As `configurations`.
    """
    return _names("splits", data_set, first="test", config=config)


def _names(job: str, data_set: Pinned, *, first: str, **settings: Any) -> list[str]:
    names = _told(Tunnel(data_set).run(job, **settings)[0])
    if not isinstance(names, list):
        raise Beyond(f"`dataset` must be readable, got {data_set.id!r}, which has no names")
    return sorted(map(str, names), key=lambda name: name != first)


def _told(part: Answer) -> Any:
    return bounded_json(part.body, _MOST_DEEP)


class HubRows:
    """Rows of a split, which a child process reads.

    Raises:
        ValueError: If there is no such configuration or split, or it cannot be read.
        NetworkError: If the Hub cannot be asked.
    """

    def __init__(self, data_set: Pinned, config: str | None, split: str | None) -> None:
        self._data_set = data_set
        self._tunnel = Tunnel(data_set)
        told = _told(self._tunnel.run("opened", config=config, split=split)[0])
        self._own = {"config": str(told["config"]), "split": str(told["split"])}
        self.origin = Origin(data_set.id, self._own["config"], self._own["split"], data_set.revision)
        self.kinds: Mapping[str, Kind] = {
            str(title): kind if kind in get_args(Kind) else "other" for title, kind in told["kinds"].items()
        }
        n_rows = told.get("n_rows")
        self.n_rows: int | None = n_rows if isinstance(n_rows, int) and n_rows > 0 else None

    def rows(self, titles: Sequence[str], start: int = 0) -> Iterator[Mapping[str, Any]]:
        """Rows from a number on, with these columns."""
        while True:
            rows: list[Mapping[str, Any]] = []
            settings = {**self._own, "titles": list(titles), "start": start}
            failure: Exception | None = None
            try:
                self._tunnel.run("rows", take=_taker(rows), **settings)
            except (ValueError, OSError) as error:
                failure = error  # of a row behind those that were read
            yield from rows
            if failure is not None:
                raise failure
            if not rows:
                return
            start += len(rows)

    def file(self, path: str, most_bytes: int) -> bytes:
        """Content of a file of the same data set at the same commit.

        Raises:
            ValueError: If it is another one, or larger.
        """
        root = self._data_set.root
        inside = path.removeprefix(root)
        if not path.startswith(root) or posixpath.normpath(inside) != inside or inside.startswith("../"):
            raise UsageError(
                "a picture or clip must be bytes or a file of the data set itself, got another path or address"
            )
        if "::" in inside or "://" in inside:
            raise UsageError("a picture or clip must be a file of the data set itself, got one within an archive")
        with in_words(self._data_set.id):
            try:
                with _files(self._data_set).open(path) as stream:
                    content: bytes = stream.read(most_bytes + 1)
            except FileNotFoundError as error:
                raise UsageError(
                    "a picture or clip must be a file of the data set itself, got one that is not there"
                ) from error
        if len(content) > most_bytes:
            raise UsageError(f"a picture or clip must be a file of at most {most_bytes:,} bytes, got a larger one")
        return content


def _files(data_set: Pinned) -> Any:
    from huggingface_hub import HfFileSystem

    # Not kept: the token is a visitor's.
    return HfFileSystem(token=data_set.token, skip_instance_cache=True)


def _refuse_unreachable() -> None:
    check_version("datasets", "4.8", "reading rows of the Hub")  # which opened no `hf://` paths before
    if (why := unreachable()) is not None:
        raise NetworkError(f"data sets of the Hub cannot be read, because {why}")


def _taker(rows: list[Mapping[str, Any]]) -> Callable[[Answer], None]:
    return lambda part: rows.append(unpacked(part))
