"""Rows of Hub datasets, streamed at a pinned commit without decoding or executing any of their content."""

import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vlgauge.api.row_sources.source import Kind, Origin
from vlgauge.checkpoints.hub import hub_requests, unreachable
from vlgauge.core.errors import NetworkError, UsageError
from vlgauge.core.optional_dependencies import check_version
from vlgauge.inputs.datasets.hub_errors import in_words
from vlgauge.inputs.sandbox import MEGABYTE, EvictedError, Part, start, stream
from vlgauge.inputs.tables.parquet import batches_of, objects

PREFIX = "hub:"
MOST_FOUND = 20
_TASKS = "vlgauge.inputs.datasets.sandbox_tasks"
# Limits of a worker. `datasets` reads ahead up to 128 MB, and each row group of a Parquet file as a whole, several
# times over.
_LIMITS: dict[str, Any] = {"memory": 2048 * MEGABYTE, "seconds": 20.0, "most_bytes": 128 * MEGABYTE}
# Environment variables of network access, which only workers that read datasets need.
_NETWORK = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
_PLAIN = (str, int, float, bool, bytes, list, dict, type(None))

# Token of the caller, True or None for the token of this machine, False for no token.
Token = str | bool | None

_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)


@dataclass(frozen=True)
class Pinned:
    """Dataset at a commit, with the token that grants access to it."""

    id: str
    revision: str
    token: Token = field(default=None, repr=False)

    @property
    def root(self) -> str:
        """Prefix of the paths of all its files."""
        return f"hf://datasets/{self.id}@{self.revision}/"

    def task(self, function: str, **settings: Any) -> Iterator[Part]:
        """Run a task of `vlgauge.inputs.datasets.sandbox_tasks` on this dataset, and yield the parts of its output.

        Raises:
            UsageError: If the task fails, for example because the dataset cannot be read.
        """
        own = {"identity": self.id, "revision": self.revision, "token": _token_of(self.token)}
        subject, environment = f"`dataset` {self.id!r}", _environment()
        return stream(f"{_TASKS}:{function}", own | settings, subject=subject, environment=environment, **_LIMITS)


def _token_of(token: Token) -> str | bool:
    """Return a token for a worker, which has no access to the token of this machine."""
    from huggingface_hub import constants, get_token

    is_silent = token is False or (token is None and constants.HF_HUB_DISABLE_IMPLICIT_TOKEN)
    return token if isinstance(token, str) else False if is_silent else get_token() or False


def _environment() -> dict[str, str]:
    from huggingface_hub import constants

    named = [name for one in _NETWORK for name in (one, one.upper()) if name in os.environ]
    return {name: os.environ[name] for name in named} | {"HF_ENDPOINT": constants.ENDPOINT}


def search(words: str, token: Token = None) -> list[str]:
    """Search datasets on the Hub and return their ids, most downloaded first.

    Args:
        words: Search words.
        token: Token of the caller.

    Raises:
        NetworkError: If the Hub cannot be asked.
    """
    from huggingface_hub import HfApi

    _check_reachable()
    with hub_requests():
        found = HfApi(token=token).list_datasets(search=words, limit=MOST_FOUND, sort="downloads", gated=False)
        return [one.id for one in found]


def pin_dataset(identity: str, revision: str | None = None, token: Token = None) -> Pinned:
    """Return a dataset pinned to a revision or to its newest commit, and start the worker that opens it.

    Args:
        identity: Id of the dataset, OWNER/NAME.
        revision: Commit, branch or tag. None for the newest commit.
        token: Token of the caller.

    Raises:
        ValueError: If the id is invalid, or the dataset does not exist, is private, or is a script.
        NetworkError: If the Hub cannot be asked.
    """
    if _ID.fullmatch(identity):
        start(_TASKS, _environment())  # callers open the dataset next
    return pin_with_files(identity, revision, token)[0]


def pin_with_files(identity: str, revision: str | None = None, token: Token = None) -> tuple[Pinned, list[str]]:
    """Return a dataset pinned like `pinned`, and the paths of its files.

    Raises:
        ValueError: If the id is invalid, or the dataset does not exist, is private, or is a script.
        NetworkError: If the Hub cannot be asked.
    """
    from huggingface_hub import HfApi

    if not _ID.fullmatch(identity):
        raise UsageError.about("dataset", f"must be OWNER/NAME of a dataset of the Hub, got {identity[:80]!r}")
    _check_reachable()
    with hub_requests(), in_words(identity):
        about = HfApi(token=token).dataset_info(identity, revision=revision)
    files = [one.rfilename for one in about.siblings or ()]
    if f"{identity.partition('/')[2]}.py" in files:
        raise UsageError.about(
            "dataset", f"must have data files, got {identity!r}, which is a script", "scripts are not run"
        )
    if not re.fullmatch("[0-9a-f]{40}", about.sha or ""):
        raise NetworkError("the server is not a Hub server: it returned no commit of the dataset")
    return Pinned(identity, str(about.sha), token), files


