"""DSG by its definition (Cho et al., 2024), in plain loops, for comparison in tests."""

from collections.abc import Mapping
from collections.abc import Sequence


def dsg(answers: Mapping[int, str], parents: Mapping[int, Sequence[int]]) -> float:
    """Return the share of questions with the answer "yes" whose parents all have the answer "yes"."""
    total = 0.0
    for question, answer in answers.items():
        point = 1.0 if answer == "yes" else 0.0
        for parent in parents[question]:
            if answers[parent] != "yes":
                point = 0.0
        total += point
    return total / len(answers)
