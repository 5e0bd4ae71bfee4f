"""The table of equations in CONTRIBUTING.md: each entry leads to a function that names the equation."""

import ast
import re
import unicodedata

import pytest
from folders import METRICS, ROOT

from vlgauge.core.catalog import card_fact, metric_names

ROW = re.compile(r"^\| (.+ \(.+\)) \| ([\w -]+) \| `(.+)` \| `(.+)` \|$", re.MULTILINE)
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
ROWS = ROW.findall(TEXT)


def function_at(path, name):
    """Return the docstring of a function or method."""
    node = ast.parse((ROOT / path).read_text("utf-8"))
    for part in name.split("."):
        node = next(child for child in node.body if getattr(child, "name", None) == part)
    return ast.get_docstring(node)


@pytest.mark.parametrize(("paper", "equation", "path", "name"), ROWS, ids=[f"{row[2]}-{row[1]}" for row in ROWS])
def test_an_equation_is_where_the_table_says(paper, equation, path, name):
    if not equation[0].isdigit():  # from a paper without equation numbers
        assert re.search(rf"(?<![\w-]){re.escape(equation)}(?![\w-])", function_at(path, name))
        return
    found = re.findall(r"Eqs?\. (\w+)(?:(?: and|,) (\w+))?", function_at(path, name))
    assert equation in {number for pair in found for number in pair}


REFERENCES = sorted(METRICS.glob("*/reference*.py"))


@pytest.mark.parametrize("path", REFERENCES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_definition_for_comparison_is_short_and_cites_its_paper(path):
    text = path.read_text("utf-8")
    assert len(text.splitlines()) < 40
    assert re.search(r"\([A-Z]\D+, \d{4}\b", ast.get_docstring(ast.parse(text)))


def test_optimized_formulas_have_a_definition_for_comparison():
    optimized = {"trm", "diversity", "cider", "chrf", "meteor", "mmd_bert", "frechet_bert", "stylecider", "onlystyle"}
    assert optimized <= {path.parent.name for path in REFERENCES}


def without_accents(text):
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def test_every_line_of_the_table_is_checked():
    table = TEXT.partition("| paper | equation |")[2].partition("\n\n")[0].splitlines()
    assert len(table) - 2 == len(ROWS)


@pytest.mark.parametrize("name", metric_names())
def test_the_paper_of_every_metric_has_an_equation(name):
    (paper,) = re.findall(r"^\[(.+)\]", card_fact(name, "paper"))
    papers = {without_accents(one) for text, *_ in ROWS for one in re.findall(r"\((.+)\)$", text)}
    assert paper in papers, f"add the equation of {name} ({paper}) to the table in CONTRIBUTING.md, by number or symbol"
