"""OnlyStyle: captions with the words marked that make them sound like their style or like another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import vlgauge

from .marked_words import (
    LOWERED,
    RAISED,
    Mark,
    level,
    marked_caption,
    n_distinct,
    named_weights,
    ngram_weights,
    signed,
    weights_note,
)
from .pages import fragment
from .section import Say, Section
from .styled_captions import (
    Floats,
    StyledCaptions,
    better_style,
    extremes_table,
    read_styled_captions,
    scores_by_style,
    shaded_means,
    style_table,
)

NAME = "onlystyle"
STEPS = (0.0005, 0.003, 0.008)  # a word gets a mark, and a stronger one, if it adds so much
N_OPEN = 3  # captions per style that stand open; the others unfold
N_LISTED = 4  # n-grams named below a caption


def section(examples: Path, say: Say) -> Section:
    """Score the captions that were held out and show which words sound like their style."""
    corpus = read_styled_captions(examples)
    n_fitted = sum(corpus.table.captions)
    say(f"Scoring {len(corpus.captions)} captions with a style table of {n_fitted} captions of other pictures")
    metric: Any = vlgauge.load(NAME, keep_in_memory=True, table=corpus.table, return_style_matrix=True)
    result = metric.compute(predictions=corpus.captions, styles=corpus.styles, return_details=True)
    scores, matrix = result[f"{NAME}_scores"], np.array(result[f"{NAME}_matrix"])
    say("Marking the words")
    shown = {style: [_shown(corpus, result, matrix, i) for i in where] for style, where in corpus.styles_at.items()}
    return Section(
        metric=NAME,
        signature=result[f"{NAME}_signature"],
        scores=scores_by_style(corpus, scores),
        by_kind=style_table(corpus, scores, matrix),
        extremes=extremes_table(corpus, scores),
        body=fragment(
            NAME,
            styles=shown,
            matrix=shaded_means(corpus, matrix),
            n_fitted=n_fitted,
            n_scored=len(corpus.captions),
            n_open=N_OPEN,
            steps=STEPS,
        ),
    )


def _shown(corpus: StyledCaptions, result: dict[str, Any], matrix: Floats, i: int) -> dict[str, Any]:
    """What the page shows of a caption."""
    detail = result[f"{NAME}_details"][i]
    return {
        "name": corpus.names[i],
        "score": result[f"{NAME}_scores"][i],
        "better": better_style(corpus, matrix, i),
        "pieces": marked_caption(corpus.captions[i], detail["tokens"], word_marks(detail)),
        "unseen": detail["unseen"],
        "n_ngrams": n_distinct(detail["tokens"]),
        **{side: named_weights(ngram_weights(detail[side]), N_LISTED) for side in (RAISED, LOWERED)},
    }


def word_marks(detail: dict[str, Any]) -> list[Mark | None]:
    """Marks of the words of a caption, from what each added to the score."""
    tokens = detail["tokens"]
    weights = ngram_weights(sorted(detail[RAISED] + detail[LOWERED], key=lambda gram: -abs(gram["share"])))
    marks: list[Mark | None] = []
    for place, share in enumerate(detail["words"]):
        reached = level(share, STEPS)
        note = f"adds {signed(share, 4)}; {weights_note(tokens, place, weights)}"
        marks.append(Mark(RAISED if share > 0 else LOWERED, reached, note) if reached else None)
    return marks
