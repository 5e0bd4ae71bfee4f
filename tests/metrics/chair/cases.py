"""Cases of this metric for the tests of all metrics."""

from signature_cases import each_of


def changes(files):
    return each_of({}, variant=("fixed", "2018"), table=([["dog", "puppy"]], [["dog", "hound"]]))


def named(files):
    return {"table": [["dog", "puppy"]]}
