"""Cases of this metric for the tests of all metrics."""

from apart_cases import drawn, without
from signature_cases import each_of

APART = {"": ({}, lambda: without(drawn(), "references"))}


def changes(files):
    demo = {"profile": "embedded"}
    one, two = files.judge(0), files.judge(1)
    model, tower, other = files.clip_t5()
    return {
        **each_of({}, model=(one, two)),
        **each_of(demo, definition=(None, "v3.1"), template=(None, "{}?"), answer=(None, "No")),
        **each_of({"model": one}, dtype=(None, "bfloat16")),
        **each_of({"model": model}, tower=(tower, other)),
    }


def named(files):
    return {"model": files.judge(0)}
