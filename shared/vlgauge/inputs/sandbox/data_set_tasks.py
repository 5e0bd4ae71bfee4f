"""Worker tasks that open datasets of the Hub with `datasets`, which streams them without decoding or running code."""

import os
import re
import shutil
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

# Otherwise `datasets` imports them, which takes memory.
os.environ.update(USE_TORCH="0", USE_TF="0", USE_JAX="0")

import datasets
import yaml
from huggingface_hub import HfFileSystem, constants, hf_hub_download
from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import short_repr
from vlgauge.inputs.sandbox.hub_errors import in_words
from vlgauge.inputs.sandbox.kinds import Kind, kind_of_cell
from vlgauge.inputs.sandbox.parquet_tasks import arrow_stream, python_bytes

# Builders that run no code of the dataset and request nothing outside of its repository.
_BUILDERS = ("arrow", "csv", "imagefolder", "json", "parquet", "text", "videofolder", "webdataset")
_CARDS = ("README.md", ".huggingface.yaml")
_MOST_CARD_BYTES = 5_000_000
_ROWS, _BYTES = 16, 8 * 2**20  # maximum of a part
_MOST_PYTHON_BYTES = 2**27

# Both would request servers other than the Hub.
datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False
datasets.config.USE_PARQUET_EXPORT = False


def configurations(settings: dict[str, Any], content: bytes) -> Iterator[tuple[list[str], bytes]]:
    """Yield once the names of the configurations, and no bytes.

    Args:
        settings: Identity of the dataset and access to the Hub, as passed by `vlgauge.inputs.data_sets`.
        content: Not used.

    Raises:
        UsageError: If the dataset cannot be found or read.
    """
    with in_words(settings["identity"]):
        yield _configurations(**_own(settings)), b""


def splits(settings: dict[str, Any], content: bytes) -> Iterator[tuple[list[str], bytes]]:
    """Yield once the names of the splits of a configuration, and no bytes.

    Args:
        settings: Settings of `configurations`, and ``config``.
        content: Not used.

    Raises:
        UsageError: If the dataset cannot be found or read.
    """
    with in_words(settings["identity"]):
        yield list(_open_split(**_own(settings), config=settings["config"])[1]), b""


def open_split(settings: dict[str, Any], content: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield the selected configuration and split, the kind of each column, and the number of rows.

    Returns:
        A dictionary of these facts, and no bytes.

    Raises:
        UsageError: If the dataset cannot be read, or the configuration or split does not exist.
    """
    with in_words(settings["identity"]):
        config, split = settings["config"], settings["split"]
        try:
            config, there = _open_split(**_own(settings), config=config)
        except UsageError:
            raise
        except ValueError:
            known = sorted(_configurations(**_own(settings)), key=lambda name: name != "default")
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
        yield {"config": config, "split": split, "kinds": kinds, "n_rows": n_rows}, b""


def rows(settings: dict[str, Any], content: bytes) -> Iterator[tuple[int, bytes | memoryview]]:
    """Yield columns of the rows from a start row on, as Arrow streams.

    Returns:
        Number of rows and an Arrow stream, per part.

    Raises:
        UsageError: If the dataset cannot be read.
    """
    with in_words(settings["identity"]):
        there = _open_split(**_own(settings), config=settings["config"])[1]
        chosen = there[settings["split"]].select_columns(settings["titles"])
        chosen = chosen.skip(settings["start"]) if settings["start"] else chosen
        for table in chosen.with_format("arrow").iter(batch_size=_ROWS):
            at_a_time = max(1, len(table) * _BYTES // max(1, table.nbytes))
            for start in range(0, len(table), at_a_time):
                (batch,) = table.slice(start, at_a_time).combine_chunks().to_batches()
                if sum(map(python_bytes, batch.columns)) > _MOST_PYTHON_BYTES:
                    raise MemoryError
                yield len(batch), arrow_stream(batch)


def _own(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: settings[name] for name in ("identity", "revision", "token")}


def _configurations(identity: str, revision: str, token: str | bool) -> list[str]:
    _check_card(identity, revision, token)
    return list(datasets.get_dataset_config_names(_path(identity), revision=revision, token=token))


@lru_cache(maxsize=2)
def _open_split(identity: str, revision: str, token: str | bool, config: str | None) -> tuple[str, dict[str, Any]]:
    """Return the name of a configuration and its splits, undecoded, after checking that they may be opened."""
    _check_card(identity, revision, token)
    builder = datasets.load_dataset_builder(_path(identity), config, revision=revision, token=token)
    form = type(builder).__module__.rpartition(".")[2]
    if form not in _BUILDERS:
        raise UsageError.about("dataset", f"must be in one of the formats {', '.join(_BUILDERS)}, got {form}")
    files = [file for files in (builder.config.data_files or {}).values() for file in files]
    if not all(str(file).startswith(f"hf://datasets/{identity}@{revision}/") for file in files):
        raise _elsewhere(identity)
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


# -- Data files outside of the repository ------------------------------------------------------------------------------
@lru_cache(maxsize=1)
def _check_card(identity: str, revision: str, token: str | bool) -> None:
    """Check that the cards name no data files outside of the repository.

    `datasets` would request their URLs before anything else, and these may belong to a private network.
    """
    # Clear the cache, which may contain files that this token must not open. `datasets` reads the cards from the new
    # cache.
    HfFileSystem.clear_instance_cache()
    shutil.rmtree(constants.HF_HOME, ignore_errors=True)
    _open_split.cache_clear()
    for name in _CARDS:
        try:
            path = hf_hub_download(identity, name, repo_type="dataset", revision=revision, token=token)
        except LocalEntryNotFoundError:  # The Hub does not answer.
            raise
        except EntryNotFoundError:
            continue
        with open(path, "rb") as file:
            text = file.read(_MOST_CARD_BYTES).decode("utf-8", "replace")
        if name.endswith(".md"):
            found = re.match(r"\s*---[ \t]*\r?\n(.*?)\r?\n---", text, re.DOTALL)
            text = found[1] if found else ""
        try:
            card = yaml.safe_load(text)
        except yaml.YAMLError as error:
            why = type(error).__name__
            raise UsageError.about("dataset", f"must have a readable card, got {why} in its metadata") from error
        configs = card.get("configs") if isinstance(card, dict) else None
        for config in configs if isinstance(configs, list) else ():
            if isinstance(config, dict) and any(
                map(_leads_out, _texts([*map(config.get, ("data_files", "data_dir"))]))
            ):
                raise _elsewhere(identity)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _leads_out(path: str) -> bool:
    return path.startswith(("/", "\\", "~")) or "://" in path or "::" in path or ".." in re.split(r"[/\\]", path)


def _elsewhere(identity: str) -> UsageError:
    return UsageError.about(
        "dataset", f"must have its data files in its repository, got {identity!r} with files elsewhere"
    )
