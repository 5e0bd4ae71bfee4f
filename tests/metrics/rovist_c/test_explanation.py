"""Sentences that follow their predecessor, and sentences that do not."""

from vlgauge.core.catalog import folder_module
from vlgauge.explain import explain


def test_lines_say_what_follows_and_what_is_said_again():
    detail = {
        "sentences": ["A.", "B.", "B.", "C."],
        "probabilities": [0.25, 0.0, 0.5],
        "identical": [False, True, False],
    }
    first, second, third, fourth = folder_module("rovist_c", "explanation").sentence_lines(detail)
    assert first == {"text": "A.", "probability": None}
    assert [(line["doubted"], line["again"]) for line in (second, third, fourth)] == [
        (True, False),
        (True, True),
        (False, False),
    ]
    result = {"rovist_c_scores": [0.25], "rovist_c_details": [detail], "rovist_c_signature": "rovist_c"}
    found = explain("rovist_c", {"predictions": [detail["sentences"]]}, result)
    assert found.reason(0) == "2 of 3 do not follow; lowest: sentence 3, 0.00"
    assert found.body(0).count('<mark class="against">') == 2
