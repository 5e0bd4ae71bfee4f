"""The workbench in a browser: wide and narrow, light and dark."""

import json
import re
import time
from contextlib import contextmanager

import pytest
from axe import violations
from browser import FAINT, FAINT_FRAMES, NAMELESS, SIZES, opened, unfold, watched
from folders import EXAMPLES, GOLDEN
from made_runs import made_run

from vlgauge_workbench import runs
from vlgauge_workbench.compare_snippets import Asked
from vlgauge_workbench.compared_systems import compare_systems
from vlgauge_workbench.pages import page_of_compared
from vlgauge_workbench.picker import part_of_page
from vlgauge_workbench.scoring import metric_of

pytestmark = pytest.mark.browser

FRAMES_TOO_WIDE = """() => [...document.querySelectorAll('iframe')].filter(
  one => one.offsetWidth && one.contentDocument.documentElement.scrollWidth > one.offsetWidth).length"""

# Targets that are too small for a finger. Small buttons of Gradio in its labels are excluded.
SMALL_TARGETS = """() => [...document.querySelectorAll(
  "[role=tab], button.lg, .pick, .card, .acts button, [role=option], .form .wrap-inner, .form textarea:enabled"
)].filter(one => one.checkVisibility() && one.offsetHeight < 34).map(one => [one.offsetHeight, one.outerHTML])"""


@contextmanager
def visited(chromium, address, width, scheme):
    """Yield the page at an address, and check that it sends no requests to other machines and that no script fails."""
    with watched(chromium, address, width, scheme) as page:
        page.locator(".res .big:visible").wait_for()
        yield page


def check_width(page, width):
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(FRAMES_TOO_WIDE) == 0


# The scheme is active, and no color transition is running.
IN_SCHEME = """scheme => document.body.classList.contains('dark') === (scheme === 'dark')
  && !document.getAnimations().some(one => one instanceof CSSTransition)"""


def show_in(page, scheme):
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function(IN_SCHEME, arg=scheme)


def check_looks(page, **schemes):
    """Check that texts are readable, that elements have names, and that the page fits a wide window and a phone."""
    for width, kind in ((1280, "wide"), (390, "phone")):
        page.set_viewport_size({"width": width, "height": 1000})
        show_in(page, schemes[kind])
        check_width(page, width)
        assert page.evaluate(FAINT) == []
        assert page.evaluate(NAMELESS) == []
        assert [one for one in page.evaluate(SIZES) if one[0] < 12] == []
        assert page.evaluate(FAINT_FRAMES) == []
    assert page.evaluate(SMALL_TARGETS) == []


# Gradio has rendered all elements, and the page has fixed them.
AT_REST = """() => !document.documentElement.classList.contains('opening') && !document.querySelector('p.loading')
  && ![...document.querySelectorAll('[data-testid=status-tracker]')].some(
    one => one.checkVisibility({opacityProperty: true}))
  && [...document.querySelectorAll('button input[type=file]')].every(one => one.tabIndex === -1)"""


def open_tab(page, name):
    page.get_by_role("tab", name=name, exact=True).click()
    page.get_by_role("tabpanel").filter(visible=True).wait_for()


def test_every_tab_can_be_read_and_used(served, chromium):
    query = "?view=compare&systems=sampler,greedy&metrics=trm,rovist_nr"
    with watched(chromium, served + query, 1280) as page:
        shown = {
            "Compare": ".cmp",
            "Score": "#images .gallery-item",
            "Dataset": "#score-data-set",
            "Leaderboard": ".boards",
            "About": ".cm-content",
        }
        for tab, part in shown.items():
            page.set_viewport_size({"width": 1280, "height": 1000})
            show_in(page, "light")
            open_tab(page, tab)
            page.locator(part).first.wait_for()
            page.wait_for_function(AT_REST)
            assert violations(page, without=["color-contrast"]) == [], tab  # it is slow, and FAINT covers it
            check_looks(page, wide="light", phone="dark")
            assert violations(page, ["link-in-text-block"]) == [], tab
        page.get_by_text("client.predict(").first.wait_for()
        assert [one.is_visible() for one in page.get_by_role("tab").all()] == [True] * 5


