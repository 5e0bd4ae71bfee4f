"""RoViST-NR: the loss due to each word."""

from collections import Counter
from collections.abc import Mapping
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from markupsafe import Markup

from vlgauge.explain.explanation import Explanation
from vlgauge.explain.marks import AGAINST, NIL, Mark, pieces_of_runs
from vlgauge.explain.pages import in_words, number, quote_word, safe
from vlgauge.explain.plots import Axis
from vlgauge.explain.shares import Share

STEPS = (0.002, 0.006, 0.012)  # minimum losses of words with a mark of each strength
N_NAMED = 3  # words in a reason
N_BARS = 8  # words with a bar
LITTLE = 0.06  # below this total loss, no word is marked as a cause


class RovistNrExplanation(Explanation):
    """Stories with their repeated words marked by their loss."""

    name = "rovist_nr"
    on_axis = (0.0, 1.0)
    bars_title = "Penalty of each word"

    @cached_property
    def axis(self) -> Axis:
        """Axis from 0 to 1. Few stories are below 0, and some of them far."""
        return Axis(0.0, 1.0, higher_is_better=True)

    def reason(self, row: int) -> str:
        """Return the words with the largest losses as text."""
        taken = self._rank_losses(row)
        lost = sum(cost for _, cost in taken)
        if lost < LITTLE:
            return f"{number(lost)} lost in all"
        return "most by " + ", ".join(f"{quote_word(word)} {number(cost)}" for word, cost in taken[:N_NAMED])

    def _rank_losses(self, row: int) -> list[tuple[str, float]]:
        """Return the words with their total losses, in descending order."""
        taken: Counter[str] = Counter()
        for sentence, costs in zip(self.details[row]["words"], self._costs(row), strict=True):
            for word, cost in zip(sentence, costs, strict=True):
                taken[word] += cost  # type: ignore[assignment]
        return taken.most_common()  # type: ignore[return-value]

    def finding(self, row: int) -> Markup:
        """Return the most costly repeated words and their share of the loss as a sentence."""
        taken = self._rank_losses(row)
        lost = sum(cost for _, cost in taken)
        if lost < LITTLE:
            return safe(f"Hardly a word comes again: {number(lost)} is lost in all.")
        named = taken[:N_NAMED]
        words = Markup(", ").join(Markup("<em>{}</em>").format(safe(quote_word(word))) for word, _ in named)
        if len(named) == 1:
            return words + f" comes again and takes {number(lost)}."
        most = sum(cost for _, cost in named)
        return words + f" come again and again; together they take {number(most)} of the {number(lost)} lost."

    def contributions(self, row: int) -> list[Share]:
        """Return the losses of the most costly words."""
        return [Share(word, -cost, digits=3) for word, cost in self._rank_losses(row)[:N_BARS] if cost >= STEPS[0]]

    def extra(self, row: int) -> str:
        """Return the similarity between and within sentences, the two components of the loss."""
        detail = self.details[row]
        return f"between sentences {number(detail['inter'])} · within {number(detail['intra'])}"

    def explain_undefined(self, row: int) -> str:
        """Return the reason for an undefined score: too few sentences, or no words."""
        n = len(self.details[row]["sentences"])
        if n < 2:
            reason = f"the story has {n or 'no'} sentence, so there is no pair of sentences to compare"
            return f"{reason} (in running text, a sentence ends in . ? or ! and a space)"
        return "no sentence has a word to compare"

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row.

        Returns:
            ``sentences``, marked, and ``pairs``, the most similar pairs of sentences.
        """
        detail = self.details[row]
        homes: dict[str, list[int]] = {}
        for index, words in enumerate(detail["words"]):
            for word in dict.fromkeys(words):
                homes.setdefault(word, []).append(index)
        costs = self._costs(row)
        harmless = sum(map(sum, costs)) < LITTLE
        sentences = []
        for index, (sentence, words) in enumerate(zip(detail["sentences"], detail["words"], strict=True)):
            others = [[home for home in homes[word] if home != index] for word in words]
            marks = [word_mark(*one, harmless=harmless) for one in zip(costs[index], others, strict=True)]
            sentences.append(pieces_of_runs(sentence, words, marks))
        pairs = sorted(detail["pairs"], key=lambda pair: -pair[2])[:N_NAMED]
        return {"sentences": sentences, "pairs": [pair for pair in pairs if pair[2] > 0]}

    def _costs(self, row: int) -> list[list[float]]:
        return word_costs(self.details[row], n=int(self.settings["n"]), variant=self.settings["variant"])


def word_costs(detail: Mapping[str, Any], *, n: int, variant: str) -> list[list[float]]:
    """Compute the loss due to each word of a story. All losses add up to 1 minus the score.

    The similarity of each pair of sentences or n-grams is divided among their common words in proportion to their
    contributions, and half of each share is assigned to either side.

    Args:
        detail: Details of the story.
        n: Length of the n-grams.
        variant: "released" or "paper".

    Returns:
        Losses, one per word of each sentence.
    """
    words: list[list[str]] = detail["words"]
    costs = [[0.0] * len(sentence) for sentence in words]

    def split(a: tuple[int, int, int], b: tuple[int, int, int], similarity: float, n_pairs: int) -> None:
        sides = [(costs[i], words[i], range(start, min(stop, len(words[i])))) for i, start, stop in (a, b)]
        counts = [Counter(text[k] for k in span) for _, text, span in sides]
        parts = {
            word: counts[0][word] * counts[1][word] if variant == "released" else 1
            for word in counts[0].keys() & counts[1].keys()
        }
        total = sum(parts.values())
        for (cost, text, span), own in zip(sides, counts, strict=True):
            for k in span:
                if text[k] in parts:
                    # Half of the loss is between sentences or within them, and each side gets half of that.
                    cost[k] += similarity * parts[text[k]] / total / n_pairs / 4 / own[text[k]]

    for i, j, similarity in detail["pairs"]:
        if similarity:
            split((i, 0, len(words[i])), (j, 0, len(words[j])), similarity, len(detail["pairs"]))
    for i, start, similarity in detail["ngrams"]:
        if similarity:
            split((i, start, start + n), (i, start + n, start + 2 * n), similarity, len(detail["ngrams"]))
    return costs


def word_mark(cost: float, elsewhere: Sequence[int], *, harmless: bool = False) -> Mark | None:
    """Return the mark of a word.

    Args:
        cost: Loss due to the word.
        elsewhere: Indices of the other sentences that contain the word.
        harmless: Whether the total loss is too small for a mark with a note.

    Returns:
        The mark. None for a negligible loss.
    """
    if cost < STEPS[0]:
        return None
    where = f"also in sentence{'s' * (len(elsewhere) > 1)} {in_words([i + 1 for i in elsewhere])}"
    note = f"takes {number(cost, 3)}; {where if elsewhere else 'again in the next words'}"
    if cost < STEPS[1] or harmless:
        return Mark(NIL)
    return Mark(AGAINST, cost >= STEPS[2], note)
