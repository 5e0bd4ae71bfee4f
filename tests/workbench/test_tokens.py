"""Errors never repeat a token, neither from its field nor from a field into which it was pasted by mistake."""

import gradio as gr
import pytest

from vlgauge_workbench.data_set_call import score_dataset_of
from vlgauge_workbench.errors import in_one_sentence, without_tokens
from vlgauge_workbench.hosting import OWN_MACHINE

TOKEN = "hf_" + "Ab1" * 11


@pytest.mark.parametrize("token", [TOKEN, "secret-word"])
@pytest.mark.parametrize("where", ["metric", "dataset", "revision", "split", "token"])
def test_no_error_of_a_call_repeats_a_token(token, where):
    given = {"metric": "bleu", "dataset": "no name", "split": "test", "revision": "", "token": token}
    if where != "token":
        given[where] = token
    else:
        given["token"] = f"{token}\n"
    if where == "metric":
        given["metric"] = TOKEN
    with pytest.raises(gr.Error) as told:
        in_one_sentence(score_dataset_of(OWN_MACHINE))(**given)
    assert token not in str(told.value)
    assert TOKEN not in str(told.value)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"got {TOKEN!r}", "got '(a token)'"),
        ("Bearer abc.def there", "Bearer (a token) there"),
        ("https://x/y?token=abc&z=1", "https://x/y?token=(a token)&z=1"),
        ("a token_type or hf_hub is none", "a token_type or hf_hub is none"),
    ],
)
def test_what_looks_like_a_token_is_hidden(text, left):
    assert without_tokens(text) == left
