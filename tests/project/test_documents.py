import re
import shlex
from configparser import ConfigParser

import pytest
from folders import ROOT
from packaging.version import Version

from vlgauge.cli import main
from vlgauge.core.catalog import metric_facts, metric_names

PAGES = [path for path in sorted(ROOT.glob("docs/**/*.md")) if path.parent.name not in ("metrics", "gallery")]
DOCUMENTS = [
    *(ROOT / "README.md", *sorted(ROOT.glob("metrics/*/README.md")), *sorted(ROOT.glob("examples/*.md"))),
    *PAGES,
]
PRINTED = re.compile(r"^\s*print\(.*\)  # (.+)$", re.MULTILINE)
# Commands that set up machines. `make` and the extras have separate tests.
SKIPPED = ("make ", "pip ", "python -m ", ".venv/")


# Pattern in a block -> pattern that the page must contain before or next to it, because users paste blocks into an
# empty folder.
SAID = (
    (r"(?<![\w/-])examples/", r"\bclone\b", "the files of `examples/` are in a clone"),
    (r"--report\b", r"`explain`|\[[\w,-]*(?:explain|demo|workbench|all)\b", "the extra `explain`"),
    (r"--plot\b", r"matplotlib|\[[\w,-]*(?:demo|train|all)\b", "matplotlib"),
    (
        r"--profile embedded|profile=\"embedded\"",
        r"`embedded`|\[[\w,-]*(?:embedded|demo|workbench|all)\b",
        "the extra `embedded`",
    ),
)


def blocks(document, language):
    return re.findall(rf"^```{language}\n(.*?)^```", document.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def unsaid(document):
    """Yield the uses in blocks of a page that the page has not introduced by then."""
    text = document.read_text("utf-8")
    for found in re.finditer(r"^```(?:python|sh)[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        said = text[: found.end() + 300]  # or just after it
        for use, remark, what in SAID:
            if re.search(use, found[1]) and not re.search(remark, said):
                yield f"line {text[: found.start()].count(chr(10)) + 1}: {what}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_says_what_its_blocks_need(document):
    assert list(dict.fromkeys(unsaid(document))) == []


def with_python(documents):
    return [pytest.param(path, id=str(path.relative_to(ROOT))) for path in documents if blocks(path, "python")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The empty folder of a user who pastes a block."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def as_in_a_clone(folder, code):
    """Add the examples to the folder for a block that reads them.

    The page of such a block states that they are in a clone.
    """
    if "examples/" in code and not (folder / "examples").exists():
        (folder / "examples").symlink_to(ROOT / "examples")


@pytest.mark.parametrize("document", with_python(DOCUMENTS))
def test_python_examples_print_what_they_say(document, folder, capsys):
    namespace = {"__name__": "__main__"}
    for block in blocks(document, "python"):
        as_in_a_clone(folder, block)
        exec(compile(block, str(document), "exec"), namespace)
        assert capsys.readouterr().out.splitlines() == PRINTED.findall(block)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_does_not_run_here_is_python(document):
    for block in re.findall(r"^```python notest=.*\n([^`]*?)^```", document.read_text("utf-8"), re.MULTILINE):
        compile(block, str(document), "exec")


def commands():
    for document in DOCUMENTS:
        for block in blocks(document, "sh"):
            for line in block.splitlines():
                if line.strip() and not line.lstrip().startswith(("#", *SKIPPED)):
                    yield pytest.param(line, id=line.split("#")[0].strip())


@pytest.mark.filterwarnings("ignore:[0-9]+ of [0-9]+ rows share their (image|video)")
# The bundled caption sets have several sizes on purpose.
@pytest.mark.filterwarnings("default:.* is a mean over sets of")
@pytest.mark.parametrize("line", list(commands()))
def test_shell_examples_run(line, folder, capsys):
    as_in_a_clone(folder, line)
    program, *arguments = shlex.split(line, comments=True)
    assert program == "vlgauge"
    assert main(arguments) == 0
    assert capsys.readouterr().out


def test_readme_lists_every_metric():
    link = r"https://github\.com/vlgauge/vlgauge/blob/main/metrics/(\w+)/README\.md"
    rows = re.findall(rf"^\| \[(\w+)\]\({link}\)", DOCUMENTS[0].read_text("utf-8"), re.MULTILINE)
    names = sorted(path.parent.name for path in ROOT.glob("metrics/*/*.py") if path.stem == path.parent.name)
    assert sorted(rows) == [(name, name) for name in names]


def test_the_start_lists_the_metrics_without_a_model():
    (listed,) = re.findall(r"These metrics need no model: ([^.]+)\.", (ROOT / "docs" / "start.md").read_text("utf-8"))
    names = [name for name in metric_names() if not metric_facts(name).needs]
    assert re.findall(r"\w+", listed) == names, "run: make format"


def test_the_page_of_versions_has_the_bounds_of_setup_cfg():
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", "utf-8")
    needs = "\n".join([config["options"]["install_requires"], *config["options.extras_require"].values()])
    bounds = {(name.lower(), Version(least)) for name, least in re.findall(r"^([\w-]+)>=([\d.]+)", needs, re.MULTILINE)}
    page = (ROOT / "docs" / "versions.md").read_text("utf-8").partition("## The bounds")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([\w, -]+?)(?: \([^)]+\))? \| ([\d., ]+) \|", page, re.MULTILINE)
    told = {
        (name, Version(least))
        for names, versions in rows
        for name, least in zip(names.split(", "), versions.split(", "), strict=True)
    }
    assert len(told) > 10
    assert told - bounds == set()


def test_links_of_the_readme_work_on_the_package_index():
    """Check that all links are absolute, because the package index has only the text."""
    links = re.findall(r"\]\(([^)]+)\)", DOCUMENTS[0].read_text("utf-8"))
    assert links
    assert [link for link in links if not link.startswith("https://")] == []
    pages = [link.partition("vlgauge.github.io/vlgauge/")[2] for link in links if "github.io" in link]
    made = {"gallery/index.html", "metrics/index.html"}
    assert [
        page for page in pages if page not in made and not (ROOT / "docs" / page).with_suffix(".md").is_file()
    ] == []
