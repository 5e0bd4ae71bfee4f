"""Where the files of a model are, what they hash to, and what to say when they are missing."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path

_DIGESTS: dict[tuple[str, int, int], str] = {}
_DIGESTS_LOCK = threading.Lock()


class WeightsNotFound(FileNotFoundError):
    """The files of a model are neither on this machine nor to be fetched."""


def offline() -> bool:
    """Whether one of the two offline switches is set; read from the environment at each call."""
    switches = (os.environ.get(name, "") for name in ("HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE"))
    return any(switch.strip().upper() in ("1", "ON", "YES", "TRUE") for switch in switches)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file in hexadecimal digits; computed again only if size or time of change differ."""
    status = path.stat()
    key = (str(path.resolve()), status.st_size, status.st_mtime_ns)
    with _DIGESTS_LOCK:
        known = _DIGESTS.get(key)
    if known is None:
        with path.open("rb") as file:
            known = hashlib.file_digest(file, "sha256").hexdigest()
        with _DIGESTS_LOCK:
            _DIGESTS[key] = known
    return known


def hub_file_at(
    repository: str, files: Sequence[str], revision: str | None, missing: Callable[[str, str], str]
) -> Path:
    """One file of a Hub repository, fetched unless it is there or an offline switch is set.

    Args:
        repository: Its id.
        files: Names that the file may have; the first that exists is taken.
        revision: Commit; None for the newest.
        missing: Message of the error, from the folder that was searched and the reason.

    Raises:
        WeightsNotFound: If the file cannot be had.
    """
    from huggingface_hub import constants
    from huggingface_hub import hf_hub_download
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.errors import RemoteEntryNotFoundError

    why = "an offline switch is set"
    try:
        for file in files:
            cached = try_to_load_from_cache(repository, filename=file, revision=revision)
            if isinstance(cached, str):
                return Path(cached)
        for file in () if offline() else files:
            try:
                return Path(hf_hub_download(repository, filename=file, revision=revision))
            except RemoteEntryNotFoundError:
                why = "the Hub has no such file"
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        why = f"the Hub said {type(error).__name__}"
    raise WeightsNotFound(missing(constants.HF_HUB_CACHE, why))


def hub_folder(repository: str, revision: str | None, patterns: Sequence[str], metric_hint: str) -> Path:
    """Folder with the files of a Hub repository, fetched unless they are there or an offline switch is set.

    Args:
        repository: Id such as ``"sentence-transformers/all-MiniLM-L6-v2"``.
        revision: Commit; None for the newest.
        patterns: Names of the files that are wanted, with wildcards.
        metric_hint: Last clause of the error, what else could be done.

    Raises:
        WeightsNotFound: If the files cannot be had; names repository, revision, files and folder searched.
    """
    from huggingface_hub import constants
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        # With a pinned commit this asks the Hub nothing once the files are there.
        return Path(
            snapshot_download(repository, revision=revision, allow_patterns=list(patterns), local_files_only=offline())
        )
    except (LocalEntryNotFoundError, HfHubHTTPError, HFValidationError, OSError) as error:
        why = "an offline switch is set" if offline() else f"the Hub said {type(error).__name__}"
        raise WeightsNotFound(
            f"{repository} (revision {revision or 'newest'}; files {', '.join(patterns)}) is not in "
            f"{constants.HF_HUB_CACHE} and {why}; fetch it on a machine with network: "
            f"hf download {repository}{f' --revision {revision}' if revision else ''}, {metric_hint}"
        ) from error
