"""The demo: its page explains the right things, needs nothing from outside, and is the same each time."""

import csv
import json
import re

import pytest
from demo_page import Elements, articles, table_rows
from folders import EXAMPLES, SCRIPTS

from vlgauge.catalog import metric_facts, metric_names
from vlgauge.explain import sections as explain

BUNDLED = {name: EXAMPLES / f"{name}.jsonl" for name in ("stories", "caption_sets")}
STYLED = EXAMPLES / "styled_captions.csv"

# When imported, urllib3 binds a socket to ::1 to see whether it could; nothing is sent.
RUN = """
import sys
watching = False
import urllib3
watching = True
import runpy
assert runpy.run_path({script!r})["main"](["--output", "."]) == 0
"""

SET_METRICS = ("trm", "mmd_bert", "frechet_bert")


@pytest.fixture(scope="session")
def runs(run_python, tmp_path_factory):
    """Output and bytes of the page of two runs in fresh processes without network."""
    results = []
    for seed in ("1", "2"):
        folder = tmp_path_factory.mktemp("demo")
        printed = run_python(RUN.format(script=str(SCRIPTS / "run_demo.py")), cwd=folder, PYTHONHASHSEED=seed)
        assert [path.name for path in folder.iterdir()] == ["report.html"]
        results.append((printed, (folder / "report.html").read_bytes()))
    return results


@pytest.fixture(scope="session")
def page(runs):
    return runs[0][1].decode("utf-8")


# -- the page ---------------------------------------------------------------------------------------------------------
def test_every_metric_has_a_section(page):
    assert set(explain.SECTIONS) <= set(metric_names())
    found = Elements(page).found
    for name in explain.SECTIONS:
        assert ("section", {"id": name, "aria-labelledby": f"{name}-title"}) in found
        assert ("a", {"href": f"#{name}"}) in found
        assert metric_facts(name).measures.split("'")[0] in page
        assert f"{name}|v:0" in page.replace("<wbr>", "")


def test_two_runs_write_the_same_bytes(runs):
    assert runs[0][1] == runs[1][1]


def test_page_loads_nothing(page):
    found = Elements(page).found
    assert {tag for tag, _ in found}.isdisjoint({"script", "link", "iframe", "object", "embed", "image", "base"})
    for tag, attributes in found:
        assert not {"srcset", "data", "action", "style-src"} & attributes.keys()
        if "src" in attributes:
            assert tag == "img"
            assert attributes["src"].startswith("data:image/png;base64,")
            assert attributes["alt"]
        assert not any(name.startswith("on") for name in attributes)
        targets = [value for name, value in attributes.items() if name.endswith("href")]
        assert all(value.startswith("#") or tag == "a" for value in targets)
    assert "@import" not in page
    assert set(re.findall(r"url\((.)", page)) <= {"#"}
    assert "://" not in re.sub(r'<a href="https?://', "", page)


def test_ids_are_unique_and_every_reference_is_met(page):
    ids = [attributes["id"] for _, attributes in Elements(page).found if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', page)) <= set(ids)


def test_every_plot_says_what_it_shows(page):
    plots = [attributes for tag, attributes in Elements(page).found if tag == "svg"]
    assert len(plots) > 50
    assert all(plot["role"] == "img" and len(plot["aria-label"]) > 30 for plot in plots)


def test_plots_take_their_colours_from_the_style_sheet(page):
    assert page.count("var(--candidate)") > 50
    assert not re.search(r"#(d55e00|0072b2|8a8b8c|010203)", page)


def test_terminal_shows_every_kind_and_the_report(runs):
    printed = runs[0][0]
    for name, path in BUNDLED.items():
        kinds = {json.loads(line)["kind"] for line in path.read_text("utf-8").splitlines()}
        for kind in kinds:
            assert re.search(rf"^{kind}  .* (undefined|\d\.\d{{4}})$", printed, re.MULTILINE), (name, kind)
    with STYLED.open(encoding="utf-8", newline="") as file:
        for style in {row["style"] for row in csv.DictReader(file)}:
            assert len(re.findall(rf"^{style} +10 +\d+ +-?\d\.\d{{4}}$", printed, re.MULTILINE)) == 2
    assert re.search(r"^edge-01 +undefined +The lighthouse", printed, re.MULTILINE)
    assert printed.rstrip().endswith("report.html")


def test_metrics_react_to_the_kinds(page):
    stories = {
        kind: float(cells[2].replace("\N{MINUS SIGN}", "-")) for kind, cells in table_rows(page, "rovist_nr").items()
    }
    assert stories["repetitive"] < stories["edge"] < stories["good"]
    sets = table_rows(page, "mmd_bert")
    assert float(sets["collapsed"][2]) == float(sets["off-topic"][2]) == 0.0001 < 0.05 < float(sets["diverse"][2])
    assert sets["edge"] == ["1", "1", *["undefined"] * 5]
    distances = {kind: cells[-1] for kind, cells in table_rows(page, "frechet_bert").items()}
    assert float(distances["diverse"]) < float(distances["collapsed"]) < float(distances["off-topic"])
    triangles = table_rows(page, "trm")
    assert triangles.pop("edge")[2:] == ["undefined"] * 10
    excess = {kind: float(cells[3].replace("\N{MINUS SIGN}", "-")) for kind, cells in triangles.items()}
    assert max(excess, key=excess.__getitem__) == "collapsed"
    assert float(triangles["collapsed"][2]) == 0.0001 < 0.05 < float(triangles["too-wild"][2])
    assert float(triangles["too-wild"][8]) < 0.05


@pytest.mark.parametrize("metric", ["onlystyle", "stylecider"])
def test_captions_score_highest_in_their_own_style(page, metric):
    found = re.search(rf'<section id="{metric}".*?<table class="matrix">(.*?)</table>', page, re.DOTALL)[1]
    rows = [re.findall(r'(largest)?" style="--shade: (\d+)%', row) for row in found.split("<tr>")[2:]]
    assert [[bool(largest) for largest, _ in row] for row in rows] == [[i == k for k in range(4)] for i in range(4)]
    assert max(int(shade) for row in rows for _, shade in row) == 45


def test_every_caption_set_has_its_triangles(page):
    sets = [article for (metric, _), article in articles(page).items() if metric == "trm"]
    assert len(sets) == 30
    assert sum("side between two candidates" in article for article in sets) == 29  # one is undefined


def test_undefined_examples_say_why(page):
    story = articles(page)["rovist_nr", "edge-01"]
    assert '<p class="score">undefined</p>' in story
    assert "the story has 1 sentence, so there is no pair of sentences to compare" in story
    for metric in SET_METRICS:
        captions = articles(page)[metric, "edge-01"]
        assert '<p class="score">undefined</p>' in captions
        assert "each side needs two captions or more, got one candidate and five references" in captions
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL).lower().split()


def test_p_of_an_article_is_that_of_its_plot_and_words(page):
    found = {key: article for key, article in articles(page).items() if key[0] in SET_METRICS and key[1] != "edge-01"}
    assert {metric for metric, _ in found} == set(SET_METRICS)
    for (metric, _), article in found.items():
        shown = re.search(r"p = (\d\.\d{4})", article)[1]
        count, total = map(int, re.search(r">p = (\d+)/(\d+) = ", article).groups())
        assert f"{count / total:.4f}" == shown
        assert metric == "trm" or f"{count} of {total} ways to split these" in article
