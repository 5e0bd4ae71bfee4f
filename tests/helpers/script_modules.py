"""Scripts as modules, each loaded from its file."""

import sys
from importlib.util import module_from_spec, spec_from_file_location

from folders import SCRIPTS


def script_module(path):
    """The script at a path below `scripts`, such as "bench/clip.py", as a new module."""
    name = "script_" + path.removesuffix(".py").replace("/", "_")
    spec = spec_from_file_location(name, SCRIPTS / path)
    module = module_from_spec(spec)
    # Classes of data look themselves up there.
    sys.modules[name] = module
    # A benchmark imports the one beside it.
    sys.path.insert(0, str((SCRIPTS / path).parent))
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.path[0]
    return module
