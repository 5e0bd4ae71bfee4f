"""Reports on a user's rows in a browser: any width, either theme, hostile texts."""

import pytest
from browser import check_layout, leafed, opened
from explained import HOSTILE, poisoned, scored

from vlgauge.catalog import metric_names
from vlgauge.explain import Differing, Row, differences, explain

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page of each metric, and one with words of 10,000 letters."""
    folder = tmp_path_factory.mktemp("reports")
    for name in metric_names():
        columns, result = scored(name)
        (folder / f"{name}.html").write_text(explain(name, columns, result).html(), encoding="utf-8")
        kept = {
            key: cells if key in ("images", "videos") else poisoned(cells, HOSTILE["long"])
            for key, cells in columns.items()
        }
        details = {f"{name}_details": poisoned(result[f"{name}_details"], HOSTILE["long"])}
        kept["id"] = [HOSTILE["long"]] * len(columns["predictions"])
        (folder / f"{name}-long.html").write_text(explain(name, kept, result | details).html(), encoding="utf-8")
    columns, result = scored("bleu")
    one = explain("bleu", columns | {"id": [HOSTILE["long"]] * len(columns["predictions"])}, result)
    rows = [Row(HOSTILE["long"], (0, 1), 0.5)]
    pair = Differing(HOSTILE["long"], (HOSTILE["long"], "b"), (one, one), rows)
    table = f"<table><tr><th>{HOSTILE['long']}</th></tr></table>"
    (folder / "differing-long.html").write_text(differences("two", [table], [pair]), encoding="utf-8")
    return sorted(folder.iterdir())


def test_every_report_fits(pages, chromium):
    with leafed(chromium, "dark") as open_next:
        for path in pages:
            # Long words are hardest on a phone, plots where three columns are narrow.
            width = 390 if path.stem.endswith("-long") else 1000
            page, asked = open_next(path, width)
            check_layout(page, asked, path, width)


def test_a_note_opens_by_tap_and_by_key(pages, chromium):
    (path,) = [path for path in pages if path.name == "groovist.html"]
    with opened(chromium, path, 390, has_touch=True) as (page, _):
        mark = page.locator("mark[tabindex]").first
        assert not mark.locator(".tip").is_visible()
        mark.tap()
        tip = mark.locator(".tip")
        tip.wait_for(state="visible")
        box = tip.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        assert box["y"] + box["height"] <= 800
        # In a frame as high as its page the bottom edge is far away: there the note stands beside its word.
        page.evaluate("document.documentElement.className = 'framed'")
        assert abs(tip.bounding_box()["y"] - mark.bounding_box()["y"]) < 100
        page.evaluate("document.activeElement.blur()")
        page.mouse.move(0, 0)
        tip.wait_for(state="hidden")
    with opened(chromium, path, 1280) as (page, _):
        page.locator("details.row summary").first.focus()
        for _ in range(8):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.tagName") == "MARK":
                break
        page.locator("mark:focus .tip").wait_for(state="visible")
