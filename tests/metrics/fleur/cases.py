"""Cases of this metric for the tests of all metrics."""

from apart_cases import drawn
from signature_cases import each_of

APART = {"": ({}, drawn)}


def changes(files):
    demo = {"profile": "embedded"}
    one, two = files.judge(0), files.judge(1)
    brief = {"max_new_tokens": 4}  # an untrained model generates no end token
    return {
        **each_of(brief, model=(one, two)),
        **each_of(demo, preset=(None, "expert"), variant=(None, "renormalised"), max_new_tokens=(None, 8)),
        **each_of(brief | {"model": one}, dtype=(None, "bfloat16"), adapter=(None, files.judge_adapter())),
    }


def named(files):
    return {"model": files.judge(0), "max_new_tokens": 4}
