"""d_HM: How far are generated stories from human-written ones?"""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.core import results  # From: "vlgauge[d-hm]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import base  # From: "vlgauge[d-hm]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

Floats = npt.NDArray[np.float64]

COMPONENTS = ("groovist", "rovist_c", "rovist_nr")


def component_distances(human: Floats, model: Floats, *, apply_tanh: bool = True) -> Floats:
    """Compute d_G, d_C and d_R of each story (Surikuchi et al., 2024).

    d_G = |tanh(G_h) - tanh(G_m)|, d_C = |C_h - C_m|, d_R = |R_h - R_m|.

    Args:
        human: G_h, C_h and R_h of each story, shape ``(n, 3)``. NaN if undefined.
        model: G_m, C_m and R_m, in the same shape and order.
        apply_tanh: Whether G is the raw score, to be mapped to (-1, 1). Otherwise it is used unchanged.

    Returns:
        Distances, shape ``(n, 3)``, at least 0. A row is NaN if one of its six scores is NaN.
    """
    if apply_tanh:
        human, model = (np.column_stack([np.tanh(side[:, 0]), side[:, 1:]]) for side in (human, model))
    parts: Floats = np.abs(human - model)
    parts[np.isnan(parts).any(axis=1)] = np.nan
    return parts


def human_distance(parts: Floats) -> Floats:
    """Compute d_HM = (d_G + d_C + d_R) / 3 of each story (Surikuchi et al., 2024).

    Args:
        parts: d_G, d_C and d_R, shape ``(n, 3)``.

    Returns:
        Shape ``(n,)``.
    """
    total: Floats = parts[:, 0] + parts[:, 1] + parts[:, 2]
    return total / 3.0


class DHm(base.ComponentMetric):
    """Distance of generated stories from human-written ones, from the scores of three other metrics.

    d_HM is the distance of generated stories from human-written stories of the same images: the mean of the absolute
    differences of their visual grounding (GROOViST, after tanh), coherence (RoViST-C) and non-redundancy (RoViST-NR).
    Lower is better.

    Args:
        predictions: One dictionary per generated story, with its raw `groovist`, its `rovist_c` and its `rovist_nr`.
        references: One dictionary per human-written story of the same images, in the same order.
        return_details: Whether to add the three differences of each story.

    Returns:
        d_hm: Mean of the distances, at least 0, lower is better.
        d_hm_scores: One distance per story. NaN if one of the six scores is undefined (None or NaN).
        d_hm_undefined: Number of undefined scores.
        d_hm_signature: Settings and versions that the scores depend on.
        d_hm_d_g, d_hm_d_c, d_hm_d_r: Mean differences in grounding, coherence and non-redundancy of the same stories.

    Examples:
        >>> import evaluate
        >>> d_hm = evaluate.load("vlgauge/d_hm")
        >>> human = [{"groovist": 0.9, "rovist_c": 0.8, "rovist_nr": 0.95}]
        >>> model = [{"groovist": 0.9, "rovist_c": 0.95, "rovist_nr": 0.80}]
        >>> print(round(d_hm.compute(predictions=model, references=human)["d_hm"], 6))
        0.1
    """

    papers = ("https://arxiv.org/abs/2407.04559",)

    def __init__(self, *args: Any, apply_tanh: bool = True, **host: Any) -> None:
        self.apply_tanh = base.check_bool("apply_tanh", apply_tanh)
        super().__init__(*args, **host)

    @property
    def uses_models(self) -> bool:
        """Whether a model is required. Always True, because models (or demo models) computed the input scores."""
        return True

    def _compute(
        self,
        predictions: Sequence[Mapping[str, float]],
        references: Sequence[Mapping[str, float]],
        return_details: bool = False,
    ) -> dict[str, Any]:
        model, human = (
            np.array([[row[name] for name in COMPONENTS] for row in rows], dtype=np.float64)
            for rows in (predictions, references)
        )
        parts = component_distances(human, model, apply_tanh=self.apply_tanh)
        scores = human_distance(parts).tolist()
        named = dict(zip(("d_g", "d_c", "d_r"), parts.T.tolist(), strict=True))
        extra: dict[str, Any] = {name: results.mean_of_defined(values) for name, values in named.items()}
        # Computed only if they are requested.
        details = (dict(zip((*named, "score"), row, strict=True)) for row in zip(*named.values(), scores, strict=True))
        return self.result(scores, details=list(details) if return_details else None, **extra)
