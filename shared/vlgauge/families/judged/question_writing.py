"""Prompt with which a language model writes the questions about a caption, and the parser of its answers.

The prompts of the authors ask for the tuples, the questions and the dependencies one after the other. This one asks for
all of them in one answer, with a line per tuple.
"""

import re

from vlgauge.core.errors import UsageError
from vlgauge.families.judged.question_graphs import GraphQuestion, QuestionGraph, check_graph
from vlgauge.models.judges.questions import PromptTemplate, Question

# No caption of the examples is from a dataset.
_TASK = (
    "Split the description of an image into its smallest facts, and write one line per fact:\n"
    "number | kind (words) | question | numbers of the facts that must hold for the question to make sense, or 0\n"
    "The kinds are: entity - whole, entity - part, attribute - color, attribute - type, attribute - material, "
    "attribute - count, attribute - size, attribute - shape, attribute - state, attribute - texture, attribute - text "
    "rendering, relation - spatial, relation - action, global. Each question must have the answer yes if the image "
    "shows the fact. Do not repeat a fact, do not add one, and write nothing else.\n"
)
_EXAMPLES = (
    (
        "two wooden boats near a lighthouse at dusk",
        "1 | entity - whole (boats) | Are there boats? | 0",
        "2 | entity - whole (lighthouse) | Is there a lighthouse? | 0",
        "3 | attribute - count (boats, two) | Are there two boats? | 1",
        "4 | attribute - material (boats, wood) | Are the boats made of wood? | 1",
        "5 | relation - spatial (boats, lighthouse, near) | Are the boats near the lighthouse? | 1,2",
        "6 | global (dusk) | Is it dusk? | 0",
    ),
    (
        "a watercolor of a gray cat whose tail is wrapped around a mug that says hello",
        "1 | global (watercolor) | Is this a watercolor? | 0",
        "2 | entity - whole (cat) | Is there a cat? | 0",
        "3 | attribute - color (cat, gray) | Is the cat gray? | 2",
        "4 | entity - part (cat's tail) | Does the cat have a tail? | 2",
        "5 | entity - whole (mug) | Is there a mug? | 0",
        "6 | relation - spatial (tail, mug, wrapped around) | Is the tail wrapped around the mug? | 4,5",
        "7 | attribute - text rendering (mug, hello) | Does the mug say hello? | 5",
    ),
    (
        "a girl throws a ball to her dog",
        "1 | entity - whole (girl) | Is there a girl? | 0",
        "2 | entity - whole (ball) | Is there a ball? | 0",
        "3 | entity - whole (dog) | Is there a dog? | 0",
        "4 | relation - action (girl, ball, throw) | Is the girl throwing the ball? | 1,2",
        "5 | relation - action (girl, dog, throw to) | Is the ball thrown to the dog? | 2,3",
    ),
)
_START = "\nDescription: "
_BEFORE = _TASK + "".join(f"{_START}{text}\n" + "\n".join(lines) + "\n" for text, *lines in _EXAMPLES) + _START
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
    return Question((_BEFORE, "\n"), (" ".join(caption.split()),))


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
