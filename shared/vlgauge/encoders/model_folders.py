"""Folders of models as transformers writes them, here or on the Hub: configuration, tokenizer, weights, digest."""

from dataclasses import dataclass
from pathlib import Path

from vlgauge.errors import UsageError, WeightsNotFoundError
from vlgauge.files import read_json
from vlgauge.signatures import local_name
from vlgauge.weights.files import hub_folder, hub_folder_here, joint_digest

WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_COMMON = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


@dataclass(frozen=True)
class Kind:
    """Models of one kind.

    Attributes:
        model_types: ``model_type`` of their configuration.
        words: Files of their tokenizer beside tokenizer.json.
        instead: What to do under the embedded profile, which fetches nothing.
    """

    model_types: tuple[str, ...]
    words: tuple[str, ...]
    instead: str

    @property
    def settings(self) -> tuple[str, ...]:
        """Files beside the weights."""
        return (*_COMMON, *self.words)

    @property
    def files(self) -> tuple[str, ...]:
        """All files that are read."""
        return (*self.settings, *WEIGHTS)


@dataclass(frozen=True)
class ModelFolder:
    """A model on disk; the digest is the SHA-256 over weights, tokenizer and configuration."""

    identity: str
    folder: Path
    weights: Path
    digest: str


def find_model(name: str, kind: Kind, *, profile: str, setting: str, hint: str) -> ModelFolder:
    """Files of a model, by folder or Hub id, optionally ``id@commit``."""
    if Path(name).is_dir():
        return described(Path(name).resolve(), kind, setting)
    repository, revision = _address(name, kind, profile, setting)
    folder = hub_folder(repository, revision, kind.files, hint)
    # The Hub's folder has the name of the commit, which need not be that of the setting.
    return described(folder, kind, setting, f"{repository}@{folder.name[:8]}")


def look_for_model(name: str, kind: Kind, *, profile: str, setting: str, hint: str) -> None:
    """Check that `find_model` can find the model, without fetching or reading it."""
    if not Path(name).is_dir():
        hub_folder_here(*_address(name, kind, profile, setting), kind.files, hint)


def described(folder: Path, kind: Kind, setting: str, identity: str | None = None) -> ModelFolder:
    """The model of a folder."""
    config = folder / "config.json"
    told = read_json(config, f"`{setting}`") if config.is_file() else None
    if not isinstance(told, dict) or told.get("model_type") not in kind.model_types or "auto_map" in told:
        raise UsageError(
            f"`{setting}` must have a model of the kind {' or '.join(kind.model_types)} with its config.json, got "
            f"{str(folder)!r}"
        )
    if not any((folder / name).is_file() for name in ("tokenizer.json", *kind.words)):
        raise UsageError(f"`{setting}` must come with its tokenizer, got none in {str(folder)!r}")
    weights = next((folder / name for name in WEIGHTS if (folder / name).is_file()), None)
    if weights is None:
        raise UsageError(f"`{setting}` must have its weights in {' or '.join(WEIGHTS)}, got neither in {str(folder)!r}")
    digest = joint_digest([weights, *(folder / name for name in kind.settings if (folder / name).is_file())])
    return ModelFolder(identity or local_name(digest), folder, weights, digest)


def _address(name: str, kind: Kind, profile: str, setting: str) -> tuple[str, str | None]:
    if profile == "embedded":
        raise WeightsNotFoundError(
            f"`{setting}` must have its model in a folder under the embedded profile, which fetches nothing, got "
            f"{name!r}; {kind.instead}"
        )
    repository, _, revision = name.partition("@")
    return repository, revision or None
