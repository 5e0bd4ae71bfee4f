"""The demo: its page shows how each metric reacts, is self-contained, and is the same each time."""

import io
import re
from contextlib import redirect_stdout

import pytest
from browser import check_layout, opened
from demo import page as demo_page
from demo.section import section_of
from demo_page import Elements
from folders import SCRIPTS
from markupsafe import escape
from script_modules import script_module

from vlgauge.core.catalog import metric_names
from vlgauge.core.signatures import DEMO_NUMBERS
from vlgauge.explain.examples import ROLES

# Metrics of four families that do not import torch, and the page of these metrics.
FEW = ("rovist_nr", "trm", "stylecider", "chair", "bleu")
PAGE = """
import sys
sys.path.insert(0, {scripts!r})
from demo import page
from demo.section import section_of
page.HERO, page.metrics_by_group = {few!r}[0], lambda: {{"Some": {few!r}}}
print(page.page({{name: section_of(name) for name in {few!r}}}), end="")
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory, without_sockets):
    """Return the output of a run that makes no socket, the bytes of its page, and the metrics' results by example."""
    folder, printed, made = tmp_path_factory.mktemp("demo"), io.StringIO(), {}

    def kept(name):
        made[name] = section_of(name)
        return made[name]

    with pytest.MonkeyPatch.context() as patched, redirect_stdout(printed), without_sockets():
        patched.setattr("demo.section.section_of", kept)
        assert script_module("run_demo.py").main(["--output", str(folder)]) == 0
    assert [path.name for path in folder.iterdir()] == ["report.html"]
    return printed.getvalue(), (folder / "report.html").read_bytes(), made


@pytest.fixture(scope="module")
def sections(run):
    return run[2]


@pytest.fixture(scope="module")
def page(run):
    return run[1].decode("utf-8")


# -- the page ---------------------------------------------------------------------------------------------------------
def test_every_metric_has_a_section_a_row_and_a_link(page):
    found = Elements(page).found
    assert found.count(("th", {"scope": "row", "class": "name", "role": "rowheader"})) == len(metric_names())
    for name in metric_names():
        assert ("section", {"class": "metric", "id": name, "aria-labelledby": f"{name}-title"}) in found
        assert found.count(("a", {"href": f"#{name}"})) >= 2
        assert f"{name}|v:0" in page


def test_another_process_makes_the_same_page(run_python, sections, monkeypatch, tmp_path):
    monkeypatch.setattr(demo_page, "HERO", FEW[0])
    monkeypatch.setattr(demo_page, "metrics_by_group", lambda: {"Some": FEW})
    printed = run_python(PAGE.format(scripts=str(SCRIPTS), few=FEW), cwd=tmp_path, PYTHONHASHSEED="1")
    assert demo_page.page({name: sections[name] for name in FEW}) == printed


def test_page_loads_nothing_and_is_small(page):
    elements = Elements(page)
    assert elements.unclosed == []
    assert {tag for tag, _ in elements.found}.isdisjoint({"script", "link", "iframe", "object", "embed", "base"})
    for tag, attributes in elements.found:
        assert not any(name.startswith("on") for name in attributes)
        if tag == "img":
            assert attributes["alt"]
        for name in ("src", "href"):
            assert attributes.get(name, "#").startswith(("#", "data:image/"))
    assert "@import" not in page
    assert "url(" not in page
    assert "://" not in page
    assert len(page.encode()) < 2_000_000


