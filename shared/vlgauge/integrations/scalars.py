"""The result of a metric as a training loop logs it: finite numbers, and their direction."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from vlgauge.catalog import score_facts
from vlgauge.settings import plain_number


def scalars(result: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """The finite numbers of a result, such as ``{"groovist": 0.83, "groovist_undefined": 3}``.

    A trainer would print lists in full, TensorBoard drops them, and NaN is no JSON: scores of examples, signatures,
    truth values and undefined numbers are left out.

    Args:
        result: What `compute` returned.
        prefix: What the keys get in front, such as ``"eval_"``.
    """
    numbers = {key: plain_number(value) for key, value in result.items()}
    return {
        f"{prefix}{key}": number
        for key, number in numbers.items()
        if isinstance(number, (int, float)) and not isinstance(number, bool) and math.isfinite(number)
    }


def greater_is_better(name: str) -> bool:
    """Return the direction of a score, such as ``"ref_clip_s"``; a trainer would guess higher.

    Raises:
        UsageError: If no metric has the score, or it has no direction.
    """
    return score_facts(name).higher_is_better
