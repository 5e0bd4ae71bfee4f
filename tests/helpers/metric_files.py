"""Modules of a metric, imported as siblings in a synthetic package, because its folder is not a package."""

import importlib
import sys
from functools import cache
from types import ModuleType

from folders import METRICS


@cache
def metric_file(metric, name):
    """Import `metrics/<metric>/<name>.py`."""
    package = f"files_of_{metric}"
    if package not in sys.modules:
        sys.modules[package] = ModuleType(package)
        sys.modules[package].__path__ = [str(METRICS / metric)]
    return importlib.import_module(f"{package}.{name}")
