"""CLIP-S: how well does a caption fit its image or video, in the space of CLIP?"""

from typing import Any

from vlgauge import clip_score  # From: "vlgauge[clip-s] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.errors import UsageError  # From: "vlgauge[clip-s] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"

_DESCRIPTION = """\
CLIP-S is the cosine of a caption and its image in the space of CLIP, stretched; RefCLIP-S takes references into account
as well. For videos it is EMScore: every word finds its best frame and every frame its best word. Higher is better.
"""

_INPUTS = clip_score.INPUTS.format(name="clip_s", w=2.5)


class ClipS(clip_score.ClipScoreMetric):
    """w max(c, 0) of the cosine c of caption and image with w = 2.5 (Hessel et al., 2021); for videos EMScore.

    The formulas stand in `vlgauge.clip_score.formula` and `vlgauge.clip_score.emscore`.
    """

    about = (_DESCRIPTION, _INPUTS)
    papers = ("https://arxiv.org/abs/2104.08718", "https://arxiv.org/abs/2111.08919")

    own_w = 2.5
    paper_prompt = "A photo depicts "

    def __init__(self, *args: Any, calibration: Any = None, **host: Any) -> None:
        if calibration is not None and host.get("w") is not None:
            raise UsageError.about("w", "must be left out with `calibration`, which has one of its own")
        super().__init__(*args, **host)
        if calibration is not None and self.config_name == "video":
            raise UsageError.about("calibration", "must be left out for videos, which have no w")
        self.calibration = None if calibration is None else clip_score.read_calibration(calibration)
