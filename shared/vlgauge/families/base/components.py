"""Base class of metrics that compare stories by scores of other metrics."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import datasets

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import LONGEST_SHOWN, check_float, is_missing, plain_number, suggest_word
from vlgauge.families.base.columns import Column
from vlgauge.families.base.metric import Metric

COMPONENTS = ("groovist", "rovist_c", "rovist_nr")

# Lower and upper bound of each score. rovist_c is a mean of probabilities.
_RANGES = {"groovist": (-math.inf, math.inf), "rovist_c": (0.0, 1.0), "rovist_nr": (-math.inf, 1.0)}
_ROUNDING = 1e-6  # rounding error of a mean in float32


class Components(Column):
    """Column of scores of a story by metric. Both None and NaN represent an undefined score."""

    feature: ClassVar[Any] = {name: datasets.Value("float64") for name in COMPONENTS}

    def _store(self, row: Any, place: str) -> dict[str, float]:
        """Return the scores as floats. Other keys of the row, such as an id, are dropped.

        Raises:
            ValueError: If the row is not a dictionary, lacks a metric, or has a value that is not a valid score or
                None.
        """
        if not isinstance(row, Mapping):
            needed = ", ".join(COMPONENTS)
            raise UsageError.about(place, f"must be a dictionary of the scores {needed}, got {type(row).__name__}")
        if missing := [name for name in COMPONENTS if name not in row]:
            others = [str(key) for key in row if key not in COMPONENTS]  # a required score is not a misspelling
            close = " ".join(filter(None, (suggest_word(name, others) for name in missing)))
            got = f"{', '.join(map(str, row)):.{LONGEST_SHOWN}}" if row else "an empty dictionary"
            names = ", ".join(f"`{name}`" for name in missing)
            plural = "s" if len(missing) > 1 else ""
            raise UsageError.about(place, f"must have the score{plural} {names}, got {got}", close)
        return {name: component(row[name], name, f"{place}[{name!r}]") for name in COMPONENTS}


def component(value: Any, name: str, place: str) -> float:
    """Validate a score and convert it to a float, NaN for None.

    Args:
        value: Number or None.
        name: Name of the metric, a key of `_RANGES`.
        place: Position of the value, for error messages.

    Raises:
        ValueError: If the value is not a number, is infinite, or is outside the range of the metric.
    """
    if is_missing(plain_number(value)):
        return math.nan
    number = check_float(place, value, "a finite number, NaN or None")
    smallest, largest = _RANGES[name]
    if number < smallest - _ROUNDING or number > largest + _ROUNDING:
        wanted = f"at most {largest:g}" if math.isinf(smallest) else f"from {smallest:g} to {largest:g}"
        raise UsageError.about(
            place, f"must be {wanted} like every {name}, got {number}; check for percentages and swapped columns"
        )
    return number


class ComponentMetric(Metric):
    """Base class of metrics that compare the scores of a generated and a human-written story per example."""

    columns = (Components("predictions"), Components("references"))
