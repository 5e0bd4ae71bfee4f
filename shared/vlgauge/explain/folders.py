"""Lookup of the explanation class in the folder of a metric."""

from vlgauge.core.catalog import folder_module, metric_folder
from vlgauge.core.errors import UsageError

from .explanation import Explanation


def explanation_of(name: str) -> type[Explanation]:
    """Return the class that explains a metric, from the `explanation.py` in its folder.

    Raises:
        ValueError: If the metric does not exist, or its folder has no such class.
    """
    file = metric_folder(name) / "explanation.py"
    if not file.is_file():
        raise UsageError.about("name", f"must be a metric with a file explanation.py, got {name!r}")
    found = folder_module(name, "explanation")
    own = [one for one in vars(found).values() if isinstance(one, type) and issubclass(one, Explanation)]
    classes = [one for one in own if one.__module__ == found.__name__ and getattr(one, "name", "") == name]
    if len(classes) != 1:
        raise UsageError(f'{file.name} of {name} must have one Explanation with `name = "{name}"`, got {len(classes)}')
    return classes[0]
