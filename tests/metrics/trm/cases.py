"""Cases of this metric for the tests of all metrics."""

from apart_cases import fake_encoder, sets
from signature_cases import each_of, vector_changes

_CIDER = {"distance": "cider_d", "encoder": None}
APART = {
    "": ({"mean_aggregate": True, "encoder": None}, sets),
    "-bert": ({"distance": "bert", "encoder": fake_encoder, "pvalue": "auto"}, sets),
    "-cider": ({**_CIDER, "permutations": 199}, sets),
    "-pooled": ({**_CIDER, "df": "pooled", "pvalue": None}, sets),
}


def changes(files):
    bert = {name: tuple({"distance": "bert"} | one for one in pair) for name, pair in vector_changes(files).items()}
    cider = {"distance": "cider_d", "tokenizer": "ptb"}
    return {
        **bert,
        **each_of({}, distance=(None, "rouge_l"), ties=(None, "paper"), tie_tol=(None, 0.5)),
        **each_of({}, force_zero_self=(None, True), tokenizer=(None, str.split)),
        **each_of(cider, df=(files.frequencies("a dog"), files.frequencies("a dog", "a cat"))),
    }


def named(files):
    return {"distance": "cider_d", "tokenizer": "ptb", "df": files.frequencies("a dog")}
