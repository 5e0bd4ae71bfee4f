"""Cases of this metric for the tests of all metrics."""

from apart_cases import sampled


def changes(files):
    return {
        "df": ({}, {"df": files.frequencies("a dog")}),
        "tokenizer": ({}, {"tokenizer": str.split}),
    }


def named(files):
    return {"df": files.frequencies("a dog")}


APART = {"": ({}, sampled), "-novel": ({"training_captions": ["a dog", "the big tree"]}, sampled)}
