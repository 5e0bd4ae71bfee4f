"""Only captions that the rules cannot parse cause a warning."""

import warnings

import pytest
from foreign_captions import FOREIGN_CAPTIONS

from vlgauge.core.files import DATA
from vlgauge.families.scene_graphs import warn_of_strange
from vlgauge.inputs.tables.files import read_rows


def check(captions):
    warn_of_strange(captions, "spice", "translate them")


FRENCH = [f"un {who} brun court {where}" for who in ("chien", "chat") for where in ("sur la plage", "dans le jardin")]


@pytest.mark.parametrize("captions", [*FOREIGN_CAPTIONS.values(), FRENCH], ids=[*FOREIGN_CAPTIONS, "French"])
def test_other_languages(captions):
    with pytest.warns(UserWarning, match="captions are English"):
        check(captions)


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
        check(["a cat", caption])
    assert [str(one.message) for one in told] == [
        f"a caption has markup, such as {shown!r}, which is parsed as words; remove it first"
    ]


@pytest.mark.parametrize("caption", ["собака", "一只狗在草地上跑"])
def test_one_caption_in_another_script(caption):
    message = "spice supports English only, but only 0 of 1 words of the captions are English, so .*; translate them$"
    with pytest.warns(UserWarning, match=f"^{message}"):
        check([caption])


def test_english_is_not_told_of():
    rows = read_rows(str(DATA / "style_demo.csv"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check([row["caption"] for row in rows])
        check(["R & D", "a <3 b", "x < y > z", "Xyzzy plugh"])
        check(["two dogs"] * 3 + ["<" * 100_000, "a " * 100_000])
