"""Downloads of named files from the Hub at pinned commits, with digest checks."""

from dataclasses import dataclass
from pathlib import Path

from vlgauge.api.prefetch.assets import Asset, HubFiles
from vlgauge.checkpoints.files import hub_folder, sha256_of
from vlgauge.checkpoints.hub import find_announced_digest, hub_listing, remove_file, unreachable
from vlgauge.core.errors import NetworkError, UsageError, WeightsNotFoundError


@dataclass(frozen=True)
class Fetched:
    """File on this machine.

    Attributes:
        name: Path in the repository.
        n_bytes: Size in bytes.
        sha256: SHA-256 hex digest.
        compared_with: Origin of the digest with which the file was compared, in words.
    """

    name: str
    n_bytes: int
    sha256: str
    compared_with: str


def is_there(asset: Asset) -> bool | None:
    """Return whether an asset is on this machine, without network access. None if only the user knows."""
    if not isinstance(asset, HubFiles):
        return None if asset.is_there is None else asset.is_there()
    from huggingface_hub import try_to_load_from_cache

    names = asset.required or asset.patterns
    there = [isinstance(try_to_load_from_cache(asset.repository, name, revision=asset.revision), str) for name in names]
    return all(there) if asset.required else any(there)


def sizes(files: HubFiles) -> dict[str, int]:
    """Return the sizes of files in bytes according to the Hub, without downloading. Empty if it cannot be asked."""
    if unreachable():
        return {}
    from huggingface_hub.errors import HFValidationError

    try:
        listed = hub_listing(files.repository, files.revision, files.patterns)[1]
    except (NetworkError, HFValidationError):
        return {}  # the download will report the reason
    return {name: file.n_bytes for name, file in listed.items()}


def folder_of(files: HubFiles) -> Path:
    """Return the folder with the files, downloading them if needed.

    Raises:
        WeightsNotFoundError: If the files are not available, or a required file is missing.
    """
    hint = "and copy the folder of the cache here"
    folder = hub_folder(files.repository, files.revision, files.patterns, hint, files.sha256, asked=True)
    missing = [name for name in files.required if not (folder / name).is_file()]
    if missing:
        raise WeightsNotFoundError(
            f"{files.repository} (revision {files.revision or 'newest'}) lacks {', '.join(missing)} in {folder}; fetch "
            f"it on a machine with network"
        )
    return folder


def check_files(files: HubFiles, folder: Path) -> list[Fetched]:
    """Return the files in a folder, each compared with its known digest.

    If no digest is recorded here, large files are compared with the digest that the Hub announced, under which its
    client stores them.

    Raises:
        ValueError: If a file has another digest. The file is removed.
    """
    checked = []
    for path in sorted({path for pattern in files.patterns for path in folder.glob(pattern) if path.is_file()}):
        name, found = path.relative_to(folder).as_posix(), sha256_of(path)
        expected, origin = files.sha256.get(name), "as recorded"
        if expected is None:
            expected, origin = find_announced_digest(path), "as the Hub announced"
        if expected is not None and found != expected:
            remove_file(path)
            raise UsageError(
                f"{path} must have the SHA-256 {expected[:16]}, got {found[:16]}; it was removed, fetch it again"
            )
        checked.append(Fetched(name, path.stat().st_size, found, origin if expected else "not recorded"))
    return checked
