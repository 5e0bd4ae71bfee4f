"""The notebook in examples/: its cells run one after the other, and five of them show a page."""

import json

import pytest
from demo_page import Elements
from folders import ROOT

from vlgauge.explain import Explanation

NOTEBOOK = json.loads((ROOT / "examples" / "why.ipynb").read_text("utf-8"))


def cells(kind):
    return ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == kind]


@pytest.fixture(scope="module")
def shown():
    """Return the output of the last line of each cell."""
    found, names = [], {"__name__": "__main__"}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        for cell in cells("code"):
            exec(compile(cell, "why.ipynb", "exec"), names)
            found.append(names.get(cell.splitlines()[-1]))
    return [one for one in found if one is not None]


@pytest.mark.filterwarnings("ignore:.*demo CLIP")
def test_five_metrics_are_explained(shown):
    assert [one.name for one in shown] == ["rovist_nr", "cider", "trm", "onlystyle", "clip_s"]
    for one in shown:
        assert isinstance(one, Explanation)
        assert one._repr_html_().startswith("<iframe")
        assert Elements(one.html()).unclosed == []


@pytest.mark.filterwarnings("ignore:.*demo CLIP")
def test_they_show_what_the_text_says(shown):
    repeated, shared, triangles, style, images = (one.scores for one in shown)
    assert repeated[0] > repeated[1]
    assert shared[0] > shared[1]
    assert triangles[0] > triangles[1]
    assert style[0] > style[1]
    assert shown[4].is_demo
    assert len(images) == 9


def test_the_notebook_is_kept_without_outputs():
    assert [cell["outputs"] for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"] == [[]] * len(cells("code"))
