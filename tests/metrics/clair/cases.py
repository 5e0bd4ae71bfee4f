"""Cases of this metric for the tests of all metrics."""

from apart_cases import captioned
from signature_cases import each_of

APART = {"": ({}, captioned)}


def changes(files):
    demo = {"profile": "embedded"}
    one, two = files.text_judge(0), files.text_judge(1)
    short = {"max_new_tokens": 4}
    return {
        **each_of(short, model=(one, two)),
        **each_of(demo, variant=(None, "expected"), max_new_tokens=(None, 8)),
        **each_of({**short, "model": one}, dtype=(None, "bfloat16")),
    }


def named(files):
    return {"model": files.text_judge(0), "max_new_tokens": 4}
