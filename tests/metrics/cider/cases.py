"""Cases of this metric for the tests of all metrics."""

from apart_cases import captioned
from signature_cases import Files

APART = {"": ({}, captioned), "-eos": ({"eos": True, "variant": "cider-r"}, captioned)}


def changes(files: Files):
    return {
        "tokenizer": ({}, {"tokenizer": str.split}),
        "df": ({}, {"df": files.frequencies("a dog")}),
        "eos": ({}, {"eos": True}),
        "variant": ({}, {"variant": "cider-r"}),
    }


def named(files: Files):
    return {"df": files.frequencies("a dog")}
