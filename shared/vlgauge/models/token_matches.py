"""Cosine similarities of the tokens of pairs of texts, by one layer of a text encoder.

Each distinct text of a block of pairs is encoded once. Pairs of similar lengths share one batched matrix product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from vlgauge.checkpoints.torch_runtime import check_fork, exact
from vlgauge.core.progress import Progress, progress_bar
from vlgauge.models.clip.tokens import buckets
from vlgauge.models.hidden_layers import TOKENS_PER_TEXT, AllLayersEncoder

if TYPE_CHECKING:
    import torch

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

_BLOCK_BYTES = 2**30  # of the states of the texts of a block
_GROUP_ENTRIES = 2**25  # of the padded states and similarities of a group
_STEP = 4  # lengths are padded to multiples of this


@dataclass(frozen=True)
class Matches:
    """Maximum similarities of the tokens of P pairs of texts.

    Attributes:
        first: Cosine similarity of each token of the first texts with the most similar token of the second text,
            concatenated, shape ``(n_tokens_of_first_texts,)``.
        second: The same for the tokens of the second texts.
    """

    first: Floats
    second: Floats


def token_matches(
    encoder: AllLayersEncoder,
    ids: Sequence[npt.NDArray[np.int32]],
    pairs: tuple[Ints, Ints],
    *,
    batch_size: int = 64,
    progress: Progress = None,
) -> Matches:
    """Match each token with the most similar token of the other text, special tokens included.

    Args:
        encoder: Encoder whose last loaded layer is used.
        ids: Token ids of the distinct texts.
        pairs: Indices of the first and the second text of each pair, shape ``(P,)`` each.
        batch_size: Number of texts of 77 tokens per forward pass. Batches of shorter texts are larger.
        progress: Progress bar setting. See `vlgauge.core.progress`.
    """
    lengths = np.array([len(row) for row in ids], dtype=np.intp)
    sizes = [lengths[side] for side in pairs]
    starts = [np.cumsum(size) - size for size in sizes]
    found = [np.zeros(int(size.sum())) for size in sizes]
    for which, cosines in _similarities(encoder, ids, pairs, batch_size, progress):
        for side, (own, axis) in enumerate(zip(found, (2, 1), strict=True)):
            maxima = cosines.amax(axis).double().cpu().numpy()
            inside = np.arange(maxima.shape[1]) < sizes[side][which, None]
            own[(starts[side][which, None] + np.arange(maxima.shape[1]))[inside]] = maxima[inside]
    return Matches(*found)


def token_similarities(
    encoder: AllLayersEncoder,
    ids: Sequence[npt.NDArray[np.int32]],
    pairs: tuple[Ints, Ints],
    *,
    batch_size: int = 64,
    progress: Progress = None,
) -> list[Floats]:
    """Compute the cosine similarities of all tokens of each pair. See `token_matches` for the arguments.

    Returns:
        One array per pair, shape ``(n_first, n_second)``, in the order of the pairs.
    """
    found: dict[int, Floats] = {}
    for which, cosines in _similarities(encoder, ids, pairs, batch_size, progress):
        for pair, table in zip(which.tolist(), cosines.double().cpu().numpy(), strict=True):
            found[pair] = table[: len(ids[pairs[0][pair]]), : len(ids[pairs[1][pair]])].copy()
    return [found[pair] for pair in range(len(found))]


def _similarities(
    encoder: AllLayersEncoder,
    ids: Sequence[npt.NDArray[np.int32]],
    pairs: tuple[Ints, Ints],
    batch_size: int,
    progress: Progress,
) -> Iterator[tuple[Ints, torch.Tensor]]:
    """Yield the indices of some pairs and their similarities, padded with -inf, shape ``(n, longest, longest)``."""
    check_fork()
    lengths = np.array([len(row) for row in ids], dtype=np.intp)
    first, second = pairs
    new = np.ones(len(first), dtype=bool)  # whether the first text differs from that of the previous pair
    new[1:] = first[1:] != first[:-1]
    ends = np.cumsum(lengths[second] + lengths[first] * new)
    block = (ends - 1) // max(1, _BLOCK_BYTES // (4 * encoder.width))
    cuts = np.flatnonzero(np.diff(block)) + 1
    with progress_bar(len(first), "Matching tokens", progress) as advance:
        for which in np.split(np.arange(len(first)), cuts):
            if not len(which):
                continue
            texts = np.unique(np.concatenate([first[which], second[which]]))
            states, starts = _states(encoder, ids, texts, batch_size)
            for group in _groups(lengths[first[which]], lengths[second[which]], encoder.width):
                sides = [
                    (starts[np.searchsorted(texts, own)], lengths[own])
                    for own in (first[which[group]], second[which[group]])
                ]
                yield which[group], _cosines(states, *sides)
            advance(len(which))


def _states(
    encoder: AllLayersEncoder, ids: Sequence[npt.NDArray[np.int32]], texts: Ints, batch_size: int
) -> tuple[torch.Tensor, Ints]:
    """Encode texts, shortest first.

    Returns:
        Unit vectors of all tokens, followed by zeros, shape ``(n_tokens + 1, width)``, and the position of the first
        token of each text.
    """
    import torch

    given = [ids[text] for text in texts.tolist()]
    order = sorted(range(len(given)), key=lambda i: (len(given[i]), given[i].tolist()))
    rows = [given[i] for i in order]
    sizes = np.array([len(row) for row in rows], dtype=np.intp)
    starts = np.empty(len(texts), dtype=np.intp)
    starts[order] = np.cumsum(sizes) - sizes
    table = torch.zeros((int(sizes.sum()) + 1, encoder.width), device=encoder.device)
    place = 0
    for batch in buckets(rows, batch_size, TOKENS_PER_TEXT):
        hidden, seen = encoder.last_layer(batch)
        own = hidden[seen].float()
        table[place : place + len(own)] = own / own.norm(dim=1, keepdim=True)
        place += len(own)
    return table, starts


def _groups(first: Ints, second: Ints, width: int) -> Iterator[Ints]:
    """Yield the indices of pairs whose texts have similar lengths, as many as a group may have."""
    rounded = [-(-own // _STEP) * _STEP for own in (first, second)]
    keys = rounded[0] * (int(rounded[1].max(initial=0)) + 1) + rounded[1]
    order = np.argsort(keys, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
        m, n = (int(own[group[0]]) for own in rounded)
        step = max(1, _GROUP_ENTRIES // (m * n + (m + n) * width))
        for start in range(0, len(group), step):
            yield group[start : start + step]


def _cosines(states: torch.Tensor, first: tuple[Ints, Ints], second: tuple[Ints, Ints]) -> torch.Tensor:
    """Compute the similarities of pairs, given the position of the first token and the length of each text."""
    import torch

    padded, inside = [], []
    for start, length in (first, second):
        steps = np.arange(int(length.max()))
        is_token = steps < length[:, None]
        index = np.where(is_token, start[:, None] + steps, len(states) - 1)
        padded.append(states[torch.from_numpy(index).to(states.device)])
        inside.append(torch.from_numpy(is_token).to(states.device))
    with exact(states.device):
        cosines = torch.bmm(padded[0], padded[1].transpose(1, 2))
    return cosines.masked_fill_(~(inside[0][:, :, None] & inside[1][:, None, :]), -torch.inf)
