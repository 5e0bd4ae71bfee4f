"""The documentation site: generated pages, API pages of everything public, and the site built without a network."""

import inspect
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from urllib.parse import unquote, urldefrag

import pytest
from browser import SIZES, browser, opened
from folders import ROOT
from script_modules import script_module

import vlgauge
from vlgauge.core.catalog import metric_facts, metric_names, metric_reading
from vlgauge.core.validation import setting_names
from vlgauge.research.studies.published import list_published_tables

DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
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
        assert f"### [{name}](/metrics/{name}.md)\n" in page
        assert all(sentence in page for sentence in metric_reading(name))


def test_the_languages_of_every_metric_are_a_table(pages):
    rows = dict(re.findall(r"^\| \[(\w+)\]\(.*?\) \| (.*) \|$", pages.languages(), re.MULTILINE))
    assert sorted(rows) == metric_names()
    assert rows["spice"] == "English | `graphs`, or `parser`"
    assert rows["meteor"] == 'English | `version="2007"`'
    assert rows["bleu"] == "any language | `tokenizer` for languages without spaces between words"
    assert rows["chrf"] == "any language | "
    assert "../metrics/languages.md" in (DOCS / "howto" / "languages.md").read_text("utf-8")


def test_deviations_of_all_cards_are_on_one_page(pages):
    page = pages.deviations()
    for path in ROOT.glob("metrics/*/README.md"):
        for line in path.read_text("utf-8").splitlines():
            if line.startswith("| topic "):
                assert f"(/metrics/{path.parent.name}.md)" in page
                assert line in page


def test_every_table_and_figure_has_a_row(pages):
    page = pages.published()
    for one in list_published_tables():
        assert f"* **{one.table}**: {one.about}." in page
        assert one.why in page


# -- API reference ----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def reference():
    return script_module("../docs/extensions/metric_reference.py")


@pytest.mark.parametrize("name", metric_names())
def test_the_page_of_a_class_describes_settings_inputs_and_result(reference, name):
    page = reference.page(name)
    cls = reference.metric_class(name)
    assert f".. autoclass:: vlgauge_metrics.{name}.{name}.{cls.__name__}\n" in page
    table = page.partition("## Settings")[2].partition("## Inputs of compute")[0]
    described = [re.findall(r"`(\w+)`", row.split("|")[1]) for row in table.splitlines() if row.startswith("| `")]
    assert f"[Languages](/howto/languages.md): {metric_facts(name).supported_languages}." in page
    assert sorted(setting for row in described for setting in row) == sorted(setting_names(cls))
    inputs, _, result = page.partition("## Inputs of compute")[2].partition("## Result")
    for column in cls.columns:
        assert f"* `{column.name}`" in inputs
    for key in (name, f"{name}_scores", f"{name}_undefined", f"{name}_signature"):
        assert f"`{key}`" in result
    assert f"[{name}]({name}.md)" in reference.index()


def test_a_setting_without_a_description_stops_the_build(reference, monkeypatch):
    monkeypatch.setattr(reference, "documented", lambda name: {})
    with pytest.raises(KeyError, match="the card of bleu must describe the setting tokenizer"):
        reference.settings("bleu")


def public_names(module):
    """Return the names that Sphinx documents of a module."""
    found = import_module(module)
    if hasattr(found, "__all__"):
        return list(found.__all__)
    own = {name: value for name, value in vars(found).items() if getattr(value, "__module__", None) == module}
    return [name for name, value in own.items() if not name.startswith("_") and inspect.getdoc(value)]


def documented_names():
    """Return the full names of the objects that the written pages of the API reference document."""
    found = set()
    for path in sorted((DOCS / "api").glob("*.md")):
        text = path.read_text("utf-8")
        found |= set(re.findall(r"^\.\. auto(?:function|class|data|exception):: (\S+)$", text, re.MULTILINE))
        for module, members in re.findall(r"^\.\. automodule:: (\S+)\n   :members:(.*)$", text, re.MULTILINE):
            found |= {f"{module}.{name}" for name in members.replace(",", " ").split() or public_names(module)}
    return found


def imported_names():
    """Yield the names that the pages, the cards and the examples import from vlgauge."""
    pages = [ROOT / "README.md", *WRITTEN, *ROOT.glob("metrics/*/README.md"), *EXAMPLES.rglob("*.md")]
    texts = [
        block for path in pages for block in re.findall(r"^```python.*?^```", path.read_text("utf-8"), re.M | re.S)
    ]
    texts += [path.read_text("utf-8") for path in (EXAMPLES / "gallery").glob("*.py")]
    for text in texts:
        for module, names in re.findall(r"^from (vlgauge[\w.]*) import ([\w, ]+)$", text, re.MULTILINE):
            yield from (f"{module}.{name}" for name in names.split(", "))


def test_every_public_name_has_an_api_page():
    found = documented_names()
    assert {f"vlgauge.{name}" for name in vlgauge.__all__} <= found
    modules = {name.rpartition(".")[0] for name in found}
    used = {name for name in imported_names() if name not in modules}
    assert len(used) > 15
    assert used - found == set()


def test_every_page_of_the_reference_is_listed():
    text = (DOCS / "api" / "index.md").read_text("utf-8")
    for path in (DOCS / "api").glob("*.md"):
        if path.stem != "index":
            assert f"]({path.name})" in text
            assert f"\n{path.stem}\n" in text


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
def test_the_inventory_has_every_public_name(site, reference):
    inventory = pytest.importorskip("sphinx.util.inventory").InventoryFile
    found = inventory.loads((site / "objects.inv").read_bytes(), uri="").data
    names = {name for kind, objects in found.items() if kind.startswith("py:") for name in objects}
    assert documented_names() | {reference.object_name(name) for name in metric_names()} <= names


@pytest.mark.slow
def test_every_page_of_the_gallery_has_a_thumbnail(site):
    scripts = sorted(path.stem for path in (EXAMPLES / "gallery").glob("plot_*.py"))
    images = {name: (site / "_images" / f"sphx_glr_{name}_thumb.png").read_bytes() for name in scripts}
    assert len(set(images.values())) == len(scripts) > 15


@pytest.mark.slow
@pytest.mark.browser
def test_the_navigation_is_one_line(site):
    names = ["Get started", "User guide", "Metrics", "API reference", "Gallery", "Contributing"]
    with browser() as chromium, opened(chromium, site / "index.html", 1280) as (page, _):
        links = page.query_selector_all(".bd-header .navbar-nav .nav-link:visible")
        assert [link.inner_text().strip() for link in links] == names
        assert len({round(link.bounding_box()["y"]) for link in links}) == 1


@pytest.mark.slow
@pytest.mark.browser
def test_pages_fit_a_phone_and_the_search_finds(site):
    with browser() as chromium:
        for name in ("index", "start", "choosing", "metrics/groovist", "gallery/index", "api/metrics/clip_s"):
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
