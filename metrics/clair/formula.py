"""The score in the answer of a language model, and its expected value over the digit probabilities."""

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
    """Parsed answer of a judge model.

    Attributes:
        score: Score from 0 to 100. NaN if it is missing or invalid.
        reason: Reason as text. Empty if it is missing.
        start: Index of the number in the answer. -1 if it was not found.
        number: Number as written in the answer.
    """

    score: float
    reason: str
    start: int = -1
    number: str = ""


_NONE = Written(math.nan, "")


def parse_written_score(answer: str) -> Written:
    """Parse the score in an answer as CLAIR's code does (Chan et al., 2023).

    The text between the first opening brace and the next closing brace is parsed as JSON with the key "score". If that
    fails, the first number of the answer is used, multiplied by 100 if it is below 1. The score is NaN if it is not a
    number from 0 to 100.
    """
    opening = answer.find("{")
    closing = answer.find("}", opening + 1)
    inner = answer[opening : closing if closing >= 0 else len(answer)] + "}" if opening >= 0 else ""
    # As in the authors' code, cut the object off at a second opening brace.
    another = inner.find("{", 1)
    if another > 0:
        inner = inner[:another] + "}"
    try:
        parsed = json.loads(inner)
        value = parsed["score"]
    except (ValueError, KeyError, RecursionError):
        return _first_number(answer)
    reason = parsed.get("reason")
    return _within(_as_number(value), "" if reason is None else str(reason), answer, opening)


def _first_number(answer: str) -> Written:
    found = _NUMBER.search(answer)
    if found is None:
        return _NONE
    value = float(found.group())
    reason_match = _REASON.search(answer)
    reason = "" if reason_match is None else reason_match.group(1).strip()
    return _within(HIGHEST * value if value < 1 else value, reason, answer, found.start(), found.group())


def _as_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def _within(value: float, reason: str, answer: str, start: int, number: str = "") -> Written:
    """Return a score with the position of its number, or NaN if it is out of range."""
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
    """Find the tokens that are the digits of the score.

    Args:
        answer: Text of the answer.
        written: Output of `parse_written_score` for it.
        digit_at: Digit that each token is, -1 for other tokens, shape ``(n_tokens,)``.

    Returns:
        Indices of the tokens. Empty if the score is not written as an integer, or if its digits are not separate
        tokens.
    """
    if not (written.number.isascii() and written.number.isdigit()) or written.score != float(written.number):
        return []
    signs = [sign for sign in answer if sign in "0123456789"]
    places = [i for i, digit in enumerate(digit_at) if digit >= 0]
    if [int(sign) for sign in signs] != [digit_at[i] for i in places]:
        return []
    before = sum(sign in "0123456789" for sign in answer[: written.start])
    return places[before : before + len(written.number)]


def compute_expected_score(written: Written, places: Sequence[int], digits: Floats) -> float:
    """Compute the expected score over the digit probabilities, from 0 to 100. This is our extension.

    With ``p_i(d)`` the probability of digit d at position i among the ten digits, a one-digit score is ``sum_d d
    p_1(d)`` and a two-digit score is ``sum_d 10 d p_1(d) + sum_d d p_2(d)``. If the answer was 100, a first digit other
    than 1 starts a two-digit number, whose second digit is set to the midpoint: ``100 p_1(1) + sum_{d != 1} min(10 d +
    4.5, 100) p_1(d)``.

    Args:
        written: Output of `parse_written_score`.
        places: Output of `score_places`. If it is empty, the written score is returned.
        digits: Probability of each digit at each token, shape ``(n_tokens, 10)``.

    Returns:
        The expected score. NaN if the digits of a position have no probability.
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
