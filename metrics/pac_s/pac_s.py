"""PAC-S: How well does a caption match its image (fine-tuned CLIP)?"""

from collections.abc import Mapping
from typing import Any

from vlgauge.core import validation  # From: "vlgauge[pac-s]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.errors import UsageError  # From: "vlgauge[pac-s]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import clip_score  # From: "vlgauge[pac-s]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

VERSIONS = ("1", "++")


class PacS(clip_score.ClipScoreMetric):
    """CLIP-S with projections from positive-augmented contrastive learning and w = 2.

    PAC-S is the scaled cosine similarity of a caption and its image in a CLIP whose two projections were fine-tuned
    with generated captions and images as additional positives. RefPAC-S also uses references. For videos, each word is
    matched with its most similar frame and each frame with its most similar word. Higher is better.

    The formulas are Eqs. 1 and 4, and Eqs. 5 and 6 for videos. Version "++" has the same formulas and a CLIP whose
    encoders were also fine-tuned, with low-rank updates (Sarto et al., 2025). See `vlgauge.families.clip_score.formula`
    and `vlgauge.families.clip_score.emscore`.

    Args:
        predictions: Captions, one string per row.
        images: Images (path, bytes, PIL image or uint8 array), one per caption, with config "image", the default.
        videos: Videos (path, list or array of frames, or {"path", "start", "end"} in seconds), one per caption, with
            config "video".
        references: Optional human captions, one list of strings per row. None for a row without references.
        return_details: Whether to add cosine similarity, best reference and truncation. For videos, P, R, fine and
            coarse scores, the sampled frames, and the best frame of each token are added.

    Returns:
        pac_s: Mean of the scores, higher is better. Images 0 to 2, videos about -1 to 1.
        pac_s_scores: One score per caption. NaN if it is undefined.
        pac_s_undefined: Number of undefined scores.
        pac_s_signature: Settings and versions that the scores depend on.
        ref_pac_s, ref_pac_s_scores, ref_pac_s_undefined, ref_pac_s_signature: The same with references, if there are
            references.
        ref_pac_s_median: Median of these scores, which is robust to a few extreme values.

    Examples:
        >>> import evaluate
        >>> import numpy as np
        >>> pac_s = evaluate.load("vlgauge/pac_s", profile="embedded")
        >>> grey = np.full((64, 64, 3), 128, dtype=np.uint8)
        >>> result = pac_s.compute(predictions=["a small red circle"], images=[grey], references=[["a red circle"]])
        >>> print(sorted(result)[:4])
        ['pac_s', 'pac_s_scores', 'pac_s_signature', 'pac_s_undefined']
        >>> print(0.0 <= result["pac_s"] <= 2)
        True
    """

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
