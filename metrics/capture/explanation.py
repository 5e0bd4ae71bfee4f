"""CAPTURE: objects, attributes and relations of a caption, matched with those of a reference."""

from __future__ import annotations

from typing import Any

from vlgauge.explain.pages import number
from vlgauge.explain.said import SaidThings
from vlgauge.explain.said import chip
from vlgauge.explain.said import counted

KINDS = ("objects", "attributes", "relations")


class Capture(SaidThings):
    """Captions with what was matched in the first reference, kind by kind."""

    name = "capture"
    reading = (
        "Objects, attributes and relations are matched with those of each reference: as they stand, then synonyms.",
        "What is left counts by how near it is to the nearest one; three measures weigh 5, 5 and 2.",
        "An attribute is compared without its object: a red car beside a blue bus is as good as the reverse.",
    )

    def undefined(self, row: int) -> str:
        """No reference."""
        return "it has no reference to be compared with"

    def reason(self, row: int) -> str:
        """How many things are matched in the first reference, and one that is not."""
        first = self.details[row]["references"][0]
        things = [(own, True) for kind in KINDS for own, _ in first[kind]["matched"]]
        things += [(own, False) for kind in KINDS for own in first[kind]["caption_only"]]
        return counted(things, "it says nothing of a scene")

    def values(self, row: int) -> dict[str, Any]:
        """What was matched, kind by kind, with its measure."""
        first = self.details[row]["references"][0]
        groups = []
        for kind in KINDS:
            found = first[kind]
            chips = [chip(own if own == their else f"{own} = {their}", True) for own, their in found["matched"]]
            chips += [chip(own, False) for own in found["caption_only"]]
            groups.append({"name": f"{kind.capitalize()}, {number(found['f'])}:", "chips": chips})
        return {"caption": self.predictions[row], "groups": groups, "references": self.texts(row)}
