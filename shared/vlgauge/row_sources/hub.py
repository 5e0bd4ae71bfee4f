"""Rows of a data set of the Hub: streamed, of one commit, with nothing decoded or run that is in it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import datasets
import pyarrow.parquet as pq
import yaml
from datasets.exceptions import DatasetNotFoundError

from vlgauge.network import NetworkError, hub_requests, misread, unreachable
from vlgauge.row_sources.source import Kind, Origin, kind_of_cell
from vlgauge.settings import shown

PREFIX = "hub:"
MOST_FOUND = 20
MOST_GROUP_BYTES = 512 * 2**20  # of a row group of a Parquet file, unpacked; it lies in memory as a whole

_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
# Forms whose readers run nothing and ask for nothing outside of the repository.
_FORMS = ("arrow", "csv", "imagefolder", "json", "parquet", "text", "videofolder", "webdataset")
_METADATA = ("README.md", ".huggingface.yaml")
_MOST_METADATA = 5_000_000
# Else `datasets` asks a server that is not the Hub at every opening.
datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False

# Of the visitor, True or None for that of this machine, False for none.
Token = str | bool | None


@dataclass(frozen=True)
class Pinned:
    """A data set at a commit, with the token that opens it.

    Attributes:
        id: Owner and name.
        revision: The commit.
        token: Whose it is.
    """

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
    return pinned_with_files(identity, revision, token)[0]


def pinned_with_files(identity: str, revision: str | None = None, token: Token = None) -> tuple[Pinned, list[str]]:
    """The same, and the paths of its files.

    Raises:
        ValueError: As `pinned`.
        NetworkError: As `pinned`.
    """
    from huggingface_hub import HfApi

    if not _ID.fullmatch(identity):
        raise ValueError(f"`dataset` must be OWNER/NAME of a data set of the Hub, got {identity[:80]!r}")
    _refuse_unreachable()
    with hub_requests(), in_words(identity):
        about = HfApi(token=token).dataset_info(identity, revision=revision)
    files = [one.rfilename for one in about.siblings or ()]
    if f"{identity.partition('/')[2]}.py" in files:
        raise ValueError(f"`dataset` must have data files, got {identity!r}, which is a script; scripts are not run")
    if not re.fullmatch("[0-9a-f]{40}", about.sha or ""):
        raise NetworkError("what answers is no Hub: it names no commit of the data set")
    return Pinned(identity, str(about.sha), token), files


def configurations(data_set: Pinned) -> list[str]:
    """Names of its configurations, the default one first.

    Raises:
        ValueError: If it cannot be opened, or its data lie elsewhere.
        NetworkError: If the Hub cannot be asked.
    """
    _refuse_data_elsewhere(data_set)
    own = {"revision": data_set.revision, "token": data_set.token}
    with in_words(data_set.id):
        names = list(datasets.get_dataset_config_names(data_set.path, **own))
        return sorted(names, key=lambda name: name != "default")


def splits(data_set: Pinned, config: str) -> list[str]:
    """Names of the splits of a configuration, "test" first.

    Raises:
        ValueError: As `configurations`.
        NetworkError: If the Hub cannot be asked.
    """
    _refuse_data_elsewhere(data_set)
    own = {"revision": data_set.revision, "token": data_set.token}
    with in_words(data_set.id):
        names = list(datasets.get_dataset_split_names(data_set.path, config, **own))
        return sorted(names, key=lambda name: name != "test")


class HubRows:
    """Rows of a split.

    Args:
        data_set: The data set at a commit.
        config: Its configuration; None for the only one, or the default.
        split: Its split; None for the only one.

    Raises:
        ValueError: If there is no such configuration or split, or it cannot be read.
        NetworkError: If the Hub cannot be asked.
    """

    def __init__(self, data_set: Pinned, config: str | None, split: str | None) -> None:
        self._data_set = data_set
        known = configurations(data_set)
        is_plain = len(known) == 1 or known[0] == "default"
        chosen = known[0] if config is None and is_plain else config
        if chosen not in known:
            raise ValueError(f"`config` must be one of {', '.join(known)}, got {shown(chosen) if chosen else 'none'}")
        there = splits(data_set, chosen)
        if split is None and len(there) == 1:
            split = there[0]
        if split not in there:
            raise ValueError(f"`split` must be one of {', '.join(there)}, got {shown(split) if split else 'none'}")
        self.origin = Origin(data_set.id, chosen, split, data_set.revision)
        with in_words(data_set.id):
            builder = datasets.load_dataset_builder(
                data_set.path, chosen, revision=data_set.revision, token=data_set.token
            )
            form = type(builder).__module__.rpartition(".")[2]
            if form not in _FORMS:
                raise ValueError(f"`dataset` must be of one of the forms {', '.join(_FORMS)}, got {form}")
            files = (builder.config.data_files or {}).get(split, ())
            self._parquet = [str(file) for file in files] if form == "parquet" else []
            self._rows = builder.as_streaming_dataset(split=split)
            if self._rows.features is not None:
                self._rows = self._rows.decode(False)

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        """What each column holds, by its feature, or by the first row where there are no features."""
        if self._rows.features is not None:
            return {title: kind_of_feature(feature) for title, feature in self._rows.features.items()}
        with in_words(self._data_set.id):
            first: dict[str, Any] = next(iter(self._rows.take(1)), {})
        return {title: kind_of_cell(cell) for title, cell in first.items()}

    def rows(self, titles: Sequence[str], start: int = 0) -> Iterator[Mapping[str, Any]]:
        """Rows from a number on, with these columns."""
        left = list(self._parquet)
        with in_words(self._data_set.id):
            n_checked = self._checked_rows(left)
            chosen = self._rows.select_columns(list(titles))
            stream = iter(chosen.skip(start) if start else chosen)
            while n_checked <= start and left:
                n_checked += self._checked_rows(left)
        number = start
        while True:
            with in_words(self._data_set.id):
                if left and number >= n_checked:
                    n_checked += self._checked_rows(left)
                row = next(stream, None)
            if row is None:
                return
            yield row
            number += 1

    def _checked_rows(self, files: list[str]) -> int:
        """Rows of the next Parquet file, which is taken from the list, if its row groups fit into memory."""
        if not files:
            return 0
        with self._files().open(files.pop(0)) as stream:
            metadata = pq.read_metadata(stream)
        for number in range(metadata.num_row_groups):
            if (size := metadata.row_group(number).total_byte_size) > MOST_GROUP_BYTES:
                raise ValueError(f"`dataset` must have row groups of at most {MOST_GROUP_BYTES:,} bytes, got {size:,}")
        return int(metadata.num_rows)

    def _files(self) -> Any:
        from huggingface_hub import HfFileSystem

        # Not kept: the token is a visitor's.
        return HfFileSystem(token=self._data_set.token, skip_instance_cache=True)

    def file(self, path: str, most_bytes: int) -> bytes:
        """Content of a file of the same data set at the same commit.

        Raises:
            ValueError: If it is another one, or larger.
        """
        root = self._data_set.root
        inside = path.removeprefix(root)
        if not path.startswith(root) or posixpath.normpath(inside) != inside or inside.startswith("../"):
            raise ValueError(
                "a picture or clip must be bytes or a file of the data set itself, got another path or address"
            )
        if "::" in inside or "://" in inside:
            raise ValueError("a picture or clip must be a file of the data set itself, got one within an archive")
        with in_words(self._data_set.id):
            try:
                with self._files().open(path) as stream:
                    content: bytes = stream.read(most_bytes + 1)
            except FileNotFoundError as error:
                raise ValueError(
                    "a picture or clip must be a file of the data set itself, got one that is not there"
                ) from error
        if len(content) > most_bytes:
            raise ValueError(f"a picture or clip must be a file of at most {most_bytes:,} bytes, got a larger one")
        return content


def kind_of_feature(feature: Any) -> Kind:
    """What a column holds, by its feature."""
    if isinstance(feature, datasets.Value):
        return "text" if feature.dtype in ("string", "large_string") else "other"
    if isinstance(feature, datasets.Image):
        return "image"
    if isinstance(feature, datasets.Video):
        return "video"
    if isinstance(feature, dict):
        return "scores"
    inner = feature[0] if isinstance(feature, list) else getattr(feature, "feature", None)
    if inner is None:
        return "other"
    return {"text": "texts", "image": "images"}.get(kind_of_feature(inner), "other")  # type: ignore[return-value]


# -- What the Hub and `datasets` say, in words ------------------------------------------------------------------------
@contextmanager
def in_words(identity: str) -> Iterator[None]:
    """Faults of a data set as one sentence.

    Raises:
        ValueError: If the data set is at fault.
        NetworkError: If the Hub or the way to it is.
    """
    from huggingface_hub.utils import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        yield
    except (ValueError, NetworkError) as error:
        is_own = type(error).__module__.partition(".")[0] in ("builtins", "vlgauge")
        if isinstance(error, ValueError) and (misread(error) or not is_own):
            raise _unreadable(identity, error) from error
        raise
    except RevisionNotFoundError as error:
        raise ValueError(
            f"`revision` must be a commit, branch or tag of {identity!r}, which has no such one"
        ) from error
    except (GatedRepoError, RepositoryNotFoundError, DatasetNotFoundError) as error:
        if isinstance(error, GatedRepoError) or "is a gated dataset" in str(error):
            raise ValueError(
                f"`dataset` must be open to you, got {identity!r}, which is gated; accept its terms on its page and "
                "open it with the token of who did so"
            ) from error
        raise ValueError(
            f"`dataset` must be on the Hub and open to you, got {identity!r}, which is unknown or private; if it is "
            "private, open it with a token that may read it"
        ) from error
    except RuntimeError as error:
        if "script" in str(error):
            raise ValueError(f"`dataset` must have data files, got {identity!r}, which is a script") from error
        raise _unreadable(identity, error) from error
    except Exception as error:
        if any(kind.__module__.partition(".")[0] in ("httpx", "httpx2") for kind in type(error).__mro__):
            with hub_requests():  # which says it in words
                raise
        if isinstance(error, ConnectionError):
            raise NetworkError(f"the Hub does not answer for {identity!r}") from error
        raise _unreadable(identity, error) from error


def _unreadable(identity: str, error: Exception) -> Exception:
    told = " ".join(str(error).split())[:200]
    unreadable = ValueError(f"`dataset` must be readable, got {identity!r} ({type(error).__name__}: {told})")
    return misread(error, identity) or unreadable


def _refuse_unreachable() -> None:
    if (why := unreachable()) is not None:
        raise NetworkError(f"data sets of the Hub cannot be read, because {why}")


# -- Data files that a README names elsewhere -------------------------------------------------------------------------
def _refuse_data_elsewhere(data_set: Pinned) -> None:
    """Refuse metadata that names data files outside of the repository.

    `datasets` refuses them too, but asks their addresses first, which may lie within the network of this machine.
    """
    from huggingface_hub import HfFileSystem

    for name in _METADATA:
        with hub_requests(), in_words(data_set.id):
            # Nothing is kept: the cache of the client has names that an answer chooses.
            files = HfFileSystem(token=data_set.token, skip_instance_cache=True)
            try:
                with files.open(f"datasets/{data_set.id}@{data_set.revision}/{name}") as stream:
                    text = stream.read(_MOST_METADATA).decode("utf-8", "replace")
            except FileNotFoundError:
                continue
        if any(map(_leads_out, _data_files(text, is_card=name.endswith(".md")))):
            raise ValueError(
                f"`dataset` must have its data files in its own repository, got {data_set.id!r}, which names others"
            )


def _data_files(text: str, *, is_card: bool) -> Iterator[str]:
    """Every text in the configurations that names data files."""
    if is_card:
        found = re.match(r"\s*---[ \t]*\r?\n(.*?)\r?\n---", text, re.DOTALL)
        text = found[1] if found else ""
    try:
        told = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"`dataset` must have a readable card, got {type(error).__name__} in its metadata") from error
    configs = told.get("configs") if isinstance(told, dict) else None
    for config in configs if isinstance(configs, list) else ():
        if isinstance(config, dict):
            yield from _texts([config.get("data_files"), config.get("data_dir")])


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _leads_out(path: str) -> bool:
    return path.startswith(("/", "\\", "~")) or "://" in path or "::" in path or ".." in re.split(r"[/\\]", path)
