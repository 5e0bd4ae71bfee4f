"""METEOR: the words that match the best reference, their chunks, and the contribution of each to the loss."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np

from vlgauge.explain.marks import AGAINST, FOR, Mark, Piece, pieces, word_spans
from vlgauge.explain.pages import number, quote_word
from vlgauge.explain.referenced import ReferencedCaption
from vlgauge.explain.shares import Share
from vlgauge.families.ngram.meteor15 import formula
from vlgauge.inputs.text.porter import porter_stem

_SAID = {"stem": "has the stem of", "synonym": "is a synonym of", "paraphrase": "is a paraphrase of"}


class MeteorExplanation(ReferencedCaption):
    """Captions with their chunks of matched words marked, and with the components of the loss."""

    name = "meteor"
    match = "match one of a reference by form or stem"
    bars_title = "Deductions from 1"

    @property
    def is_15(self) -> bool:
        """Whether this is METEOR 1.5, which returns its matches."""
        return any("matches" in detail for detail in self.details)

    @property
    def kind(self) -> str:
        """Version, if it is not METEOR 1.5. The card explains how to read its scores."""
        return "" if self.is_15 else "2007"

    def mark_alone(self, token: str) -> Mark | None:
        """Return no mark (None), because a synonym may match the word."""
        return None

    def is_shared(self, token: str, references: Sequence[Sequence[str]]) -> bool:
        """Check whether a reference has a word of the same stem."""
        return any(porter_stem(token) in map(porter_stem, tokens) for tokens in references)

    def corpus_numbers(self) -> list[tuple[str, str]]:
        """Return METEOR 1.5 of the corpus, which is not the mean of the scores, as text. Empty for METEOR of 2007."""
        return [("METEOR 1.5 of the corpus:", number(self.result["meteor"], 4))] if self.is_15 else []

    def reason(self, row: int) -> str:
        """Return the numbers of matched words and chunks, and one unmatched word, as text."""
        detail = self.details[row]
        if "matches" not in detail or not detail["tokens"]:
            return super().reason(row)
        tokens, matched = detail["tokens"], _places(detail, "tokens")
        n_chunks = detail["chunks"]
        chunks = f" in {n_chunks} chunk{'' if n_chunks == 1 else 's'}" if n_chunks else ""
        text = f"{len(matched)} of {len(tokens)} words match the best reference{chunks}"
        alone = next((token for place, token in enumerate(tokens) if place not in matched), None)
        return text if alone is None else f"{text}; {quote_word(alone)} does not"

    def contributions(self, row: int) -> list[Share]:
        """Return the components of the loss, 1 minus the score: missing matches, weaker matches, and chunks.

        Weaker matches are divided by stage.
        """
        detail = self.details[row]
        if not detail.get("matches"):
            return []
        columns = [self.result[f"meteor_{name}"][row] for name in formula.COLUMNS]
        n_chunks = detail["chunks"]
        named = {
            stage: f"{stage} matches weigh {weight}"
            for stage, weight in zip(formula.STAGES, formula.WEIGHTS, strict=True)
        }
        named |= {"missing": "words without a match", "chunks": f"{n_chunks} chunk{'' if n_chunks == 1 else 's'}"}
        costs = costs_of(np.array(columns, dtype=np.float64))
        return [Share(named[name], -cost, digits=3) for name, cost in costs.items() if cost > 1e-9]

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row: its caption and the closest references.

        Chunks are marked in the caption and in the best reference.

        Returns:
            The variables of `ReferencedCaption.values`.
        """
        values = super().values(row)
        detail = self.details[row]
        if "matches" not in detail:
            return values
        best = detail["best"]
        values["pieces"] = _mark_text(self.predictions[row], detail["tokens"], "tokens", detail)
        # The first reference with the highest score is the best one.
        values["closest"][0]["pieces"] = _mark_text(
            self.reference_text(row, best), detail["references"][best], "reference", detail
        )
        return values


def costs_of(statistics: Any) -> dict[str, float]:
    """Compute the components of the loss, which add up to 1 with the score.

    Args:
        statistics: Counts of a row, shape ``(21,)``, in the order of `vlgauge.families.ngram.meteor15.formula.COLUMNS`.

    Returns:
        Costs by "missing", stage and "chunks", in the order in which they are subtracted from 1.
    """
    stages = statistics[4:20].reshape(len(formula.STAGES), 4)
    as_exact = statistics.copy()
    as_exact[4:20] = 0.0
    as_exact[4:8] = stages.sum(axis=0)
    value = float(formula.mean_and_penalty(as_exact)[0])
    costs = {"missing": 1.0 - value}
    for stage, counts in enumerate(stages):
        # Apply the weights of the stages one after the other.
        as_exact[4:8] -= counts
        as_exact[4 + 4 * stage : 8 + 4 * stage] += counts
        weighted = float(formula.mean_and_penalty(as_exact)[0])
        costs[formula.STAGES[stage]] = value - weighted
        value = weighted
    costs["chunks"] = value - float(formula.scores_of(statistics))
    return costs


def _places(detail: Mapping[str, Any], side: str) -> set[int]:
    """Return the indices of the matched tokens of the caption ("tokens") or of the best reference ("reference")."""
    return {place for match in detail["matches"] for place in range(*match[side])}


def _chunks(detail: Mapping[str, Any]) -> list[list[Mapping[str, Any]]]:
    """Group the matches by chunk."""
    chunks: list[list[Mapping[str, Any]]] = []
    for match in detail["matches"]:
        goes_on = chunks and all(chunks[-1][-1][side][1] == match[side][0] for side in ("tokens", "reference"))
        if goes_on:
            chunks[-1].append(match)
        else:
            chunks.append([match])
    return chunks


def _mark_text(text: str, tokens: Sequence[str], side: str, detail: Mapping[str, Any]) -> list[Piece]:
    """Return a text with marks on unmatched words and on chunks, which are numbered in the order of the reference."""
    spans = word_spans(text, tokens)
    found: list[tuple[tuple[int, int], Mark]] = []
    for index, chunk in enumerate(_chunks(detail), 1):
        own = [spans[place] for match in chunk for place in range(*match[side]) if spans[place][0] < spans[place][1]]
        note = "; ".join(_note(match, detail) for match in chunk if match["stage"] in _SAID)
        if own:
            found.append(((own[0][0], own[-1][1]), Mark(FOR, note=note, number=index)))
    matched = _places(detail, side)
    for place, token in enumerate(tokens):
        if place not in matched:
            found.append((spans[place], Mark(AGAINST, note=f"{quote_word(token)} has no match")))
    found.sort(key=lambda one: one[0])
    return pieces(text, [span for span, _ in found], [mark for _, mark in found])


def _note(match: Mapping[str, Any], detail: Mapping[str, Any]) -> str:
    own = " ".join(detail["tokens"][slice(*match["tokens"])])
    theirs = " ".join(detail["references"][detail["best"]][slice(*match["reference"])])
    return f"{quote_word(own)} {_SAID[match['stage']]} {quote_word(theirs)}"
