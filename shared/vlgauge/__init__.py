"""Metrics for generated captions and visual stories, as modules of the `evaluate` library."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vlgauge.core.cache_dirs import use_writable_folders
from vlgauge.core.catalog import folder_module, metric_folder
from vlgauge.core.errors import UsageError
from vlgauge.core.lean_imports import lean_import
from vlgauge.core.progress import announce, progress_chosen
from vlgauge.version import __version__

if TYPE_CHECKING:
    from vlgauge.api.compare import compare
    from vlgauge.api.score import score
    from vlgauge.families.base import Metric

__all__ = ["UsageError", "__version__", "compare", "load", "score"]

# Module of each public name that is imported on first access.
_LATER = {"compare": "vlgauge.api.compare", "score": "vlgauge.api.score"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


def load(name: str, config_name: str | None = None, **settings: Any) -> Metric:
    """Load an installed metric, without network access and without building a model.

    Args:
        name: Name of the metric, such as ``"rovist_nr"``. Run `vlgauge list` for all names.
        config_name: Configuration, for the few metrics that have several.
        **settings: Settings of the metric (see its card) and of `evaluate.Metric` (``keep_in_memory``, ...).

    Returns:
        The metric, an instance of a subclass of `evaluate.Metric`.

    Raises:
        ValueError: If there is no metric with this name, or a setting has an invalid value.
        TypeError: If a setting is unknown.
    """
    name = metric_folder(name).name
    if "evaluate" not in sys.modules:
        with progress_chosen(settings["progress"]) if "progress" in settings else nullcontext():
            announce(f"Loading {name}", logged=False)  # takes 1 to 2 seconds
    # Import `evaluate` only when a metric is loaded, because the import takes about a second.
    evaluate = lean_import("evaluate")
    use_writable_folders(evaluate)
    script = folder_module(name, name)
    made = [kind for kind in vars(script).values() if getattr(kind, "__module__", None) == script.__name__]
    metric_class = next(kind for kind in made if isinstance(kind, type) and issubclass(kind, evaluate.Metric))
    return metric_class(config_name=config_name, **settings)
