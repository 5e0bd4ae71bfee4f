"""Cases of this metric for the tests of all metrics."""

from apart_cases import drawn_stories, without
from signature_cases import by_line, each_of, even
from tiny_rovist_c import CHECKPOINT

APART = {"": ({}, lambda: without(drawn_stories(), "images"))}


def changes(files):
    demo = {"profile": "embedded"}
    return {
        **each_of(demo, model=(None, even)),
        **each_of({"model": str(CHECKPOINT)}, base=(files.base("one"), files.base("two"))),
        **each_of(demo, context=(None, "prefix"), identical=(None, "score"), coherent_label=(None, 0)),
        **each_of(demo, sentences=(None, by_line), truncation=(None, "error")),
    }


def named(files):
    return {"model": str(CHECKPOINT), "base": files.base("one")}
