"""CIDEr-D: the rare n-grams that a caption shares with its references."""

from collections.abc import Mapping
from collections.abc import Sequence
from functools import cache
from typing import Any

from vlgauge.core.files import DATA
from vlgauge.explain.explanation import Columns
from vlgauge.explain.pages import quote_word
from vlgauge.explain.referenced import ReferencedCaption
from vlgauge.families.ngram.cider import DocumentFrequency
from vlgauge.inputs.tables.files import read_rows
from vlgauge.inputs.text.ngrams import MAX_ORDER


class CiderExplanation(ReferencedCaption):
    """Captions with the words marked that occur in a reference."""

    name = "cider"
    note_alone = (
        "This example uses the document frequencies of the 100 captions included in vlgauge. A file is scored with "
        "the document frequencies of its references."
    )

    def __init__(self, columns: Columns, result: Mapping[str, Any]) -> None:
        super().__init__(columns, result)
        if self.settings.get("eos") == "True":
            self.details = [without_end(detail) if detail else {} for detail in self.details]

    def corpus_numbers(self) -> list[tuple[str, str]]:
        """Return the name and the value, as text, of the share of unfinished captions."""
        flags = [detail["unfinished"] for detail in self.details if detail]
        return [("unfinished captions:", f"{sum(flags) / len(flags):.1%}")] if flags else []

    def reason(self, row: int) -> str:
        """Return the number of shared words or n-grams as text, and the last word of an unfinished caption."""
        detail = self.details[row]
        ending = f"; it ends in {quote_word(detail['tokens'][-1])}" if detail["unfinished"] and detail["tokens"] else ""
        return f"{self._find_shared(row)}{ending}"

    def _find_shared(self, row: int) -> str:
        """Return the number of shared words or, if all words are shared, of shared n-grams, as text."""
        detail = self.details[row]
        tokens, references = detail["tokens"], detail["references"]
        text = super().reason(row)
        if not tokens or not all(self.is_shared(token, references) for token in tokens):
            return text
        for n in range(2, MAX_ORDER + 1):
            own = runs_of(tokens, n)
            known = set().union(*(runs_of(reference, n) for reference in references))
            if not own:
                return f"{text}; it has fewer than {n} words, and each n-gram length is a quarter of the score"
            if (shared := sum(run in known for run in own)) < len(own):
                return f"{text}, but only {shared} of its {len(own)} n-grams of {n} words"
        lengths = sorted(map(len, references))
        theirs = str(lengths[0]) if lengths[0] == lengths[-1] else f"{lengths[0]} to {lengths[-1]}"
        return (
            f"{text}, as do its n-grams; frequent n-grams have low weights, and length differences lower the score: "
            f"it has {len(tokens)} words, a reference {theirs}"
        )

    @classmethod
    def settings_alone(cls, tokenizer: str | None = None) -> dict[str, Any]:
        """Return the bundled document frequencies as the setting ``df``, for a single example.

        Its own references alone would give every n-gram the weight 0.
        """
        return {"df": _frequencies(tokenizer)}


def without_end(detail: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return details without the end tokens, which are not in the texts."""
    return {**detail, "tokens": detail["tokens"][:-1], "references": [own[:-1] for own in detail["references"]]}


def runs_of(tokens: Sequence[str], n: int) -> list[tuple[str, ...]]:
    """Return the n-grams of a token sequence, in their order."""
    return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]


@cache
def _frequencies(tokenizer: str | None) -> DocumentFrequency:
    rows = read_rows(str(DATA / "style_demo.csv"))
    return DocumentFrequency.from_references([row["caption"] for row in rows], tokenizer=tokenizer)
