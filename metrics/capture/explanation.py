"""CAPTURE: objects, attributes and relations of a caption, matched with a reference."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from vlgauge.explain.pages import number
from vlgauge.explain.said import MentionedContent, chip, count_statements, nil

KINDS = ("objects", "attributes", "relations")


class CaptureExplanation(MentionedContent):
    """Captions with the matches in the first reference, grouped by kind."""

    name = "capture"
    why_undefined = "it has no reference to be compared with"

    def reason(self, row: int) -> str:
        """Return the number of phrases matched in the first reference, and one unmatched phrase, as text."""
        first = self.details[row]["references"][0]
        things = [(own, True) for kind in KINDS for own, _ in first[kind]["matched"]]
        things += [(own, False) for kind in KINDS for own in first[kind]["caption_only"]]
        return count_statements(things, "it describes no scene")

    def chip_groups(self, row: int) -> list[dict[str, Any]]:
        """Return the F-score of each kind, with its matches by synonyms and the missing content."""
        groups = []
        for kind in KINDS:
            found = self.details[row]["references"][0][kind]
            chips = [chip(f"{own} = {their}", True) for own, their in found["matched"] if own != their]
            chips += [nil(their) for their in found["reference_only"]]
            groups.append({"name": f"{kind.capitalize()}, {number(found['f'])}; in the reference:", "chips": chips})
        return groups

    def tuples(self, row: int) -> Iterator[tuple[list[str], dict[str, Any]]]:
        """Yield the tuples of a caption with their chips. A repeated attribute is matched once per match found."""
        first = self.details[row]["references"][0]
        matched = {kind: Counter(own for own, _ in first[kind]["matched"]) for kind in KINDS}
        alone = {kind: Counter(first[kind]["caption_only"]) for kind in KINDS}
        for parts in self.details[row]["graph"]:
            kind = KINDS[len(parts) - 1]
            text = parts[1] if kind == "attributes" else " ".join(parts)
            left = next((pile[kind] for pile in (matched, alone) if pile[kind][text]), None)
            if left is None:  # a word that is not an object
                yield parts, nil(parts[0])
            else:
                left[text] -= 1
                yield parts, chip(parts[0], left is matched[kind])
