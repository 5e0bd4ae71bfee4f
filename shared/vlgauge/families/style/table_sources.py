"""Sources of style tables: a file, a dataset on the Hub, or the name of a published or bundled table."""

import csv
import json
import os
import re
import tempfile
import threading
import weakref
from os import PathLike
from pathlib import Path
from typing import Any

from vlgauge.checkpoints.files import sha256_of
from vlgauge.checkpoints.hub import hub_file, hub_requests, unreachable
from vlgauge.core.errors import MissingFileError, NetworkError, UsageError
from vlgauge.core.files import DATA
from vlgauge.core.validation import short_repr
from vlgauge.families.style.counts import StyleCounts, Table
from vlgauge.families.style.fitting import fit_table
from vlgauge.families.style.table_file import load, save

CATALOG = DATA / "style_tables.json"

_HUB_ID = re.compile(r"([\w.-]+/[\w.-]+)(?::([\w.-]+))?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")

# Loaded tables that are still referenced, by the path of their file and its SHA-256.
_HELD: weakref.WeakValueDictionary[tuple[str, str], Any] = weakref.WeakValueDictionary()
_HELD_LOCK = threading.Lock()

FORMS = "a StyleTable, a Parquet file, or a Hub dataset as 'owner/name' or 'owner/name:config'"


def check_source(source: Any, revision: str | None = None) -> Any:
    """Check that a table source has a valid form, without reading it.

    Returns:
        The source.

    Raises:
        ValueError: If the form is invalid, or `revision` is passed and the source is not a dataset on the Hub.
    """
    is_path = isinstance(source, PathLike) or (isinstance(source, str) and _is_path(source))
    if not (is_path or isinstance(source, StyleCounts) or (isinstance(source, str) and _HUB_ID.fullmatch(source))):
        raise UsageError.about("table", f"must be {FORMS}, got {short_repr(source)}")
    if revision is not None and (is_path or isinstance(source, StyleCounts)):
        raise UsageError.about("revision", f"requires a Hub dataset as `table`, got {short_repr(revision)} without one")
    return source


def _is_path(source: str) -> bool:
    return source.endswith(".parquet") or os.path.exists(source)


def resolve_table(cls: type[Table], source: Any, revision: str | None = None) -> Table:
    """Resolve a source to a table.

    See `StyleTable.load` for arguments and errors.
    """
    check_source(source, revision)
    if isinstance(source, cls):
        return source
    if isinstance(source, PathLike) or _is_path(source):
        return _get_cached(cls, os.fspath(source))
    return _get_cached(cls, download_file(*hub_address(source), revision))


def _get_cached(cls: type[Table], path: str) -> Table:
    """Return the table in a file, which is read only if it has changed or the table is no longer referenced."""
    try:
        key = (os.path.realpath(path), sha256_of(Path(path)))
    except OSError:
        return load(cls, path)  # raises an error with the reason
    with _HELD_LOCK:
        table: Table | None = _HELD.get(key)
        if table is None:
            table = _HELD[key] = load(cls, path)
        return table


# -- The Hub ----------------------------------------------------------------------------------------------------------
def hub_address(dataset: str) -> tuple[str, str]:
    """Parse ``"owner/name"`` or ``"owner/name:config"`` into the repository and the file name.

    Raises:
        ValueError: If it has neither form.
    """
    match = _HUB_ID.fullmatch(dataset)
    if match is None:
        raise UsageError.about("dataset", f"must be 'owner/name' or 'owner/name:config', got {short_repr(dataset)}")
    return match[1], f"{match[2] or 'default'}.parquet"


def download_file(repository: str, file: str, revision: str | None, sha256: str | None = None) -> str:
    """Return the local path of a file of a dataset, downloading it unless it is cached or an offline switch is set.

    Args:
        repository: Id of the dataset.
        file: Name of the file in the dataset.
        revision: Commit, branch or tag. None for the newest revision.
        sha256: Expected SHA-256 of a downloaded file, if known.

    Raises:
        FileNotFoundError: If the file is neither cached nor can be downloaded.
    """
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    why = held = None
    try:
        cached = try_to_load_from_cache(repository, file, revision=revision, repo_type="dataset")
        held = cached if isinstance(cached, str) else None
        if held is None or not _COMMIT.fullmatch(revision or ""):
            why = unreachable()
            if why is None:
                return str(hub_file(repository, file, revision, kind="dataset", sha256=sha256))
    except HFValidationError as error:
        held, why = None, f"that is not a valid Hub id ({error})"
    except NetworkError as error:
        # If the Hub fails, treat it like an unreachable Hub. If it answers the request with an error, the error
        # counts.
        held, why = held if error.status is None or error.status >= 500 else None, str(error)
    if held is not None:
        return held
    raise MissingFileError.about(
        "table",
        f"is neither an existing file nor available from the Hub: dataset {repository}, file {file}, revision "
        f"{revision or 'newest'} is not in the cache and {why}",
        f"download it on a machine with network: hf download {repository} {file} --repo-type "
        f"dataset{f' --revision {revision}' if revision else ''}",
    )


def push(table: StyleCounts, dataset: str, *, private: bool, message: str) -> str:
    """Upload a table, see `StyleTable.push`.

    Raises:
        ValueError: If `dataset` has another form.
        NetworkError: If the Hub cannot be reached or rejects the upload.
    """
    from huggingface_hub import HfApi

    repository, file = hub_address(dataset)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        save(table, path)
        api = HfApi()
        with hub_requests():
            api.create_repo(repository, repo_type="dataset", private=private, exist_ok=True)
            commit = api.upload_file(
                path_or_fileobj=path,
                path_in_repo=file,
                repo_id=repository,
                repo_type="dataset",
                commit_message=message,
            )
    return str(commit.oid)


# -- By name ----------------------------------------------------------------------------------------------------------
def catalog() -> dict[str, dict[str, str]]:
    """Return the tables that have a name: one bundled with the package, others published on the Hub.

    The entry of a bundled table contains ``captions`` (a CSV file next to the catalog) and ``licence``. The entry of a
    published table contains ``dataset``, ``file``, ``revision``, ``sha256`` and ``licence``.
    """
    return json.loads(CATALOG.read_text("utf-8"))


def load_named_table(cls: type[Table], name: str) -> Table:
    """Load a table by name.

    Raises:
        ValueError: If the name is unknown, or a downloaded file differs from the published one.
        FileNotFoundError: If the file cannot be downloaded.
    """
    entries = catalog()
    if name not in entries:
        raise UsageError.about("config_name", f"must be one of {', '.join(map(repr, entries))}, got {name!r}")
    entry = entries[name]
    if "captions" in entry:
        with (CATALOG.parent / entry["captions"]).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        captions, styles = ([row[column] for row in rows] for column in ("caption", "style"))
        about = {"name": name, "source": "vlgauge", "licence": entry["licence"]}
        return fit_table(cls, captions, styles, tokenizer=None, held_out=None, progress=False, **about)
    path = download_file(entry["dataset"], entry["file"], entry["revision"], entry["sha256"])
    if sha256_of(Path(path)) != entry["sha256"]:
        raise UsageError.about(
            "config_name", f"{name!r} must be the published table, got {path} with a different checksum"
        )
    return _get_cached(cls, path)