def test_ids_are_unique_and_every_reference_is_met(page):
    ids = [attributes["id"] for _, attributes in Elements(page).found if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|for="|labelledby=")([^"]+)', page)) <= set(ids)


def test_every_plot_says_what_it_shows(page):
    plots = [attributes for tag, attributes in Elements(page).found if tag == "svg" and "role" in attributes]
    assert len(plots) > 60
    assert all(len(plot["aria-label"]) > 15 for plot in plots)


def test_terminal_shows_every_example_and_the_report(run, sections):
    printed = run[0]
    for section in sections.values():
        assert section.explained.signature in printed
        for one in section.examples:
            assert re.search(rf"^{one.shows} +{one.id} +-?\d\.\d{{4}}$", printed, re.MULTILINE), one.id
    assert printed.rstrip().endswith("report.html")


# -- output -----------------------------------------------------------------------------------------------------------
def test_a_good_story_carries_no_alarm_colour(sections):
    section = sections["rovist_nr"]
    assert 'class="against' not in section.explained.body(section.row("right"))
    assert 'class="against' in section.explained.body(section.row("wrong"))


def test_the_sentences_on_caption_sets_hold(sections):
    p = {
        name: [sections[name].explained.pvalue(sections[name].row(shows)) for shows in ROLES]
        for name in ("trm", "mmd_bert", "frechet_bert")
    }
    # TRM misses captions that are off topic, the clouds do not.
    right, _, wrong, off_topic = p["trm"]
    assert min(right, off_topic) > 0.2
    assert wrong <= 0.05
    for name in ("mmd_bert", "frechet_bert"):
        right, subtle, wrong, backwards = p[name]
        assert min(right, backwards) > 0.2
        assert max(subtle, wrong) <= 0.05
    shares = sections["trm"].explained.shares(sections["trm"].row("wrong"), "counts_lone_reference")
    assert shares[0] == 1


def test_the_invented_object_is_what_counts_against_the_story(sections):
    section = sections[demo_page.HERO]
    assert section.example_score("right") > section.example_score("subtle")
    assert "a large red triangle”" in section.explained.reason(section.row("subtle"))


def test_demo_models_are_named_in_table_and_section(page, sections):
    demos = {name for name, section in sections.items() if section.is_demo}
    of_images = {"clip_s", "pac_s", "polos", "specs", "fleur", "vqascore", "dsg", "clair"}
    assert demos == {"rovist_c", "groovist", "rovist_vg", "rovist", "d_hm"} | of_images
    assert page.count(f"They {escape(DEMO_NUMBERS)}.") == len(demos)


# The contents of one row of three cards begin at the same height.
UNEVEN = """() => [...document.querySelectorAll('.three')].filter(three => new Set(
  [...three.querySelectorAll(':scope > .card > .in')].map(one => Math.round(one.getBoundingClientRect().top))
).size > 1).length"""


# Maximum height by width, in pixels.
HEIGHTS = {390: 43_000, 1000: 36_000, 1280: 28_000, 1600: 26_000}


# -- in a browser -----------------------------------------------------------------------------------------------------
@pytest.mark.browser
def test_the_report_fits_and_a_phone_unfolds_the_other_examples(run, chromium, tmp_path):
    path = tmp_path / "report.html"
    path.write_bytes(run[1])
    ground = "getComputedStyle(document.body).backgroundColor"
    with opened(chromium, path, 390, "dark", has_touch=True) as (page, asked):
        assert page.evaluate(ground) == "rgb(15, 21, 27)"
        cards = page.locator("#trm .three > .card")
        assert [cards.nth(row).is_visible() for row in range(3)] == [True, False, False]
        # In print, everything is unfolded and the background is light.
        page.emulate_media(media="print")
        assert [cards.nth(row).is_visible() for row in range(3)] == [True, True, True]
        assert page.evaluate(ground) == "rgb(255, 255, 255)"
        page.emulate_media(media="screen", color_scheme="light")
        assert page.evaluate(ground) == "rgb(255, 255, 255)"
        for width, height in HEIGHTS.items():
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollHeight") <= height
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert width < 960 or page.evaluate(UNEVEN) == 0
        page.set_viewport_size({"width": 390, "height": 800})
        page.locator("label[for=trm-others]").tap()
        cards.nth(2).wait_for(state="visible")
        assert [cards.nth(row).is_visible() for row in range(3)] == [True, True, True]
        page.locator("#onlystyle mark[tabindex]").first.tap()
        tip = page.locator("mark:focus .tip")
        tip.wait_for(state="visible")
        assert tip.bounding_box()["width"] <= 390
        # The narrowest width, and the one with three columns.
        check_layout(page, asked, path, 390, 1000)
