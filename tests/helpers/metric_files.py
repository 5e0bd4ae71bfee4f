"""Files of a metric by themselves; its folder is no package."""

import importlib.util
import sys
from functools import cache

from folders import METRICS


@cache
def metric_file(metric, name):
    """The module of `metrics/<metric>/<name>.py`."""
    spec = importlib.util.spec_from_file_location(f"{metric}_{name}", METRICS / metric / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    # Classes of data look themselves up there.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
