"""Where the weights of a detector are: a file, torch's folder of checkpoints, or the Hub at a named commit."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlgauge.errors import MissingExtraError, NetworkError, UsageError, WeightsNotFoundError
from vlgauge.network import download
from vlgauge.weights.files import hub_file_at, hub_file_here, sha256_of
from vlgauge.weights.reading import given_as, is_safetensors, read_tensors, read_torch_object, state_dict_in

if TYPE_CHECKING:
    import torch

# Those of torchvision that were trained on COCO and return boxes with scores.
DETECTORS = (
    "fasterrcnn_mobilenet_v3_large_320_fpn",
    "fasterrcnn_mobilenet_v3_large_fpn",
    "fasterrcnn_resnet50_fpn",
    "fasterrcnn_resnet50_fpn_v2",
    "fcos_resnet50_fpn",
    "keypointrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn_v2",
    "retinanet_resnet50_fpn",
    "retinanet_resnet50_fpn_v2",
    "ssd300_vgg16",
    "ssdlite320_mobilenet_v3_large",
)
_PINNED = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)/(?P<file>[\w./-]*[\w-])@(?P<revision>[0-9a-f]{40})")
ALTERNATIVES = '`regions="grid"` or "whole", a function of an image, or boxes or crops given to `compute`'


@dataclass(frozen=True)
class HubFile:
    """A file of the Hub."""

    repository: str
    file: str
    revision: str


@dataclass(frozen=True)
class PublishedFile:
    """The weights that torchvision publishes for a detector, where torch keeps them, and how their SHA-256 begins."""

    name: str
    url: str
    path: Path
    prefix: str


def hub_file(setting: str) -> HubFile | None:
    """The address in ``owner/name/FILE@<40 hexadecimal digits>``; None if it is none."""
    found = _PINNED.fullmatch(setting)
    return None if found is None else HubFile(**found.groupdict())


def check_torchvision(name: str) -> None:
    """ImportError that tells what to do, if torch and torchvision cannot be imported together."""
    try:
        import torch  # noqa: F401
        import torchvision  # noqa: F401
    except (ImportError, RuntimeError) as error:  # the latter where the two are of different builds
        raise MissingExtraError(
            f"the detector {name!r} needs torchvision, which cannot be imported here ({error}); run pip install "
            f'"vlgauge[clip]" (torch and torchvision of one build), or give {ALTERNATIVES}'
        ) from error


def published_file(name: str) -> PublishedFile:
    """Torchvision's own weights of a detector, trained on COCO; looks at nothing but their name."""
    check_torchvision(name)
    import torch
    from torchvision.models import get_model_weights

    chosen = getattr(get_model_weights(name), "COCO_V1", None) or get_model_weights(name).DEFAULT
    file = chosen.url.rpartition("/")[2]
    path = Path(torch.hub.get_dir()) / "checkpoints" / file
    return PublishedFile(name, chosen.url, path, path.stem.rpartition("-")[2])


def find_weights(name: str, weights: str | os.PathLike[str] | None, *, profile: str = "paper") -> Path:
    """File with the weights of a detector.

    A name such as ``owner/name/FILE@<commit>`` is of the Hub, and fetched unless it is in the Hub's cache or the
    profile is "embedded". None is torchvision's own, which only `vlgauge prefetch` fetches.
    """
    if weights is None:
        return _checked(published_file(name))
    address = _given(weights, profile)
    return Path(weights).expanduser() if address is None else hub_file_at(*_on_hub(address))


def look_for_weights(name: str, weights: str | os.PathLike[str] | None, *, profile: str = "paper") -> None:
    """Check that `find_weights` can find something, without fetching it or importing torch."""
    if weights is None:
        folder = _checkpoints()
        if not any(next(folder.glob(f"{name}{end}-*.pth"), None) for end in ("", "_coco")):
            raise WeightsNotFoundError(_not_there(name, "torchvision's weights", folder))
    elif (address := _given(weights, profile)) is not None:
        hub_file_here(*_on_hub(address))


def _checkpoints() -> Path:
    """Torch's folder of checkpoints, also where torch was not imported yet."""
    if "torch" in sys.modules:
        import torch

        return Path(torch.hub.get_dir()) / "checkpoints"
    home = os.environ.get("TORCH_HOME") or os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "torch")
    return Path(home).expanduser() / "hub" / "checkpoints"


def _given(weights: str | os.PathLike[str], profile: str) -> HubFile | None:
    """The address that a setting names; None for a file that is there."""
    if Path(weights).expanduser().is_file():
        return None
    address = hub_file(os.fspath(weights))
    if address is None:
        raise WeightsNotFoundError(
            f"`detector_weights` must be an existing file, or one of the Hub with its commit (owner/name/FILE@<40 "
            f"hexadecimal digits>), got {os.fspath(weights)!r}"
        )
    if profile == "embedded":
        raise WeightsNotFoundError(
            f"`detector_weights` must be a file under the embedded profile, which fetches nothing, got "
            f"{os.fspath(weights)!r}"
        )
    return address


def _on_hub(address: HubFile) -> tuple[str, list[str], str, Callable[[str, str], str]]:
    """What `hub_file_at` takes for an address."""
    repository, file, revision = address.repository, address.file, address.revision

    def missing(folder: str, why: str) -> str:
        return (
            f"`detector_weights` needs {file} of {repository} (revision {revision}), which is not in {folder}, and "
            f"{why}; run on a machine with network: vlgauge prefetch detector:{repository}/{file}@{revision}, name a "
            f"file on this machine, or give {ALTERNATIVES}"
        )

    return repository, [file], revision, missing


def _not_there(name: str, what: str, folder: Path) -> str:
    return (
        f"`regions={name!r}` needs {what}, not in {folder}; run on a machine with network: vlgauge prefetch "
        f"detector:{name}, name a copy of it as `detector_weights`, or give {ALTERNATIVES}"
    )


def _checked(published: PublishedFile) -> Path:
    """The file, if it is there and unchanged."""
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
    """Torchvision's own weights, from its server unless they are there; only for who asks for just that."""
    published = published_file(name)
    if published.path.is_file():
        return _checked(published)
    published.path.parent.mkdir(parents=True, exist_ok=True)
    try:
        download(published.url, published.path, published.prefix)
    except NetworkError as error:
        raise WeightsNotFoundError(
            f"{published.url} cannot be fetched to {published.path.parent}, because {error}; fetch it on a machine "
            f"with network and copy it there"
        ) from error
    return published.path


def read_state(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a file, safetensors or a state dict of torch, bare or under ``"model"``; no file is run."""
    with given_as("detector_weights"):
        with path.open("rb") as stream:
            start = stream.read(512)
        if is_safetensors(start) or not start.startswith((b"PK", b"\x80")):
            return read_tensors(path)
        content: Any = read_torch_object(path)
        inner = content.get("model") if isinstance(content, Mapping) else None
        return state_dict_in(content if inner is None else inner, path)
