"""Every metric explains its rows: on a page that is self-contained, escapes all texts, and is small."""

import json
import math
import re

import pytest
from browser import check_layout, leafed, opened
from demo_page import Elements
from explained import HOSTILE, poisoned, scored

from vlgauge.core.catalog import metric_names
from vlgauge.core.results import to_json
from vlgauge.explain import DifferingRow, SystemDifferences, differences, explain, explanation_of, report
from vlgauge.explain.pages import TEMPLATES

DEMO_METRICS = {"rovist_c", "groovist", "rovist_vg", "rovist"}
DEMO_METRICS |= {"clip_s", "pac_s", "polos", "specs", "fleur", "vqascore", "dsg", "clair"}
ALLOWED = {
    *("a", "html", "head", "meta", "title", "style", "body", "div", "header", "main", "section", "article"),
    *("h1", "h2", "h3", "h4", "p", "b", "strong", "br", "small", "em", "span", "mark", "code", "i", "img"),
    *("figure", "figcaption"),
    *("ol", "ul", "li", "dl", "dt", "dd", "details", "summary", "table", "thead", "tbody", "tr", "th", "td"),
    *("svg", "g", "line", "circle", "path", "rect", "text", "image", "polygon"),
}


def explanation(name):
    return explain(name, *scored(name))


def with_hostile_texts(name, text):
    """Return the rows of a metric with every text replaced by this one."""
    columns, result = scored(name)
    columns = {key: cells if key in ("images", "videos") else poisoned(cells, text) for key, cells in columns.items()}
    columns["id"] = [text] * len(columns["predictions"])
    result = {key: poisoned(value, text) if key.endswith("_details") else value for key, value in result.items()}
    return explain(name, columns, result)


def check_page(page):
    """Check that a page is well formed, runs nothing and requests nothing."""
    elements = Elements(page)
    assert elements.unclosed == []
    assert {tag for tag, _ in elements.found} <= ALLOWED
    for tag, attributes in elements.found:
        assert not any(name.startswith("on") for name in attributes)
        sources = [attributes[name] for name in ("src", "href", "srcset", "data", "action") if name in attributes]
        assert all(source.startswith(("data:image/", "#")) for source in sources), (tag, sources)
    assert "url(" not in page
    assert "@import" not in page
    ids = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    page.encode("utf-8")
    return elements


def test_every_metric_has_an_explanation():
    assert [explanation_of(name).name for name in metric_names()] == metric_names()


@pytest.mark.parametrize("name", metric_names())
def test_the_page_of_a_metric(name):
    found = explanation(name)
    page = found.html()
    text = check_page(page).text
    assert found.signature.replace("|", "|") in text
    assert "better</strong>" not in page
    assert ("Higher is better" in page) == found.facts.higher_is_better
    assert page.count('<details class="row"') == len(found.scores)
    assert len(page) < 40_000 + 48_000 * len(found.scores)  # less than a million for 20 rows
    assert all(sentence in text for sentence in found.how_to_read)
    assert len(found.how_to_read) == 3
    assert ('class="demo-tag"' in page) == found.is_demo == (name in DEMO_METRICS)
    # The page of a result that was written as JSON is the same.
    columns, result = scored(name)
    assert explain(name, columns, json.loads(to_json(result))).html() == page


# All texts together and each alone for every metric, so that no text is cut off after another, for three kinds of
# pages.
SINGLE = {kind: text for kind, text in HOSTILE.items() if kind != "long"}
TOGETHER = {"together": " ".join(SINGLE.values()), "long": HOSTILE["long"]}
POISONS = [(name, kind, text) for name in metric_names() for kind, text in TOGETHER.items()]
POISONS += [(name, kind, text) for name in ("d_hm", "groovist", "stylecider", "trm") for kind, text in SINGLE.items()]


@pytest.mark.parametrize(("name", "kind", "text"), POISONS, ids=[f"{name}-{kind}" for name, kind, _ in POISONS])
def test_everything_from_data_is_escaped(name, kind, text):
    found = with_hostile_texts(name, text)
    page = found.html()
    check_page(page)
    assert not re.search("[\u200e\u200f\u202a-\u202e\u2066-\u2069\x00\x1b]", page)
    # d_hm shows only the beginnings of its texts.
    assert ("\\u202e" in page) == (kind == "direction" or (kind == "together" and name != "d_hm"))
    assert len(page) < 3_000_000
    for row in range(len(found.scores)):
        assert len(found.reason(row) if not found.is_undefined(row) else found.explain_undefined(row)) < 400


