"""What axe-core finds on a page, where it was installed: `npm install axe-core` at the root of a clone."""

from pathlib import Path

import pytest

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"


def violations(page):
    """Rules that a page breaks, each with the first element that does; skips the test without axe-core."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: npm install axe-core")
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in found]
