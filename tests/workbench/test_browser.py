"""The workbench in a browser: wide and narrow, light and dark."""

from contextlib import contextmanager

import pytest
from browser import browser

pytestmark = pytest.mark.browser

FRAMES_TOO_WIDE = """() => [...document.querySelectorAll('iframe')].filter(
  one => one.contentDocument.documentElement.scrollWidth > one.offsetWidth).length"""
INSIDE = ("http://127.0.0.1", "data:", "blob:", "about:")


@pytest.fixture(scope="module")
def chromium():
    with browser() as found:
        yield found


@contextmanager
def visited(chromium, address, width, scheme):
    """The page at an address; nothing but this machine is asked, and no script fails."""
    context = chromium.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)
    page = context.new_page()
    asked, failed = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: failed.append(str(error)))
    try:
        page.goto(address)
        page.get_by_role("button", name="Score", exact=True).wait_for()
        yield page
        assert [url for url in asked if not url.startswith(INSIDE)] == []
        assert failed == []
    finally:
        context.close()


def check_width(page, width):
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(FRAMES_TOO_WIDE) == 0


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_story_is_scored_by_clicks(served, chromium, width, scheme, tmp_path):
    with visited(chromium, f"{served}?metric=rovist_nr", width, scheme) as page:
        page.get_by_text("Story that repeats itself").click()
        page.wait_for_function("[...document.querySelectorAll('textarea')].some(one => one.value.includes('picnic'))")
        page.get_by_role("button", name="Score", exact=True).click()
        frame = page.frame_locator("iframe.vlgauge-page")
        frame.get_by_text("How to read it").wait_for()
        assert frame.locator(".score b").first.inner_text() == "0.93"
        check_width(page, width)
        page.screenshot(path=tmp_path / "scored.png", full_page=True)


def test_an_empty_form_is_told_in_a_sentence(served, chromium):
    with visited(chromium, f"{served}?metric=rovist_nr", 1280, "light") as page:
        page.wait_for_function("document.body.innerText.includes('Story that repeats itself')")
        page.get_by_role("button", name="Score", exact=True).click()
        page.get_by_text("must be given, got nothing").first.wait_for()
