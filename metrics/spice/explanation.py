"""SPICE: what a caption says of the scene, and which of it its references say too."""

from typing import Any

from vlgauge.explain.said import SaidThings, chip, counted, drawn, nil


class Spice(SaidThings):
    """Captions with their tuples, and those of the references that they lack."""

    name = "spice"
    reading = (
        "A caption and its references are read as graphs: objects, attributes of objects, relations between them.",
        "The score is the harmonic mean of two shares: what of it they say too, and what of theirs it says.",
        "Where it is low although all is right, it says little: references of five people say more than one caption.",
    )

    def reason(self, row: int) -> str:
        """How many tuples are matched, and one that is not."""
        things = [(said(one["parts"]), bool(one["matched"])) for one in self.details[row]["tuples"]]
        return counted(things, "it says nothing of a scene")

    def values(self, row: int) -> dict[str, Any]:
        """Its graph, and what the references say beside it."""
        detail = self.details[row]
        graph = drawn((one["parts"], chip(one["parts"][0], bool(one["matched"]))) for one in detail["tuples"])
        lacking = [nil(said(one["parts"])) for one in detail["references"] if not one["matched"]]
        groups = [{"name": "In the references only", "chips": lacking}]
        return {"caption": self.predictions[row], "graph": graph, "groups": groups, "references": self.texts(row)}


def said(parts: Any) -> str:
    """A tuple as people write it: "brown dog", "dog chase cat"."""
    return " ".join(reversed(parts)) if len(parts) == 2 else " ".join(parts)
