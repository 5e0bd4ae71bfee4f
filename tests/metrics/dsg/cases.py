"""Cases of this metric for the tests of all metrics."""

from apart_cases import drawn, without
from signature_cases import each_of

APART = {"": ({}, lambda: without(drawn(), "references"))}
TABLE = "item_id,text,proposition_id,dependency,question_natural_language\na,a dog,1,0,Is there a dog?\n"


def changes(files):
    demo = {"profile": "embedded"}
    first = files.text("first.csv", TABLE)
    second = files.text("second.csv", f"{TABLE}a,a dog,2,1,Is it brown?\n")
    one, two = files.text_judge(0), files.text_judge(1)
    written = {**demo, "question_model": one}
    return {
        **each_of({"questions": first}, model=(files.judge(0), files.judge(1))),
        **each_of({"questions": first, "model": files.judge(0)}, dtype=(None, "bfloat16")),
        **each_of(demo, questions=(first, second), template=(None, "{}"), independent=(None, True)),
        **each_of({**demo, "max_new_tokens": 4}, question_model=(one, two)),
        **each_of(written, max_new_tokens=(4, 5)),
    }


def named(files):
    return {"model": files.judge(0), "questions": files.text("named.csv", TABLE)}