@pytest.mark.parametrize("name", metric_names())
def test_each_row_has_a_reason_or_says_why_it_has_no_score(name):
    found = explanation(name)
    for row, score in enumerate(found.scores):
        card = found.example(row)
        if math.isnan(score):
            assert found.explain_undefined(row) in Elements(card).text
        else:
            assert found.reason(row)
            assert "undefined" not in found.reason(row)
    assert any(map(math.isnan, found.scores)) == any(found.is_undefined(row) for row in range(len(found.scores)))


def test_the_table_of_all_metrics_names_the_demo_model_and_leads_to_each():
    page = report([explanation("groovist"), explanation("rovist_nr")])
    check_page(page)
    table = page[page.index("<table") : page.index("</table>")]
    assert [row.count('class="demo-tag"') for row in table.split('<tr role="row">')[2:]] == [1, 0]
    assert re.findall('href="#([^"]+)', table) == re.findall('<section class="metric" id="([^"]+)', page)
    assert "(\N{MINUS SIGN}∞, 1]" in table
    assert page.count("<h1>") == 1
    assert "<h2>Worst" not in page


def test_around_one_value_alone_no_axis_is_made_up():
    columns, result = scored("groovist")
    row = next(row for row, score in enumerate(result["groovist_scores"]) if not math.isnan(score))
    alone = {key: value[row : row + 1] if isinstance(value, list) else value for key, value in result.items()}
    one = explain("groovist", {key: cells and cells[row : row + 1] for key, cells in columns.items()}, alone)
    assert 'class="ends"' not in one.badge(0)
    assert 'class="ends"' in explanation("groovist").badge(row)


def test_a_notebook_gets_the_page_in_a_frame_that_runs_nothing():
    frame = explanation("trm")._repr_html_()
    assert frame.startswith("<iframe")
    assert " sandbox " in frame
    assert "<html" not in frame
    assert "&lt;html" in frame


def test_worst_and_best_rows_come_by_direction_and_none_twice():
    columns = {"predictions": [["a b c .", f"d {word} ."] for word in "defgh"], "id": list("defgh")}
    details = [
        {"sentences": story, "words": [["a"], ["d"]], "pairs": [], "ngrams": [], "inter": 0.0, "intra": 0.0}
        for story in columns["predictions"]
    ]
    result = {"rovist_nr_scores": [0.5, 0.1, math.nan, 0.9, 0.3], "rovist_nr_details": details}
    result["rovist_nr_signature"] = "rovist_nr|v:0|variant:released|n:4"
    found = explain("rovist_nr", columns, result)
    assert [found.title(row) for row in found.worst_first] == ["e", "h", "d", "g"]
    page = found.html(worst=3, best=3)
    assert re.findall(r'<span class="mono">(\w)</span>', page) == ["e", "h", "d", "g", "f"]
    assert re.findall(r'<span class="mono">(\w)</span>', found.html(worst=0, best=1)) == ["g", "f"]
    distances = explain("d_hm", {"predictions": [{}, {}]}, {"d_hm_scores": [0.2, 0.4], "d_hm_details": [{}, {}]})
    assert distances.worst_first == [1, 0]


def test_a_report_of_many_rows_explains_twenty():
    story = ["The dog ran home.", "The dog ran away.", "A cat sat."]
    detail = scored("rovist_nr")[1]["rovist_nr_details"][0]
    n = 5_000
    scores = [math.nan if row % 100 == 0 else (row % 997) / 997 for row in range(n)]
    result = {**scored("rovist_nr")[1], "rovist_nr_scores": scores, "rovist_nr_details": [detail] * n}
    page = explain("rovist_nr", {"predictions": [story] * n}, result).html()
    assert page.count('<details class="row"') == 20
    assert "and 45 more" in page
    assert len(page) < 300_000


@pytest.mark.parametrize("name", ["bleu", "groovist", "trm"])
def test_a_report_stays_small_however_many_rows_there_are(name):
    columns, result = scored(name)
    n = len(columns["predictions"])
    columns = {key: cells * 30 for key, cells in columns.items()}
    result = {
        key: value * 30 if isinstance(value, list) and len(value) == n else value for key, value in result.items()
    }
    page = explain(name, columns, result | {f"{name}_excess_interval": [0.1, 0.2]}).html()
    assert page.count('<details class="row"') <= 20
    assert len(page) < 1_000_000


