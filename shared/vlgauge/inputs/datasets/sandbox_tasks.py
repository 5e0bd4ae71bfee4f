"""Worker tasks that open datasets of the Hub with `datasets`, which streams them without decoding or running code."""

import gc
import os
import shutil
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

# Otherwise `datasets` imports them, which takes memory.
os.environ.update(USE_TORCH="0", USE_TF="0", USE_JAX="0")

import datasets
import fsspec
from fsspec.implementations.local import LocalFileSystem
from huggingface_hub import HfApi, HfFileSystem, constants

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import short_repr
from vlgauge.inputs.datasets.hub_errors import in_words
from vlgauge.inputs.datasets.kinds import Kind, kind_of_cell
from vlgauge.inputs.tables.parquet_tasks import arrow_stream, python_bytes

# Builders that run no code of the dataset and request nothing outside of its repository.
_BUILDERS = ("arrow", "csv", "imagefolder", "json", "parquet", "text", "videofolder", "webdataset")
# Protocols of data files: the Hub, and compressed files in its repositories.
_PROTOCOLS = ("hf", "zip", "bz2", "gzip", "lz4", "xz", "zstd")
_ROWS, _BYTES = 16, 8 * 2**20  # maximum of a part
_MOST_PYTHON_BYTES = 2**27
_COLLECTED = 64  # parts between two collections of garbage

# Both would request servers other than the Hub.
datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False
datasets.config.USE_PARQUET_EXPORT = False


class _ClosedFiles(fsspec.AbstractFileSystem):
    """File system that opens nothing, because `datasets` opens the URLs and paths of a card before it checks them."""

    def info(self, *_: Any, **__: Any) -> Any:
        raise _files_elsewhere()

    glob = ls = open = info


class _ClosedLocalFiles(_ClosedFiles, LocalFileSystem):
    """Closed file system that `datasets` accepts as the one of its cache, which streaming does not use."""


def configurations(content: bytes, **dataset: Any) -> Iterator[tuple[list[str], bytes]]:
    """Yield once the names of the configurations, and no bytes.

    Args:
        content: Not used.
        **dataset: ``identity``, ``revision`` and ``token``, as passed by `vlgauge.api.row_sources.hub`.

    Raises:
        UsageError: If the dataset cannot be found or read.
    """
    with in_words(dataset["identity"]):
        yield _configurations(**dataset), b""


def splits(content: bytes, config: str, **dataset: Any) -> Iterator[tuple[list[str], bytes]]:
    """Yield once the names of the splits of a configuration, and no bytes.

    Args:
        content: Not used.
        config: Name of the configuration.
        **dataset: See `configurations`.

    Raises:
        UsageError: If the dataset cannot be found or read.
    """
    with in_words(dataset["identity"]):
        yield list(_open_split(**dataset, config=config)[1]), b""