def test_a_metric_is_found_by_words_and_an_own_story_scored_from_the_keyboard(served, chromium):
    with visited(chromium, f"{served}?metric=groovist&example=wrong", 1280, "light") as page:
        # A link immediately shows its example.
        page.get_by_text("Wrong example: The story of other images").wait_for()
        assert page.get_by_role("button", name="Wrong").get_attribute("aria-pressed") == "true"
        assert page.get_by_label("Story").input_value().startswith("Once there was")
        page.keyboard.press("/")
        page.keyboard.type("repeat")
        page.keyboard.press("Enter")
        page.get_by_text("Subtle example: One idea in every sentence").wait_for()
        assert "RoViST-NR" in page.evaluate("document.activeElement.innerText")
        open_tab(page, "About")
        page.get_by_role("heading", name="RoViST-NR, embedded").wait_for()
        open_tab(page, "Score")
        page.get_by_label("Story").fill("We ran home. We ran home again.")
        page.keyboard.press("Control+Enter")
        page.get_by_text("Your own example").wait_for()
        assert "predictions=We+ran+home" in page.url
        shown = page.locator(".res .big").inner_text()
        page.goto(page.url)
        page.get_by_text("Your own example").wait_for()
        assert page.locator(".res .big").inner_text() == shown
        # Escape closes the list without a change.
        page.locator(".pick").first.click()
        page.keyboard.press("Escape")
        assert page.locator(".res .big").inner_text() == shown


def test_a_tokenizer_is_chosen_in_the_list_and_kept_by_the_link(served, chromium):
    with visited(chromium, f"{served}?metric=bleu", 1280, "light") as page:
        before = page.locator(".res .big").inner_text()
        page.get_by_label("Tokenizer").first.select_option("char")
        page.wait_for_function("before => document.querySelector('.res .big').innerText !== before", arg=before)
        shown = page.locator(".res .big").inner_text()
        page.locator("#go").click()
        page.wait_for_url("**tokenizer=char**")
        page.goto(page.url)
        page.locator(".res .big:visible").wait_for()
        assert page.locator(".res .big").inner_text() == shown
        assert page.get_by_label("Tokenizer").first.input_value() == "char"
        check_looks(page, wide="light", phone="dark")


def test_an_example_is_shown_by_a_click_and_copied(served, chromium):
    with visited(chromium, f"{served}?metric=rovist_nr", 390, "light") as page:
        # The button is on the first screen, which is 844 px high on a phone.
        assert page.locator("#go").bounding_box()["y"] < 800
        page.locator(".card.wrong").click()
        page.get_by_text("Wrong example: The same words again and again").wait_for()
        assert page.locator(".res .big").inner_text() == "0.19"
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_role("button", name="Link").click()
        page.get_by_text("Copied").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == f"{served}?metric=rovist_nr&example=wrong" == page.url
        page.get_by_text("Copied").wait_for(state="hidden")  # texts that fade are faint
        check_looks(page, wide="dark", phone="light")


