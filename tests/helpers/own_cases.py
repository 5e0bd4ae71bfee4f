"""What the tests of one metric say of it for the tests of all: `tests/metrics/<name>/cases.py`, where there is one."""

import importlib.util
import sys
from functools import cache

from folders import TESTS

from vlgauge import load
from vlgauge.core.validation import setting_names
from vlgauge.explain import explanation_of


@cache
def own_cases(metric):
    """The module of the cases of a metric; None where it has none."""
    path = TESTS / "metrics" / metric / "cases.py"
    if not path.is_file():
        return None
    spec = importlib.util.spec_from_file_location(f"cases_of_{metric}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def own(metric, name, default):
    """What the cases of a metric have by this name."""
    return getattr(own_cases(metric), name, default)


def usual(metric, **settings):
    """Those of the settings that a metric has, with the configuration that needs nothing of the user's."""
    loaded = load(metric, keep_in_memory=True)
    found = {name: value for name, value in settings.items() if name in setting_names(type(loaded))}
    config = explanation_of(metric).first_config
    return {"config_name": config, **found} if config else found
