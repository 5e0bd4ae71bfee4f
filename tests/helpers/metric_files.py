"""Files of a metric by themselves, as siblings in a package of their own; the folder is none."""

import importlib
import sys
from functools import cache
from types import ModuleType

from folders import METRICS


@cache
def metric_file(metric, name):
    """The module of `metrics/<metric>/<name>.py`."""
    package = f"files_of_{metric}"
    if package not in sys.modules:
        sys.modules[package] = ModuleType(package)
        sys.modules[package].__path__ = [str(METRICS / metric)]
    return importlib.import_module(f"{package}.{name}")
