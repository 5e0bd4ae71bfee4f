"""Rows of a call as flat arrays: pieces of candidates and references, their pairs, and scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.families.clip_score.formula import Floats, Positions, group_maxima
from vlgauge.families.clip_score.long_text import Pieces, pieces_of
from vlgauge.models.clip.tokens import Tokens


@dataclass(frozen=True)
class TextRows:
    """Candidates and references of n rows.

    A unit is a candidate, or a sentence of a candidate that was split. A pair consists of a unit and a piece of a
    reference of the same row.

    Attributes:
        pieces: The texts, candidates first.
        n_rows: n.
        has_references: Whether any row has references, including an empty list.
        units: Shape ``(n_units,)``, index in ``pieces.texts`` of each unit.
        row_of_unit: Shape ``(n_units,)``, row of each unit, ascending.
        pairs: Unit, and index in ``pieces.texts`` of the reference, of each pair, shape ``(n_pairs,)`` each, units
            ascending.
        pair_references: Shape ``(n_pairs,)``, index of the reference within its row.
        n_blank: Number of texts without any word.
        is_special: Shape ``(n_texts,)``, whether each text spells a special token of CLIP, candidates first.
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

    def describe(self, **columns: Any) -> list[dict[str, Any]]:
        """Return the details of each row: columns of the metric, ``truncated`` and ``special``.

        ``truncated`` is whether the candidate is too long to be encoded as a whole, and ``special`` whether it spells a
        special token of CLIP.

        Args:
            **columns: Values of each detail, shape ``(n_rows,)``.
        """
        columns |= {"truncated": self.pieces.is_long[: self.n_rows], "special": self.is_special[: self.n_rows]}
        rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    @property
    def referenced(self) -> npt.NDArray[np.bool_]:
        """Whether each row has at least one reference, shape ``(n_rows,)``."""
        found = np.zeros(self.n_rows, dtype=bool)
        found[self.row_of_unit[self.pairs[0]]] = True
        return found

    @property
    def all_pieces(self) -> tuple[list[str], list[str] | None]:
        """Pieces of all candidates, and of all references, with repetitions. None if there are no references."""
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
    """Prepare the candidates and references of a call.

    Args:
        predictions: One candidate per row.
        references: References of each row. None for a row without references.
        tokens: Tokenizer of the encoder.
        policy: Policy for long texts, see `vlgauge.families.clip_score.long_text.pieces_of`.
        prompt: Text before every text.

    Raises:
        ValueError: If the policy is ``"error"`` and a text is too long.
    """
    n = len(predictions)
    n_references = np.array([len(row or ()) for row in references], dtype=np.intp)
    row_of = np.repeat(np.arange(n), n_references)
    starts = np.cumsum(n_references) - n_references
    texts = [*predictions, *(text for row in references for text in row or ())]
    special = {text: tokens.contains_special_token(text) for text in dict.fromkeys(texts)}
    pieces = pieces_of(texts, lambda i: place_of(i, references), tokens, policy, prompt)
    cut = int(np.searchsorted(pieces.owner, n))
    reference = pieces.owner[cut:] - n
    unit_of_pair, piece_of_pair = pair_items(pieces.owner[:cut], row_of[reference])
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


def place_of(number: int, references: Sequence[Sequence[str] | None]) -> str:
    """Return the position of a text in the input, such as ``"references[3][2]"``, by its index in all texts."""
    candidates = [f"predictions[{row}]" for row in range(len(references))]
    numbered = [f"references[{row}][{i}]" for row, own in enumerate(references) for i in range(len(own or ()))]
    return [*candidates, *numbered][number]


def pair_items(left: Positions, right: Positions) -> tuple[Positions, Positions]:
    """Return all pairs of items in the same row, grouped by the left item.

    Args:
        left: Shape ``(n_left,)``, row of each item.
        right: Shape ``(n_right,)``, row of each item, ascending.

    Returns:
        Indices in `left` and in `right`, shape ``(n_pairs,)`` each.
    """
    starts, stops = np.searchsorted(right, left), np.searchsorted(right, left, side="right")
    counts = stops - starts
    ours = np.repeat(np.arange(len(left)), counts)
    within = np.arange(len(ours)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ours, starts[ours] + within


@dataclass(frozen=True)
class ScoredRows:
    """Scores of n rows.

    Attributes:
        scores: Shape ``(n,)``, NaN if undefined.
        reference_scores: Shape ``(n,)``. None if no row has references.
        details: One dictionary per row.
        n_unreadable: Number of rows whose image or video could not be read.
        n_unlike: Number of rows whose reference score is 0 because neither the image nor a reference is similar to the
            caption.
        n_empty: Number of rows whose video has no frames.
    """

    scores: Floats
    reference_scores: Floats | None
    details: list[dict[str, Any]]
    n_unreadable: int
    n_unlike: int = 0
    n_empty: int = 0


def best_references(rows: TextRows, values: Floats, best: Positions) -> list[int | None]:
    """Return the index of the reference that is most similar to the candidate of each row. None if undefined.

    Args:
        rows: Candidates and references.
        values: Shape ``(n_units,)``, maximum over the pairs of each unit.
        best: Shape ``(n_units,)``, index of the pair with the maximum, -1 if there is none.
    """
    _, units = group_maxima(values, rows.row_of_unit, rows.n_rows)
    chosen = [best[unit] if unit >= 0 else -1 for unit in units]
    return [int(rows.pair_references[pair]) if pair >= 0 else None for pair in chosen]
