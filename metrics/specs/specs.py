"""SPECS: does a caption of many sentences fit its picture in every detail, by a Long-CLIP trained to tell?"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge import clip_score  # From: "vlgauge[specs] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"

_DESCRIPTION = """\
SPECS is the cosine of a long caption and its image, moved to [0, 1], in the space of a Long-CLIP that was trained to
prefer captions with more right details and fewer wrong ones. It reads 248 tokens, about 200 words. Higher is better.
"""

_INPUTS = """
Args:
    predictions: list of captions.
    images: list of images (path, bytes, PIL image or uint8 array), one per caption.
    return_details: whether to add the cosine of each row, and whether its caption was cut.

Returns:
    specs: mean of the scores, 0 to 1, higher is better.
    specs_scores: one score per caption, NaN where the image could not be read.
    specs_undefined: number of those.
    specs_signature: how the numbers were made.

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


def specs_scores(cosines: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Scores max((c + 1) / 2, 0), as the authors' code has them; range 0..1, higher is better."""
    return np.maximum((np.asarray(cosines, dtype=np.float64) + 1) / 2, 0.0)


class Specs(clip_score.BackboneMetric):
    """max((c + 1) / 2, 0) of the cosine c of caption and image in a Long-CLIP trained on details; no prompt, no w."""

    about = (_DESCRIPTION, _INPUTS)
    papers = ("https://arxiv.org/abs/2509.03897",)

    own_backbone = "specs"

    def _compute(
        self, predictions: Sequence[str], images: Sequence[Any], return_details: bool = False
    ) -> dict[str, Any]:
        cosines, details, made_with = self.cosines(predictions, images)
        told = details if return_details or self.details else None
        return self.result(specs_scores(cosines).tolist(), made_with=made_with, details=told)
