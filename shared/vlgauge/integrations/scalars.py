"""Finite scalar values of results for the logs of training loops, and directions of scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from vlgauge.core.catalog import score_facts
from vlgauge.core.validation import plain_number


def scalars(result: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Return the finite numbers of a result, such as ``{"groovist": 0.83, "groovist_undefined": 3}``.

    Row scores, signatures, bools and undefined values are left out, because trainers would print lists in full,
    TensorBoard drops them, and JSON cannot represent NaN.

    Args:
        result: Result of `compute`.
        prefix: Prefix of the keys, such as ``"eval_"``.
    """
    numbers = {key: plain_number(value) for key, value in result.items()}
    return {
        f"{prefix}{key}": number
        for key, number in numbers.items()
        if isinstance(number, (int, float)) and not isinstance(number, bool) and math.isfinite(number)
    }


def greater_is_better(name: str) -> bool:
    """Return whether higher is better for a score such as ``"ref_clip_s"``. Trainers would assume so.

    Raises:
        UsageError: If no metric has the score, or it has no direction.
    """
    return score_facts(name).higher_is_better
