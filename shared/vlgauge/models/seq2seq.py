"""Text-to-text models (T5) in a folder or on the Hub, used as scene graph parsers."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vlgauge.checkpoints import known_tensors
from vlgauge.checkpoints.reading import loading, name_setting, read_tensors
from vlgauge.checkpoints.torch_runtime import check_fork, check_torch, exact, resolve_device
from vlgauge.core.pool import pool
from vlgauge.core.progress import quiet_transformers
from vlgauge.models.model_folders import Kind, ModelFolder, find_model
from vlgauge.models.padding import pad_rows

if TYPE_CHECKING:
    import torch

PACKAGES = ("torch", "transformers", "safetensors")
EXTRA = "factual"
T5 = Kind(("t5",), ("spiece.model",), "choose the parser 'rules'")
# Tensors that are stored only once in a file, as `shared.weight`.
_TIED = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")


class Seq2Seq:
    """Loaded T5 in float32. Apart from rounding, an output does not depend on the other texts of a batch."""

    def __init__(self, found: ModelFolder, device: str, setting: str) -> None:
        self.identity = found.identity
        self._device = device
        self._tokenizer, self._model = _load_model(found, device, setting)
        # Fast tokenizers are not thread-safe while padding ("Already borrowed").
        self._lock = threading.Lock()

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, without truncation. The last one is the end token."""
        with self._lock:
            found: list[list[int]] = self._tokenizer(list(texts), verbose=False)["input_ids"]
        return found

    def written(self, ids: Sequence[Sequence[int]], *, beams: int, most_tokens: int) -> list[tuple[str, bool]]:
        """Generate the output texts of one batch.

        Args:
            ids: Token ids of each text.
            beams: Number of beams. 1 for greedy decoding.
            most_tokens: Maximum number of generated tokens, including the start token.

        Returns:
            Output text of each input, and whether it ended with the end token.
        """
        check_fork()
        padding, end = self._model.config.pad_token_id, self._model.config.eos_token_id
        inputs, mask = pad_rows(ids, padding), pad_rows([[1] * len(own) for own in ids], 0)
        with exact(self._device):
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
    """Return the T5 of that name from the pool. See `vlgauge.models.model_folders.find_model`.

    Raises:
        MissingExtraError: If a package is missing.
        WeightsNotFoundError: If the model cannot be found.
    """
    check_torch(f"`{setting}`", PACKAGES, EXTRA)
    found = find_model(name, T5, profile=profile, setting=setting, hint=hint)
    device = resolve_device(device)
    key = ("seq2seq", found.identity, found.digest, device)
    return pool.get(key, lambda: Seq2Seq(found, device, setting), f"the model {found.identity}")


def _load_model(found: ModelFolder, device: str, setting: str) -> tuple[Any, Any]:
    """Load the tokenizer and the model in evaluation mode, with all tensors from the file."""
    import torch
    from transformers import AutoTokenizer, T5Config, T5ForConditionalGeneration

    model: Any
    source = str(found.folder)
    with quiet_transformers(), name_setting(setting):
        state = read_tensors(found.weights[0])
        with loading(setting, "must have a T5 model that loads", source):
            tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=True, trust_remote_code=False)
            # The meta device avoids the random initialization of tensors that are then loaded from the file.
            with torch.device("meta"):
                model = T5ForConditionalGeneration(T5Config.from_pretrained(source, local_files_only=True))
        shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
        own = _name_tensors(state, shapes, tied=bool(model.config.tie_word_embeddings))
        known_tensors.check_tensor_names(own, shapes, "T5", source)
    model.load_state_dict({name: tensor.float() for name, tensor in own.items()}, assign=True)
    model.tie_weights()
    return tokenizer, model.to(device).eval().requires_grad_(False)


def _name_tensors(state: dict[str, torch.Tensor], shapes: dict[str, Any], *, tied: bool) -> dict[str, torch.Tensor]:
    """Return the tensors of a file by name, including tensors that are stored under the name of another one."""
    kept = {name: state[name] for name in known_tensors.surplus(state, known_tensors.SEQ2SEQ)}
    shared = state.get("shared.weight", state.get("encoder.embed_tokens.weight"))
    for name in ("shared.weight", *(_TIED if tied else _TIED[:2])):
        if name in shapes and name not in kept and shared is not None:
            kept[name] = shared
    return kept
