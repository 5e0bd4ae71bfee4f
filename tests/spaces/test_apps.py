"""The app of every Space: five lines that differ only in the name."""

import ast

import assemble
import pytest

from vlgauge.core.catalog import metric_names


@pytest.mark.parametrize(("name", "words"), [*((name, [name]) for name in metric_names()), ("workbench", [])])
def test_it_opens_the_workbench_of_its_metric(name, words):
    text = assemble.app_of(name)
    opened = next(node.value for node in ast.parse(text).body if isinstance(node, ast.Assign))
    assert ast.unparse(opened.func) == "workbench.app"
    assert [ast.literal_eval(word) for word in opened.args] == words
    assert len([line for line in text.splitlines() if line]) == 5
    assert text.startswith(
        f'"""The Space of {name}: what `vlgauge workbench{" --metric " * bool(words)}{"".join(words)}`'
    )
