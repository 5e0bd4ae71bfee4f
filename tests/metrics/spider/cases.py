"""Cases of this metric for the tests of all metrics."""

from graph_parsers import WordParser, renamed_pipeline
from signature_cases import each_of


def changes(files):
    program = {"parser": "spice-1.0", "java": files.java()}
    return {
        **each_of(
            {"parser": WordParser()},
            df=(None, files.frequencies("a dog")),
            tokenizer=(None, str.split),
            eos=(None, True),
        ),
        **each_of(
            {},
            parser=(WordParser("one"), WordParser("two")),
            pipeline=(renamed_pipeline("one"), renamed_pipeline("two")),
        ),
        **each_of(program, jars=(files.spice_jars("1"), files.spice_jars("2"))),
    }


def named(files):
    return {"profile": "embedded", "df": files.frequencies("a dog")}
