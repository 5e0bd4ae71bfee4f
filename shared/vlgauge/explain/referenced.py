"""Explanations of reference-based caption scores, by the words that a caption shares with its references."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from .explanation import Explanation
from .marks import AGAINST, FOR, Mark, pieces_of_runs
from .pages import quote_word

N_CLOSEST = 2  # maximum number of references to show


class ReferencedCaption(Explanation):
    """Captions whose words are marked if a reference contains them, with the most similar references."""

    on_axis = (0.0,)
    digits = 3
    match: ClassVar[str] = "also occur in a reference"
    why_undefined = "it has no reference to be compared with"

    def nearness(self, detail: Mapping[str, Any]) -> Sequence[float]:
        """Return the score with each reference, or another value of the same direction that the template describes."""
        return detail["per_reference"]

    def is_shared(self, token: str, references: Sequence[Sequence[str]]) -> bool:
        """Return whether a reference contains a token."""
        return any(token in tokens for tokens in references)

    def reason(self, row: int) -> str:
        """Count the shared words, and quote one that is not shared."""
        detail = self.details[row]
        tokens, references = detail["tokens"], detail["references"]
        if not tokens:
            return "has no word"
        alone = [token for token in tokens if not self.is_shared(token, references)]
        text = f"{len(tokens) - len(alone)} of {len(tokens)} words {self.match}"
        return f"{text}; {quote_word(alone[0])} does not" if alone else text

    def mark_alone(self, token: str) -> Mark | None:
        """Return the mark of a word that no reference contains. Subclasses may return None for no mark."""
        return Mark(AGAINST, note=f"{quote_word(token)} is in no reference")

    def reference_text(self, row: int, k: int) -> str:
        """Return a reference of an example, or its tokens if the texts are not known."""
        given, tokens = self.references_of(row), self.details[row]["references"]
        return given[k] if len(given) == len(tokens) else " ".join(tokens[k])

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row.

        Returns:
            ``pieces`` of the caption with marks, ``closest`` (``score`` and ``pieces`` of the most similar references),
            and ``detail``.
        """
        detail = self.details[row]
        tokens, references = detail["tokens"], detail["references"]
        marks = [Mark(FOR) if self.is_shared(token, references) else self.mark_alone(token) for token in tokens]
        near = self.nearness(detail)
        closest = []
        nearest_first = sorted(range(len(near)), key=lambda k: near[k], reverse=self.facts.higher_is_better)
        for k in nearest_first[:N_CLOSEST]:
            known = [Mark(FOR) if self.is_shared(token, [tokens]) else None for token in references[k]]
            pieces = pieces_of_runs(self.reference_text(row, k), references[k], known)
            closest.append({"score": near[k], "pieces": pieces})
        return {"pieces": pieces_of_runs(self.predictions[row], tokens, marks), "closest": closest, "detail": detail}
