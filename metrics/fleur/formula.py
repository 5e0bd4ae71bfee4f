"""The number in the answer of a judge model, and its expected value over the digit probabilities."""

import math
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

VARIANTS = ("released", "renormalised")
_LONGEST_OF_ONE_DECIMAL = 3  # characters of "0.5"


def parse_number(text: str) -> float:
    """Parse the number in an answer.

    The number consists of all digits and points of the answer, with leading and trailing points stripped. Hence "Score:
    0.85." is 0.85, ".5" is 5 and therefore NaN, and "0.8/1.0" is NaN.

    Returns:
        The number. NaN if it is not in [0, 1].
    """
    kept = re.sub(r"[^0-9.]", "", text).strip(".")
    try:
        number = float(kept)
    except ValueError:
        return math.nan
    return number if 0 <= number <= 1 else math.nan


def find_smoothed_places(number: float, digit_at: Sequence[int]) -> list[int]:
    """Find the tokens of an answer that are averaged over the digits, as in the released code.

    These are the tokens of the first and second decimal, or of the digit 1. A third decimal and a trailing zero are
    ignored.

    Args:
        number: Output of `parse_number`.
        digit_at: Digit that each token of the answer is, -1 for other tokens, shape ``(n_tokens,)``.

    Returns:
        One or two token indices. Empty if the tokens do not match the number.
    """
    if math.isnan(number):
        return []

    def where(digit: int) -> list[int]:
        return [i for i, own in enumerate(digit_at) if own == digit]

    if number == 1:
        ones = where(1)
        return ones if len(ones) == 1 else []
    printed = str(number)
    if not re.fullmatch(r"0\.\d+", printed):  # such as 1e-05
        return []
    first = where(int(printed[2]))
    # If the first decimal is zero, it is the second zero of the answer, or the only one if just "0" was printed.
    places = first[1:2] if printed[2] == "0" and len(first) > 1 else first[:1]
    if len(printed) > _LONGEST_OF_ONE_DECIMAL and places:
        second = where(int(printed[3]))
        chosen = second[1:2] if len(second) > 1 else second
        return [*places, *chosen] if chosen else []
    return places


def compute_smoothed_score(number: float, places: Sequence[int], digits: Floats, variant: str = "released") -> float:
    """Compute FLEUR of an answer, the expected score over the digit probabilities (Lee et al., 2024, score smoothing).

    With ``p_i(d)`` the probability of digit d at position i, the score is ``sum_d 0.1 d p_1(d)``, plus ``sum_d 0.01 d
    p_2(d)`` if a second decimal was printed. For the number 1 it is ``0.9 p(0) + p(1)``.

    Args:
        number: Output of `parse_number`.
        places: Output of `find_smoothed_places`.
        digits: Probability of each digit at each token of the answer, shape ``(n_tokens, 10)``.
        variant: "released" uses probabilities over the whole vocabulary, so that the probability of other tokens is
            lost. "renormalised" divides by the total probability of all ten digits, or of 0 and 1 for the number 1.

    Returns:
        The score. NaN if `places` is empty or the digits have no probability.
    """
    if not places:
        return math.nan
    rows = np.asarray(digits, dtype=np.float64)[list(places)]
    weights = np.zeros((len(places), 10))
    known = np.ones(10, dtype=bool)
    if number == 1:
        weights[0, :2] = 0.9, 1.0
        known[2:] = False
    else:
        for k in range(len(places)):
            weights[k] = np.arange(10) * 0.1 ** (k + 1)
    if variant == "renormalised":
        totals = rows[:, known].sum(axis=1, keepdims=True)
        if (totals <= 0).any():
            return math.nan
        rows = rows / totals
    return float((rows * weights).sum())