def configurations(data_set: Pinned) -> list[str]:
    """Return the names of the configurations of a dataset, "default" first.

    Raises:
        ValueError: If the dataset cannot be opened, or its data are stored elsewhere.
        NetworkError: If the Hub cannot be asked.
    """
    return _names("configurations", data_set, first="default")


def splits(data_set: Pinned, config: str) -> list[str]:
    """Return the names of the splits of a configuration, "test" first.

    Raises:
        ValueError: If the dataset cannot be opened, or its data are stored elsewhere.
        NetworkError: If the Hub cannot be asked.
    """
    return _names("splits", data_set, first="test", config=config)


def _names(function: str, data_set: Pinned, *, first: str, **settings: Any) -> list[str]:
    (names,) = data_set.task(function, **settings)
    return sorted(names.facts, key=lambda name: name != first)


class HubRows:
    """Rows of a split of a Hub dataset, which a sandbox worker reads.

    Raises:
        ValueError: If there is no such configuration or split, or it cannot be read.
        NetworkError: If the Hub cannot be asked.
    """

    def __init__(self, data_set: Pinned, config: str | None, split: str | None) -> None:
        self._data_set = data_set
        (opened,) = data_set.task("open_split", config=config, split=split)
        # Keep the configuration as the caller named it, because the worker caches the opened dataset by that name.
        self._own = {"config": config, "split": opened.facts["split"]}
        self.origin = Origin(data_set.id, opened.facts["config"], opened.facts["split"], data_set.revision)
        self.kinds: Mapping[str, Kind] = opened.facts["kinds"]
        self.n_rows: int | None = opened.facts["n_rows"] or None

    def rows(self, titles: Sequence[str], start: int = 0, stop: int | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield the given columns of the rows from row `start` up to row `stop`, cells by column name.

        The worker is free for other tasks once the rows are read up to `stop` or to the end.

        Raises:
            UsageError: If the dataset cannot be read.
        """
        is_done = False
        while not is_done:
            try:
                task = self._data_set.task("rows", **self._own, titles=list(titles), start=start, stop=stop)
                for part in task:
                    if start + part.facts == stop:
                        next(task, None)  # ends the task before the rows, because readers do not ask for more
                    for batch in batches_of(part.body):
                        yield from map(_plain, objects(batch, "`dataset`", self._data_set.id))
                    start += part.facts
                is_done = True
            except EvictedError:
                pass  # the worker dropped this stream for another one, so open it again at this row

    def file(self, path: str, most_bytes: int) -> bytes:
        """Return the content of a file of the same dataset at the same commit.

        Raises:
            ValueError: If the path is outside of the dataset, or the file is missing or larger than `most_bytes`.
        """
        from huggingface_hub import HfFileSystem

        root = self._data_set.root
        inside = path.removeprefix(root)
        if not path.startswith(root) or posixpath.normpath(inside) != inside or inside.startswith("../"):
            raise UsageError("an image or video must be bytes or a file of the dataset itself, got another path or URL")
        if "::" in inside or "://" in inside:
            raise UsageError("an image or video must be a file of the dataset itself, got one within an archive")
        with in_words(self._data_set.id):
            try:
                # Do not cache the file system, because the token belongs to a user.
                with HfFileSystem(token=self._data_set.token, skip_instance_cache=True).open(path) as stream:
                    content: bytes = stream.read(most_bytes + 1)
            except FileNotFoundError as error:
                raise UsageError(
                    "an image or video must be a file of the dataset itself, got a missing file"
                ) from error
        if len(content) > most_bytes:
            raise UsageError(f"an image or video must be a file of at most {most_bytes:,} bytes, got a larger one")
        return content


def _check_reachable() -> None:
    # Versions before 4.8 cannot open `hf://` paths, and 4.8 returns rows that should be skipped.
    check_version("datasets", "5.0", "reading rows of the Hub")
    if (why := unreachable()) is not None:
        raise NetworkError(f"datasets of the Hub cannot be read, because {why}")


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Replace cells that no metric supports, such as timestamps, with errors."""
    message = "a cell must be a text, a number, a list, an object or a file, got "
    return {
        title: cell if isinstance(cell, _PLAIN) else UsageError(message + type(cell).__name__)
        for title, cell in row.items()
    }
