"""A classifier of text pairs at work: what it is fed, in which batches, and the probabilities that come out."""

import hashlib
import inspect
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.encoders.features.memory import MemoryStore
from vlgauge.encoders.pairs.models import PairModel, load_pair_model
from vlgauge.errors import UsageError
from vlgauge.progress import Progress, progress_bar
from vlgauge.torch_use import check_fork, exact

Pair = tuple[str, str]
Floats = npt.NDArray[np.float64]
Encoded = tuple[list[int], list[int]]

# A vector here is one or two numbers; its key and its entry in the store take thirty times as much memory.
_STORE_BYTES = 4 * 2**20
# Families whose position numbers start behind that of the padding token.
_SHIFTED = ("camembert", "ibert", "longformer", "mpnet", "roberta", "xlm-roberta", "xlm-roberta-xl")


@dataclass(frozen=True)
class PairProbabilities:
    """What a scorer says about pairs, in their order.

    Attributes:
        values: Probability that the second text follows the first, shape ``(n_pairs,)``, in [0, 1].
        truncated: Whether a pair was cut to the model's maximum, shape ``(n_pairs,)``.
    """

    values: Floats
    truncated: npt.NDArray[np.bool_]


class PairTooLong(UsageError):
    """A pair has more tokens than the model takes."""

    def __init__(self, pair: Pair, n_tokens: int, maximum: int) -> None:
        super().__init__(f"a pair of texts has {n_tokens} tokens, the model takes {maximum}")
        self.pair, self.n_tokens, self.maximum = pair, n_tokens, maximum


def class_probabilities(logits: npt.NDArray[np.floating], label: int) -> Floats:
    """P(class label) of each pair, by softmax (RoViST-C; Wang et al., 2022, Eq. 5).

    Args:
        logits: shape ``(n, 2)``, or ``(n, 1)``, of class 1 alone, for which it is the sigmoid.
        label: the class.

    Returns:
        shape ``(n,)``, in [0, 1].
    """
    values = np.asarray(logits, dtype=np.float64)
    margin = values[:, 0] if values.shape[1] == 1 else values[:, label] - values[:, 1 - label]
    # Both forms of 1 / (1 + exp(-margin)), each where it cannot overflow.
    small = np.exp(-np.abs(margin))
    return np.where(margin >= 0, 1.0, small) / (1.0 + small)


