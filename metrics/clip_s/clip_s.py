"""CLIP-S: how well does a caption fit its image or video, in the space of CLIP?"""

from collections.abc import Sequence
from typing import Any

import evaluate

from vlgauge import clip_score  # From: "vlgauge[clip-s] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"

_PAPERS = ("https://arxiv.org/abs/2104.08718", "https://arxiv.org/abs/2111.08919")

_CITATION = """\
@inproceedings{hessel-etal-2021-clipscore,
  title = {{CLIPScore}: A Reference-free Evaluation Metric for Image Captioning},
  author = {Hessel, Jack and Holtzman, Ari and Forbes, Maxwell and Le Bras, Ronan and Choi, Yejin},
  booktitle = {Proceedings of the 2021 Conference on Empirical Methods in Natural Language Processing},
  year = {2021}
}
"""

_DESCRIPTION = """\
CLIP-S is the cosine of a caption and its image in the space of CLIP, stretched; RefCLIP-S takes references into account
as well. For videos it is EMScore: every word finds its best frame and every frame its best word. Higher is better.
"""

_INPUTS = """
Args:
    predictions: list of captions.
    images: list of images (path, bytes, PIL image or uint8 array), one per caption; config "image", the default.
    videos: list of videos (path, list or array of frames, or {"path", "start", "end"} in seconds); config "video".
    references: optional list of lists of captions by people; a row without any may be None.
    return_details: whether to add cosine, best reference and what was cut; for videos P, R, fine, coarse, the frames
        that were looked at, and the best frame of every token.

Returns:
    clip_s: mean of the scores, higher is better; images 0 to 2.5, videos about -1 to 1.
    clip_s_scores: one score per caption, NaN where it is undefined.
    clip_s_undefined: number of those.
    clip_s_signature: how the numbers were made.
    ref_clip_s, ref_clip_s_scores, ref_clip_s_undefined, ref_clip_s_signature: the same with references, where there are
        any.

Examples:
    >>> import evaluate
    >>> import numpy as np
    >>> clip_s = evaluate.load("vlgauge/clip_s", profile="embedded")
    >>> grey = np.full((64, 64, 3), 128, dtype=np.uint8)
    >>> result = clip_s.compute(predictions=["a small red circle"], images=[grey], references=[["a red circle"]])
    >>> print(sorted(result)[:4])
    ['clip_s', 'clip_s_scores', 'clip_s_signature', 'clip_s_undefined']
    >>> print(0.0 <= result["clip_s"] <= 2.5)
    True
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class ClipS(clip_score.ClipScoreMetric):
    """w max(c, 0) of the cosine c of caption and image with w = 2.5 (Hessel et al., 2021); for videos EMScore.

    The formulas stand in `vlgauge.clip_score.formula` and `vlgauge.clip_score.emscore`.
    """

    measures = "How well does a caption fit its image or video, by CLIP?"
    score_range = "images [0, 2.5]; videos about [-1, 1]"
    higher_is_better = True
    needs = ("clip-s",)

    own_w = 2.5
    paper_prompt = "A photo depicts "

    def _info(self) -> evaluate.MetricInfo:
        return self.describe(_DESCRIPTION, _CITATION, _INPUTS, _PAPERS)

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str] | None],
        images: Any = None,
        videos: Any = None,
        return_details: bool = False,
    ) -> dict[str, Any]:
        """Score the captions; the card describes the keys."""
        seen = images if videos is None else videos
        return self.score_rows(predictions, references, seen, return_details=return_details)
