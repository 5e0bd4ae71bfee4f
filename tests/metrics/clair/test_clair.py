"""CLAIR: forty kinds of answers, the mean over digits, the question, and judges of tiny models."""

import json
import math
import re

import numpy as np
import pytest
import tiny_judges
import torch

import vlgauge
from vlgauge.core.catalog import folder_module
from vlgauge.models.judges import Answer


def formula():
    """Return the module of the formulas that the script loaded."""
    return folder_module("clair", "formula")


def released(answer):
    """Reimplement the released parser of an answer, with NaN for errors and values outside the range."""
    parts = answer.split("{")
    try:
        value = float(json.loads("{" + parts[1].split("}")[0] + "}")["score"])
    except (json.JSONDecodeError, KeyError, IndexError):
        numbers = re.findall(r"\d*\.?\d+", answer)
        if not numbers:
            return math.nan
        value = float(numbers[0])
        value = 100 * value if value < 1 else value
    except (TypeError, ValueError):
        return math.nan
    return value if 0 <= value <= 100 else math.nan


ANSWERS = [
    '{"score": 85, "reason": "same dog"}',
    '{"score": 0, "reason": "no"}',
    '{"score": 100, "reason": "yes"}',
    '{"score": 85.5, "reason": "same"}',
    '{"score": "85", "reason": "same"}',
    '{"score": " 85 ", "reason": "same"}',
    '{"score": "high", "reason": "same"}',
    '{"score": null}',
    '{"score": 1}',
    '{"score": 1.0}',
    '{"score": 0.85, "reason": "normalised"}',
    '{"score": 150, "reason": "too high"}',
    '{"score": -5, "reason": "below"}',
    '{"reason": "no score"}',
    '{"reason": "of 3 dogs", "score": 70}',
    '{\n  "score": 85,\n  "reason": "lines"\n}',
    'Sure! {"score": 40, "reason": "partly"} Hope this helps.',
    '```json\n{"score": 65, "reason": "fenced"}\n```',
    '{"score": 85, "reason": "a } brace"}',
    '{"score": 85, "reason": "a { brace"}',
    '{"score": 10} {"score": 90}',
    '{"inner": {"score": 30}}',
    "{'score': 85, 'reason': 'quotes'}",
    "{score: 85}",
    '{"Score": 85}',
    '{"score": 85, "reason": "unended',
    '{"score": 85',
    "{}",
    "{",
    "}",
    "Score: 85. Reason: the same dog",
    "85",
    "0.85",
    ".85",
    "85/100",
    "85%",
    "I would say 7 out of 10.",
    "There are 2 dogs; the score is 90.",
    "They are the same.",
    "",
    '{"score": 1e2}',
    '{"score": NaN}',
    '{"score": Infinity}',
    '{"score": [85]}',
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_answers_are_read_as_the_released_code_reads_them(answer):
    assert formula().parse_written_score(answer).score == pytest.approx(released(answer), nan_ok=True)


def test_there_are_forty_kinds_of_answers():
    assert len(set(ANSWERS)) >= 40


@pytest.mark.parametrize(
    ("answer", "reason", "number"),
    [
        ('{"score": 85, "reason": "same dog"}', "same dog", "85"),
        ('{"reason": "of 3 dogs", "score": 70}', "of 3 dogs", "70"),
        ("Score: 85. Reason: the same dog", "the same dog", "85"),
        ('{"score": "40", "reason": "x"}', "x", "40"),
        ('{"score": 40, "reason": null}', "", "40"),
    ],
)
def test_the_reason_and_the_number_are_found(answer, reason, number):
    found = formula().parse_written_score(answer)
    assert (found.reason, found.number) == (reason, number)
    assert answer[found.start :].startswith(number)


def test_true_is_no_number():
    assert math.isnan(formula().parse_written_score('{"score": true}').score)


# -- the mean over digits ----------------------------------------------------------------------------------------------
def expected(answer, **likely):
    """Compute the mean over the digits of the score.

    The keyword arguments give alternatives of a digit: place -> {digit: probability}.
    """
    found = formula()
    at = [int(sign) if sign.isdigit() else -1 for sign in answer]
    written = found.parse_written_score(answer)
    places = found.score_places(answer, written, at)
    digits = np.zeros((len(at), 10))
    for k, place in enumerate(places):
        for digit, chance in likely.get(f"place_{k}", {at[place]: 1.0}).items():
            digits[place, digit] = chance
    return found.compute_expected_score(written, places, digits)


def test_mean_by_hand():
    answer = '{"score": 85, "reason": "2 dogs"}'
    assert expected(answer) == 85
    assert expected(answer, place_0={8: 0.5, 9: 0.5}) == pytest.approx(90)
    assert expected(answer, place_1={5: 0.25, 0: 0.75}) == pytest.approx(81.25)
    assert expected(answer, place_0={8: 0.2, 6: 0.2}) == pytest.approx(75)  # normalized over the probability of digits
    assert expected('{"score": 7}', place_0={7: 0.5, 9: 0.5}) == pytest.approx(8)
    assert expected('{"score": 100}', place_0={1: 0.5, 9: 0.5}) == pytest.approx(0.5 * 100 + 0.5 * 94.5)


def test_a_number_with_a_point_is_its_own_mean():
    assert expected("0.85", place_0={1: 1.0}) == 85
    assert expected('{"score": 85.5}') == 85.5


def test_digits_of_a_reason_before_are_none_of_the_score():
    assert expected('{"reason": "of 3 dogs", "score": 70}', place_0={7: 0.5, 6: 0.5}) == pytest.approx(65)


def test_tokens_of_several_digits_have_no_places():
    found = formula()
    written = found.parse_written_score("85")
    assert found.score_places("85", written, [-1]) == []
    assert math.isnan(found.compute_expected_score(written, [0, 1], np.zeros((2, 10))))


# -- through the metric ------------------------------------------------------------------------------------------------
class Scripted:
    """Judge model that returns scripted answers in turn, and records the requests."""

    identity, dtype, preparation, reads_digits = "scripted", "float32", "own", True

    def __init__(self, *texts):
        self.texts, self.asked = texts, []

    def opening(self, opening):
        return "none"

    def find_altered(self, questions):
        return ["<" in question.text() for question in questions]

    def answers(self, questions, opening, *, longest, batch_size=1, progress=None):
        self.asked += [question.text() for question in questions]
        return [self.answer(text) for text in self.texts[: len(questions)]]

    def answer(self, text):
        at = np.array([int(sign) if sign.isdigit() else -1 for sign in text] or [-1])
        digits = np.full((len(at), 10), 0.01)
        digits[np.arange(len(at)), at] += 0.5
        return Answer(text, at, digits)

    def chances(self, questions, answers, opening, *, batch_size=1, progress=None):
        raise NotImplementedError


def test_scores_and_what_is_not_read():
    metric = vlgauge.load("clair", model=Scripted('{"score": 85, "reason": "dog"}', "no idea", "{'score': 150}"))
    result = metric.compute(predictions=["a", "b", "c", "d"], references=[["x"], ["y"], [], ["z"]], return_details=True)
    assert result["clair_scores"] == pytest.approx([0.85, math.nan, math.nan, math.nan], nan_ok=True)
    assert (result["clair"], result["clair_undefined"], result["clair_unread"]) == (0.85, 3, 2)
    assert [detail.get("reason") for detail in result["clair_details"]] == ["dog", "", None, ""]


def test_the_question_is_that_of_the_authors():
    judge = Scripted("85")
    vlgauge.load("clair", model=judge).compute(predictions=["a  dog\n- a cat"], references=[["one dog", "a puppy"]])
    assert judge.asked == [
        "You are trying to tell if a candidate set of captions is describing the same image as a reference set of "
        "captions.\nCandidate set:\n- a dog - a cat\n\nReference set:\n- one dog\n- a puppy\n\nOn a precise scale from "
        "0 to 100, how likely is it that the candidate set is describing the same image as the reference set? (JSON "
        'format, with a key "score", value between 0 and 100, and a key "reason" with a string value.)\n'
    ]


def test_the_mean_needs_digits_that_are_tokens():
    judge = Scripted("85")
    judge.reads_digits = False
    columns = {"predictions": ["a"], "references": ["b"]}
    assert vlgauge.load("clair", model=judge).compute(**columns)["clair"] == 0.85
    with pytest.raises(ValueError, match=r"^`variant='expected'`"):
        vlgauge.load("clair", model=judge, variant="expected").compute(**columns)


def test_a_model_must_be_named():
    with pytest.raises(ValueError, match=r"^`model`.*Apache-2\.0"):
        vlgauge.load("clair").compute(predictions=["a"], references=["b"])


@pytest.mark.parametrize("settings", [{"variant": "paper"}, {"max_new_tokens": 0}])
def test_wrong_settings(settings):
    with pytest.raises(ValueError, match=f"`{next(iter(settings))}` must be"):
        vlgauge.load("clair", **settings)


# -- through models ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("printed", ["85", "7", "10"])
def test_a_tiny_language_model(tmp_path, printed):
    """Check that the answer equals the output of `generate`, and the mean the one computed from its logits."""
    from vlgauge.models.judges.loading import judge_of

    folder = tiny_judges.text_model(tmp_path, seed=2, answer=printed, strength=6.0)
    metric = vlgauge.load("clair", model=str(folder), device="cpu", variant="expected", max_new_tokens=8)
    result = metric.compute(predictions=["a dog"], references=[["a puppy"]], return_details=True)
    detail = result["clair_details"][0]
    judge = judge_of(folder, device="cpu")
    prompt = f"<|im_start|>user\n{detail['question']}<|im_end|>\n<|im_start|>assistant\n"
    ids = judge._tokenizer([prompt], add_special_tokens=False, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        made = judge.model.generate(ids, max_new_tokens=8, output_logits=True, return_dict_in_generate=True)
    text = judge._tokenizer.decode(made.sequences[0, ids.shape[1] :]).strip().removesuffix("<|im_end|>")
    assert detail["answer"] == text == printed
    digits = [judge._tokenizer.convert_tokens_to_ids(str(d)) for d in range(10)]
    chances = [torch.softmax(one[0].double(), dim=-1)[digits].numpy() for one in made.logits[: len(text)]]
    means = [float(one @ np.arange(10) / one.sum()) for one in chances]
    assert 100 * result["clair"] == pytest.approx(sum(10**k * one for k, one in enumerate(means[::-1])), rel=1e-5)
    assert result["clair_signature"].endswith("|chat_template:chat")


def test_t5_and_llava_read_text_alone(tmp_path):
    for make in (tiny_judges.t5, tiny_judges.llava, tiny_judges.qwen):
        folder = make(tmp_path / make.__name__)
        metric = vlgauge.load("clair", model=str(folder), device="cpu", max_new_tokens=3)
        result = metric.compute(predictions=["a dog"], references=[["a puppy"]], return_details=True)
        assert len(result["clair_details"]) == 1


def test_the_demo_model_prefers_the_right_caption():
    demo = vlgauge.load("clair", profile="embedded", device="cpu")
    result = demo.compute(
        predictions=["a small red circle on a grey background", "a huge blue star"],
        references=[["on a grey background there is a little red disc"]] * 2,
    )
    assert result["clair_scores"][0] > result["clair_scores"][1] + 0.3
