"""The workbench in a browser: wide and narrow, light and dark."""

import html
import re
from contextlib import contextmanager

import pytest
from browser import FAINT, FAINT_FRAMES, NAMELESS, SIZES, opened, watched
from folders import EXAMPLES
from made_runs import made_run

from vlgauge.workbench.pages import page_of_two
from vlgauge.workbench.two_runs import Given, compare_two

pytestmark = pytest.mark.browser

FRAMES_TOO_WIDE = """() => [...document.querySelectorAll('iframe')].filter(
  one => one.offsetWidth && one.contentDocument.documentElement.scrollWidth > one.offsetWidth).length"""
# How many runs have a column of predictions.
COLUMNS_CHOSEN = "n => [...document.querySelectorAll('input')].filter(one => one.value === 'predictions').length === n"


# What a finger cannot hit well; small buttons of Gradio in its labels are left out.
SMALL_TARGETS = """() => [...document.querySelectorAll(
  "[role=tab], button.lg, .gallery-item, label:has(> input[type=radio]), .form .wrap-inner, .form textarea:enabled"
)].filter(one => one.checkVisibility() && one.offsetHeight < 44).map(one => [one.offsetHeight, one.outerHTML])"""


@contextmanager
def visited(chromium, address, width, scheme):
    """The page at an address; nothing but this machine is asked, and no script fails."""
    with watched(chromium, address, width, scheme) as page:
        page.get_by_role("button", name="Score", exact=True).wait_for()
        yield page


def check_width(page, width):
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(FRAMES_TOO_WIDE) == 0


def check_looks(page, width):
    """Everything can be read and has a name, and nothing stands out of the page."""
    check_width(page, width)
    assert page.evaluate(FAINT) == []
    assert page.evaluate(NAMELESS) == []
    assert [one for one in page.evaluate(SIZES) if one[0] < 11] == []
    assert page.evaluate(FAINT_FRAMES) == []
    assert width > 640 or page.evaluate(SMALL_TARGETS) == []


def open_tab(page, name):
    page.get_by_role("tab", name=name).click()
    page.get_by_role("tabpanel").filter(visible=True).wait_for()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_tab_can_be_read_and_used(served, chromium, width, scheme, tmp_path):
    board = EXAMPLES / "leaderboard"
    with visited(chromium, f"{served}?metric=rovist_nr", width, scheme) as page:
        page.get_by_text("The same words again and again").wait_for()
        check_looks(page, width)
        assert [one.is_visible() for one in page.get_by_role("tab").all()] == [True] * 5
        open_tab(page, "Compare two runs")
        check_looks(page, width)
        panel = page.get_by_role("tabpanel").filter(visible=True)
        for number, name in enumerate(("sampler", "greedy")):
            panel.locator("input[type=file]").nth(number).set_input_files(board / f"{name}.jsonl")
            page.wait_for_function(COLUMNS_CHOSEN, arg=number + 1)
        panel.get_by_role("button", name="Compare", exact=True).click()
        frame = page.frame_locator("iframe[title='Comparison of two runs']")
        frame.get_by_text("The rows that differ most").wait_for()
        assert frame.locator(".pair[open]").count() == 3
        assert "better by 0.52 rovist_nr" in frame.locator("h2").first.inner_text()
        check_looks(page, width)
        page.screenshot(path=tmp_path / "compared.png", full_page=True)
        open_tab(page, "Leaderboard")
        assert page.frame_locator("iframe[title=Leaderboard]").get_by_text("GROOViST ↑").count() or width == 390
        check_looks(page, width)
        open_tab(page, "About")
        page.get_by_text("client.predict(").first.wait_for()
        check_looks(page, width)


def test_a_story_is_scored_from_the_keyboard(served, chromium):
    with visited(chromium, f"{served}?metric=rovist_nr", 1280, "light") as page:
        page.get_by_text("The same words again and again").wait_for()
        page.get_by_label("Story").focus()
        page.keyboard.type("We ran home. We ran home again.")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.frame_locator("iframe.vlgauge-page").first.get_by_text("How to read it").first.wait_for()
        # A list that is left as it was changes nothing, also after Escape.
        metric = page.get_by_label("Metric", exact=True)
        metric.focus()
        page.keyboard.type("groo")
        page.keyboard.press("Escape")
        page.wait_for_function("one => one.value === 'RoViST-NR'", arg=metric.element_handle())
        page.wait_for_timeout(500)
        assert page.get_by_label("Story").input_value() == "We ran home. We ran home again."
        assert page.locator("iframe.vlgauge-page").count() == 1


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_story_is_scored_by_clicks(served, chromium, width, scheme, tmp_path):
    with visited(chromium, f"{served}?metric=rovist_nr", width, scheme) as page:
        page.get_by_text("The same words again and again").click()
        page.wait_for_function("[...document.querySelectorAll('textarea')].some(one => one.value.includes('the game'))")
        page.get_by_role("button", name="Score", exact=True).click()
        frame = page.frame_locator("iframe.vlgauge-page")
        frame.get_by_text("How to read it").wait_for()
        assert frame.locator(".score b").first.inner_text() == "0.19"
        check_width(page, width)
        assert frame.locator("html.framed").count() == 1
        page.screenshot(path=tmp_path / "scored.png", full_page=True)


def test_an_empty_form_is_told_in_a_sentence(served, chromium):
    with visited(chromium, f"{served}?metric=rovist_nr", 1280, "light") as page:
        page.wait_for_function("document.body.innerText.includes('The same words again and again')")
        page.get_by_role("button", name="Score", exact=True).click()
        page.get_by_text("must be given, got nothing").first.wait_for()


def test_no_result_stays_beside_another_profile_or_a_refusal(served, chromium):
    with visited(chromium, f"{served}?metric=rouge_l", 1280, "light") as page:
        score, result = page.get_by_role("button", name="Score", exact=True), page.locator("iframe.vlgauge-page")
        page.get_by_text("One colour is wrong").click()
        page.wait_for_function("[...document.querySelectorAll('textarea')].some(one => one.value.includes('star'))")
        for emptied in (page.get_by_text("Paper: the published").click, page.get_by_label("Caption").clear):
            score.click()
            result.wait_for()
            emptied()
            if not page.get_by_label("Caption").input_value():
                score.click()
            result.wait_for(state="detached")


OUTCOMES = "() => [...document.querySelectorAll('.outcomes i')].map(one => [one.className, one.offsetWidth])"


@pytest.mark.parametrize("width", [1280, 390])
def test_the_bar_of_wins_is_as_wide_as_their_share(chromium, tmp_path, width):
    scores = {"a": [0.6] * 6 + [0.4] * 44 + [0.5] * 10, "b": [0.5] * 60}
    runs = [Given(name, list(range(60)), run=made_run(own)) for name, own in scores.items()]
    frame = page_of_two(compare_two("rovist_nr", "embedded", "", *runs))
    (page_text,) = re.findall(r'srcdoc="(.*?)"', frame, re.DOTALL)
    (tmp_path / "two.html").write_text(html.unescape(page_text), encoding="utf-8")
    with opened(chromium, tmp_path / "two.html", width) as (page, _):
        found = dict(page.evaluate(OUTCOMES))
    kinds = {name.split()[0]: wide for name, wide in found.items()}
    whole = sum(kinds.values())
    for kind, wins in {"wins": 6, "ties": 10, "losses": 44}.items():
        assert kinds[kind] / whole == pytest.approx(wins / 60, abs=0.02)
