"""Locations of the weights of CLIP and PAC-S. The weights of PAC-S are downloaded manually."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from vlgauge.checkpoints.files import cache_folder, hub_file_at, hub_file_here, sha256_of
from vlgauge.core.errors import UsageError, WeightsNotFoundError, as_setting
from vlgauge.core.files import DATA, read_json
from vlgauge.models.clip.architectures import (
    CONVERTED_HUB_FILE,
    HUB_FILE,
    IMAGE_SETTINGS,
    TOKENIZER,
    ClipArchitecture,
)
from vlgauge.models.clip.backbones import architecture_of

# File names of weights in folders copied from the Hub or saved by a library. The first existing one is used.
FOLDER_FILES = (
    HUB_FILE,
    CONVERTED_HUB_FILE,
    "model.safetensors",
    "open_clip_pytorch_model.bin",
    "pytorch_model.bin",
)


# Values of the two filters in Pillow.
_FILTERS: dict[object, Literal["bilinear", "bicubic"]] = {2: "bilinear", 3: "bicubic"}


def find_weights(row: ClipArchitecture, weights: str | Path | None, *, setting: str = "weights") -> Path:
    """Return the file with the weights, and download it if necessary.

    Args:
        row: The backbone.
        weights: A file, or a folder with one of `FOLDER_FILES`. None for the Hub file at the revision of the table.
        setting: Name of the setting, for messages.

    Raises:
        WeightsNotFoundError: If the file cannot be found.
        ValueError: If the Hub file has another SHA-256 than in the table.
    """
    if weights is not None:
        return find_given_file(weights, setting, row.files)
    path = hub_file_at(*_on_hub(row), sha256=row.sha256)
    if row.sha256 and sha256_of(path) != row.sha256:
        raise UsageError(
            f"the weights of {row.name} must have the sha256 {row.sha256[:16]}, got {sha256_of(path)[:16]} in "
            f"{str(path)!r}; delete the file and run: vlgauge prefetch clip:{row.name}"
        )
    return path


def look_for_weights(row: ClipArchitecture, weights: str | Path | None) -> None:
    """Check that `find_weights` can find the weights, without downloading them.

    Raises:
        WeightsNotFoundError: If it cannot.
    """
    if weights is not None:
        find_given_file(weights, "weights", row.files)
    else:
        hub_file_here(*_on_hub(row))
    if row.further_files:
        if weights is not None:
            tokenizer_file(row, weights)
        else:
            for name in row.further_files:
                hub_file_here(*_on_hub(row, (name,)))


def tokenizer_file(row: ClipArchitecture, weights: str | Path | None) -> Path | None:
    """Return the tokenizer file next to the weights of a backbone, or None if the backbone has none.

    Raises:
        WeightsNotFoundError: If it is missing.
    """
    if TOKENIZER not in row.further_files:
        return None
    if weights is None:
        return hub_file_at(*_on_hub(row, (TOKENIZER,)))
    weights_file = find_given_file(weights, "weights", row.files)
    path = weights_file.parent / TOKENIZER
    if not path.is_file():
        raise WeightsNotFoundError.about(
            "weights", f"must have the {TOKENIZER} of the model next to them, got none next to {str(weights_file)!r}"
        )
    return path


def with_own_images(row: ClipArchitecture, weights: str | Path | None) -> ClipArchitecture:
    """Return the backbone with the resizing filter of its image settings file, if it has one.

    Raises:
        ValueError: If the file has another image size or an unsupported filter.
    """
    if IMAGE_SETTINGS not in row.further_files:
        return row
    if weights is None:
        path = hub_file_at(*_on_hub(row, (IMAGE_SETTINGS,)))
    else:
        path = find_given_file(weights, "weights", row.files).parent / IMAGE_SETTINGS
        if not path.is_file():
            return row
    found = read_json(path, "`weights`")
    size = found.get("size") if isinstance(found, dict) else None
    sides = {size.get("height"), size.get("width")} if isinstance(size, dict) else {size}
    kind = _FILTERS.get(found.get("resample")) if isinstance(found, dict) else None
    if sides != {row.size} or kind is None:
        raise UsageError.about(
            "weights",
            f"must have the {IMAGE_SETTINGS} of {row.name} next to them, with {row.size} pixels and a bilinear "
            f"or bicubic filter, got a different one in {str(path)!r}",
        )
    return replace(row, interpolation=kind)


def _on_hub(row: ClipArchitecture, files: tuple[str, ...] = ()) -> tuple[str, Sequence[str], str | None, str]:
    """Return the arguments of `hub_file_at` for the weights of a backbone, or for other files."""
    if row.repository is None:
        raise WeightsNotFoundError.about(
            "weights", f"must be a file for the backbone {row.name!r}, which is not on the Hub, got None"
        )
    remedy = (
        f"run on a machine with network: vlgauge prefetch clip:{row.name}, or pass a file as {as_setting('weights')}, "
        f"or {as_setting('profile', 'embedded')}"
    )
    return row.repository, files or row.files, row.revision, remedy


def find_given_file(path: str | os.PathLike[str], setting: str, own: Sequence[str] = ()) -> Path:
    """Return the file of a setting, or the weights file in the folder of a setting.

    Args:
        path: File or folder.
        setting: Name of the setting, for messages.
        own: File names to try before `FOLDER_FILES`.

    Raises:
        WeightsNotFoundError: If there is no such file.
    """
    file = Path(path).expanduser()
    if file.is_dir():
        names = list(dict.fromkeys([*own, *FOLDER_FILES]))
        found = next((file / name for name in names if (file / name).is_file()), None)
        if found is None:
            raise WeightsNotFoundError.about(
                setting,
                f"must be a file, or a folder with one of {', '.join(names)}, got the folder {os.fspath(path)!r} "
                "without one",
            )
        return found
    if not file.is_file():
        raise WeightsNotFoundError.about(setting, f"must be an existing file, got {os.fspath(path)!r}")
    return file


# -- the weights of PAC-S ---------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Release:
    """Checkpoint released by the authors of PAC-S without a license and without a checksum."""

    file: str
    link: str
    size: str


# The authors' page has the link of the smaller checkpoint of PAC-S for both.
RELEASES = {
    kind: {name: Release(**release) for name, release in releases.items()}
    for kind, releases in json.loads((DATA / "pac_s_releases.json").read_text("utf-8")).items()
}
TITLES = {"pac_s": "PAC-S", "pac_s++": "PAC-S++"}


def paper_adapter_path(backbone: str | ClipArchitecture, kind: str = "pac_s") -> Path:
    """Return the path of the converted weights of PAC-S or PAC-S++ for a backbone, which may not exist.

    Raises:
        ValueError: If the backbone is unknown.
    """
    stem = kind.replace("++", "_plus")
    return cache_folder() / "adapters" / f"{stem}-{architecture_of(backbone).architecture}.safetensors"


def paper_adapter(backbone: str | ClipArchitecture, kind: str = "pac_s") -> Path:
    """Return the file with the converted weights of PAC-S or PAC-S++, for `load_checkpoint`, which checks them.

    Raises:
        WeightsNotFoundError: If it does not exist.
    """
    path = paper_adapter_path(backbone, kind)
    if path.is_file():
        return path
    embedded = f", or {as_setting('profile', 'embedded')}" if kind == "pac_s" else ""
    raise WeightsNotFoundError(
        f"the weights of {TITLES[kind]} for {architecture_of(backbone).name} are not in {path}: "
        f"{manual_step(backbone, kind)}; or pass {as_setting('checkpoint')}{embedded}"
    )


def manual_step(backbone: str | ClipArchitecture, kind: str = "pac_s") -> str:
    """Return the instructions for obtaining the weights of PAC-S or PAC-S++ for a backbone, for a message."""
    name = architecture_of(backbone).name
    if name not in RELEASES[kind]:
        released = " and ".join(RELEASES[kind])
        return f"they were released for {released} only; train others with vlgauge train pac_s"
    release = RELEASES[kind][name]
    return (
        f"they have no license, so download {release.file} ({release.size}) manually from {release.link} and "
        f"run: vlgauge convert {release.file} --backbone {name}"
    )
