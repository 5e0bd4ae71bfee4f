"""A test that hangs fails with the stacks of all threads, and the worker goes on with the next test."""

import subprocess
import sys

from folders import ROOT

HANGING = """
import threading

def test_hangs():
    threading.Event().wait()

def test_after_it():
    pass
"""


def test_a_test_that_hangs_fails_alone(tmp_path):
    (tmp_path / "test_hanging.py").write_text(HANGING)
    words = [sys.executable, "-m", "pytest", "-q", "-n", "1", "-c", str(ROOT / "setup.cfg"), f"--rootdir={tmp_path}"]
    words += ["-o", "timeout=1", "-o", "pythonpath=", "-p", "no:cacheprovider", str(tmp_path)]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 1
    assert "1 failed, 1 passed" in ran.stdout
    assert "Timeout (>1.0s) from pytest-timeout" in ran.stdout
    assert "threading.Event().wait()" in ran.stdout
