"""Files of sentence-pair classifiers, and loading them without running code in the files."""

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vlgauge.checkpoints import known_tensors
from vlgauge.checkpoints.files import SourcesMissingError, joint_digest
from vlgauge.checkpoints.first_values import without_first_values
from vlgauge.checkpoints.reading import create_rejection, loading, name_setting, read_torch_object, state_dict_in
from vlgauge.core.errors import UsageError, WeightsNotFoundError, as_setting
from vlgauge.core.files import DATA, read_json
from vlgauge.core.optional_dependencies import importing
from vlgauge.core.progress import quiet_transformers
from vlgauge.core.signatures import local_name
from vlgauge.models.model_folders import PINNED, FolderSource, read_config

EMBEDDED = DATA / "sentence_order"
EMBEDDED_NAME = "vlgauge-sentence-order"
AUTHORS_FILE = "https://drive.google.com/file/d/1-ATRk6AQyKGNDZHkqrKkpjiY6jfbK9NS/view"

# The fused CPU kernels of torch change a probability by 5e-6, and depend more on the batch than the eager kernels.
ATTENTION = "eager"
_OF_FIVE = "TokenizersBackend"
_EXPECTED = ("model", "must be a sequence-pair classifier that loads")

SETTINGS_FILES = ("*.json", "*.txt", "*.model")
_TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
# Prefixes in the authors' files, and the corresponding prefixes of AlbertForSequenceClassification.
_RENAMED = {"albert_model.": "albert.", "linear.": "classifier."}
# Configuration and tokenizer of the authors' checkpoint.
BASE = "albert/albert-large-v1"
# Last commit in the public history of the repository. Both files are older.
BASE_REVISION = "e00395aacfbe564dea329c3d1f1babc0bbf54809"
PINNED_BASE = f"{BASE}@{BASE_REVISION}"


@dataclass(frozen=True)
class PairModel:
    """Classifier of sentence pairs on disk.

    Attributes:
        name: Name for messages.
        identity: Name with commit or digest, used in signatures.
        folder: Folder with configuration and tokenizer, and with the weights unless there is a checkpoint.
        checkpoint: File in the format of RoViST's authors. None if the weights are safetensors in the folder.
        digest: SHA-256 over weights, tokenizer and configuration.
    """

    name: str
    identity: str
    folder: Path
    checkpoint: Path | None
    digest: str


def find_pair_model(model: str | None, base: str | None = None, profile: str = "paper") -> PairModel:
    """Locate the files of a classifier, and download them if necessary.

    Args:
        model: Folder, Hub id pinned as ``owner/name@<commit>``, or checkpoint file of the authors. None for the bundled
            model of the embedded profile.
        base: Folder or pinned id of configuration and tokenizer, which is required for a checkpoint file and invalid
            otherwise.
        profile: "paper", or "embedded", under which nothing is downloaded.

    Raises:
        WeightsNotFoundError: If the model cannot be found.
        ValueError: If `base` is missing or must not be passed, or a folder is incomplete.
    """
    if model is not None and Path(model).is_file():
        if base is None:
            raise UsageError.about("base", _no_base())
        return _describe(Path(model).name, _source("base", base, profile).find(), Path(model).resolve())
    if base is not None:
        raise UsageError.about("base", f"requires a checkpoint file as `model`, got {base!r} and {model!r}")
    if model is None:
        if profile != "embedded":
            raise WeightsNotFoundError.about("model", _no_model())
        return _describe(EMBEDDED_NAME, EMBEDDED, None)
    source = _source("model", model, profile)
    folder = source.find()
    identity = source.identify(folder)
    if identity is None:
        return _describe(folder.name, folder, None)
    return replace(_describe(source.repository, folder, None), identity=identity)


def look_for_model(model: str | None, profile: str) -> None:
    """Check that `find_pair_model` can find the classifier, without downloading or reading it.

    Raises:
        WeightsNotFoundError: If there is no model of this name, or it is not available offline.
    """
    if model is None:
        if profile != "embedded":
            raise WeightsNotFoundError.about("model", _no_model())
    elif not Path(model).is_file():
        _source("model", model, profile).look()


