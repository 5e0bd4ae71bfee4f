"""StyleCIDEr: captions with the words marked that they share with captions of their style, or that none of them has."""

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

NAME = "stylecider"
STEPS = (0.0002, 0.001, 0.004)  # a word gets a mark, and a stronger one, if it adds so much
WEIGHT_STEPS = (0.05, 0.12, 0.2)  # or, without any reference that has it, if it weighs so much
N_OPEN = 3  # captions per style that stand open; the others unfold
N_CLOSEST = 2  # references shown below a caption
N_LISTED = 3  # n-grams named beside a reference


def section(examples: Path, say: Say) -> Section:
    """Score the captions that were held out against those of the table and show what they share."""
    corpus = read_styled_captions(examples)
    n_fitted = sum(corpus.table.captions)
    say(f"Scoring {len(corpus.captions)} captions against the {n_fitted} captions of the style table, by style")
    metric: Any = vlgauge.load(NAME, keep_in_memory=True, table=corpus.table)
    result = _against(metric, corpus, corpus.styles, return_details=True)
    scores, matrix = result[f"{NAME}_scores"], score_matrix(metric, corpus)
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
            weight_steps=WEIGHT_STEPS,
        ),
    )


def _against(
    metric: Any, corpus: StyledCaptions, reference_styles: list[str], *, return_details: bool = False
) -> dict[str, Any]:
    """Scores of all captions, each against the captions of the table of some style, weighed for its own style."""
    references = [corpus.fitted[style] for style in reference_styles]
    result: dict[str, Any] = metric.compute(
        predictions=corpus.captions, references=references, styles=corpus.styles, return_details=return_details
    )
    return result


def score_matrix(metric: Any, corpus: StyledCaptions) -> Floats:
    """Scores against the captions of every style, shape ``(n_captions, |S|)``."""
    results = (_against(metric, corpus, [style] * len(corpus.captions)) for style in corpus.table.styles)
    return np.array([result[f"{NAME}_scores"] for result in results]).T


def _shown(corpus: StyledCaptions, result: dict[str, Any], matrix: Floats, i: int) -> dict[str, Any]:
    """What the page shows of a caption."""
    detail = result[f"{NAME}_details"][i]
    texts = corpus.fitted[corpus.styles[i]]
    parts = detail["references"]
    closest = sorted(range(len(parts)), key=lambda k: (-parts[k]["score"], k))[:N_CLOSEST]
    return {
        "name": corpus.names[i],
        "score": result[f"{NAME}_scores"][i],
        "better": better_style(corpus, matrix, i),
        "pieces": marked_caption(corpus.captions[i], detail["tokens"], word_marks(detail)),
        "closest": [
            {
                "score": parts[k]["score"],
                "pieces": marked_caption(texts[k], parts[k]["tokens"], shared_marks(parts[k])),
                "shared": named_weights(ngram_weights(parts[k]["raised"]), N_LISTED),
            }
            for k in closest
            if parts[k]["score"] > 0.0
        ],
    }


def word_marks(detail: dict[str, Any]) -> list[Mark | None]:
    """Marks of the words of a caption: those that it shares with references, and those that none of them has."""
    tokens, parts = detail["tokens"], detail["references"]
    shares: dict[str, float] = {}
    weights: dict[str, float] = {}
    missed: dict[str, float] = {}
    for part in parts:
        weights |= ngram_weights(part["raised"])
        missed |= ngram_weights(gram for gram in part["lowered"] if gram["side"] == "prediction")
        for gram in part["raised"]:
            shares[gram["ngram"]] = shares.get(gram["ngram"], 0.0) + gram["share"]
    shared = {ngram: weights[ngram] for ngram in sorted(shares, key=lambda ngram: -shares[ngram])}
    marks: list[Mark | None] = []
    for place, (token, share) in enumerate(zip(tokens, detail["words"], strict=True)):
        mark = None
        if reached := level(share, STEPS):
            mark = Mark(RAISED, reached, f"adds {signed(share, 4)}; {weights_note(tokens, place, shared)}")
        elif token not in shared and (reached := level(missed.get(token, 0.0), WEIGHT_STEPS)):
            mark = Mark(LOWERED, reached, f"in no reference; weight: {token} {signed(missed[token])}")
        marks.append(mark)
    return marks


def shared_marks(part: dict[str, Any]) -> list[Mark | None]:
    """Marks of the words of a reference that the caption has too, as strong as what they add to its score."""
    tokens = part["tokens"]
    weights = ngram_weights(gram for gram in part["raised"] if gram["share"] >= STEPS[0])
    notes = [weights_note(tokens, place, weights) for place in range(len(tokens))]
    return [Mark(RAISED, 1, f"shared; {note}") if note else None for note in notes]
