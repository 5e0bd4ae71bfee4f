"""Location of detector weights: a file, the checkpoint folder of torch, or a pinned file on the Hub."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from vlgauge.checkpoints.files import hub_file_at, hub_file_here, sha256_of
from vlgauge.checkpoints.hub import download
from vlgauge.core.errors import MissingExtraError, NetworkError, UsageError, WeightsNotFoundError
from vlgauge.core.files import DATA

# Detectors of torchvision that were trained on COCO and return boxes with scores. The published weights of some were
# trained with frozen normalization layers without epsilon, and torchvision sets it to zero for them.
DETECTORS: dict[str, dict[str, bool]] = json.loads((DATA / "detectors.json").read_text("utf-8"))
_PINNED = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)/(?P<file>[\w./-]*[\w-])@(?P<revision>[0-9a-f]{40})")
ALTERNATIVES = '`regions="grid"` or "whole", a function of an image, or boxes or crops passed to `compute`'


@dataclass(frozen=True)
class HubFile:
    """File on the Hub at a pinned commit."""

    repository: str
    file: str
    revision: str


@dataclass(frozen=True)
class PublishedFile:
    """Weights that torchvision publishes for a detector: URL, path in the checkpoint folder, and SHA-256 prefix."""

    name: str
    url: str
    path: Path
    prefix: str


def hub_file(setting: str) -> HubFile | None:
    """Parse ``owner/name/FILE@<40 hexadecimal digits>``. None if the setting has another form."""
    found = _PINNED.fullmatch(setting)
    return None if found is None else HubFile(**found.groupdict())


def check_torchvision(name: str) -> None:
    """Check that torch and torchvision can be imported together.

    Raises:
        ImportError: If they cannot. The message says how to fix it.
    """
    try:
        import torch  # noqa: F401
        import torchvision  # noqa: F401
    except (ImportError, RuntimeError) as error:  # RuntimeError if they are of different builds
        raise MissingExtraError(
            f"the detector {name!r} requires torchvision, which cannot be imported ({error}); run: pip install "
            f'"vlgauge[clip]" (torch and torchvision of one build), or pass {ALTERNATIVES}'
        ) from error


def find_published_file(name: str) -> PublishedFile:
    """Return torchvision's weights of a detector, trained on COCO, without accessing the file.

    Raises:
        ImportError: If torchvision cannot be imported.
    """
    check_torchvision(name)
    import torch
    from torchvision.models import get_model_weights

    chosen = getattr(get_model_weights(name), "COCO_V1", None) or get_model_weights(name).DEFAULT
    file = chosen.url.rpartition("/")[2]
    path = Path(torch.hub.get_dir()) / "checkpoints" / file
    return PublishedFile(name, chosen.url, path, path.stem.rpartition("-")[2])


def find_weights(name: str, weights: str | os.PathLike[str] | None, *, profile: str = "paper") -> Path:
    """Return the path of the weights of a detector.

    Args:
        name: Name of the detector.
        weights: A file, or ``owner/name/FILE@<commit>`` on the Hub, which is downloaded unless it is cached or the
            profile is "embedded". None for torchvision's weights, which only `vlgauge prefetch` downloads.
        profile: Profile of the metric.

    Raises:
        WeightsNotFoundError: If the file is not available.
        ValueError: If the SHA-256 of torchvision's file does not match.
    """
    if weights is None:
        return _check_published_file(find_published_file(name))
    address = _find_hub_file(weights, profile)
    return Path(weights).expanduser() if address is None else hub_file_at(*_on_hub(address))


def look_for_weights(name: str, weights: str | os.PathLike[str] | None, *, profile: str = "paper") -> None:
    """Check that `find_weights` can find a file, without downloading it or importing torch.

    Raises:
        WeightsNotFoundError: If there is no such file, and the Hub cannot be reached.
    """
    if weights is None:
        folder = _checkpoints()
        if not any(next(folder.glob(f"{name}{end}-*.pth"), None) for end in ("", "_coco")):
            raise WeightsNotFoundError(_not_there(name, "torchvision's weights", folder))
    elif (address := _find_hub_file(weights, profile)) is not None:
        hub_file_here(*_on_hub(address))


def _checkpoints() -> Path:
    """Return the checkpoint folder of torch, even if torch is not imported yet."""
    if "torch" in sys.modules:
        import torch

        return Path(torch.hub.get_dir()) / "checkpoints"
    home = os.environ.get("TORCH_HOME") or os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "torch")
    return Path(home).expanduser() / "hub" / "checkpoints"


def _find_hub_file(weights: str | os.PathLike[str], profile: str) -> HubFile | None:
    """Return the Hub file that a setting names. None if the setting is an existing file."""
    if Path(weights).expanduser().is_file():
        return None
    address = hub_file(os.fspath(weights))
    if address is None:
        raise WeightsNotFoundError.about(
            "detector_weights",
            "must be an existing file, or a file on the Hub with its commit (owner/name/FILE@<40 hexadecimal "
            f"digits>), got {os.fspath(weights)!r}",
        )
    if profile == "embedded":
        raise WeightsNotFoundError.about(
            "detector_weights",
            f"must be a file under the embedded profile, which downloads nothing, got {os.fspath(weights)!r}",
        )
    return address


def _on_hub(address: HubFile) -> tuple[str, list[str], str, str]:
    """Return the arguments of `hub_file_at` for a Hub file."""
    name = f"{address.repository}/{address.file}@{address.revision}"
    remedy = (
        f"run on a machine with network: vlgauge prefetch detector:{name}, pass a local file as `detector_weights`, or "
        f"pass {ALTERNATIVES}"
    )
    return address.repository, [address.file], address.revision, remedy


def _not_there(name: str, what: str, folder: Path) -> str:
    return (
        f"`regions={name!r}` requires {what}, not in {folder}; run on a machine with network: vlgauge prefetch "
        f"detector:{name}, pass a copy of it as `detector_weights`, or pass {ALTERNATIVES}"
    )


def _check_published_file(published: PublishedFile) -> Path:
    """Return the path of a published file, after checking that it exists and has the expected digest."""
    path, name = published.path, published.name
    if not path.is_file():
        raise WeightsNotFoundError(_not_there(name, f"the file {path.name}", path.parent))
    if not sha256_of(path).startswith(published.prefix):
        raise UsageError(
            f"{path} must have a SHA-256 that starts with {published.prefix}, got {sha256_of(path)[:8]}; delete it "
            f"and run: vlgauge prefetch detector:{name}"
        )
    return path


def fetch_published(name: str) -> Path:
    """Return the path of torchvision's weights, downloading them if needed. Call this only on explicit request.

    Raises:
        WeightsNotFoundError: If the file cannot be downloaded.
        ValueError: If the SHA-256 of an existing file does not match.
    """
    published = find_published_file(name)
    if published.path.is_file():
        return _check_published_file(published)
    published.path.parent.mkdir(parents=True, exist_ok=True)
    try:
        download(published.url, published.path, published.prefix)
    except NetworkError as error:
        raise WeightsNotFoundError(
            f"{published.url} cannot be downloaded to {published.path.parent}, because {error}; download it on a "
            "machine with network and copy it there"
        ) from error
    return published.path
