"""Scripts as modules, each loaded from its file."""

import sys
from importlib.util import module_from_spec, spec_from_file_location

from folders import EXAMPLES, SCRIPTS


def script_module(path):
    """Import the script at a path below `scripts`, such as "bench/ray.py", as a new module."""
    return _module("script_", SCRIPTS / path, path)


def example_module(path):
    """Import the program at a path below `examples` as a new module."""
    return _module("example_", EXAMPLES / path, path)


def _module(prefix, file, path):
    name = prefix + path.removesuffix(".py").replace("/", "_")
    spec = spec_from_file_location(name, file)
    module = module_from_spec(spec)
    # Dataclasses look up their module there.
    sys.modules[name] = module
    # Some scripts import a module from their folder.
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.path[0]
    return module
