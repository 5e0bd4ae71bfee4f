"""Questions about a caption and their dependencies (Davidsonian Scene Graph): the released layout, and the score.

A table has a row per question: ``item_id``, ``text`` (the caption), ``proposition_id``, ``dependency`` (the ids of the
parents, 0 for none), ``tuple`` and ``question_natural_language``.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from vlgauge.core.errors import UsageError
from vlgauge.core.signatures import local_name
from vlgauge.core.validation import short_repr, valid_unicode
from vlgauge.inputs.tables.files import read_rows, rows_called

NUMBER, PARENTS, QUESTION = "proposition_id", "dependency", "question_natural_language"
TEXT, ITEM, TUPLE = "text", "item_id", "tuple"
_MOST_DIGITS = 9  # of a question number; Python raises an error for thousands of digits
_SHOWN = 10  # question numbers in a message


@dataclass(frozen=True)
class GraphQuestion:
    """Question about a caption that can be answered yes or no.

    Attributes:
        number: Id of the question within its caption.
        text: The question.
        parents: Ids of the questions that must be answered yes for this one to count.
        proposition: Semantic tuple that the question is about. Empty if unknown.
    """

    number: int
    text: str
    parents: tuple[int, ...] = ()
    proposition: str = ""


QuestionGraph = tuple[GraphQuestion, ...]
"""All questions about a caption. Parents are among them, and no question depends on itself."""


def is_number(text: str) -> bool:
    """Return whether a text is the number of a question, or 0."""
    return text.isdecimal() and len(text) <= _MOST_DIGITS


def parents_of(dependency: Any, place: str) -> tuple[int, ...]:
    """Parse the ids of the parents of a question, such as ``"1,2"``. The id 0 stands for no parent.

    As in the authors' code, words between the commas are dropped, because the released files contain cells such as
    ``"5, background"``.

    Args:
        dependency: Cell of a table: text, an integer, or a list of integers.
        place: Position of the cell, for error messages.

    Raises:
        UsageError: If the cell contains no number, or one that is not an integer of at least 0.
    """
    cells = dependency if isinstance(dependency, (list, tuple)) else str(dependency).split(",")
    words = [str(one).strip() for one in cells]
    numbers = [int(word) for word in words if is_number(word)]
    # A word without digits is dropped, but not a number such as -1 or 1.5.
    if not numbers or any(any(map(str.isdigit, word)) and not is_number(word) for word in words):
        got = short_repr(dependency)
        raise UsageError(f"{place} must have numbers of questions as {PARENTS!r}, 0 for none, got {got}")
    return tuple(dict.fromkeys(number for number in numbers if number))


def apply_dependencies(answers: Mapping[int, bool], parents: Mapping[int, Sequence[int]]) -> dict[int, bool]:
    """Return which questions count as answered yes, because they and all their parents are answered yes.

    As in the authors' code, only the answers to direct parents are used, whether or not those count themselves.

    Args:
        answers: Whether the answer is yes, by question.
        parents: Parents by question. Their answers must exist.
    """
    return {number: yes and all(answers[one] for one in parents[number]) for number, yes in answers.items()}


def dsg_score(answers: Mapping[int, bool], parents: Mapping[int, Sequence[int]]) -> float:
    """Compute DSG, the share of questions that count as answered yes (Cho et al., 2024).

    Args:
        answers: Whether the answer is yes, by question. At least one.
        parents: Parents by question, empty for questions that always count.
    """
    counted = apply_dependencies(answers, parents)
    return sum(counted.values()) / len(counted)


def check_graph(questions: Sequence[GraphQuestion], place: str) -> QuestionGraph:
    """Return the questions about a caption as a graph. A question that names itself as its parent loses this parent.

    Args:
        questions: The questions.
        place: Position of the questions, for error messages.

    Raises:
        UsageError: If two questions have the same id, a parent is unknown, or questions depend on each other.
    """
    known: dict[int, GraphQuestion] = {}
    for one in questions:
        if one.number in known:
            raise UsageError(f"{place} must have each {NUMBER!r} once, got {one.number} more than once")
        own = tuple(parent for parent in one.parents if parent != one.number)
        known[one.number] = GraphQuestion(one.number, one.text, own, one.proposition)
    for one in known.values():
        for parent in one.parents:
            if parent not in known:
                numbers = _list_numbers(known)
                raise UsageError(
                    f"{place} must have parents among the questions {numbers}, got {parent} as {PARENTS!r} of "
                    f"question {one.number}"
                )
    left = set(known)
    while free := {number for number in left if not left.intersection(known[number].parents)}:
        left -= free
    # Keep only the questions on the way from a question back to itself.
    while last := {number for number in left if not any(number in known[one].parents for one in left)}:
        left -= last
    if left:
        circle = _list_numbers(sorted(left))
        raise UsageError(f"{place} must have no questions that depend on each other, got {circle}; correct {PARENTS!r}")
    return tuple(known.values())


def graph_of(rows: Any, place: str) -> QuestionGraph:
    """Convert rows of the released layout to the questions about one caption.

    Args:
        rows: One mapping per question.
        place: Position of the rows, for error messages.

    Raises:
        UsageError: If a row has another layout, or the questions are no graph. See `check_graph`.
    """
    if isinstance(rows, (str, Mapping)) or not isinstance(rows, Sequence):
        raise UsageError(f"{place} must be a list of questions, got {short_repr(rows)}")
    found = []
    for i, row in enumerate(rows):
        here = f"question {i} of {place}"
        if not isinstance(row, Mapping) or not {NUMBER, PARENTS, QUESTION} <= row.keys():
            got = ", ".join(map(str, row)) if isinstance(row, Mapping) else short_repr(row)
            raise UsageError(f"{here} must have {NUMBER!r}, {PARENTS!r} and {QUESTION!r}, got {got or 'nothing'}")
        number, text = str(row[NUMBER]).strip(), row[QUESTION]
        if not is_number(number) or not int(number):
            raise UsageError(f"{here} must have a number from 1 as {NUMBER!r}, got {short_repr(row[NUMBER])}")
        if not isinstance(text, str) or not text.strip():
            raise UsageError(f"{here} must have a text as {QUESTION!r}, got {short_repr(text)}")
        valid_unicode(text, f"{QUESTION} of {here}")
        found.append(GraphQuestion(int(number), _tidy(text), parents_of(row[PARENTS], here), str(row.get(TUPLE) or "")))
    return check_graph(found, place)


class QuestionTable:
    """Questions about captions, in the released layout.

    Args:
        path: Table with the columns ``text``, ``proposition_id``, ``dependency`` and ``question_natural_language``, and
            optionally ``item_id`` and ``tuple``. Other columns are ignored. Questions are checked when they are used.

    Attributes:
        identity: Name for signatures, with a digest of the questions.

    Raises:
        UsageError: If the file cannot be read as a table, lacks a column, or has different questions about one caption.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        items: dict[str, dict[str, list[dict[str, Any]]]] = {}
        with rows_called("`questions`"):
            rows = read_rows(self.path)
        for i, row in enumerate(rows):
            if missing := [name for name in (TEXT, NUMBER, PARENTS, QUESTION) if name not in row]:
                raise UsageError(
                    f"`questions` must have the column {missing[0]!r}, got none in row {i} of {self.path!r}"
                )
            kept = {name: row.get(name) for name in (NUMBER, PARENTS, QUESTION, TUPLE)}
            items.setdefault(_tidy(str(row[TEXT])), {}).setdefault(str(row.get(ITEM)), []).append(kept)
        self._rows: dict[str, list[dict[str, Any]]] = {}
        for text, found in items.items():
            first, *others = found.items()
            for item, own in others:
                if own != first[1]:
                    raise UsageError(
                        f"`questions` must have one set of questions about a caption, got those of {first[0]!r} and "
                        f"{item!r} about {text!r:.60} in {self.path!r}"
                    )
            self._rows[text] = first[1]
        self.identity = local_name(hashlib.sha256(repr(sorted(self._rows.items())).encode()).hexdigest())

    def graphs(self, captions: Sequence[str]) -> list[QuestionGraph]:
        """Return the questions about each caption.

        Raises:
            UsageError: If there are none about a caption, or they are no graph.
        """
        found: dict[str, QuestionGraph] = {}
        for caption in map(_tidy, captions):
            if caption not in self._rows:
                raise UsageError(
                    f"`questions` must have questions about each caption, got none about {caption!r:.80} in "
                    f"{self.path!r}"
                )
            if caption not in found:
                found[caption] = graph_of(self._rows[caption], f"`questions` about {caption!r:.80}")
        return [found[_tidy(caption)] for caption in captions]


def _list_numbers(numbers: Collection[int]) -> str:
    """Return the numbers for a message, at most `_SHOWN` of them."""
    listed = ", ".join(map(str, islice(numbers, _SHOWN)))
    return listed if len(numbers) <= _SHOWN else f"{listed}, ... ({len(numbers)} in all)"


def _tidy(text: str) -> str:
    """Replace every run of whitespace with a single space."""
    return " ".join(text.split())
