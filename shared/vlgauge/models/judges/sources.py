"""Location, identity, size and license of judge models."""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlgauge.checkpoints.files import hub_folder, hub_folder_here, joint_digest
from vlgauge.core.errors import UsageError, WeightsNotFoundError, as_setting
from vlgauge.core.files import is_address, read_json
from vlgauge.core.progress import announce
from vlgauge.core.signatures import local_name

# Pickled weights of CLIP-FlanT5 in the format of its authors, downloaded by the user and read without running code.
PICKLED = "pytorch_model*.bin"
FILES = ("*.json", "*.txt", "*.model", "*.jinja", "*.safetensors")
PINNED = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)@(?P<revision>[0-9a-f]{40})")

# Default model of the papers of FLEUR and VQAScore, in the format of transformers, at the commit whose files were
# reviewed.
LLAVA = "llava-hf/llava-1.5-13b-hf@657f531da46ada83da455ce6508de786130321ea"
# Small model under a free license, supported by transformers 4.57 and newer. The command prints its commit.
SMALL = "Qwen/Qwen3-VL-2B-Instruct"
WHERE_COMMIT = f"git ls-remote https://huggingface.co/{SMALL} HEAD"
SERVED = "; for a model on a server, pass a vlgauge.models.judges.ServedJudge as `model` in Python"
# Files of an adapter in the format of LLaVA's training code. Its pickles are read without running code.
ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin", "non_lora_trainables.bin")
# Adapter of EXPERT (Kim et al., 2025). Its commit is not known here.
EXPERT = "hjkim811/EXPERT-llava-13b-lora"
EXPERT_HINT = f'pass "{EXPERT}@COMMIT" (COMMIT by `git ls-remote https://huggingface.co/{EXPERT} HEAD`) or its folder'
"""How to specify EXPERT, in error messages."""
# Licenses with conditions of use, and size of the files in GB, by the beginning of the repository name.
BINDING = {
    "llava-hf/llava-1.5-13b": ("the Llama 2 Community License", 26.7),
    "llava-hf/llava-1.5-7b": ("the Llama 2 Community License", 14.1),
    "Qwen/Qwen2.5-VL-3B": ("the Qwen Research License, for research only", 7.5),
    "google/gemma-": ("the Gemma Terms of Use", None),
    "google/paligemma": ("the Gemma Terms of Use", None),
    "meta-llama/": ("a Llama Community License", None),
}


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
    folder = look_for_judge(model, setting, hub_folder)
    assert folder is not None  # never None, because `hub_folder` downloads
    file = folder / "config.json"
    if not file.is_file():
        raise UsageError.about(setting, f"must be a folder with config.json, got {str(folder)!r}")
    config = read_json(file, f"`{setting}`")
    if not isinstance(config, dict) or "auto_map" in config:
        raise UsageError.about(
            setting, f"must be a model of the transformers package, got one with custom code: {model!r}"
        )
    if (folder / "adapter_config.json").is_file():
        raise UsageError.about(
            setting,
            f"must be a complete model, got one with an adapter: {model!r}",
            "pass an adapter of a LLaVA to fleur as `adapter`, or merge the two, for example with "
            "`merge_and_unload` of peft, and pass the saved folder",
        )
    if Path(model).is_dir():
        files = sorted(path for pattern in (*FILES, PICKLED) for path in folder.glob(pattern))
        if folder not in _HASHED:
            _HASHED.add(folder)
            announce(f"Hashing {len(files)} files of {folder.name}")
        return JudgeFiles(folder.name, local_name(joint_digest(files)), folder, config)
    repository, _, revision = model.partition("@")
    return JudgeFiles(repository, f"{repository}@{revision[:8]}", folder, config)


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
    folder = look_for_judge(adapter, "adapter", hub_folder, ADAPTER_FILES, EXPERT_HINT)
    assert folder is not None  # never None, because `hub_folder` downloads
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
    if Path(adapter).is_dir():
        return JudgeFiles(folder.name, local_name(joint_digest([folder / name for name in here])), folder, config)
    repository, _, revision = adapter.partition("@")
    return JudgeFiles(repository, f"{repository}@{revision[:8]}", folder, config)


def look_for_judge(
    model: str,
    setting: str = "model",
    on_hub: Callable[..., Path | None] = hub_folder_here,
    patterns: Sequence[str] = FILES,
    hint: str = "",
) -> Path | None:
    """Return the folder of a model, or None if it has not been downloaded from the Hub yet.

    Args:
        model: A folder, or a Hub id pinned as ``owner/name@<commit>``.
        setting: Name of the setting, for messages.
        on_hub: Function that returns the local folder of a pinned repository.
        patterns: Patterns of the required files.
        hint: Hint for the message if the model is missing. Empty for the names of smaller models.

    Raises:
        WeightsNotFoundError: If the model is neither a folder nor a pinned Hub id.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder.resolve()
    pinned = PINNED.fullmatch(os.fspath(model))
    if pinned is None:
        raise WeightsNotFoundError.about(
            setting,
            "must be a folder, or a Hub id with its commit (owner/name@<40 hexadecimal digits>), got "
            f"{model!r}{SERVED if is_address(os.fspath(model)) else ''}",
        )
    return on_hub(pinned["repository"], pinned["revision"], patterns, hint or other_models())


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
    if terms and look_for_judge(model, setting) is None:
        announce(terms, always=True)


def is_here(model: str) -> bool:
    """Return whether the files of a model are on this machine, without network access."""
    pinned = PINNED.fullmatch(model)
    if pinned is None:
        return Path(model).is_dir()
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(pinned["repository"], "config.json", revision=pinned["revision"])
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
                size = 1
                for length in file.get_slice(name).get_shape():
                    size *= length
                total += size
    return total
