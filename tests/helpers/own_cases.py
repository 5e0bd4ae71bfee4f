"""Cases of single metrics for the tests of all metrics: `tests/metrics/<name>/cases.py`, if the file exists."""

import importlib.util
import sys
from functools import cache

from folders import TESTS

from vlgauge import load
from vlgauge.core.validation import setting_names
from vlgauge.explain import explanation_of


@cache
def own_cases(metric):
    """Import the cases of a metric, or return None if it has no such file."""
    path = TESTS / "metrics" / metric / "cases.py"
    if not path.is_file():
        return None
    spec = importlib.util.spec_from_file_location(f"cases_of_{metric}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def own(metric, name, default):
    """Return the attribute of the cases of a metric."""
    return getattr(own_cases(metric), name, default)


def usual(metric, **settings):
    """Return the settings that a metric supports, with the configuration that requires no user input."""
    loaded = load(metric, keep_in_memory=True)
    found = {name: value for name, value in settings.items() if name in setting_names(type(loaded))}
    config = explanation_of(metric).first_config
    return {"config_name": config, **found} if config else found
