"""CAPTURE: objects, attributes and relations of a caption, matched with those of a reference."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from vlgauge.explain.pages import number
from vlgauge.explain.said import SaidThings, chip, counted, drawn, nil

KINDS = ("objects", "attributes", "relations")


class Capture(SaidThings):
    """Captions with what was matched in the first reference, kind by kind."""

    name = "capture"
    reading = (
        "Objects, attributes and relations are matched with those of each reference: as they stand, then synonyms.",
        "What is left counts by how near it is to the nearest one; three measures weigh 5, 5 and 2.",
        "An attribute is compared without its object: a red car beside a blue bus is as good as the reverse.",
    )
    why_undefined = "it has no reference to be compared with"

    def reason(self, row: int) -> str:
        """How many things are matched in the first reference, and one that is not."""
        first = self.details[row]["references"][0]
        things = [(own, True) for kind in KINDS for own, _ in first[kind]["matched"]]
        things += [(own, False) for kind in KINDS for own in first[kind]["caption_only"]]
        return counted(things, "it says nothing of a scene")

    def values(self, row: int) -> dict[str, Any]:
        """Its graph, and what was matched by synonyms, kind by kind with its measure."""
        first = self.details[row]["references"][0]
        groups = []
        for kind in KINDS:
            found = first[kind]
            chips = [chip(f"{own} = {their}", True) for own, their in found["matched"] if own != their]
            chips += [nil(their) for their in found["reference_only"]]
            groups.append({"name": f"{kind.capitalize()}, {number(found['f'])}; in the reference:", "chips": chips})
        graph = drawn(self._tuples(row, first))
        return {"caption": self.predictions[row], "graph": graph, "groups": groups, "references": self.texts(row)}

    def _tuples(self, row: int, first: dict[str, Any]) -> Iterator[tuple[list[str], dict[str, Any]]]:
        """The tuples of a caption; an attribute stands as often among the matched ones as it was matched."""
        matched = {kind: Counter(own for own, _ in first[kind]["matched"]) for kind in KINDS}
        alone = {kind: Counter(first[kind]["caption_only"]) for kind in KINDS}
        for parts in self.details[row]["graph"]:
            kind = KINDS[len(parts) - 1]
            text = parts[1] if kind == "attributes" else " ".join(parts)
            left = next((pile[kind] for pile in (matched, alone) if pile[kind][text]), None)
            if left is None:  # a word that is no object
                yield parts, nil(parts[0])
            else:
                left[text] -= 1
                yield parts, chip(parts[0], left is matched[kind])
