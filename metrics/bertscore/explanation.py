"""BERTScore: which tokens of a caption and its best reference are similar."""

from typing import Any

from vlgauge.explain import Explanation
from vlgauge.explain.pages import number, quote_word

LONG = 40  # maximum number of rows and of columns of the table


class BertscoreExplanation(Explanation):
    """Captions with a heat map of their tokens and the tokens of the best reference."""

    name = "bertscore"
    digits = 3
    why_undefined = "it has no reference to be compared with"

    def reason(self, row: int) -> str:
        """Return the token with the lowest best similarity as text."""
        detail = self.details[row]
        matched = [
            (max(cosines), token, detail["reference_tokens"][cosines.index(max(cosines))])
            for token, weight, cosines in zip(detail["tokens"], detail["weights"], detail["cosines"], strict=True)
            if weight > 0
        ]
        if not matched:
            return "it has no token with a weight"
        cosine, token, nearest = min(matched)
        return f"the least similar token is {quote_word(token)}, {number(cosine)} to {quote_word(nearest)}"

    def extra(self, row: int) -> str:
        """Return precision and recall with the best reference."""
        if self.is_undefined(row):
            return ""
        best = self.details[row]["per_reference"][self.details[row]["best_reference"]]
        return f"precision {number(best['precision'], 3)}, recall {number(best['recall'], 3)}"

    def values(self, row: int) -> dict[str, Any]:
        """Return the table of similarities, without tokens of weight 0, with the best one of each token marked."""
        detail = self.details[row]
        own = [i for i, weight in enumerate(detail["weights"]) if weight > 0][:LONG]
        others = [j for j, weight in enumerate(detail["reference_weights"]) if weight > 0][:LONG]
        cosines = detail["cosines"]
        lines = []
        for i in own if others else ():
            best = max(others, key=cosines[i].__getitem__)
            cells = [
                {"cosine": cosines[i][j], "shade": round(100 * min(1.0, max(0.0, cosines[i][j]))), "best": j == best}
                for j in others
            ]
            lines.append({"token": detail["tokens"][i], "cells": cells})
        given = self.references_of(row)
        reference = given[detail["best_reference"]] if given else " ".join(detail["reference_tokens"])
        tokens = [detail["reference_tokens"][j] for j in others]
        return {"caption": self.predictions[row], "reference": reference, "tokens": tokens, "lines": lines}
