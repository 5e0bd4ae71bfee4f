"""Settings of metrics used as rewards, and the range of their scores, whose lowest value texts without captions get."""

from collections.abc import Callable, Mapping
from typing import Any

from vlgauge.families.clip_score.metric import ClipScoreMetric

_REFERENCED = {"variant": "paper"}
_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    # Without an end token, models stop at "a man with a".
    "cider": {"eos": True},
    "spider": {"eos": True},
    "groovist": {"normalize": "tanh"},
    "rovist": {"scale_vg": True, "nr": {"variant": "paper"}},
    "rovist_nr": {"variant": "paper"},
    "rovist_vg": {"scale": True},
}


def reward_settings(name: str, *, referenced: bool) -> Mapping[str, Any]:
    """Return the settings under which a metric has a lowest score and counts the end of a caption.

    Empty if none are needed or none exist.

    Args:
        name: Name of the metric.
        referenced: Whether clip_s and pac_s also score against references.

    Returns:
        Settings by name.
    """
    if name in ("clip_s", "pac_s"):
        return _REFERENCED if referenced else {}
    return _SETTINGS.get(name, {})


def reward_range(metric: Any, *, referenced: bool) -> tuple[float | None, float | None]:
    """Return the lowest and highest score of a metric under its settings. None for an unbounded end.

    Args:
        metric: Metric loaded by `vlgauge.load`.
        referenced: Whether clip_s and pac_s also score against references.
    """
    if isinstance(metric, ClipScoreMetric):
        if metric.calibration is not None:
            low, high = metric.calibration.scores([-1.0, 1.0]).tolist()
            return low, high
        if not referenced:
            return 0.0, metric.w
        # Bounds of the harmonic mean of a score of at most w and a similarity of at most 1. See `reference_scores`.
        return (0.0, 2 * metric.w / (metric.w + 1)) if metric.variant == "paper" else (None, None)
    found = _RANGES[metric.name](metric) if metric.name in _RANGES else None
    return found or type(metric).bounds


_RANGES: Mapping[str, Callable[[Any], tuple[float, float] | None]] = {
    "capture": lambda metric: (0.0, 1.0) if metric.variant == "paper" else None,
    "groovist": lambda metric: (-1.0, 1.0) if metric.normalize == "tanh" else None,
    # Sum of three terms in (-1, 1), [0, 1] and [0, 1].
    "rovist": lambda metric: (-1.0, 3.0) if metric.scale_vg and metric.parts["nr"].variant == "paper" else None,
    "rovist_nr": lambda metric: (0.0, 1.0) if metric.variant == "paper" else None,
    "rovist_vg": lambda metric: (-1.0, 1.0) if metric.scale else None,
}