def look_for_base(model: str | None, base: str | None, profile: str) -> None:
    """Check that configuration and tokenizer of a checkpoint file can be found, even if the file itself is missing.

    Raises:
        SourcesMissingError: If a checkpoint file has no `base`.
        WeightsNotFoundError: If `base` cannot be found.
    """
    if model is None or Path(model).is_dir() or PINNED.fullmatch(model):
        return
    if base is not None:
        _source("base", base, profile).look()
    elif Path(model).is_file():
        raise SourcesMissingError.about("base", _no_base())


def _no_model() -> str:
    return (
        f"is missing: the authors' checkpoint sop_model_epoch4.pth.tar is at {AUTHORS_FILE}; pass its path with "
        f'base="{PINNED_BASE}", or the folder of any classifier of sentence pairs, {_hint()}'
    )


def _no_base() -> str:
    return (
        "is missing: a checkpoint file requires the folder or pinned id of its ALBERT configuration and "
        f'tokenizer (for the authors\' checkpoint base="{PINNED_BASE}")'
    )


def _source(setting: str, name: str, profile: str) -> FolderSource:
    patterns = (*SETTINGS_FILES, "*.safetensors") if setting == "model" else SETTINGS_FILES
    return FolderSource(name, setting, patterns, _hint(), profile, is_pinned=True)


def _describe(name: str, folder: Path, checkpoint: Path | None) -> PairModel:
    setting = "model" if checkpoint is None else "base"
    read_config(folder, setting)
    if not any(next(folder.glob(pattern), None) for pattern in _TOKENIZERS):
        raise UsageError.about(setting, f"must include its tokenizer, got none in {str(folder)!r}")
    weights = [checkpoint] if checkpoint else sorted(folder.glob("*.safetensors"))
    if not weights or (folder / "adapter_config.json").exists():
        raise UsageError.about(
            setting, f"must have all its weights as safetensors, got other formats or none in {str(folder)!r}"
        )
    files = sorted(path for pattern in SETTINGS_FILES for path in folder.glob(pattern))
    digest = joint_digest([*weights, *files])
    identity = f"{name}@{digest[:8]}" if folder == EMBEDDED else local_name(digest)
    return PairModel(name, identity, folder, checkpoint, digest)


def load_pair_model(found: PairModel) -> tuple[Any, Any]:
    """Load a classifier in evaluation mode, with all tensors, in float32, from the files.

    Returns:
        The tokenizer and the model of transformers.

    Raises:
        ValueError: If a tensor is missing or not finite, the model does not have one or two logits, or the tokenizer
            has no padding token.
        MissingExtraError: If a package is missing.
    """
    with importing('classifiers of sentence pairs require more packages; run: pip install "vlgauge[rovist-c]"'):
        import torch
        import transformers  # noqa: F401

    own = loading(*_EXPECTED, found.name, (ImportError, UsageError))
    with quiet_transformers(), torch.random.fork_rng(devices=[]), own:
        tokenizer = _tokenizer_of(found)
        classifier = _of_folder(found) if found.checkpoint is None else _of_checkpoint(found, found.checkpoint)
    known_tensors.check_finite_tensors(classifier.state_dict(), found.name, "model")
    if classifier.config.num_labels not in (1, 2):
        raise UsageError.about(
            "model", f"must have one or two logits, got {classifier.config.num_labels} in {found.name!r}"
        )
    if tokenizer.pad_token_id is None:
        raise UsageError.about("model", f"must have a tokenizer with a padding token, got none in {found.name!r}")
    return tokenizer, classifier.float().eval()


