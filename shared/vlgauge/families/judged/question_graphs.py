"""Questions about a caption and their dependencies (Davidsonian Scene Graph): the released layout, and the score.

A table has a row per question: ``item_id``, ``text`` (the caption), ``proposition_id``, ``dependency`` (the ids of the
parents, 0 for none), ``tuple`` and ``question_natural_language``.
"""

from collections.abc import Mapping, Sequence

from vlgauge.core.errors import UsageError


def parents_of(dependency: str, place: str) -> tuple[int, ...]:
    """Parse the ids of the parents of a question, such as ``"1,2"``. The id 0 stands for no parent.

    As in the authors' code, words between the commas are dropped, because the released files contain cells such as
    ``"5, background"``.

    Args:
        dependency: Cell of a table.
        place: Position of the cell, for error messages.

    Raises:
        UsageError: If the cell contains no number.
    """
    numbers = [int(part) for part in map(str.strip, dependency.split(",")) if part.isdecimal()]
    if not numbers:
        raise UsageError(f"{place} must have numbers of questions as 'dependency', 0 for none, got {dependency!r:.60}")
    return tuple(dict.fromkeys(number for number in numbers if number))


def counted_answers(answers: Mapping[int, bool], parents: Mapping[int, Sequence[int]]) -> dict[int, bool]:
    """Return which questions count as answered yes, because they and all their parents are answered yes.

    As in the authors' code, only the answers to direct parents are used, whether or not those count themselves.

    Args:
        answers: Whether the answer is yes, by question.
        parents: Parents by question. Their answers must exist.
    """
    return {number: yes and all(answers[one] for one in parents[number]) for number, yes in answers.items()}


def dsg_score(answers: Mapping[int, bool], parents: Mapping[int, Sequence[int]]) -> float:
    """Compute DSG, the share of questions that count as answered yes (Cho et al., 2024, Sec. 3).

    Args:
        answers: Whether the answer is yes, by question. At least one.
        parents: Parents by question, empty for questions that always count.
    """
    counted = counted_answers(answers, parents)
    return sum(counted.values()) / len(counted)
