"""Loaded classifier of text pairs: tokenization, batches and probabilities."""

import hashlib
import inspect
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.checkpoints.torch_runtime import check_fork, exact
from vlgauge.core.errors import UsageError
from vlgauge.core.progress import Progress, progress_bar
from vlgauge.models.features.memory import MemoryStore
from vlgauge.models.padding import pad_rows
from vlgauge.models.pairs.models import PairModel, load_pair_model

Pair = tuple[str, str]
Floats = npt.NDArray[np.float64]
Encoded = tuple[list[int], list[int]]

# Entries are one or two numbers. Their keys and the overhead of the store take thirty times as much memory.
_STORE_BYTES = 4 * 2**20
# Model families whose position ids start after the id of the padding token.
_SHIFTED = ("camembert", "ibert", "longformer", "mpnet", "roberta", "xlm-roberta", "xlm-roberta-xl")


@dataclass(frozen=True)
class PairProbabilities:
    """Results of a scorer, in the order of the pairs.

    Attributes:
        values: Probability that the second text follows the first, shape ``(n_pairs,)``, range [0, 1].
        truncated: Whether a pair was truncated to the maximum of the model, shape ``(n_pairs,)``.
    """

    values: Floats
    truncated: npt.NDArray[np.bool_]


class PairTooLongError(UsageError):
    """Raised if a pair has more tokens than the maximum of the model."""

    def __init__(self, pair: Pair, n_tokens: int, maximum: int) -> None:
        super().__init__(f"a pair of texts has {n_tokens} tokens, but the model accepts at most {maximum}")
        self.pair, self.n_tokens, self.maximum = pair, n_tokens, maximum


def class_probabilities(logits: npt.NDArray[np.floating], label: int) -> Floats:
    """Compute P(class label) of each pair by softmax (RoViST-C; Wang et al., 2022, Eq. 5).

    Args:
        logits: Logits, shape ``(n, 2)``, or ``(n, 1)`` for class 1 only, in which case the sigmoid is used.
        label: The class.

    Returns:
        Probabilities, shape ``(n,)``, range [0, 1].
    """
    values = np.asarray(logits, dtype=np.float64)
    margin = values[:, 0] if values.shape[1] == 1 else values[:, label] - values[:, 1 - label]
    # Use the form of 1 / (1 + exp(-margin)) that cannot overflow.
    small = np.exp(-np.abs(margin))
    return np.where(margin >= 0, 1.0, small) / (1.0 + small)


