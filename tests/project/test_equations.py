"""The table of equations in CONTRIBUTING.md: each entry leads to a function that names the equation."""

import ast
import re

import pytest
from folders import ROOT

ROW = re.compile(r"^\| (.+ \(.+\)) \| ([\w-]+) \| `(.+)` \| `(.+)` \|$", re.MULTILINE)
ROWS = ROW.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8"))


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


def test_every_paper_has_its_equations():
    assert len({paper for paper, *_ in ROWS}) >= 11
    assert len(ROWS) >= 25
