"""Batches of rows of different lengths as one tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def pad_rows(rows: Sequence[Any], value: int, side: str = "right") -> torch.Tensor:
    """Return rows as one tensor, padded with a value on one side.

    Args:
        rows: Lists or arrays of integers, which become int64, or tensors of shape ``(length, ...)``.
        value: Value of the padding.
        side: ``"right"`` or ``"left"``.

    Returns:
        Padded rows, shape ``(n, longest, ...)``.
    """
    import torch
    from torch.nn.utils.rnn import pad_sequence

    tensors = [row if isinstance(row, torch.Tensor) else torch.as_tensor(row, dtype=torch.int64) for row in rows]
    return pad_sequence(tensors, batch_first=True, padding_value=value, padding_side=side)
