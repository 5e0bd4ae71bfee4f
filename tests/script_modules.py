"""The scripts as modules, for as long as a test file needs them."""

import sys
from contextlib import contextmanager
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"


@contextmanager
def scripts_on_path(*names):
    """Let modules of the scripts folder be imported; those of these names that were imported go afterwards."""
    before = set(sys.modules)
    sys.path.insert(0, str(SCRIPTS))
    try:
        yield
    finally:
        sys.path.remove(str(SCRIPTS))
        for name in set(sys.modules) - before:
            if name.partition(".")[0] in names:
                del sys.modules[name]
