"""Cases of this metric for the tests of all metrics."""

from signature_cases import by_line


def changes(files):
    return {
        "variant": ({}, {"variant": "paper"}),
        "n": ({}, {"n": 2}),
        "sentences": ({}, {"sentences": by_line}),
        "lowercase": ({}, {"lowercase": True}),
    }


def named(files):
    return {"sentences": by_line}