def test_a_leaderboard_is_sorted_copied_and_short_on_a_phone(served, chromium, tmp_path):
    lines = (GOLDEN / "leaderboard" / "results.jsonl").read_text("utf-8").splitlines()
    first = json.loads(next(line for line in lines if '"groovist"' in line))
    made = []
    for name, value in (("low", 1.0), ("high", 3.0), ("other high", 3.0)):
        own = {"model": first["model"] | {"id": f"org/{name.replace(' ', '-')}", "name": name}, "value": value}
        # A separate dataset, in which every row is defined: such models are ranked.
        own |= {"dataset": first["dataset"] | {"id": "org/own", "name": "Own"}, "undefined": 0, "ci": None}
        made.append(json.dumps(first | own))
    (tmp_path / "made.jsonl").write_text("\n".join(made) + "\n", encoding="utf-8")
    with watched(chromium, f"{served}?view=leaderboard", 390) as page:
        cell = page.locator(".boards td:has(.interval)").first
        cell.wait_for()
        told = cell.get_attribute("data-text")
        assert cell.locator(".interval").evaluate("one => one.offsetWidth") <= 1
        assert cell.evaluate("one => one.textContent").strip() == told.strip()
        check_width(page, 390)
        page.set_viewport_size({"width": 1280, "height": 1000})
        panel = page.get_by_role("tabpanel").filter(visible=True)
        file = panel.locator("input[type=file]").first
        unfold(panel, "Your own results", file)
        file.set_input_files(tmp_path / "made.jsonl")
        panel.get_by_text("other high").first.wait_for()
        table = panel.locator("table").filter(has_text="other high")
        places = "one => [...one.querySelectorAll('tbody tr')].map(row => row.innerText.split('\\t').slice(0, 2))"
        table.locator("th[aria-sort=descending], th[aria-sort=ascending]").wait_for()
        button = table.get_by_role("button", name="GROOViST ↑")
        if table.locator("th[aria-sort=descending]").count():
            button.click()
        found = dict(reversed(one) for one in table.evaluate(places))
        order = [name for _, name in table.evaluate(places)]
        assert order.index("low") < order.index("high")
        assert found["high"] == found["other high"]
        assert found["high"].endswith("=")
        assert not found["low"].endswith("=")
        button.click()
        order = [name for _, name in table.evaluate(places)]
        assert order.index("low") > order.index("high")
        assert table.locator("td svg.drawn").count() >= 3
        table.get_by_role("button", name="model").click()
        own = ("high", "low", "other high")
        assert tuple(name for _, name in table.evaluate(places) if name in own) == own
        assert "none" not in table.locator("th").nth(1).get_attribute("aria-sort")
        assert (
            table.get_by_role("link", name="other high").get_attribute("href")
            == "https://huggingface.co/org/other-high"
        )
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        for form, there in (("CSV", '"other high"'), ("LaTeX", "tabular"), ("Markdown", "| model |")):
            panel.get_by_role("button", name=form).click()
            page.wait_for_function("text => navigator.clipboard.readText().then(one => one.includes(text))", arg=there)


def test_axe_finds_nothing_next_to_a_list_of_metrics_and_scored_rows(served, chromium):
    with watched(chromium, f"{served}?metric=rovist_nr&view=data", 390, "dark") as page:
        page.get_by_label("File", exact=True).click()
        page.locator(".tabitem:visible input[type=file]").first.set_input_files(EXAMPLES / "stories.jsonl")
        page.wait_for_function("[...document.querySelectorAll('input')].some(one => one.value.startsWith('story: '))")
        page.locator("#score-data-set").click()
        page.locator(".every-row .search-input").wait_for()
        page.frame_locator("iframe.vlgauge-page:visible").first.get_by_text("39 of 40 rows were scored").wait_for()
        page.get_by_text("scores.jsonl").first.wait_for()
        page.wait_for_function(
            "() => { const one = document.getElementById('score-data-set');"
            " return !one.disabled && getComputedStyle(one).opacity === '1' && !one.getAnimations().length; }"
        )
        page.wait_for_function(AT_REST)
        assert violations(page) == []
        check_width(page, 390)
        page.locator(".pick:visible").click()
        page.get_by_role("option", name="ROUGE-L").wait_for()
        assert violations(page, ["cat.aria", "cat.name-role-value", "cat.keyboard"]) == []
        assert page.evaluate(FAINT) == []


