"""CLIP-S: How well does a caption match its image or video?"""

from typing import Any

from vlgauge.core.errors import UsageError  # From: "vlgauge[clip-s]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import clip_score  # From: "vlgauge[clip-s]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

_DESCRIPTION = """\
CLIP-S is the scaled cosine similarity of the CLIP embeddings of a caption and its image. RefCLIP-S also uses
references. For videos, the metric is EMScore, which matches each word with its most similar frame and each frame with
its most similar word. Higher is better.
"""

_INPUTS = clip_score.INPUTS.format(name="clip_s", w=2.5)


class ClipS(clip_score.ClipScoreMetric):
    """CLIPScore w max(c, 0) with w = 2.5 (Hessel et al., 2021), and EMScore for videos.

    c is the cosine similarity of caption and image. The formulas are in `vlgauge.families.clip_score.formula` and
    `vlgauge.families.clip_score.emscore`.
    """

    about = (_DESCRIPTION, _INPUTS)
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