class LoadedScorer:
    """A classifier of the transformers library in float32; each distinct pair is scored once and remembered.

    The result does not depend on the order of the pairs, and by at most 1e-6 on what else is scored with them.

    Attributes:
        forwards: Number of pairs that went through the model so far.
        maximum: Tokens that the model takes, special ones included.
    """

    def __init__(self, found: PairModel, device: str) -> None:
        self.identity = found.identity
        self.store = MemoryStore(_STORE_BYTES)
        self.forwards = 0
        self._tokenizer, model = load_pair_model(found)
        self._model, self._device = model.to(device), device
        self.maximum = longest_input(self._tokenizer, model.config)
        self._segments = takes_segments(model)
        # Fast tokenizers change their own state while they cut ("Already borrowed").
        self._lock = threading.Lock()

    @property
    def n_bytes(self) -> int:
        """Bytes of the weights and of the remembered logits."""
        return sum(p.numel() * p.element_size() for p in self._model.parameters()) + self.store.n_bytes

    def label_index(self, label: int | str) -> int:
        """Index of a class given by index or name."""
        names = {int(index): str(name) for index, name in self._model.config.id2label.items()}
        index = next((i for i, name in names.items() if name == label), -1) if isinstance(label, str) else label
        if self._model.config.num_labels == 1 and index != 1:
            raise UsageError.about("coherent_label", f"must be left at 1 for a model with one logit, got {label!r}")
        if self._model.config.num_labels == 2 and index not in (0, 1):
            raise UsageError(
                f"`coherent_label` must be 0, 1 or one of {', '.join(map(repr, names.values()))}, got {label!r}"
            )
        return index

    def probabilities(
        self,
        pairs: Sequence[Pair],
        *,
        label: int | str = 1,
        cut: str | None = "longest",
        batch_size: int = 32,
        progress: Progress = None,
    ) -> PairProbabilities:
        """Probabilities of the pairs.

        Args:
            pairs: First and second text of each.
            label: Index or name of the class for "follows".
            cut: What to cut of a pair that is too long: "longest", tokens from the end of the longer text, or
                "oldest", tokens from the start of the first; None refuses it.
            batch_size: Pairs per forward pass.
            progress: See `vlgauge.progress`.

        Raises:
            PairTooLong: If a pair is too long and `cut` is None.
        """
        check_fork()
        index = self.label_index(label)
        distinct = list(dict.fromkeys(pairs))
        inputs, truncated = self._encoded(distinct, cut)
        keys = [_key(one) for one in inputs]
        known = self.store.get(dict.fromkeys(keys))
        new = {key: one for key, one in zip(keys, inputs, strict=True) if key not in known}
        # A fixed order makes the batches, and so the bits, independent of the order of the rows.
        order = sorted(new, key=lambda key: (len(new[key][0]), new[key]))
        with progress_bar(len(order), "Scoring sentence pairs", progress) as advance:
            for start in range(0, len(order), batch_size):
                batch = order[start : start + batch_size]
                known.update(zip(batch, self._logits([new[key] for key in batch]), strict=True))
                advance(len(batch))
        self.store.put({key: known[key].copy() for key in order})
        logits = np.stack([known[key] for key in keys]) if keys else np.zeros((0, 2), np.float32)
        row_of = {pair: row for row, pair in enumerate(distinct)}
        rows = np.array([row_of[pair] for pair in pairs], dtype=np.intp)
        return PairProbabilities(class_probabilities(logits, index)[rows], truncated[rows])

    def _encoded(self, pairs: Sequence[Pair], cut: str | None) -> tuple[list[Encoded], npt.NDArray[np.bool_]]:
        """Token and segment ids of each pair, and whether it was cut."""
        if not pairs:
            return [], np.zeros(0, dtype=bool)
        with self._lock:
            # transformers 5 leaves the segment ids of ALBERT out unless asked.
            whole = self._tokenizer(
                [first for first, _ in pairs],
                [second for _, second in pairs],
                return_token_type_ids=True,
                verbose=False,
            )
            inputs = list(zip(whole["input_ids"], whole["token_type_ids"], strict=True))
            truncated = np.array([len(ids) > self.maximum for ids, _ in inputs])
            for i in np.flatnonzero(truncated).tolist():
                if cut is None:
                    raise PairTooLong(pairs[i], len(inputs[i][0]), self.maximum)
                inputs[i] = self._cut(pairs[i], cut)
        return inputs, truncated

    def _cut(self, pair: Pair, cut: str) -> Encoded:
        first, second = pair
        strategy, side = "longest_first", "right"
        if cut == "oldest":
            room = self.maximum - self._tokenizer.num_special_tokens_to_add(pair=True)
            alone = len(self._tokenizer(second, add_special_tokens=False, verbose=False)["input_ids"])
            strategy, side = ("only_first", "left") if alone < room else ("longest_first", "right")
            first = first if alone < room else ""
        self._tokenizer.truncation_side = side
        found = self._tokenizer(
            first, second, truncation=strategy, max_length=self.maximum, return_token_type_ids=True, verbose=False
        )
        return found["input_ids"], found["token_type_ids"]

    def _logits(self, batch: Sequence[Encoded]) -> npt.NDArray[np.float32]:
        """Logits of a batch, shape ``(n, n_labels)``; padding is masked out."""
        ids, segments = zip(*batch, strict=True)
        side, filler = self._tokenizer.padding_side, getattr(self._tokenizer, "pad_token_type_id", 0)
        inputs = {
            "input_ids": padded(ids, self._tokenizer.pad_token_id, side),
            "attention_mask": padded([[1] * len(own) for own in ids], 0, side),
        }
        if self._segments:
            inputs["token_type_ids"] = padded(segments, filler, side)
        tensors = {name: values.to(self._device) for name, values in inputs.items()}
        with exact(self._device):
            logits = self._model(**tensors).logits
        self.forwards += len(batch)
        return logits.float().cpu().numpy()


def padded(rows: Sequence[Sequence[int]], value: int, side: str = "right") -> Any:
    """Return rows of integers as one tensor, shape ``(n, longest)``, int64, filled up with a value on one side."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    tensors = [torch.tensor(row, dtype=torch.int64) for row in rows]
    return pad_sequence(tensors, batch_first=True, padding_value=value, padding_side=side)


def longest_input(tokenizer: Any, config: Any) -> int:
    """Tokens that a model takes: the smaller of what its tokenizer and its table of positions allow."""
    positions = int(getattr(config, "max_position_embeddings", 0) or 0)
    if positions > 0 and config.model_type in _SHIFTED:
        positions -= int(config.pad_token_id) + 1
    allowed = [limit for limit in (positions, int(tokenizer.model_max_length)) if limit > 0]
    return min(allowed)


def takes_segments(model: Any) -> bool:
    """Whether a model is told which sentence a token is of; one made without gets equal ids, or takes none at all."""
    kinds = int(getattr(model.config, "type_vocab_size", 2) or 0)
    return kinds > 1 and "token_type_ids" in inspect.signature(model.forward).parameters


def _key(encoded: Encoded) -> bytes:
    ids, segments = (np.array(values, dtype=np.int32).tobytes() for values in encoded)
    return hashlib.sha256(ids + segments).digest()
