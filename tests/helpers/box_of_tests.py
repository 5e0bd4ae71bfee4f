"""A box whose children know the jobs of the tests."""

import os
import subprocess

import pytest

from vlgauge.box import Box, children

TABLE = {name: f"box_jobs:{name}" for name in ("do", "flood", "fetch", "deep")}


def box_of_jobs(folder, patched=None):
    """The box; `folder` is called like those of libraries and has `box_jobs.py`."""
    start = subprocess.Popen

    def with_helpers(command, *, env=None, **how):
        own = env and env | {"PYTHONPATH": f"{env['PYTHONPATH']}{os.pathsep}{folder}"}
        return start(command, env=own, **how)

    (patched or pytest.MonkeyPatch()).setattr(children.subprocess, "Popen", with_helpers)
    return Box(TABLE, 2)
