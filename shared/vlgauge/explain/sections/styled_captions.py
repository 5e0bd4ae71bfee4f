"""The bundled captions with style labels: some fit the style table, those of other pictures are scored with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.media.tables import read_rows, take_column
from vlgauge.results import mean_of_defined
from vlgauge.style import StyleTable

from .section import Table, extreme_positions, positions_by_kind, shortened

HELD_OUT = 4  # the captions of every so manyth picture are held out
_TIE = 1e-12

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StyledCaptions:
    """Captions of some pictures, each in a style.

    Attributes:
        captions: Those that no table was fitted on.
        styles: Style of each.
        names: What each is called.
        fitted: Captions of the table, by style.
        table: Style table.
    """

    captions: list[str]
    styles: list[str]
    names: list[str]
    fitted: dict[str, list[str]]
    table: StyleTable

    @cached_property
    def styles_at(self) -> dict[str, list[int]]:
        """Positions of the captions of each style, in the order of the table."""
        positions = positions_by_kind(self.styles)
        return {style: positions[style] for style in self.table.styles if style in positions}

    @cached_property
    def own(self) -> npt.NDArray[np.int64]:
        """Place of the style of each caption in the table."""
        return self.table.style_ids(self.styles)


def read_styled_captions(examples: Path) -> StyledCaptions:
    """The captions of a folder of examples, all those of a picture either held out or in the table.

    Raises:
        ValueError: If there are too few pictures to hold one out.
    """
    rows = read_rows(str(examples / "styled_captions.csv"))
    captions, styles, pictures = (take_column(rows, column) for column in ("caption", "style", "picture"))
    chosen = set(list(dict.fromkeys(pictures))[HELD_OUT - 1 :: HELD_OUT])
    if not chosen:
        raise ValueError(f"styled_captions.csv must have at least {HELD_OUT} pictures, got {len(set(pictures))}")
    held_out = [picture in chosen for picture in pictures]
    table = StyleTable.fit(captions, styles, held_out=held_out)
    scored = [i for i, held in enumerate(held_out) if held]
    return StyledCaptions(
        captions=[captions[i] for i in scored],
        styles=[styles[i] for i in scored],
        names=[f"{pictures[i]}, {styles[i]}" for i in scored],
        fitted={
            style: [captions[i] for i, held in enumerate(held_out) if not held and styles[i] == style]
            for style in table.styles
        },
        table=table,
    )


def scores_by_style(corpus: StyledCaptions, scores: Sequence[float]) -> dict[str, list[float]]:
    """The scores of the captions of each style."""
    return {style: [scores[i] for i in where] for style, where in corpus.styles_at.items()}


def style_table(corpus: StyledCaptions, scores: Sequence[float], matrix: Floats) -> Table:
    """Mean scores by style, and how many captions score highest in their own.

    Args:
        corpus: Captions.
        scores: Score of each in its own style.
        matrix: shape ``(n_captions, |S|)``, scores in every style.
    """
    first = own_style_first(matrix, corpus.own)
    rows = [
        (style, len(where), sum(first[i] for i in where), mean_of_defined([scores[i] for i in where]))
        for style, where in corpus.styles_at.items()
    ]
    return Table(("style", "captions", "own style first", "mean score"), rows)


def own_style_first(matrix: Floats, own: npt.NDArray[np.int64]) -> list[bool]:
    """Whether the own style of each caption scores higher than every other; ties lose."""
    rows = np.arange(len(own))
    others = matrix.copy()
    others[rows, own] = -np.inf
    first: list[bool] = (matrix[rows, own] > others.max(axis=1) + _TIE).tolist()
    return first


def better_style(corpus: StyledCaptions, matrix: Floats, i: int) -> tuple[str, float] | None:
    """The style in which a caption scores highest and its score there; None if it is the caption's own."""
    if own_style_first(matrix[i : i + 1], corpus.own[i : i + 1])[0]:
        return None
    others = matrix[i].copy()
    others[corpus.own[i]] = -np.inf
    best = int(others.argmax())
    return corpus.table.styles[best], float(others[best])


def extremes_table(corpus: StyledCaptions, scores: Sequence[float]) -> Table:
    """The captions with the highest and the lowest score of each style."""
    chosen = [i for where in corpus.styles_at.values() for i in extreme_positions(where, scores)]
    rows = [(corpus.names[i], scores[i], shortened(corpus.captions[i])) for i in chosen]
    return Table(("example", "score", "caption"), rows)


def shaded_means(corpus: StyledCaptions, matrix: Floats) -> dict[str, Any]:
    """Mean of the rows of each style, with how dark a cell is.

    Args:
        corpus: Captions.
        matrix: shape ``(n_captions, |S|)``.

    Returns:
        ``styles``, the columns; ``rows``: name, and the cells: ``value``, ``shade`` from -1 to 1, and whether it is the
        ``largest`` of its row.
    """
    means = {style: np.mean(matrix[where], axis=0).tolist() for style, where in corpus.styles_at.items()}
    darkest = max((abs(value) for row in means.values() for value in row), default=0.0) or 1.0
    rows = [
        (
            style,
            [{"value": value, "shade": value / darkest, "largest": value > 0.0 and value == max(row)} for value in row],
        )
        for style, row in means.items()
    ]
    return {"styles": list(corpus.table.styles), "rows": rows}
