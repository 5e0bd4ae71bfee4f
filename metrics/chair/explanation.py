"""CHAIR: the objects that a caption mentions, with hallucinated objects in orange."""

from typing import Any

from vlgauge.explain.explanation import Explanation
from vlgauge.explain.marks import AGAINST, FOR, Mark, pieces_of_runs
from vlgauge.explain.pages import quote_word


class ChairExplanation(Explanation):
    """Captions with their objects marked."""

    name = "chair"
    on_axis = (0.0, 1.0)
    why_undefined = "it names no object that the table knows"

    def explain_undefined(self, row: int) -> str:
        """Return the reason why a caption has no score."""
        if self.details[row]["present"] is None:
            return "it has no reference, and no objects of its image were given"
        return self.why_undefined

    def reason(self, row: int) -> str:
        """Return the number of hallucinated objects, with an example, as text."""
        found = self.details[row]["objects"]
        invented = [one for one in found if one["invented"]]
        if not invented:
            return f"all {len(found)} mentioned objects are in the image"
        names = quote_word(invented[0]["word"])
        return f"{len(invented)} of {len(found)} mentioned objects are not in the image, such as {names}"

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row.

        Returns:
            ``pieces``, the caption with marked objects, and ``present`` and ``missed`` objects of the image.
        """
        detail = self.details[row]
        marks: list[Mark | None] = [None] * len(detail["words"])
        for one in detail["objects"]:
            note = f"{quote_word(one['word'])} is {'no object' if one['invented'] else 'an object'} of the image"
            for place in range(one["start"], one["end"]):
                marks[place] = Mark(AGAINST if one["invented"] else FOR, note=note)
        pieces = pieces_of_runs(self.predictions[row], detail["words"], marks)
        return {"pieces": pieces, "present": detail["present"], "missed": detail["missed"]}
