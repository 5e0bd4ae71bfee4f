"""Cases of this metric for the tests of all metrics."""

from graph_parsers import WordParser, renamed_pipeline
from signature_cases import each_of, lengths, letters


def changes(files):
    return {
        **each_of(
            {"encoder": letters},
            parser=(WordParser("one"), WordParser("two")),
            pipeline=(renamed_pipeline("one"), renamed_pipeline("two")),
        ),
        **each_of({"encoder": letters, "parser": WordParser()}, variant=(None, "released")),
        **each_of({"parser": WordParser()}, encoder=(lengths, letters)),
        **each_of({"profile": "embedded", "parser": WordParser()}, pooling=(None, "cls")),
    }


def named(files):
    return {"profile": "embedded"}
