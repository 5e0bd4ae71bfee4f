import re
import shlex

import pytest
from folders import ROOT

from vlgauge.cli import main

PAGES = [path for path in sorted(ROOT.glob("docs/**/*.md")) if path.parent.name not in ("metrics", "gallery")]
DOCUMENTS = [
    *(ROOT / "README.md", *sorted(ROOT.glob("metrics/*/README.md")), *sorted(ROOT.glob("examples/*.md"))),
    *PAGES,
]
PRINTED = re.compile(r"^\s*print\(.*\)  # (.+)$", re.MULTILINE)
# Commands that set up machines; `make` and the extras have tests of their own.
SKIPPED = ("make ", "pip ", "python -m ", ".venv/")


def blocks(document, language):
    return re.findall(rf"^```{language}\n(.*?)^```", document.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def with_python(documents):
    return [pytest.param(path, id=str(path.relative_to(ROOT))) for path in documents if blocks(path, "python")]


@pytest.fixture
def copy_of_the_checkout(tmp_path, monkeypatch):
    """A working folder that has what examples read, and takes what they write."""
    for name in ("examples", "metrics"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("document", with_python(DOCUMENTS))
def test_python_examples_print_what_they_say(document, copy_of_the_checkout, capsys):
    namespace = {"__name__": "__main__"}
    for block in blocks(document, "python"):
        exec(compile(block, str(document), "exec"), namespace)
        assert capsys.readouterr().out.splitlines() == PRINTED.findall(block)


def commands():
    for document in DOCUMENTS:
        for block in blocks(document, "sh"):
            for line in block.splitlines():
                if line.strip() and not line.lstrip().startswith(("#", *SKIPPED)):
                    yield pytest.param(line, id=line.split("#")[0].strip())


# The bundled caption sets are of several sizes on purpose.
@pytest.mark.filterwarnings("default:.* is a mean over sets of")
@pytest.mark.parametrize("line", list(commands()))
def test_shell_examples_run(line, copy_of_the_checkout, capsys):
    program, *arguments = shlex.split(line, comments=True)
    assert program == "vlgauge"
    assert main(arguments) == 0
    assert capsys.readouterr().out


def test_readme_lists_every_metric():
    link = r"https://github\.com/vlgauge/vlgauge/blob/main/metrics/(\w+)/README\.md"
    rows = re.findall(rf"^\| \[(\w+)\]\({link}\)", DOCUMENTS[0].read_text("utf-8"), re.MULTILINE)
    names = sorted(path.parent.name for path in ROOT.glob("metrics/*/*.py") if path.stem == path.parent.name)
    assert sorted(rows) == [(name, name) for name in names]


def test_links_of_the_readme_work_on_the_package_index():
    """Nothing lies beside the text there."""
    links = re.findall(r"\]\(([^)]+)\)", DOCUMENTS[0].read_text("utf-8"))
    assert links
    assert [link for link in links if not link.startswith("https://")] == []
    pages = [link.partition("vlgauge.github.io/vlgauge/")[2] for link in links if "github.io" in link]
    made = {"gallery/index.html"}
    assert [
        page for page in pages if page not in made and not (ROOT / "docs" / page).with_suffix(".md").is_file()
    ] == []
