"""Prompt with which a language model writes the questions about a caption, and the parser of its answers.

The prompts of the authors ask for the tuples, the questions and the dependencies one after the other. This one asks for
all of them in one answer, with a line per tuple.
"""

import re

from vlgauge.core.errors import UsageError
from vlgauge.core.files import DATA
from vlgauge.families.judged.question_graphs import GraphQuestion, QuestionGraph, check_graph
from vlgauge.models.judges.questions import PromptTemplate, Question

# No caption of its examples is from a dataset.
_PROMPT = (DATA / "prompts" / "dsg.txt").read_text("utf-8")
_START = "\nDescription: "
WRITING = PromptTemplate(
    "dsg",
    "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, detailed, "
    "and polite answers to the user's questions.",
)
"""Text around the prompt for LLaVA, whose training used it."""
PROMPT_VERSION = 1
"""Version of the prompt, for signatures."""

_PARENTS = re.compile(r"\d+(\s*,\s*\d+)*")


def writing_prompt(caption: str) -> Question:
    """Build the prompt about a caption, with whitespace normalized, so that it does not add a line."""
    return Question((_PROMPT + _START, "\n"), (" ".join(caption.split()),))


def parse_graph(answer: str) -> QuestionGraph | None:
    """Parse the answer of a language model. Lines without ``|`` are ignored.

    Returns:
        The questions. None if there are none, a line has another form, or they are no graph.
    """
    found = []
    for line in answer.splitlines():
        parts = [part.strip() for part in line.strip().strip("|").split("|")]
        if len(parts) == 1:
            continue
        if len(parts) != 4 or not all(parts) or not parts[0].isdecimal() or not _PARENTS.fullmatch(parts[3]):
            return None
        parents = tuple(dict.fromkeys(number for number in map(int, parts[3].split(",")) if number))
        found.append(GraphQuestion(int(parts[0]), parts[2], parents, parts[1]))
    try:
        return check_graph(found, "the answer") or None
    except UsageError:
        return None
