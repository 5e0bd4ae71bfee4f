"""Workers of the sandbox that find the tasks of the tests."""

import os
from pathlib import Path

import pytest
from idle_workers import stop_idle

from vlgauge.inputs.sandbox import workers

HELPERS = Path(__file__).resolve().parents[2] / "helpers"


@pytest.fixture(scope="module")
def tasks():
    """Let workers that start now import the tasks of the tests."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(workers, "PYTHONPATH", f"{workers.PYTHONPATH}{os.pathsep}{HELPERS}")
        yield
        stop_idle()
