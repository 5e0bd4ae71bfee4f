"""Reports on a user's rows in a browser: any width, either theme, hostile texts."""

import pytest
from browser import check_layout, leafed, opened
from explained import HOSTILE, poisoned, scored

from vlgauge.catalog import metric_names
from vlgauge.explain import Differing, Row, differences, explain, report

pytestmark = pytest.mark.browser


def with_long_words(name):
    """The rows of a metric with words of 10,000 letters."""
    columns, result = scored(name)
    kept = {
        key: cells if key in ("images", "videos") else poisoned(cells, HOSTILE["long"])
        for key, cells in columns.items()
    }
    details = {f"{name}_details": poisoned(result[f"{name}_details"], HOSTILE["long"])}
    kept["id"] = [HOSTILE["long"]] * len(columns["predictions"])
    return explain(name, kept, result | details)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page of a metric, one of all, and two with words of 10,000 letters."""
    folder = tmp_path_factory.mktemp("reports")
    found = {name: explain(name, *scored(name)) for name in metric_names()}
    bleu = scored("bleu")
    one = explain("bleu", bleu[0] | {"id": [HOSTILE["long"]] * len(bleu[0]["predictions"])}, bleu[1])
    pair = Differing(HOSTILE["long"], (HOSTILE["long"], "b"), (one, one), [Row(HOSTILE["long"], (0, 1), 0.5)])
    table = f"<table><tr><th>{HOSTILE['long']}</th></tr></table>"
    made = {
        "groovist": found["groovist"].html(),
        "all": report(list(found.values())),
        "all-long": report([with_long_words(name) for name in found]),
        "differing-long": differences("two", [table], [pair]),
    }
    for name, page in made.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in made}


def test_every_report_fits(pages, chromium):
    with leafed(chromium, "dark") as open_next:
        for name, path in pages.items():
            # Long words are hardest on a phone, plots where three columns are narrow.
            width = 390 if name.endswith("-long") else 1000
            page, asked = open_next(path, width)
            check_layout(page, asked, path, width)


def test_a_note_opens_by_tap_and_by_key(pages, chromium):
    path = pages["groovist"]
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
