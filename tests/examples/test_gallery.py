"""The pages of the gallery about a table, two systems and a training, as a reader would run them."""

import ast

import pytest
from folders import EXAMPLES

GALLERY = EXAMPLES / "gallery"
# Name -> types of the shown parts of the page, in their order.
SHOWN = {
    "plot_score_and_understand": ["Scores", "DataFrame", "NotebookFigure", "NotebookFigure"],
    "plot_compare": ["Comparison", "NotebookFigure", "DataFrame"],
    "plot_training": ["NotebookFigure"],
}


def values_of(path, names):
    """Return the values of the top-level expressions of a script, as a notebook shows them, but not of `print`."""
    values = []
    for statement in ast.parse(path.read_text("utf-8")).body:
        if isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant):
            values.append(eval(compile(ast.Expression(statement.value), str(path), "eval"), names))
        else:
            exec(compile(ast.Module([statement], []), str(path), "exec"), names)
    return [value for value in values if value is not None]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SHOWN)
def test_a_page_runs_and_shows_tables_and_images(name, monkeypatch, capsys):
    monkeypatch.chdir(GALLERY)
    monkeypatch.syspath_prepend("..")
    shown = values_of(GALLERY / f"{name}.py", {"__name__": "__main__"})
    assert [type(value).__name__ for value in shown] == SHOWN[name]
    for value in shown:
        assert value._repr_html_()
    if name == "plot_compare":
        assert "\\toprule" in capsys.readouterr().out
