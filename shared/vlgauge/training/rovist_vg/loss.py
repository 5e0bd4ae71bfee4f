"""The contrastive loss of RoViST-VG (Wang et al., 2022, Algorithm 1, as in the authors' code)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def symmetric_loss(image: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
    """(L_text + L_image) / 2 with soft targets from the similarities within each side.

        logits = T Iᵀ;  Y = softmax over the last axis of (I Iᵀ + T Tᵀ) / 2
        L_text = mean over rows of -sum_j Y_ij log_softmax(logits)_ij
        L_image = mean over rows of -sum_j (Yᵀ)_ij log_softmax(logitsᵀ)_ij

    Y takes part in the gradient; the embeddings are not normalised; the temperature is 1.

    Args:
        image: I, shape ``(m, d)``, after tanh.
        text: T, shape ``(m, d)``, after tanh; row i belongs to row i of `image`.
    """
    from torch.nn.functional import log_softmax, softmax

    logits = text @ image.T
    targets = softmax((image @ image.T + text @ text.T) / 2, dim=-1)
    of_text = -(targets * log_softmax(logits, dim=-1)).sum(dim=-1).mean()
    of_image = -(targets.T * log_softmax(logits.T, dim=-1)).sum(dim=-1).mean()
    return (of_text + of_image) / 2
