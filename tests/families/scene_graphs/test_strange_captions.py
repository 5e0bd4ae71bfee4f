"""Only captions that the rules cannot parse cause a warning."""

import warnings

import pytest
from foreign_captions import FOREIGN_CAPTIONS

from vlgauge.core.files import DATA
from vlgauge.families.scene_graphs import warn_of_strange
from vlgauge.inputs.tables.files import read_rows

FRENCH = [f"un {who} brun court {where}" for who in ("chien", "chat") for where in ("sur la plage", "dans le jardin")]


@pytest.mark.parametrize("captions", [*FOREIGN_CAPTIONS.values(), FRENCH], ids=[*FOREIGN_CAPTIONS, "French"])
def test_other_languages(captions):
    with pytest.warns(UserWarning, match="captions are English"):
        warn_of_strange(captions)


@pytest.mark.parametrize(
    ("caption", "shown"),
    [
        ("a dog <b>runs</b>", "<b>"),
        ("a dog<|im_end|>", "<|im_end|>"),
        ("a dog &amp; a cat", "&amp;"),
        ("**A dog** runs", "**"),
        ("a<br/>dog", "<br/>"),
    ],
)
def test_markup(caption, shown):
    with pytest.warns(UserWarning, match="markup") as told:
        warn_of_strange(["a cat", caption])
    assert [str(one.message) for one in told] == [
        f"a caption has markup, such as {shown!r}, which is parsed as words; remove it first"
    ]


def test_english_is_not_told_of():
    rows = read_rows(str(DATA / "style_demo.csv"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_strange([row["caption"] for row in rows])
        warn_of_strange(["R & D", "a <3 b", "x < y > z", "Xyzzy plugh"])
        warn_of_strange(["two dogs"] * 3 + ["<" * 100_000, "a " * 100_000])
