"""d_HM: how far are a model's stories from human ones in grounding, coherence and repetition?"""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge import base  # From: "vlgauge[d-hm] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge import results  # From: "vlgauge[d-hm] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"

_DESCRIPTION = """\
d_HM says how far a model's stories are from human stories of the same pictures: the mean of the absolute differences of
their visual grounding (GROOViST, after tanh), coherence (RoViST-C) and non-redundancy (RoViST-NR). Lower is better.
"""

_INPUTS = """
Args:
    predictions: list of dictionaries, one per story of the model: its raw `groovist`, its `rovist_c` and `rovist_nr`.
    references: list of the same for a human story of the same pictures, in the same order.
    return_details: whether to add the three differences of each story.

Returns:
    d_hm: mean of the distances, 0 or more, lower is better.
    d_hm_scores: one distance per story, NaN where one of the six scores is undefined (None or NaN).
    d_hm_undefined: number of those.
    d_hm_signature: how the numbers were made.
    d_hm_d_g, d_hm_d_c, d_hm_d_r: mean differences in grounding, coherence and non-redundancy of the same stories.

Examples:
    >>> import evaluate
    >>> d_hm = evaluate.load("vlgauge/d_hm")
    >>> human = [{"groovist": 0.9, "rovist_c": 0.8, "rovist_nr": 0.95}]
    >>> model = [{"groovist": 0.9, "rovist_c": 0.95, "rovist_nr": 0.80}]
    >>> print(round(d_hm.compute(predictions=model, references=human)["d_hm"], 6))
    0.1
"""

Floats = npt.NDArray[np.float64]

COMPONENTS = ("groovist", "rovist_c", "rovist_nr")


def component_distances(human: Floats, model: Floats, *, apply_tanh: bool = True) -> Floats:
    """d_G, d_C and d_R of each story (Surikuchi et al., 2024).

    d_G = |tanh(G_h) - tanh(G_m)|, d_C = |C_h - C_m|, d_R = |R_h - R_m|.

    Args:
        human: G_h, C_h and R_h of each story, shape ``(n, 3)``; NaN where undefined.
        model: G_m, C_m and R_m, same shape and order.
        apply_tanh: whether G is the raw score, to be mapped into (-1, 1); if not it is taken as it is.

    Returns:
        Shape ``(n, 3)``, at least 0; a row is NaN if one of its six scores is.
    """
    if apply_tanh:
        human, model = (np.column_stack([np.tanh(side[:, 0]), side[:, 1:]]) for side in (human, model))
    parts: Floats = np.abs(human - model)
    parts[np.isnan(parts).any(axis=1)] = np.nan
    return parts


def human_distance(parts: Floats) -> Floats:
    """d_HM = (d_G + d_C + d_R) / 3 of each story, shape ``(n,)``, from its parts, shape ``(n, 3)``."""
    total: Floats = parts[:, 0] + parts[:, 1] + parts[:, 2]
    return total / 3.0


class DHm(base.ComponentMetric):
    """Distance of a model's stories from human ones; needs the scores of three other metrics, no model."""

    about = (_DESCRIPTION, _INPUTS)
    papers = ("https://arxiv.org/abs/2407.04559",)

    def __init__(self, *args: Any, apply_tanh: bool = True, **host: Any) -> None:
        self.apply_tanh = base.true_or_false("apply_tanh", apply_tanh)
        super().__init__(*args, **host)

    @property
    def uses_models(self) -> bool:
        """Those that made the scores which it is given, toys perhaps."""
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
        # Made only if they are asked for.
        details = (dict(zip((*named, "score"), row, strict=True)) for row in zip(*named.values(), scores, strict=True))
        return self.result(scores, details=list(details) if return_details else None, **extra)
