"""Training losses of PAC-S (Sarto et al., CVPR 2023, Eqs. 2 and 3)."""

from typing import NamedTuple

import torch
from torch.nn import functional

from vlgauge.research.training.pac_s.options import IMAGE_WEIGHT, TEXT_WEIGHT


class Losses(NamedTuple):
    """Eq. 3 and its terms, as scalars. A term without pairs is 0.

    Attributes:
        total: L = L(V, T) + lambda_v L(V', T) + lambda_t L(V, T').
        real: L(V, T).
        generated_image: L(V', T).
        generated_text: L(V, T').
    """

    total: torch.Tensor
    real: torch.Tensor
    generated_image: torch.Tensor
    generated_text: torch.Tensor


class Generated(NamedTuple):
    """Features of generated images or texts of some rows of a batch.

    Attributes:
        features: Features, shape ``(k, d)``.
        rows: Indices of the rows in the batch, shape ``(k,)``.
    """

    features: torch.Tensor
    rows: torch.Tensor


def unit(features: torch.Tensor) -> torch.Tensor:
    """Scale rows to norm 1, shape ``(n, d)``. A row of zeros becomes NaN."""
    return features / features.norm(dim=-1, keepdim=True)


def contrastive_loss(image: torch.Tensor, text: torch.Tensor, scale: torch.Tensor | float) -> torch.Tensor:
    """Compute Eq. 2: cross-entropy of each image over all texts plus cross-entropy of each text over all images.

    Both directions are added, so this is twice the contrastive loss of open_clip.

    Args:
        image: Projected features v, shape ``(n, d)``.
        text: Projected features t, shape ``(n, d)``. Row i belongs to image i.
        scale: 1 / tau.

    Returns:
        Scalar. 0 for at most one pair.
    """
    if not len(image):
        return image.new_zeros(())
    cosines = unit(image) @ unit(text).T
    own = torch.arange(len(image), device=image.device)
    return functional.cross_entropy(scale * cosines, own) + functional.cross_entropy(scale * cosines.T, own)


def pac_s_losses(
    image: torch.Tensor,
    text: torch.Tensor,
    generated_image: Generated,
    generated_text: Generated,
    scale: torch.Tensor | float,
    *,
    image_weight: float = IMAGE_WEIGHT,
    text_weight: float = TEXT_WEIGHT,
) -> Losses:
    """Compute Eq. 3 and its terms. Rows without a generated image or text are left out of that term.

    Args:
        image: Projected features v of the images, shape ``(n, d)``.
        text: Projected features t of their captions, shape ``(n, d)``.
        generated_image: Projected features v' and their rows.
        generated_text: Projected features t' and their rows.
        scale: 1 / tau.
        image_weight: lambda_v.
        text_weight: lambda_t.
    """
    real = contrastive_loss(image, text, scale)
    of_images = contrastive_loss(generated_image.features, text[generated_image.rows], scale)
    of_texts = contrastive_loss(image[generated_text.rows], generated_text.features, scale)
    return Losses(real + image_weight * of_images + text_weight * of_texts, real, of_images, of_texts)
