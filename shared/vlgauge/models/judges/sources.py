"""Location, identity, size and license of judge models."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlgauge.checkpoints.files import joint_digest
from vlgauge.core.errors import UsageError, as_setting
from vlgauge.core.files import DATA, read_json
from vlgauge.core.progress import announce
from vlgauge.core.signatures import local_name
from vlgauge.models.model_folders import PINNED, FolderSource, read_config

# Pickled weights of CLIP-FlanT5 in the format of its authors, downloaded by the user and read without running code.
PICKLED = "pytorch_model*.bin"
FILES = ("*.json", "*.txt", "*.model", "*.jinja", "*.safetensors")

# Default model of the papers of FLEUR and VQAScore, in the format of transformers, at the commit whose files were
# reviewed.
LLAVA = "llava-hf/llava-1.5-13b-hf@657f531da46ada83da455ce6508de786130321ea"
# Small model under a free license, supported by transformers 4.57 and newer. The command prints its commit.
SMALL = "Qwen/Qwen3-VL-2B-Instruct"
WHERE_COMMIT = f"git ls-remote https://huggingface.co/{SMALL} HEAD"
# Files of an adapter in the format of LLaVA's training code. Its pickles are read without running code.
ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin", "non_lora_trainables.bin")
# Adapter of EXPERT (Kim et al., 2025). Its commit is not known here.
EXPERT = "hjkim811/EXPERT-llava-13b-lora"
EXPERT_HINT = f'pass "{EXPERT}@COMMIT" (COMMIT by `git ls-remote https://huggingface.co/{EXPERT} HEAD`) or its folder'
"""How to specify EXPERT, in error messages."""
# Licenses with conditions of use, and size of the files in GB, by the beginning of the repository name.
BINDING = json.loads((DATA / "judge_licenses.json").read_text("utf-8"))


# Folders whose hashing was already announced in this process.
_HASHED: set[Path] = set()


@dataclass(frozen=True)
class JudgeFiles:
    """Model on disk.

    Attributes:
        name: Name for messages.
        identity: Name for signatures.
        folder: Folder of the files.
        config: Content of ``config.json``, or of ``adapter_config.json`` for an adapter.
    """

    name: str
    identity: str
    folder: Path
    config: dict[str, Any]


def find_judge(model: str, setting: str = "model") -> JudgeFiles:
    """Locate the files of a model, and download them if necessary.

    Args:
        model: A folder, or a Hub id pinned as ``owner/name@<commit>``.
        setting: Name of the setting, for messages.

    Raises:
        WeightsNotFoundError: If the model cannot be found.
        ValueError: If the folder does not contain a complete model of the transformers library.
    """
    tell_licence(model, setting)
    source = judge_source(model, setting)
    folder = source.find()
    config = read_config(folder, setting)
    if (folder / "adapter_config.json").is_file():
        raise UsageError.about(
            setting,
            f"must be a complete model, got one with an adapter: {model!r}",
            "pass an adapter of a LLaVA to fleur as `adapter`, or merge the two, for example with "
            "`merge_and_unload` of peft, and pass the saved folder",
        )
    files = sorted(path for pattern in (*FILES, PICKLED) for path in folder.glob(pattern))
    return _describe(source, folder, config, files)


def find_adapter(adapter: str) -> JudgeFiles:
    """Locate the files of a LLaVA adapter, and download them if necessary.

    Args:
        adapter: A folder, or a Hub id pinned as ``owner/name@<commit>``.

    Returns:
        The files, whose ``config`` is the content of ``adapter_config.json``.

    Raises:
        WeightsNotFoundError: If the adapter cannot be found.
        ValueError: If the folder does not contain an adapter.
    """
    source = judge_source(adapter, "adapter")
    folder = source.find()
    here = [name for name in ADAPTER_FILES if (folder / name).is_file()]
    if ADAPTER_FILES[0] not in here or not any(name.startswith("adapter_model") for name in here):
        raise UsageError.about(
            "adapter",
            f"must be a folder with adapter_config.json and adapter_model.safetensors or .bin, got {str(folder)!r}",
        )
    config = read_json(folder / ADAPTER_FILES[0], "`adapter`")
    if not isinstance(config, dict):
        raise UsageError.about(
            "adapter", f"must have settings in adapter_config.json, got a file without them in {str(folder)!r}"
        )
    return _describe(source, folder, config, [folder / name for name in here])


def _describe(source: FolderSource, folder: Path, config: dict[str, Any], files: Sequence[Path]) -> JudgeFiles:
    """Return the files of a model, which is named by its commit on the Hub or otherwise by a digest."""
    if (identity := source.identify(folder)) is not None:
        return JudgeFiles(source.repository, identity, folder, config)
    if folder not in _HASHED:
        _HASHED.add(folder)
        announce(f"Hashing {len(files)} files of {folder.name}")
    return JudgeFiles(folder.name, local_name(joint_digest(files)), folder, config)


def judge_source(model: str, setting: str = "model") -> FolderSource:
    """Return the place of the files of a model or an adapter.

    Args:
        model: A folder, or a Hub id pinned as ``owner/name@<commit>``.
        setting: Name of the setting: "adapter", or another one for a model.
    """
    patterns, hint = (ADAPTER_FILES, EXPERT_HINT) if setting == "adapter" else (FILES, other_models())
    return FolderSource(model, setting, patterns, hint, is_pinned=True)


def other_models() -> str:
    """Return a hint for messages that names a small model and the demo model as alternatives."""
    return (
        f"or {as_setting('model', f'{SMALL}@COMMIT')}, a small one under Apache-2.0 (COMMIT by "
        f"`{WHERE_COMMIT}`), or {as_setting('profile', 'embedded')} for a demo model that only knows synthetic "
        "scenes"
    )


def tell_licence(model: str, setting: str = "model") -> None:
    """Announce the license and the size of a model before its download starts.

    Raises:
        WeightsNotFoundError: If the model is neither a folder nor a pinned Hub id.

    Warns:
        UserWarning: If the license has conditions of use, the model is not downloaded yet, and progress lines are not
            shown.
    """
    terms = terms_of(model)
    if terms and judge_source(model, setting).look() is None:
        announce(terms, always=True)


def is_here(model: str) -> bool:
    """Return whether the files of a model are on this machine, without network access."""
    if PINNED.fullmatch(model) is None:
        return Path(model).is_dir()
    from huggingface_hub import try_to_load_from_cache

    repository, _, revision = model.partition("@")
    found = try_to_load_from_cache(repository, "config.json", revision=revision)
    return isinstance(found, str)


def terms_of(model: str) -> str:
    """Return name, size and license of a model whose license has conditions of use, or "" for any other model."""
    found = next((bound for start, bound in BINDING.items() if model.startswith(start)), None)
    if found is None:
        return ""
    licence, gigabytes = found
    size = f", {gigabytes:g} GB" if gigabytes else ""
    return f"{model.partition('@')[0]}{size}, is under {licence}, to which you agree by using it"


def count_stored_numbers(folder: Path) -> int:
    """Count the numbers in the safetensors files of a folder, reading only the headers."""
    from safetensors import safe_open

    total = 0
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="numpy") as file:
            for name in file.keys():  # noqa: SIM118  # no mapping
                total += math.prod(file.get_slice(name).get_shape())
    return total
