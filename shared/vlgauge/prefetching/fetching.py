"""Fetching named files of the Hub at a pinned commit, and checking that they are what they should be."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vlgauge.errors import NetworkError, UsageError, WeightsNotFoundError
from vlgauge.network import announced_digest, hub_listing, remove_file, unreachable
from vlgauge.prefetching.assets import Asset, HubFiles
from vlgauge.weights.files import hub_folder, sha256_of


@dataclass(frozen=True)
class Fetched:
    """A file on this machine, by its name in the repository; its digest was compared with what these words say."""

    name: str
    n_bytes: int
    sha256: str
    compared_with: str


def is_there(asset: Asset) -> bool | None:
    """Whether an asset is on this machine; None where only the user knows. Asks no network."""
    if not isinstance(asset, HubFiles):
        return None if asset.is_there is None else asset.is_there()
    from huggingface_hub import try_to_load_from_cache

    names = asset.required or asset.patterns
    there = [isinstance(try_to_load_from_cache(asset.repository, name, revision=asset.revision), str) for name in names]
    return all(there) if asset.required else any(there)


def sizes(files: HubFiles) -> dict[str, int]:
    """Bytes of the files as the Hub tells them, without fetching; empty if it cannot be asked."""
    if unreachable():
        return {}
    from huggingface_hub.errors import HFValidationError

    try:
        listed = hub_listing(files.repository, files.revision, files.patterns)[1]
    except (NetworkError, HFValidationError):
        return {}  # the download tells why
    return {name: file.n_bytes for name, file in listed.items()}


def folder_of(files: HubFiles) -> Path:
    """Folder with the files, fetched unless they are there."""
    hint = "and copy the folder of the cache here"
    folder = hub_folder(files.repository, files.revision, files.patterns, hint, files.sha256, asked=True)
    missing = [name for name in files.required if not (folder / name).is_file()]
    if missing:
        raise WeightsNotFoundError(
            f"{files.repository} (revision {files.revision or 'newest'}) lacks {', '.join(missing)} in {folder}; fetch "
            f"it on a machine with network"
        )
    return folder


def checked_files(files: HubFiles, folder: Path) -> list[Fetched]:
    """The files in the folder, each compared with the digest that is known of it.

    A large file is kept by the Hub's client under the digest that the Hub announced, which serves where none is
    recorded here.
    """
    paths = sorted({path for pattern in files.patterns for path in folder.glob(pattern) if path.is_file()})
    return [_checked(path, path.relative_to(folder).as_posix(), files.sha256) for path in paths]


def _checked(path: Path, name: str, recorded: Mapping[str, str]) -> Fetched:
    found = sha256_of(path)
    expected, origin = recorded.get(name), "as recorded"
    if expected is None:
        expected, origin = announced_digest(path), "as the Hub announced"
    if expected is not None and found != expected:
        remove_file(path)
        raise UsageError(
            f"{path} must have the SHA-256 {expected[:16]}, got {found[:16]}; it was removed, fetch it again"
        )
    return Fetched(name, path.stat().st_size, found, origin if expected else "nothing is recorded")
