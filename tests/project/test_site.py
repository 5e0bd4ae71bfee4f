"""The documentation site: the pages that are made from cards, and the whole of it built without a network."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag

import pytest
from browser import SIZES, browser, opened
from folders import ROOT
from script_modules import script_module

from vlgauge.core.catalog import metric_names
from vlgauge.explain import explanation_of
from vlgauge.research.studies.published import published_tables

DOCS = ROOT / "docs"
WRITTEN = [path for path in sorted(DOCS.rglob("*.md")) if path.parts[-2] not in ("metrics", "gallery")]


@pytest.fixture(scope="module")
def pages():
    return script_module("../docs/extensions/metric_pages.py")


# -- generated pages --------------------------------------------------------------------------------------------------
def test_a_card_is_a_page_without_front_matter(pages):
    page = pages.card("meteor")
    assert page.startswith("# METEOR\n")
    assert "](trm.md)" in page
    assert "](../" not in page


def test_the_table_leads_to_every_page(pages):
    assert sorted(re.findall(r"\]\(/metrics/(\w+)\.md\)", pages.table())) == metric_names()
    assert pages.table().splitlines()[1] == "|---|---|---|---|---|"


def test_every_metric_says_how_it_is_read(pages):
    page = pages.reading()
    for name in metric_names():
        explanation = explanation_of(name)
        assert f"### [{name}](/metrics/{name}.md)\n" in page
        assert all(sentence in page for sentence in explanation.reading)


def test_deviations_of_all_cards_are_on_one_page(pages):
    page = pages.deviations()
    for path in ROOT.glob("metrics/*/README.md"):
        for line in path.read_text("utf-8").splitlines():
            if line.startswith("| topic "):
                assert f"(/metrics/{path.parent.name}.md)" in page
                assert line in page


def test_every_table_and_figure_has_a_row(pages):
    page = pages.published()
    for one in published_tables():
        assert f"* **{one.table}**: {one.about}." in page
        assert one.why in page


# -- written pages ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", WRITTEN, ids=[path.relative_to(DOCS).as_posix() for path in WRITTEN])
def test_every_block_runs_or_says_why_not(path):
    """Check the languages of all blocks.

    `test_documents` runs the blocks of the plain languages, and the builder of the site runs code cells.
    """
    text = path.read_text("utf-8")
    for info in re.findall(r"^```([^`\n]*)\n.*?^```", text, re.MULTILINE | re.DOTALL):
        assert re.fullmatch(r'python|sh|(python|sh) notest="[^"]+"|text|\{.+\}.*', info), info
        assert not info.startswith("{code-cell}") or "file_format: mystnb" in text


# All processes that are started while the site is built, including kernels of notebooks, may connect to this machine
# only.
NO_NETWORK = """
import socket
plain = socket.socket.connect
def connect(self, address):
    if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
        raise OSError(f"asked for {address}")
    return plain(self, address)
socket.socket.connect = connect
"""


class Links(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self):
        super().__init__()
        self.links, self.anchors = [], set()

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}
        self.links += [found[key] for key in ("href", "src") if found.get(key)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for name in ("sphinx", "myst_nb", "sphinx_gallery", "sphinx_design", "pydata_sphinx_theme"):
        pytest.importorskip(name)
    folder = tmp_path_factory.mktemp("site")
    (folder / "sitecustomize.py").write_text(NO_NETWORK)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT / "shared")])}
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", str(DOCS), str(folder / "html")]
    built = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT)
    assert built.returncode == 0, built.stderr[-3000:]
    return folder / "html"


@pytest.mark.slow
def test_all_links_within_the_site_lead_somewhere(site):
    pages = {}
    for path in site.rglob("*.html"):
        if "_static" in path.parts:
            continue  # templates of the theme
        pages[path.resolve()] = links = Links()
        links.feed(path.read_text("utf-8"))
    assert len(pages) > 50
    broken = []
    for path, page in pages.items():
        for link in page.links:
            address, anchor = urldefrag(link)
            if re.match(r"[a-z]+:|//", address):
                assert not address.endswith((".js", ".css")), f"{path} asks for {address}"
                continue
            target = (path.parent / unquote(address.partition("?")[0])).resolve() if address else path
            if not target.exists() or (anchor and target in pages and unquote(anchor) not in pages[target].anchors):
                broken.append((path.relative_to(site).as_posix(), link))
    assert broken == []


@pytest.mark.slow
@pytest.mark.browser
def test_pages_fit_a_phone_and_the_search_finds(site):
    with browser() as chromium:
        for name in ("index", "start", "choosing", "metrics/groovist", "gallery/index", "api/statistics"):
            for width in (390, 1280):
                path = site / f"{name}.html"
                with opened(chromium, path, width) as (page, asked):
                    assert page.evaluate("document.documentElement.scrollWidth") <= width, path
                    assert [one for one in page.evaluate(SIZES) if one[0] < 11] == []
                    assert all(address.startswith(("file:", "data:", "blob:")) for address in asked), asked
        with opened(chromium, site / "search.html", 1280) as (page, _):
            page.goto((site / "search.html").as_uri() + "?q=groovist")
            page.wait_for_selector("ul.search li a")
            assert "metrics/groovist.html" in " ".join(
                link.get_attribute("href") for link in page.query_selector_all("ul.search li a")
            )