class LoadedScorer:
    """Classifier of the transformers library in float32. Each distinct pair is scored once and cached.

    Results do not depend on the order of the pairs, and by at most 1e-6 on the other pairs of a call.

    Attributes:
        forwards: Number of pairs processed by the model so far.
        maximum: Maximum number of tokens, including special tokens.
    """

    def __init__(self, found: PairModel, device: str) -> None:
        self.identity = found.identity
        self.store = MemoryStore(_STORE_BYTES)
        self.forwards = 0
        self._tokenizer, model = load_pair_model(found)
        self._model, self._device = model.to(device), device
        self.maximum = longest_input(self._tokenizer, model.config)
        self._segments = takes_segments(model)
        # Fast tokenizers are not thread-safe while truncating ("Already borrowed").
        self._lock = threading.Lock()

    def label_index(self, label: int | str) -> int:
        """Return the index of a class given by index or name.

        Raises:
            ValueError: If the model has no such class.
        """
        names = {int(index): str(name) for index, name in self._model.config.id2label.items()}
        index = next((i for i, name in names.items() if name == label), -1) if isinstance(label, str) else label
        if self._model.config.num_labels == 1 and index != 1:
            raise UsageError.about("coherent_label", f"must be 1 for a model with one logit, got {label!r}")
        if self._model.config.num_labels == 2 and index not in (0, 1):
            raise UsageError.about(
                "coherent_label", f"must be 0, 1 or one of {', '.join(map(repr, names.values()))}, got {label!r}"
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
        """Compute the probabilities of the pairs.

        Args:
            pairs: First and second text of each pair.
            label: Index or name of the class for "follows".
            cut: Truncation of pairs that are too long: "longest" removes tokens from the end of the longer text, and
                "oldest" from the start of the first text. None raises an error.
            batch_size: Number of pairs per forward pass.
            progress: Progress bar setting. See `vlgauge.core.progress`.

        Returns:
            Probability of the class for each pair, and whether the pair was truncated, shape ``(n_pairs,)`` each.

        Raises:
            PairTooLongError: If a pair is too long and `cut` is None.
            ValueError: If the model has no class `label`.
        """
        check_fork()
        index = self.label_index(label)
        distinct = list(dict.fromkeys(pairs))
        inputs, truncated = self._encode(distinct, cut)
        keys = [_key(one) for one in inputs]
        known = self.store.get_all(dict.fromkeys(keys))
        new = {key: one for key, one in zip(keys, inputs, strict=True) if key not in known}
        # A fixed order makes the batches, and thus the results, bitwise independent of the order of the rows.
        order = sorted(new, key=lambda key: (len(new[key][0]), new[key]))
        with progress_bar(len(order), "Scoring sentence pairs", progress) as advance:
            for start in range(0, len(order), batch_size):
                batch = order[start : start + batch_size]
                known.update(zip(batch, self._logits([new[key] for key in batch]), strict=True))
                advance(len(batch))
        self.store.put_all({key: known[key].copy() for key in order})
        logits = np.stack([known[key] for key in keys]) if keys else np.zeros((0, 2), np.float32)
        row_of = {pair: row for row, pair in enumerate(distinct)}
        rows = np.array([row_of[pair] for pair in pairs], dtype=np.intp)
        return PairProbabilities(class_probabilities(logits, index)[rows], truncated[rows])

    def _encode(self, pairs: Sequence[Pair], cut: str | None) -> tuple[list[Encoded], npt.NDArray[np.bool_]]:
        """Return the token and segment ids of each pair, and whether it was truncated."""
        if not pairs:
            return [], np.zeros(0, dtype=bool)
        with self._lock:
            # transformers 5 omits the segment ids of ALBERT by default.
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
                    raise PairTooLongError(pairs[i], len(inputs[i][0]), self.maximum)
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
        """Return the logits of a batch, shape ``(n, n_labels)``, with masked padding."""
        ids, segments = zip(*batch, strict=True)
        side, filler = self._tokenizer.padding_side, getattr(self._tokenizer, "pad_token_type_id", 0)
        inputs = {
            "input_ids": pad_rows(ids, self._tokenizer.pad_token_id, side),
            "attention_mask": pad_rows([[1] * len(own) for own in ids], 0, side),
        }
        if self._segments:
            inputs["token_type_ids"] = pad_rows(segments, filler, side)
        tensors = {name: values.to(self._device) for name, values in inputs.items()}
        with exact(self._device):
            logits = self._model(**tensors).logits
        self.forwards += len(batch)
        return logits.float().cpu().numpy()


def longest_input(tokenizer: Any, config: Any) -> int:
    """Return the maximum number of tokens of a model, the smaller limit of its tokenizer and its position table."""
    positions = int(getattr(config, "max_position_embeddings", 0) or 0)
    if positions > 0 and config.model_type in _SHIFTED:
        positions -= int(config.pad_token_id) + 1
    allowed = [limit for limit in (positions, int(tokenizer.model_max_length)) if limit > 0]
    return min(allowed)


def takes_segments(model: Any) -> bool:
    """Return whether a model distinguishes the two texts by segment ids."""
    kinds = int(getattr(model.config, "type_vocab_size", 2) or 0)
    return kinds > 1 and "token_type_ids" in inspect.signature(model.forward).parameters


def _key(encoded: Encoded) -> bytes:
    ids, segments = (np.array(values, dtype=np.int32).tobytes() for values in encoded)
    return hashlib.sha256(ids + segments).digest()
