"""Violations that axe-core finds on a page, if a package that ships axe-core is installed."""

from importlib.util import find_spec
from pathlib import Path

import pytest


def violations(page, only=(), without=()):
    """Return the violated rules of a page, each with the first violating element.

    The test is skipped if axe-core is not installed.
    """
    wheel = find_spec("axe_playwright_python")
    if wheel is None:
        pytest.skip("axe-core is not installed: pip install axe-playwright-python")
    if not page.evaluate("'axe' in window"):
        page.evaluate(Path(wheel.origin).with_name("axe.min.js").read_text("utf-8"))
    # Frames have no axe-core that could answer.
    options = {"resultTypes": ["violations"], "iframes": False} | ({"runOnly": list(only)} if only else {})
    options["rules"] = {rule: {"enabled": False} for rule in without}
    found = page.evaluate("options => axe.run(document, options)", options)["violations"]
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in found]
