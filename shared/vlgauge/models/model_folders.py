"""Folders of models in the format of transformers, local or on the Hub: configuration, tokenizer, weights, digest."""

from dataclasses import dataclass
from pathlib import Path

from vlgauge.checkpoints.files import hub_folder, hub_folder_here, joint_digest
from vlgauge.core.errors import UsageError, WeightsNotFoundError
from vlgauge.core.files import read_json
from vlgauge.core.signatures import local_name

WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_COMMON = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


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
        weights: File with the weights.
        digest: SHA-256 over weights, tokenizer and configuration.
    """

    identity: str
    folder: Path
    weights: Path
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
    if Path(name).is_dir():
        return describe_folder(Path(name).resolve(), kind, setting)
    repository, revision = _address(name, kind, profile, setting)
    folder = hub_folder(repository, revision, kind.files, hint)
    # The folder name is the resolved commit, which may differ from the revision in the setting.
    return describe_folder(folder, kind, setting, f"{repository}@{folder.name[:8]}")


def look_for_model(name: str, kind: Kind, *, profile: str, setting: str, hint: str) -> None:
    """Check that `find_model` can find the model, without downloading or reading it.

    Raises:
        WeightsNotFoundError: If the model is neither a folder nor a pinned Hub id, or is not available offline.
    """
    if not Path(name).is_dir():
        hub_folder_here(*_address(name, kind, profile, setting), kind.files, hint)


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
    config = folder / "config.json"
    told = read_json(config, f"`{setting}`") if config.is_file() else None
    if not isinstance(told, dict) or told.get("model_type") not in kind.model_types or "auto_map" in told:
        raise UsageError.about(
            setting,
            f"must have a model of the kind {' or '.join(kind.model_types)} with its config.json, got {str(folder)!r}",
        )
    if not any((folder / name).is_file() for name in ("tokenizer.json", *kind.words)):
        raise UsageError.about(setting, f"must include its tokenizer, got none in {str(folder)!r}")
    weights = next((folder / name for name in WEIGHTS if (folder / name).is_file()), None)
    if weights is None:
        raise UsageError.about(
            setting, f"must have its weights in {' or '.join(WEIGHTS)}, got neither in {str(folder)!r}"
        )
    digest = joint_digest([weights, *(folder / name for name in kind.settings if (folder / name).is_file())])
    return ModelFolder(identity or local_name(digest), folder, weights, digest)


def _address(name: str, kind: Kind, profile: str, setting: str) -> tuple[str, str | None]:
    if profile == "embedded":
        raise WeightsNotFoundError.about(
            setting,
            f"must be a folder under the embedded profile, which downloads nothing, got {name!r}",
            kind.instead,
        )
    repository, _, revision = name.partition("@")
    return repository, revision or None
