"""The rows of a call as flat lists: candidates and references in the pieces that are encoded, their pairs, scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.clip_score.formula import Floats, Positions, group_maxima
from vlgauge.clip_score.long_text import Pieces, pieces_of
from vlgauge.encoders.clip.tokens import Tokens


@dataclass(frozen=True)
class TextRows:
    """Candidates and references of n rows.

    A unit is a candidate, or a sentence of one that was split; a pair is a unit and a piece of a reference of its row.

    Attributes:
        pieces: The texts, candidates first.
        n_rows: n.
        has_references: Whether any row has references, be it an empty list.
        units: shape ``(n_units,)``, position in ``pieces.texts``.
        row_of_unit: shape ``(n_units,)``, row of each unit, ascending.
        pairs: unit and position in ``pieces.texts`` of each pair, shape ``(n_pairs,)`` each, units ascending.
        pair_references: shape ``(n_pairs,)``, number of the reference within its row.
        n_blank: Number of texts without any word.
        is_special: shape ``(n_texts,)``, whether each text spells a token of CLIP, candidates first.
    """

    pieces: Pieces
    n_rows: int
    has_references: bool
    units: Positions
    row_of_unit: Positions
    pairs: tuple[Positions, Positions]
    pair_references: Positions
    n_blank: int
    is_special: npt.NDArray[np.bool_]

    @property
    def truncated(self) -> list[bool]:
        """Whether each candidate is too long to be encoded as a whole."""
        return self.pieces.is_long[: self.n_rows].tolist()

    @property
    def special(self) -> list[bool]:
        """Whether each candidate spells a token of CLIP."""
        return self.is_special[: self.n_rows].tolist()

    @property
    def referenced(self) -> npt.NDArray[np.bool_]:
        """Which rows have at least one reference, shape ``(n_rows,)``."""
        found = np.zeros(self.n_rows, dtype=bool)
        found[self.row_of_unit[self.pairs[0]]] = True
        return found

    @property
    def all_pieces(self) -> tuple[list[str], list[str] | None]:
        """Candidates and references in pieces, repeated as often as they occur; None for no references."""
        texts, cut = self.pieces.texts, len(self.units)
        pieces = [texts[position] for position in self.pieces.index]
        return pieces[:cut], pieces[cut:] if self.has_references else None


def text_rows(
    predictions: Sequence[str],
    references: Sequence[Sequence[str] | None],
    tokens: Tokens,
    policy: str,
    prompt: str = "",
) -> TextRows:
    """Candidates and references of a call.

    Args:
        predictions: One candidate per row.
        references: References of each row; None where it has none to be scored with.
        tokens: What reads them.
        policy: See `vlgauge.clip_score.long_text.pieces_of`.
        prompt: What stands before every text.

    Raises:
        ValueError: If the policy is ``"error"`` and a text is too long.
    """
    n = len(predictions)
    n_references = np.array([len(row or ()) for row in references], dtype=np.intp)
    flat = [text for row in references for text in row or ()]
    row_of = np.repeat(np.arange(n), n_references)
    starts = np.cumsum(n_references) - n_references

    def place(i: int) -> str:
        if i < n:
            return f"predictions[{i}]"
        row = int(row_of[i - n])
        return f"references[{row}][{i - n - int(starts[row])}]"

    texts = [*predictions, *flat]
    special = {text: tokens.spells_special(text) for text in dict.fromkeys(texts)}
    pieces = pieces_of(texts, place, tokens, policy, prompt)
    cut = int(np.searchsorted(pieces.owner, n))
    reference = pieces.owner[cut:] - n
    unit_of_pair, piece_of_pair = paired(pieces.owner[:cut], row_of[reference])
    return TextRows(
        pieces=pieces,
        n_rows=n,
        has_references=any(row is not None for row in references),
        units=pieces.index[:cut],
        row_of_unit=pieces.owner[:cut],
        pairs=(unit_of_pair, pieces.index[cut:][piece_of_pair]),
        pair_references=(reference - starts[row_of[reference]])[piece_of_pair] if len(reference) else reference,
        n_blank=sum(not text.strip() for text in texts),
        is_special=np.array([special[text] for text in texts], dtype=bool),
    )


def paired(left: Positions, right: Positions) -> tuple[Positions, Positions]:
    """All pairs of items of the same row, by the item of the left side.

    Args:
        left: shape ``(n_left,)``, row of each item.
        right: shape ``(n_right,)``, row of each item, ascending.

    Returns:
        Positions in `left` and in `right`, shape ``(n_pairs,)`` each.
    """
    starts, stops = np.searchsorted(right, left), np.searchsorted(right, left, side="right")
    counts = stops - starts
    ours = np.repeat(np.arange(len(left)), counts)
    within = np.arange(len(ours)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ours, starts[ours] + within


@dataclass(frozen=True)
class Scored:
    """Scores of n rows.

    Attributes:
        scores: shape ``(n,)``, NaN where undefined.
        reference_scores: shape ``(n,)``; None if no row has references.
        details: One dictionary per row.
        n_unreadable: Rows whose image or video could not be read.
        n_unlike: Rows whose reference score is 0 because neither the image nor a reference is like the caption.
        n_empty: Rows whose video has no frames.
    """

    scores: Floats
    reference_scores: Floats | None
    details: list[dict[str, Any]]
    n_unreadable: int
    n_unlike: int = 0
    n_empty: int = 0


def best_references(rows: TextRows, values: Floats, best: Positions) -> list[int | None]:
    """Number of the reference that each row's candidate is nearest to; None where that is undefined.

    Args:
        rows: Candidates and references.
        values: shape ``(n_units,)``, the largest value over the pairs of each unit.
        best: shape ``(n_units,)``, the pair that has it, -1 for none.
    """
    _, units = group_maxima(values, rows.row_of_unit, rows.n_rows)
    chosen = [best[unit] if unit >= 0 else -1 for unit in units]
    return [int(rows.pair_references[pair]) if pair >= 0 else None for pair in chosen]
