"""PAC-S: How well does a caption match its image (fine-tuned CLIP)?"""

from collections.abc import Mapping
from typing import Any

from vlgauge.core import validation  # From: "vlgauge[pac-s]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.errors import UsageError  # From: "vlgauge[pac-s]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import clip_score  # From: "vlgauge[pac-s]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

_DESCRIPTION = """\
PAC-S is the scaled cosine similarity of a caption and its image in a CLIP whose two projections were fine-tuned with
generated captions and images as additional positives. RefPAC-S also uses references. For videos, each word is matched
with its most similar frame and each frame with its most similar word. Higher is better.
"""

_INPUTS = clip_score.INPUTS.format(name="pac_s", w=2.0)

VERSIONS = ("1", "++")


class PacS(clip_score.ClipScoreMetric):
    """CLIP-S with projections from positive-augmented contrastive learning and w = 2.

    The formulas are Eqs. 1 and 4, and Eqs. 5 and 6 for videos. Version "++" has the same formulas and a CLIP whose
    encoders were also fine-tuned, with low-rank updates (Sarto et al., 2025). See `vlgauge.families.clip_score.formula`
    and `vlgauge.families.clip_score.emscore`.
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
        self.version = validation.check_choice("version", version, VERSIONS)
        self.kind = "pac_s++" if self.version == "++" else "pac_s"
        super().__init__(*args, **host)
        if self.version == "++" and self.profile == "embedded" and self.clip.checkpoint is None:
            raise UsageError("`version='++'` requires profile='paper' or a `checkpoint`, because it has no demo model")

    def fields(self, names: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
        """Return the signature fields by name, including the version if it is not the first one."""
        return ({"version": self.version} if self.version != "1" else {}) | super().fields(names, more)