def _tokenizer_of(found: PairModel) -> Any:
    """Load the tokenizer of a folder.

    transformers 5 writes tokenizers under a class that transformers 4 does not know. The general class of transformers
    4 replaces the setting for a space before the text by its default. Therefore the setting is read from the file, and
    the loaded tokenizer must be equal to the file.
    """
    import transformers

    file, settings_file = found.folder / "tokenizer.json", found.folder / "tokenizer_config.json"
    settings = read_json(settings_file, "`model`") if settings_file.is_file() else {}
    if hasattr(transformers, _OF_FIVE) or settings.get("tokenizer_class") != _OF_FIVE:
        return transformers.AutoTokenizer.from_pretrained(
            str(found.folder), local_files_only=True, trust_remote_code=False
        )
    written = read_json(file, "`model`")
    words = {name: value for name, value in settings.items() if name not in ("backend", "tokenizer_class")}
    words.setdefault("model_input_names", ["input_ids", "attention_mask"])
    first = (written.get("pre_tokenizer") or {}).get("add_prefix_space", False)
    made = transformers.PreTrainedTokenizerFast(tokenizer_file=str(file), add_prefix_space=first, **words)
    if json.loads(made.backend_tokenizer.to_str()) != written:
        raise UsageError.about(
            "model",
            f"must have a tokenizer that transformers {transformers.__version__} loads unchanged, got one of "
            f"transformers 5 in {found.name!r} that would be changed",
            'run: pip install "transformers>=5"',
        )
    return made


def _of_folder(found: PairModel) -> Any:
    import torch
    from transformers import AutoModelForSequenceClassification

    classifier, report = AutoModelForSequenceClassification.from_pretrained(
        str(found.folder),
        use_safetensors=True,
        local_files_only=True,
        trust_remote_code=False,
        output_loading_info=True,
        dtype=torch.float32,
        attn_implementation=ATTENTION,
    )
    # The library initializes tensors that are missing in the files randomly.
    lacking = [str(key) for part in ("missing_keys", "mismatched_keys") for key in report.get(part, ())]
    surplus = known_tensors.surplus(map(str, report.get("unexpected_keys", ())), known_tensors.PAIR)
    if lacking:
        raise create_rejection(*_EXPECTED, found.name, f"no weights for {known_tensors.list_names(sorted(lacking))}")
    if surplus:
        raise create_rejection(*_EXPECTED, found.name, f"unknown weights {known_tensors.list_names(surplus)}")
    return classifier


def _of_checkpoint(found: PairModel, path: Path) -> Any:
    """Load the classifier of RoViST's authors: ALBERT, a linear layer, and a dropout whose output they do not use."""
    from transformers import AlbertConfig, AlbertForSequenceClassification

    kind = read_json(found.folder / "config.json", "`base`").get("model_type")
    if kind != "albert":
        raise UsageError.about("base", f"must be a configuration of ALBERT, got {kind!r} in {str(found.folder)!r}")
    state = read_authors_checkpoint(path)
    kinds: dict[str, Any] = {"attn_implementation": ATTENTION, "num_labels": 2}
    config = AlbertConfig.from_pretrained(str(found.folder), local_files_only=True, **kinds)
    with without_first_values():
        classifier = AlbertForSequenceClassification(config)
    shapes = {name: tensor.shape for name, tensor in classifier.state_dict().items()}
    state = {name: state[name] for name in known_tensors.surplus(state, known_tensors.PAIR)}
    with name_setting("model"):
        known_tensors.check_tensor_names(state, shapes, "`base`", path.name)
    classifier.load_state_dict(state)
    return classifier


def read_authors_checkpoint(path: Path) -> dict[str, Any]:
    """Read the weights of a checkpoint of RoViST's authors, renamed for `AlbertForSequenceClassification`.

    No code in the file is run. Besides tensors and containers, only `argparse.Namespace` is allowed, which contains the
    options of the authors' script.

    Returns:
        Tensors by name.

    Raises:
        ValueError: If the file contains anything else or no weights.
    """
    with name_setting("model"):
        state = state_dict_in(read_torch_object(path, allowed=[argparse.Namespace]), path)
    renamed = {}
    for key, value in state.items():
        old = next((old for old in _RENAMED if key.startswith(old)), "")
        renamed[_RENAMED.get(old, "") + key.removeprefix(old)] = value
    return renamed


def _hint() -> str:
    embedded = as_setting("profile", "embedded")
    return f"or {embedded} for the bundled demo model, which only knows synthetic scenes"
