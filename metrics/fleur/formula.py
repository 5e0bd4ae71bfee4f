"""The number that a judge printed, and the mean over its digits in place of it."""

import math
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

VARIANTS = ("released", "renormalised")
_LONGEST_OF_ONE_DECIMAL = 3  # signs of 0.5


def printed_number(text: str) -> float:
    """The number in an answer: all its digits and points, those at both ends of it left out; NaN for none in [0, 1].

    So "Score: 0.85." is 0.85, ".5" is 5 and therefore none, and "0.8/1.0" is none.
    """
    kept = re.sub(r"[^0-9.]", "", text).strip(".")
    try:
        number = float(kept)
    except ValueError:
        return math.nan
    return number if 0 <= number <= 1 else math.nan


def smoothed_places(number: float, digit_at: Sequence[int]) -> list[int]:
    """Which tokens of an answer are averaged over the digits, as the released code looks for them.

    Those of the first and of the second decimal, or that of the digit 1; a third decimal plays no part, nor does a
    zero at the end.

    Args:
        number: As `printed_number` reads it.
        digit_at: The digit that each token of the answer is, -1 for none, shape ``(n_tokens,)``.

    Returns:
        One place or two; none where the tokens are not those of the number.
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
    # A zero as the first decimal is the second zero; where "0" was printed alone, its one zero is taken.
    places = first[1:2] if printed[2] == "0" and len(first) > 1 else first[:1]
    if len(printed) > _LONGEST_OF_ONE_DECIMAL and places:
        second = where(int(printed[3]))
        chosen = second[1:2] if len(second) > 1 else second
        return [*places, *chosen] if chosen else []
    return places


def smoothed_score(number: float, places: Sequence[int], digits: Floats, variant: str = "released") -> float:
    """FLEUR of an answer: the mean over the digits that could stand in a place (Lee et al., 2024, score smoothing).

    With ``p_i(d)`` the probability of digit d in place i: ``sum_d 0.1 d p_1(d)``, more by ``sum_d 0.01 d p_2(d)`` where
    a second decimal was printed; for the number 1 it is ``0.9 p(0) + p(1)``.

    Args:
        number: As `printed_number` reads it.
        places: As `smoothed_places` finds them.
        digits: Probability of each digit in the place of each token of the answer, shape ``(n_tokens, 10)``.
        variant: "released": of the whole vocabulary, so that what other tokens get is lost; "renormalised": divided by
            what all ten digits get, or for the number 1 by what 0 and 1 get.
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
