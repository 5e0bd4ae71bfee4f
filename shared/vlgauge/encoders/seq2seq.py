"""Models that write a text for a text: T5 in a folder or on the Hub, as parsers of scene graphs want it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlgauge.files import read_json
from vlgauge.pool import pool
from vlgauge.progress import quiet_transformers
from vlgauge.signatures import local_name
from vlgauge.torch_use import check_fork, check_torch, resolved_device
from vlgauge.weights import known_tensors
from vlgauge.weights.files import WeightsNotFound, hub_folder, hub_folder_here, joint_digest
from vlgauge.weights.reading import given_as, read_tensors

if TYPE_CHECKING:
    import torch

PACKAGES = ("torch", "transformers", "safetensors")
EXTRA = "factual"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
SETTINGS = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "spiece.model")
FILES = (*SETTINGS, *WEIGHTS)
# Their numbers stand once in a file, under the name `shared.weight`.
_TIED = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")


@dataclass(frozen=True)
class Seq2SeqModel:
    """A T5 on disk.

    Attributes:
        identity: Name with commit or digest, for signatures.
        folder: Folder with configuration and tokenizer.
        weights: The file of weights, safetensors or of ``torch.save``.
        digest: SHA-256 over weights, tokenizer and configuration.
    """

    identity: str
    folder: Path
    weights: Path
    digest: str


def find_seq2seq(name: str, *, profile: str, setting: str, hint: str) -> Seq2SeqModel:
    """Files of a T5, by folder or Hub id, optionally ``id@commit``.

    Args:
        name: Folder or id.
        profile: "paper", or "embedded", under which nothing is fetched.
        setting: What it was given as, for messages.
        hint: What else could be done where it is not there.

    Raises:
        WeightsNotFound: If the files are not on this machine and cannot be fetched.
        ValueError: If the folder has no T5 with its tokenizer and its weights.
    """
    if Path(name).is_dir():
        return _described(Path(name).resolve(), setting)
    repository, revision = _address(name, profile, setting)
    folder = hub_folder(repository, revision, FILES, hint)
    # The Hub's folder has the name of the commit, which need not be that of the setting.
    return _described(folder, setting, f"{repository}@{folder.name[:8]}")


def look_for_seq2seq(name: str, *, profile: str, setting: str, hint: str) -> None:
    """Check that `find_seq2seq` can find the model, without fetching or reading it.

    Raises:
        ImportError: If a package is missing.
        WeightsNotFound: If it cannot.
    """
    check_torch(f"`{setting}`", PACKAGES, EXTRA)
    if not Path(name).is_dir():
        hub_folder_here(*_address(name, profile, setting), FILES, hint)


def _address(name: str, profile: str, setting: str) -> tuple[str, str | None]:
    """Repository and revision."""
    if profile == "embedded":
        raise WeightsNotFound(
            f"`{setting}` must have its model in a folder under the embedded profile, which fetches nothing, got "
            f'{name!r}; choose parser="rules"'
        )
    repository, _, revision = name.partition("@")
    return repository, revision or None


def _described(folder: Path, setting: str, identity: str | None = None) -> Seq2SeqModel:
    config = folder / "config.json"
    told = read_json(config, f"`{setting}`") if config.is_file() else None
    if not isinstance(told, dict) or told.get("model_type") != "t5" or "auto_map" in told:
        raise ValueError(f"`{setting}` must have a model of the kind T5 with its config.json, got {str(folder)!r}")
    if not any((folder / name).is_file() for name in ("tokenizer.json", "spiece.model")):
        raise ValueError(f"`{setting}` must have a model with its tokenizer, got none in {str(folder)!r}")
    weights = next((folder / name for name in WEIGHTS if (folder / name).is_file()), None)
    if weights is None:
        raise ValueError(
            f"`{setting}` must have its weights in one of {', '.join(WEIGHTS)}, got none in {str(folder)!r}"
        )
    digest = joint_digest([weights, *(folder / name for name in SETTINGS if (folder / name).is_file())])
    return Seq2SeqModel(identity or local_name(digest), folder, weights, digest)


class Seq2Seq:
    """A loaded T5 in float32; what it writes for a text depends on no other text, but for rounding."""

    def __init__(self, found: Seq2SeqModel, device: str, setting: str) -> None:
        self.identity = found.identity
        self._device = device
        self._tokenizer, self._model = _loaded(found, device, setting)
        # Fast tokenizers change their own state while they pad ("Already borrowed").
        self._lock = threading.Lock()

    @property
    def n_bytes(self) -> int:
        """Bytes of the weights."""
        return sum(p.numel() * p.element_size() for p in self._model.parameters())

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens of each text, the end token last; nothing is cut."""
        with self._lock:
            found: list[list[int]] = self._tokenizer(list(texts), verbose=False)["input_ids"]
        return found

    def written(self, ids: Sequence[Sequence[int]], *, beams: int, most_tokens: int) -> list[tuple[str, bool]]:
        """What it writes for the texts of one batch, each with whether it came to an end.

        Args:
            ids: Tokens of each text.
            beams: Width of the search; 1 takes the likeliest token at each step.
            most_tokens: Of what is written, the one that it begins with included.
        """
        import torch

        check_fork()
        padding, end = self._model.config.pad_token_id, self._model.config.eos_token_id
        inputs = torch.full((len(ids), max(map(len, ids))), padding)
        mask = torch.zeros_like(inputs)
        for row, own in enumerate(ids):
            inputs[row, : len(own)] = torch.tensor(own)
            mask[row, : len(own)] = 1
        with torch.no_grad():
            tokens = self._model.generate(
                inputs.to(self._device),
                attention_mask=mask.to(self._device),
                decoder_start_token_id=padding,
                num_beams=beams,
                early_stopping=beams > 1,
                do_sample=False,
                max_length=most_tokens,
            ).cpu()
        with self._lock:
            texts = self._tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return [(text, end in own.tolist()) for text, own in zip(texts, tokens, strict=True)]


