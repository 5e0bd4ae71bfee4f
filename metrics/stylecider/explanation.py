"""StyleCIDEr: the words that a caption shares with references of its style, and words without a match."""

from collections.abc import Mapping
from typing import Any

from vlgauge.explain.marks import AGAINST, FOR, Mark, pieces_of_runs
from vlgauge.explain.pages import format_signed, quote_word
from vlgauge.explain.styled import StyledCaption, share_mark, weights, weights_note

STEPS = (0.0002, 0.004)  # minimum contributions of words with a mark and with a strong mark
MISSED = (0.05, 0.2)  # minimum weights of words that occur in no reference
N_CLOSEST = 2  # number of references to show


class StyleCider(StyledCaption):
    """Captions with the words marked that they share with their references."""

    name = "stylecider"
    on_axis = (0.0,)

    def reason(self, row: int) -> str:
        """Return the shared n-gram with the largest contribution as text."""
        parts = self.details[row]["references"]
        shared: dict[str, dict[str, Any]] = {}
        for gram in (gram for part in parts for gram in part["raised"]):
            known = shared.setdefault(gram["ngram"], {**gram, "share": 0.0})
            known["share"] += gram["share"]
        if not shared:
            return "shares no n-gram that is informative about the style"
        best = max(shared.values(), key=lambda gram: gram["share"])
        n = sum(any(gram["ngram"] == best["ngram"] for gram in part["raised"]) for part in parts)
        return f"shares {quote_word(best['ngram'])} with {n} of {len(parts)} references"

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row.

        Returns:
            ``pieces``, the caption with marked words, and ``closest``, ``score`` and ``pieces`` of the most similar
            references.
        """
        detail = self.details[row]
        texts = self.references_of(row) or [" ".join(part["tokens"]) for part in detail["references"]]
        closest = sorted(zip(detail["references"], texts, strict=True), key=lambda one: -one[0]["score"])[:N_CLOSEST]
        return {
            "pieces": pieces_of_runs(self.predictions[row], detail["tokens"], word_marks(detail)),
            "closest": [
                {"score": part["score"], "pieces": pieces_of_runs(text, part["tokens"], mark_shared(part))}
                for part, text in closest
                if part["score"] > 0.0
            ],
        }


def word_marks(detail: Mapping[str, Any]) -> list[Mark | None]:
    """Return the marks of the words of a caption that are shared with references or occur in none of them.

    There is one entry per word, None for other words.
    """
    tokens = detail["tokens"]
    shares: dict[str, float] = {}
    shared: dict[str, float] = {}
    missed: dict[str, float] = {}
    for part in detail["references"]:
        shared |= weights(part["raised"])
        missed |= weights(gram for gram in part["lowered"] if gram["side"] == "prediction")
        for gram in part["raised"]:
            shares[gram["ngram"]] = shares.get(gram["ngram"], 0.0) + gram["share"]
    leading = {ngram: shared[ngram] for ngram in sorted(shared, key=lambda ngram: -shares[ngram])}
    marks: list[Mark | None] = []
    for index, (token, share) in enumerate(zip(tokens, detail["words"], strict=True)):
        mark = share_mark(
            share, STEPS, f"adds {format_signed(share, 4)}; weights: {weights_note(tokens, index, leading)}"
        )
        if mark is None and token not in shared and abs(missed.get(token, 0.0)) >= MISSED[0]:
            weight = missed[token]
            mark = Mark(AGAINST, abs(weight) >= MISSED[1], f"in no reference; weight: {token} {format_signed(weight)}")
        marks.append(mark)
    return marks


def mark_shared(part: Mapping[str, Any]) -> list[Mark | None]:
    """Return the marks of the words of a reference that also occur in the caption.

    There is one entry per word, None for other words.
    """
    known = weights(gram for gram in part["raised"] if gram["share"] >= STEPS[0])
    notes = [weights_note(part["tokens"], index, known) for index in range(len(part["tokens"]))]
    return [Mark(FOR, note=f"shared; {note}") if note else None for note in notes]