# -- errors -----------------------------------------------------------------------------------------------------------
def test_details_that_are_missing_are_named_with_what_to_do():
    columns, result = scored("rovist_nr")
    lacking = {key: value for key, value in result.items() if not key.endswith("details")}
    with pytest.raises(ValueError, match=r"rovist_nr requires `result\['rovist_nr_details'\]`.*return_details=True"):
        explain("rovist_nr", columns, lacking)
    with pytest.raises(ValueError, match=r"`columns\['predictions'\]` and `result\['rovist_nr_scores'\]` and "):
        explain("rovist_nr", {}, {})


def test_an_unknown_name_is_refused_with_those_that_there_are():
    with pytest.raises(ValueError, match=r"^`name`"):
        explain("spicy", {}, {})


@pytest.mark.parametrize("column", ["predictions", "id"])
def test_columns_of_another_length_are_refused(column):
    columns, result = scored("rovist_nr")
    with pytest.raises(ValueError, match=rf"^`columns\['{column}'\]`.*got 1.*3 scores"):
        explain("rovist_nr", columns | {column: ["one"]}, result)


def test_a_row_that_is_not_there_is_refused():
    with pytest.raises(IndexError, match=r"^`row`.*0 to 2.*got 3"):
        explanation("rovist_nr").example(3)


@pytest.mark.parametrize("argument", ["worst", "best"])
def test_numbers_of_rows_are_whole_and_not_negative(argument):
    with pytest.raises(ValueError, match=rf"^`{argument}`.*at least 0.*got -1"):
        explanation("rovist_nr").html(**{argument: -1})


def test_jinja_is_asked_for_by_the_name_of_its_extra(run_python, tmp_path):
    printed = run_python(
        "import sys; sys.modules['jinja2'] = None\n"
        "try:\n    import vlgauge.explain\nexcept ImportError as error:\n    print(error)",
        cwd=tmp_path,
    )
    assert 'pip install "vlgauge[explain]"' in printed


# -- colors -----------------------------------------------------------------------------------------------------------
def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [0, 1])
def test_texts_have_the_contrast_of_level_aa_in_either_theme(theme):
    style = (TEMPLATES / "style.css").read_text("utf-8")
    blocks = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    colours = dict(re.findall(r"--([\w-]+): (#\w{6})", blocks[0]))
    colours |= dict(re.findall(r"--([\w-]+): (#\w{6})", blocks[theme]))
    pairs = [(text, ground) for text in ("ink", "quiet", "for", "against") for ground in ("paper", "panel")]
    pairs += [(text, f"{tone}-tint") for tone in ("for", "against") for text in ("ink", tone)]
    for text, ground in pairs:
        light, dark = sorted((luminance(colours[text]), luminance(colours[ground])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (text, ground)
    assert "prefers-reduced-motion" in style
    sizes = [float(size) for size in re.findall(r"(?:font-size: |font: [^;]*?)([\d.]*\d)rem", style)]
    assert min(sizes) * 16 >= 12


# -- in a browser -----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Write a page of a metric, one of all, and two with words that are much wider than a window."""
    folder = tmp_path_factory.mktemp("reports")
    word = "x" * 1000
    found = {name: explanation(name) for name in metric_names()}
    bleu = scored("bleu")
    one = explain("bleu", bleu[0] | {"id": [word] * len(bleu[0]["predictions"])}, bleu[1])
    pair = SystemDifferences(word, (word, "b"), (one, one), [DifferingRow(word, (0, 1), 0.5)])
    table = f"<table><tr><th>{word}</th></tr></table>"
    made = {
        "groovist": found["groovist"].html(),
        "all": report(list(found.values())),
        "all-long": report([with_hostile_texts(name, word) for name in found]),
        "differing-long": differences("two", [table], [pair]),
    }
    for name, page in made.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in made}


@pytest.mark.browser
def test_every_report_fits(pages, chromium):
    with leafed(chromium, "dark") as open_next:
        for name, path in pages.items():
            # Long words are hardest on a phone, and plots in three narrow columns.
            width = 390 if name.endswith("-long") else 1000
            page, asked = open_next(path, width)
            check_layout(page, asked, path, width)


@pytest.mark.browser
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
        # In a frame as high as its page the bottom edge is far away: there the note is next to its word.
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
