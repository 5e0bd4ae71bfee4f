"""PAC-S: how well does a caption fit its image or video, in a CLIP whose projections were trained for that?"""

from collections.abc import Mapping
from typing import Any

from vlgauge import clip_score  # From: "vlgauge[pac-s] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge import settings  # From: "vlgauge[pac-s] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.errors import UsageError  # From: "vlgauge[pac-s] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"

_DESCRIPTION = """\
PAC-S is the stretched cosine of a caption and its image in the space of a CLIP whose two projections were trained with
generated captions and images as further positives; RefPAC-S takes references into account as well. For videos every
word finds its best frame and every frame its best word. Higher is better.
"""

_INPUTS = clip_score.INPUTS.format(name="pac_s", w=2.0)

VERSIONS = ("1", "++")


class PacS(clip_score.ClipScoreMetric):
    """CLIP-S with the projections of positive-augmented contrastive learning, and w = 2 (Eqs. 1 and 4; videos 5 and 6).

    Version "++" has the same formulas, and a CLIP whose towers were trained, too, by low-rank updates (Sarto et al.,
    2025). The formulas stand in `vlgauge.clip_score.formula` and `vlgauge.clip_score.emscore`.
    """

    about = (_DESCRIPTION, _INPUTS)
    papers = (
        "https://arxiv.org/abs/2303.12112",
        "https://arxiv.org/abs/2410.07336",
        "https://arxiv.org/abs/2111.08919",
    )

    own_w = 2.0
    paper_prompt = ""

    def __init__(self, *args: Any, version: str = "1", **host: Any) -> None:
        self.version = settings.one_of("version", version, VERSIONS)
        super().__init__(*args, **host)
        if self.version == "++" and self.profile == "embedded" and self.checkpoint is None:
            raise UsageError("`version='++'` must come with profile='paper' or a `checkpoint`: there is no toy of it")

    @property
    def kind(self) -> str:
        """Which weights take the place of the plain CLIP's."""
        return "pac_s++" if self.version == "++" else "pac_s"

    def fields(self, names: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
        """What the numbers depend on, with the version where it is not the first."""
        return ({"version": self.version} if self.version != "1" else {}) | super().fields(names, more)
