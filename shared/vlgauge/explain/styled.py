"""Explanations of stylistic caption scores, by the words of a caption and the n-grams that contain them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .explanation import Explanation
from .marks import AGAINST, FOR, Mark
from .pages import format_signed, quote_word

N_NAMED = 3  # maximum number of n-grams in a note
_NEXT_TO_NOTHING = 0.005  # weights below it are displayed as 0.00


class StyledCaption(Explanation):
    """Base class of explanations of metrics that score captions in a style."""

    digits = 3
    first_config = "demo"
    why_undefined = "the caption has no word to weigh"

    def extra(self, row: int) -> str:
        """Return the style of a row."""
        styles = self.columns.get("styles")
        return "" if styles is None else f"style: {styles[row]}"

    def sum_up(self, raised: Sequence[Mapping[str, Any]], lowered: Sequence[Mapping[str, Any]]) -> str:
        """Describe the n-gram that raised a score most and the one that lowered it most."""
        best = max(raised, key=lambda gram: gram["share"], default=None)
        worst = min(lowered, key=lambda gram: gram.get("share", gram["cng"]), default=None)
        texts = [
            f"{word} by {quote_word(gram['ngram'])}" for word, gram in (("raised", best), ("lowered", worst)) if gram
        ]
        return "; ".join(texts) or "no n-gram of the caption is known"


def weights(grams: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return the contrastive weights by n-gram, without the weights that round to 0."""
    return {gram["ngram"]: gram["cng"] for gram in grams if abs(gram["cng"]) >= _NEXT_TO_NOTHING}


def covering(tokens: Sequence[str], index: int, ngrams: Iterable[str]) -> list[str]:
    """Return the n-grams that contain the token at an index."""
    found = []
    for ngram in ngrams:
        words = ngram.split(" ")
        starts = range(max(0, index - len(words) + 1), index + 1)
        if any(list(tokens[start : start + len(words)]) == words for start in starts):
            found.append(ngram)
    return found


def weights_note(tokens: Sequence[str], index: int, known: Mapping[str, float]) -> str:
    """List the weights of the first n-grams that contain a token."""
    named = covering(tokens, index, known)
    more = f" and {len(named) - N_NAMED} more" if len(named) > N_NAMED else ""
    return ", ".join(f"{ngram} {format_signed(known[ngram])}" for ngram in named[:N_NAMED]) + more


def share_mark(share: float, steps: tuple[float, float], note: str) -> Mark | None:
    """Return the mark of a token with this contribution, or None if it is below the first step.

    Args:
        share: Contribution of the token.
        steps: Minimum absolute contributions for a mark and for a strong mark.
        note: Note of the mark.
    """
    if abs(share) < steps[0]:
        return None
    return Mark(FOR if share > 0 else AGAINST, abs(share) >= steps[1], note)
