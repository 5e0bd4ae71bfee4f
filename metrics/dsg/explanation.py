"""DSG: the questions about a caption as a tree, with their answers."""

from collections.abc import Mapping
from typing import Any

from vlgauge.explain.captioned import ImageCaptions
from vlgauge.explain.marks import AGAINST, FOR, NIL
from vlgauge.explain.pages import cut, number

N_NODES = 60  # maximum number of questions in a tree
N_LETTERS = 80  # maximum length of a question in a reason


class DsgExplanation(ImageCaptions):
    """Questions about a caption, each below the question that it depends on."""

    name = "dsg"
    family_template = family_key = first_config = ""
    on_axis = (0.0, 1.0)

    def _parts(self, row: int) -> str:
        questions = self.details[row]["questions"]
        lost = [one["question"] for one in questions if not one["counted"]]
        sentence = f"{len(questions) - len(lost)} of {len(questions)} questions count as yes"
        return f"{sentence}, not “{cut(lost[0], N_LETTERS)}”" if lost else sentence

    def explain_undefined(self, row: int) -> str:
        """Return whether questions or probabilities are missing, as text."""
        if self.details[row]["questions"]:
            return "the model did not return how likely yes and no are"
        return "there are no questions about the caption"

    def values(self, row: int) -> dict[str, Any]:
        """Return the template values of a row: captions of the image, and the questions as a tree."""
        questions = self.details[row]["questions"]
        below: dict[int | None, list[Mapping[str, Any]]] = {}
        for one in questions[:N_NODES]:
            below.setdefault(min(one["parents"], default=None), []).append(one)
        nodes = {one["number"]: self._node(one) for one in questions[:N_NODES]}
        for parent, children in below.items():
            if parent in nodes:
                nodes[parent]["children"] = [nodes[one["number"]] for one in children]
        roots = [nodes[one["number"]] for parent, own in below.items() if parent not in nodes for one in own]
        more = len(questions) - len(nodes)
        return {**super().values(row), "tree": roots, "more_questions": more, "unparsed": self.details[row]["unparsed"]}

    def _node(self, one: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a question: its answer, and why a yes does not count."""
        others = sorted(one["parents"])[1:]
        note = f"{one['answer']}, {number(one['probability'])}" if one["answer"] else "no answer"
        if one["answer"] == "yes" and not one["counted"]:
            note += ", not counted"
        also = f"also depends on {', '.join(map(str, others))}" if others else ""
        tone = FOR if one["counted"] else AGAINST if one["answer"] == "no" else NIL
        return {
            "number": one["number"],
            "text": one["question"],
            "tone": tone,
            "note": note,
            "also": also,
            "children": [],
        }
