"""What the tests of all metrics want of this one."""

from graph_parsers import WordParser, renamed_pipeline
from signature_cases import each_of


def changes(files):
    return each_of(
        {},
        parser=(WordParser("one"), WordParser("two")),
        pipeline=(renamed_pipeline("one"), renamed_pipeline("two")),
    )


def named(files):
    return {"profile": "embedded"}
