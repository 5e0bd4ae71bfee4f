"""The app of every Space: five lines, the same for all but the name."""

import ast

import pytest
from folders import ROOT

from vlgauge.catalog import metric_names

SPACES = ROOT / "spaces"


def test_every_metric_has_a_space_and_so_has_the_workbench():
    assert sorted(path.parent.name for path in SPACES.glob("*/app.py")) == sorted([*metric_names(), "workbench"])


@pytest.mark.parametrize("name", metric_names())
def test_apps_differ_in_the_name_alone(name):
    text = (SPACES / name / "app.py").read_text("utf-8")
    first = metric_names()[0]
    assert text.replace(name, first) == (SPACES / first / "app.py").read_text("utf-8")
    assert len([line for line in text.splitlines() if line]) == 5


def test_the_workbench_shows_all():
    text = (SPACES / "workbench" / "app.py").read_text("utf-8")
    one = (SPACES / "rovist_nr" / "app.py").read_text("utf-8")
    assert ast.dump(ast.parse(text.partition("\n")[2])) == ast.dump(
        ast.parse(one.partition("\n")[2].replace('"rovist_nr"', ""))
    )
