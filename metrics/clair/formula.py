"""The score in what a language model wrote, and the mean over its digits in place of it."""

import json
import math
import re
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

VARIANTS = ("released", "expected")
HIGHEST = 100
_NUMBER = re.compile(r"\d*\.?\d+")
_SCORE = re.compile(r'"score"\s*:\s*"?\s*')
_REASON = re.compile(r"reason\W*(.*)", re.IGNORECASE)


class Written(NamedTuple):
    """What an answer says.

    Attributes:
        score: From 0 to 100; NaN where none can be read.
        reason: Text; "" for none.
        start: Where the number begins in the answer; -1 where none can be read.
        number: As it was written.
    """

    score: float
    reason: str
    start: int = -1
    number: str = ""


_NONE = Written(math.nan, "")


def written_score(answer: str) -> Written:
    """The score in an answer, as CLAIR's code reads it (Chan et al., 2023).

    First what stands between the first opening and the next closing brace, as JSON with the key "score"; where that is
    none, the first number of the answer, times 100 if it is below 1. What is outside of 0 to 100, or no number, is NaN.
    """
    opening = answer.find("{")
    closing = answer.find("}", opening + 1)
    inner = answer[opening : closing if closing >= 0 else len(answer)] + "}" if opening >= 0 else ""
    # Where the object is cut short by another one, so does the code cut it.
    another = inner.find("{", 1)
    if another > 0:
        inner = inner[:another] + "}"
    try:
        told = json.loads(inner)
        value = told["score"]
    except (ValueError, KeyError, RecursionError):
        return _first_number(answer)
    reason = told.get("reason")
    return _within(_as_number(value), "" if reason is None else str(reason), answer, opening)


def _first_number(answer: str) -> Written:
    found = _NUMBER.search(answer)
    if found is None:
        return _NONE
    value = float(found.group())
    told = _REASON.search(answer)
    reason = "" if told is None else told.group(1).strip()
    return _within(HIGHEST * value if value < 1 else value, reason, answer, found.start(), found.group())


def _as_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def _within(value: float, reason: str, answer: str, start: int, number: str = "") -> Written:
    """A score that is in its range, with the place of its number."""
    if not 0 <= value <= HIGHEST:
        return Written(math.nan, reason)
    if not number:
        key = _SCORE.search(answer, start)
        found = None if key is None else _NUMBER.match(answer, key.end())
        if found is None:
            return Written(value, reason)
        start, number = found.start(), found.group()
    return Written(value, reason, start, number)


def score_places(answer: str, written: Written, digit_at: Sequence[int]) -> list[int]:
    """Which tokens are the digits of the score; none where it is no whole number, or its digits are not tokens.

    Args:
        answer: The text.
        written: What `written_score` found in it.
        digit_at: The digit that each token is, -1 for none, shape ``(n_tokens,)``.
    """
    if not (written.number.isascii() and written.number.isdigit()) or written.score != float(written.number):
        return []
    signs = [sign for sign in answer if sign in "0123456789"]
    places = [i for i, digit in enumerate(digit_at) if digit >= 0]
    if [int(sign) for sign in signs] != [digit_at[i] for i in places]:
        return []
    before = sum(sign in "0123456789" for sign in answer[: written.start])
    return places[before : before + len(written.number)]


def expected_score(written: Written, places: Sequence[int], digits: Floats) -> float:
    """Mean of the score over the digits that could stand in the places of its own, from 0 to 100; ours.

    With ``p_i(d)`` the probability of digit d in place i among the ten digits: ``sum_d d p_1(d)`` of one digit,
    ``sum_d 10 d p_1(d) + sum_d d p_2(d)`` of two. Where 100 was written, a first digit other than 1 is one of two
    digits, whose second is in the middle: ``100 p_1(1) + sum_{d != 1} min(10 d + 4.5, 100) p_1(d)``.

    Args:
        written: What was read.
        places: As `score_places` finds them; without any the score that was written is its own mean.
        digits: Probability of each digit in the place of each token, shape ``(n_tokens, 10)``.
    """
    if not places:
        return written.score
    rows = np.asarray(digits, dtype=np.float64)[list(places)]
    totals = rows.sum(axis=1, keepdims=True)
    if (totals <= 0).any():
        return math.nan
    rows, values = rows / totals, np.arange(10.0)
    if len(places) > 2:
        of_first = np.where(values == 1, HIGHEST, 10 * values + 4.5)
        return float(rows[0] @ of_first)
    return float(sum(row @ values * 10.0**power for power, row in enumerate(rows[::-1])))