def seq2seq(name: str, *, profile: str, device: str, setting: str, hint: str) -> Seq2Seq:
    """The T5 of that name from the pool; see `find_seq2seq`.

    Raises:
        ImportError: If a package is missing.
        RuntimeError: If this process was forked after torch had run; see `vlgauge.torch_use`.
    """
    check_torch(f"`{setting}`", PACKAGES, EXTRA)
    found = find_seq2seq(name, profile=profile, setting=setting, hint=hint)
    device = resolved_device(device)
    key = ("seq2seq", found.identity, found.digest, device)
    model: Seq2Seq = pool.get(key, lambda: Seq2Seq(found, device, setting), f"the model {found.identity}")
    return model


def _loaded(found: Seq2SeqModel, device: str, setting: str) -> tuple[Any, Any]:
    """Tokenizer and model in evaluation mode, every tensor of it from the file.

    Raises:
        ValueError: If the files do not make up a T5, or have NaN in a tensor.
    """
    import torch
    from transformers import AutoTokenizer, T5Config, T5ForConditionalGeneration

    model: Any
    source = str(found.folder)
    with quiet_transformers(), given_as(setting):
        state = read_tensors(found.weights)
        try:
            tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=True, trust_remote_code=False)
            # Its numbers are those of the file: none are drawn at random before.
            with torch.device("meta"):
                model = T5ForConditionalGeneration(T5Config.from_pretrained(source, local_files_only=True))
        except Exception as error:
            # A file that is cut short or of another kind: the library raises nearly anything.
            why = " ".join(str(error).split())[:200]
            raise ValueError(
                f"`{setting}` must have a T5 that loads, got {source!r}, which fails with: {why}"
            ) from error
        shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
        own = _named_as(state, shapes, tied=bool(model.config.tie_word_embeddings))
        known_tensors.refuse_other_tensors(own, shapes, "T5", source)
    model.load_state_dict({name: tensor.float() for name, tensor in own.items()}, assign=True)
    model.tie_weights()
    return tokenizer, model.to(device).eval().requires_grad_(False)


def _named_as(state: dict[str, torch.Tensor], shapes: dict[str, Any], *, tied: bool) -> dict[str, torch.Tensor]:
    """The tensors of a file, and those that share their numbers with another one, by their names."""
    kept = {name: state[name] for name in known_tensors.surplus(state, known_tensors.SEQ2SEQ)}
    shared = state.get("shared.weight", state.get("encoder.embed_tokens.weight"))
    for name in ("shared.weight", *(_TIED if tied else _TIED[:2])):
        if name in shapes and name not in kept and shared is not None:
            kept[name] = shared
    return kept