def test_a_run_is_stopped_while_it_is_scored_and_another_follows(served, chromium, monkeypatch):
    def endless(metric, *given):
        while True:
            metric.progress(1, 2)
            time.sleep(0.01)

    with watched(chromium, f"{served}?metric=rovist_nr&view=data", 390) as page:
        page.get_by_label("File", exact=True).click()
        page.locator(".tabitem:visible input[type=file]").first.set_input_files(EXAMPLES / "stories.jsonl")
        page.wait_for_function("[...document.querySelectorAll('input')].some(one => one.value.startsWith('story: '))")
        status, button = page.get_by_label("Rows read"), page.locator("#score-data-set:enabled")
        for _ in range(3):
            monkeypatch.setattr(runs, "score_checked", endless)
            button.click()
            page.wait_for_function("one => one.value === 'Scoring, step 1 of 2…'", arg=status.element_handle())
            check_width(page, 390)
            page.get_by_role("button", name="Stop").click()
            button.wait_for()
            assert status.input_value().endswith("Stopped during scoring, so there are no scores.")
            assert page.get_by_text("Error", exact=True).filter(visible=True).count() == 0
            monkeypatch.undo()
        for _ in range(2):
            button.click()
            page.locator(".every-row .search-input").wait_for()
            page.get_by_text("scores.jsonl").first.wait_for()
            button.wait_for()


def test_two_tabs_score_at_once_and_again_after_a_result(served, chromium):
    with (
        watched(chromium, f"{served}?metric=rovist_nr", 1280) as one,
        watched(chromium, f"{served}?metric=rovist_nr", 390) as other,
    ):
        found = {one: [], other: []}
        for story in ("We ran home. We ran home again.", "She sat by the sea. A bird sang all day long."):
            for page in found:
                page.get_by_label("Story").fill(story if page is one else story.replace("We", "They"))
                page.locator("#go").click()
            for page, numbers in found.items():
                page.get_by_text("Your own example").wait_for()
                said = page.get_by_label("Story").input_value().replace(" ", "+")
                page.wait_for_function("said => location.href.includes(said)", arg=said)
                numbers.append(page.locator(".res .big").inner_text())
        assert found[one] == found[other]
        assert len(set(found[one])) == 2


def test_images_come_and_go_by_buttons_and_no_result_stays_next_to_a_refusal(served, chromium):
    with visited(chromium, f"{served}?metric=clip_s", 1280, "light") as page:
        page.locator("#images .gallery-item").first.wait_for()
        page.wait_for_function(AT_REST)
        button = page.get_by_role("button", name="Click to Upload").first
        with page.expect_file_chooser() as chosen:
            button.click()
        chosen.value.set_files(EXAMPLES / "scenes" / "01.png")
        page.locator("#images .gallery-item").nth(1).wait_for()
        page.wait_for_function(AT_REST)
        with page.expect_file_chooser():
            button.press("Enter")
        page.set_viewport_size({"width": 390, "height": 1000})
        with page.expect_file_chooser():
            button.click()
        page.locator("#images").get_by_role("button", name="Clear").click()
        page.locator("#images .gallery-item").first.wait_for(state="detached")
        page.get_by_role("textbox", name="Caption").clear()
        page.locator("#go").click()
        page.get_by_text("`Caption` and `Image` are required").first.wait_for()
        page.locator(".res").wait_for(state="detached")
        page.get_by_role("radio", name="video").first.click()
        page.get_by_text("The right caption of a video").first.wait_for()
        page.get_by_role("radio", name="Published").first.click()
        page.get_by_text(re.compile("These models are not here|Not scored yet: press Score")).wait_for()


