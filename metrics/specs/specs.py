"""SPECS: How well does a long caption match its image in detail?"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.families import clip_score  # From: "vlgauge[specs]@git+https://github.com/vlgauge/vlgauge@v0.1.0"


def specs_scores(cosines: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Compute SPECS (Chen et al., 2025), max((c + 1) / 2, 0) of cosine similarities c, as in the authors' code.

    Args:
        cosines: c, shape ``(n,)``.

    Returns:
        Shape ``(n,)``, float64, in [0, 1]. NaN for NaN.
    """
    return np.maximum((np.asarray(cosines, dtype=np.float64) + 1) / 2, 0.0)


class Specs(clip_score.BackboneMetric):
    """Score max((c + 1) / 2, 0) from the cosine similarity c of caption and image in a detail-trained Long-CLIP.

    SPECS is the cosine similarity of a long caption and its image, mapped to [0, 1], in a Long-CLIP that was trained to
    prefer captions with more correct and fewer incorrect details. It evaluates 248 tokens, about 200 words. Higher is
    better.

    There is no prompt and no weight w.

    Args:
        predictions: Captions, one string per row.
        images: Images (path, bytes, PIL image or uint8 array), one per caption.
        return_details: Whether to add the cosine similarity of each row, and whether its caption was truncated.

    Returns:
        specs: Mean of the scores, in [0, 1], higher is better.
        specs_scores: One score per caption. NaN if the image could not be read.
        specs_undefined: Number of undefined scores.
        specs_signature: Settings and versions that the scores depend on.

    Examples:
        >>> import evaluate
        >>> import numpy as np
        >>> specs = evaluate.load("vlgauge/specs", profile="embedded")
        >>> grey = np.full((64, 64, 3), 128, dtype=np.uint8)
        >>> result = specs.compute(predictions=["a small red circle"], images=[grey])
        >>> print(sorted(result))
        ['specs', 'specs_scores', 'specs_signature', 'specs_undefined']
        >>> print(0.0 <= result["specs"] <= 1.0)
        True
    """

    papers = ("https://arxiv.org/abs/2509.03897",)

    own_backbone = "specs"

    def _compute(
        self, predictions: Sequence[str], images: Sequence[Any], return_details: bool = False
    ) -> dict[str, Any]:
        cosines, details, signature_extra = self.clip.cosines(predictions, images, self.progress)
        row_details = details if return_details or self.clip.details else None
        return self.result(specs_scores(cosines).tolist(), signature_extra=signature_extra, details=row_details)
