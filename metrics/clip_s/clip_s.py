"""CLIP-S: How well does a caption match its image or video?"""

from typing import Any

from vlgauge.core.errors import UsageError  # From: "vlgauge[clip-s]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import clip_score  # From: "vlgauge[clip-s]@git+https://github.com/vlgauge/vlgauge@v0.1.0"


class ClipS(clip_score.ClipScoreMetric):
    """CLIPScore w max(c, 0) with w = 2.5 (Hessel et al., 2021), and EMScore for videos.

    CLIP-S is the scaled cosine similarity of the CLIP embeddings of a caption and its image. RefCLIP-S also uses
    references. For videos, the metric is EMScore, which matches each word with its most similar frame and each frame
    with its most similar word. Higher is better.

    c is the cosine similarity of caption and image. The formulas are in `vlgauge.families.clip_score.formula` and
    `vlgauge.families.clip_score.emscore`.

    Args:
        predictions: Captions, one string per row.
        images: Images (path, bytes, PIL image or uint8 array), one per caption, with config "image", the default.
        videos: Videos (path, list or array of frames, or {"path", "start", "end"} in seconds), one per caption, with
            config "video".
        references: Optional human captions, one list of strings per row. None for a row without references.
        return_details: Whether to add cosine similarity, best reference and truncation. For videos, P, R, fine and
            coarse scores, the sampled frames, and the best frame of each token are added.

    Returns:
        clip_s: Mean of the scores, higher is better. Images 0 to 2.5, videos about -1 to 1.
        clip_s_scores: One score per caption. NaN if it is undefined.
        clip_s_undefined: Number of undefined scores.
        clip_s_signature: Settings and versions that the scores depend on.
        ref_clip_s, ref_clip_s_scores, ref_clip_s_undefined, ref_clip_s_signature: The same with references, if there
            are references.
        ref_clip_s_median: Median of these scores, which is robust to a few extreme values.

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

    papers = ("https://arxiv.org/abs/2104.08718", "https://arxiv.org/abs/2111.08919")

    own_w = 2.5
    paper_prompt = "A photo depicts "

    def __init__(self, *args: Any, calibration: Any = None, **host: Any) -> None:
        if calibration is not None and host.get("w") is not None:
            raise UsageError.about("w", "cannot be combined with `calibration`, which includes a w")
        super().__init__(*args, **host)
        if calibration is not None and self.config_name == "video":
            raise UsageError.about("calibration", "is not supported for videos, whose score has no w")
        self.calibration = None if calibration is None else clip_score.read_calibration(calibration)