def test_systems_are_compared_at_once_by_a_link_and_from_files(served, chromium):
    query = "?view=compare&systems=sampler,wanderer&metrics=trm,rovist_nr&rows=trm"
    with watched(chromium, served + query, 1280) as page:
        finding = page.locator(".cmp .finding")
        finding.wait_for()
        assert finding.inner_text() == "Neither is better: no metric distinguishes sampler and wanderer."
        assert page.locator(".duel[open]").count() == 1
        assert page.url == served + query
        # The finding and the chart are on the first screen.
        assert page.locator(".fp").bounding_box()["y"] < 400
        page.get_by_role("checkbox", name="greedy").check()
        page.get_by_role("radio", name="greedy and wanderer").click()
        page.get_by_text("wanderer is better by two of two metrics.").wait_for()
        page.get_by_role("radio", name="RoViST-NR").click()
        page.get_by_role("radio", name="RoViST-NR", checked=True).wait_for()
        page.locator(".duel > summary").nth(1).press("Enter")
        assert page.locator(".duel[open]").count() == 2
        check_looks(page, wide="light", phone="dark")
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.locator(".cmp [data-copy-link]").click()
        page.wait_for_function("() => navigator.clipboard.readText().then(one => one.includes('rows=rovist_nr'))")
        copied, told = (
            page.evaluate("navigator.clipboard.readText()"),
            page.locator(".duel > summary").all_inner_texts(),
        )
        assert copied == page.url
        page.goto(copied)
        page.get_by_text("wanderer is better by two of two metrics.").wait_for()
        assert page.locator(".duel > summary").all_inner_texts() == told
        # Uploaded files replace the examples, and an error leaves no result.
        board = EXAMPLES / "leaderboard"
        page.get_by_text("Compare your own systems").click()
        files = page.locator("#versus input[type=file]").first
        files.set_input_files([board / "greedy.jsonl", board / "sampler.jsonl"])
        page.get_by_label("Columns: predictions").wait_for()
        page.locator("#compare-systems").click()
        page.get_by_text("sampler is better by two of two metrics.").wait_for()
        assert "predictions=" not in page.url
        page.locator(".cmp [aria-disabled]").click(force=True)  # shows the reason
        page.get_by_text("A link cannot contain your files").first.wait_for()
        page.get_by_label("Columns: predictions").click()
        page.keyboard.press("Backspace")
        page.keyboard.press("Escape")
        page.locator("#compare-systems").click()
        page.get_by_text("must be a column of").first.wait_for()
        page.locator(".cmp").wait_for(state="detached")


OUTCOMES = "() => [...document.querySelectorAll('.wtl i')].map(one => [one.className, one.offsetWidth])"


def test_the_bar_of_wins_is_as_wide_as_their_share(chromium, tmp_path):
    scores = {"a": [0.6] * 6 + [0.4] * 44 + [0.5] * 10, "b": [0.5] * 60}
    given = {name: made_run(own) for name, own in scores.items()}
    asked = Asked(["rovist_nr"], "embedded", files={"a": "a.json", "b": "b.json"}, is_scored=False)
    part = page_of_compared(compare_systems([metric_of("rovist_nr")], given), asked)
    page_text = f'{part_of_page("head")}<div class="gradio-container">{part}</div>'
    (tmp_path / "two.html").write_text(page_text, encoding="utf-8")
    with opened(chromium, tmp_path / "two.html", 1280) as (page, _):
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 800})
            found = dict(page.evaluate(OUTCOMES))
            kinds = {name.split()[0]: wide for name, wide in found.items()}
            whole = sum(kinds.values())
            for kind, wins in {"wins": 6, "ties": 10, "losses": 44}.items():
                assert kinds[kind] / whole == pytest.approx(wins / 60, abs=0.02)


def test_an_unknown_metric_of_a_link_is_told_and_paper_is_light(served, chromium):
    with visited(chromium, f"{served}?metric=no_such", 1280, "dark") as page:
        page.get_by_text('There is no metric "no_such".').wait_for()
        page.emulate_media(media="print", color_scheme="dark")
        colours = "() => ['html', '.res .finding'].map(one => getComputedStyle(document.querySelector(one)))"
        found = page.evaluate(f"({colours})().map((one, i) => i ? one.color : one.backgroundColor)")
        assert found == ["rgb(255, 255, 255)", "rgb(20, 32, 43)"]