def open_split(
    content: bytes, config: str | None, split: str | None, **dataset: Any
) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield the selected configuration and split, the kind of each column, and the number of rows.

    Returns:
        A dictionary of these facts, and no bytes.

    Raises:
        UsageError: If the dataset cannot be read, or the configuration or split does not exist.
    """
    with in_words(dataset["identity"]):
        try:
            name, there = _open_split(**dataset, config=config)
        except UsageError:
            raise
        except ValueError:
            known = sorted(_configurations(**dataset), key=lambda name: name != "default")
            if config in known or len(known) == 1:
                raise
            got = short_repr(config) if config else "none"
            raise UsageError.about("config", f"must be one of {', '.join(known)}, got {got}") from None
        if split is None and len(there) == 1:
            split = next(iter(there))
        if split not in there:
            names = ", ".join(sorted(there, key=lambda name: name != "test"))
            raise UsageError.about("split", f"must be one of {names}, got {short_repr(split) if split else 'none'}")
        rows = there[split]
        if rows.features is not None:
            kinds = {title: _kind_of_feature(feature) for title, feature in rows.features.items()}
        else:
            kinds = {title: kind_of_cell(cell) for title, cell in next(iter(rows.take(1)), {}).items()}
        stated = (rows.info.splits or {}).get(split)
        n_rows = stated.num_examples if stated is not None else None
        yield {"config": name, "split": split, "kinds": kinds, "n_rows": n_rows}, b""


def rows(
    content: bytes, config: str | None, split: str, titles: list[str], start: int, stop: int | None, **dataset: Any
) -> Iterator[tuple[int, bytes | memoryview]]:
    """Yield columns of the rows from row `start` up to row `stop`, as Arrow streams.

    Returns:
        Number of rows and an Arrow stream, per part.

    Raises:
        UsageError: If the dataset cannot be read.
    """
    with in_words(dataset["identity"]):
        chosen = _open_split(**dataset, config=config)[1][split].select_columns(titles)
        chosen = chosen.skip(start) if start else chosen
        left = None if stop is None else stop - start
        for number, whole in enumerate(chosen.with_format("arrow").iter(batch_size=_ROWS)):
            if number % _COLLECTED == 0:
                gc.collect()
            table = whole.slice(0, left)
            at_a_time = max(1, len(table) * _BYTES // max(1, table.nbytes))
            for first in range(0, len(table), at_a_time):
                (batch,) = table.slice(first, at_a_time).combine_chunks().to_batches()
                batch.validate(full=True)  # texts may be invalid UTF-8
                if sum(map(python_bytes, batch.columns)) > _MOST_PYTHON_BYTES:
                    raise MemoryError
                yield len(batch), arrow_stream(batch.replace_schema_metadata(None))
            left = None if left is None else left - len(table)
            if left == 0:
                return


def _files_elsewhere() -> UsageError:
    return UsageError.about("dataset", "must have its data files in its repository, got a card with files elsewhere")


def _configurations(identity: str, revision: str, token: str | bool) -> list[str]:
    _begin(identity, revision, token)
    return list(datasets.get_dataset_config_names(_path(identity), revision=revision, token=token))


@lru_cache(maxsize=2)
def _open_split(identity: str, revision: str, token: str | bool, config: str | None) -> tuple[str, dict[str, Any]]:
    """Return the name of a configuration and its splits, undecoded, after checking that they may be opened."""
    _begin(identity, revision, token)
    gc.collect()
    builder = datasets.load_dataset_builder(_path(identity), config, revision=revision, token=token)
    form = type(builder).__module__.rpartition(".")[2]
    if form not in _BUILDERS:
        raise UsageError.about("dataset", f"must be in one of the formats {', '.join(_BUILDERS)}, got {form}")
    files = [file for files in (builder.config.data_files or {}).values() for file in files]
    root = f"hf://datasets/{identity}@{revision}/"
    if not all(str(file).startswith(root) and ".." not in str(file).split("/") for file in files):
        raise _files_elsewhere()
    found = builder.as_streaming_dataset()
    undecoded = {name: split if split.features is None else split.decode(False) for name, split in found.items()}
    return builder.config.name, undecoded


def _path(identity: str) -> str:
    """Return the path for `datasets`, which is never a local folder with the same name."""
    return f"hf://datasets/{identity}"


def _kind_of_feature(feature: Any) -> Kind:
    if isinstance(feature, datasets.Value):
        return "text" if feature.dtype in ("string", "large_string") else "other"
    if isinstance(feature, (datasets.Image, datasets.Video)):
        return "image" if isinstance(feature, datasets.Image) else "video"
    if isinstance(feature, dict):
        return "scores"
    inner = feature[0] if isinstance(feature, list) else getattr(feature, "feature", None)
    found: dict[Any, Kind] = {"text": "texts", "image": "images"}
    return "other" if inner is None else found.get(_kind_of_feature(inner), "other")


@lru_cache(maxsize=1)
def _begin(identity: str, revision: str, token: str | bool) -> None:
    """Close other file systems, check that the Hub responds, and clear the caches of another dataset or token."""
    for name in {*fsspec.available_protocols(), *fsspec.registry}.difference(_PROTOCOLS):
        files = _ClosedLocalFiles if name in ("file", "local") else _ClosedFiles
        fsspec.register_implementation(name, files, clobber=True)
    # A stream that is collected during a request would wait forever for the lock of httpx 0.28, which the request
    # holds, so garbage is collected only between requests.
    gc.disable()
    # `datasets` would report a failed request as a missing file. If it fails, the previous dataset stays open.
    HfApi(token=token).dataset_info(identity, revision=revision)
    HfFileSystem.clear_instance_cache()
    shutil.rmtree(constants.HF_HOME, ignore_errors=True)
    _open_split.cache_clear()
    gc.collect()
    gc.freeze()  # later collections skip the imported objects
