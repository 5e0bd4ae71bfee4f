"""Frechet-BERT: the Gaussians that stand for the two sides, and the distance among those of all other splits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import vlgauge
from vlgauge.encoders.sentences.model import sentence_encoder
from vlgauge.statistics import partitions

from .caption_plots import TOLERANCE, caption_cloud, null_histogram
from .caption_sets import (
    DEVICE,
    extremes_table,
    kind_table,
    meaning,
    read_caption_sets,
    scored,
    scored_by_kind,
    scores_of_kinds,
    shown_sets,
)
from .pages import fragment
from .section import Say, Section, extreme_positions

NAME = "frechet_bert"


def section(examples: Path, say: Say) -> Section:
    """Score the caption sets and show the set of each kind that is farthest from its references."""
    sets = read_caption_sets(examples)
    say(f"Scoring {len(sets.rows)} caption sets")
    metric: Any = vlgauge.load(NAME, keep_in_memory=True, profile="embedded", pvalue="exact", device=DEVICE)
    result = scored(metric, sets.rows)
    say("Testing each kind as a corpus of its own")
    of_kinds = scored_by_kind(metric, sets)
    picked = {kind: extreme_positions(where, result[f"{NAME}_scores"])[:1] for kind, where in sets.kinds_at.items()}
    say(f"Drawing the plots of {sum(map(len, picked.values()))} caption sets")
    shown = shown_sets(NAME, sets, result, picked, lambda i, name: _explained(metric, sets.rows[i], name))
    return Section(
        metric=NAME,
        signature=result[f"{NAME}_signature"],
        scores=scores_of_kinds(NAME, of_kinds),
        by_kind=kind_table(NAME, of_kinds),
        extremes=extremes_table(NAME, sets, result),
        body=fragment(NAME, kinds=shown),
    )


def _explained(metric: Any, row: dict[str, Any], name: str) -> dict[str, Any]:
    """Plots and words that explain the score of a caption set."""
    formulas = sys.modules[type(metric).__module__]
    n, m = len(row["predictions"]), len(row["references"])
    encoder = sentence_encoder(profile="embedded", device=DEVICE)
    vectors = encoder.encode([*row["predictions"], *row["references"]])
    gram = formulas.gram_matrices(vectors[None])
    null: np.ndarray = formulas.frechet_distances(gram, partitions(n, m, pvalue="exact").candidates)[0]
    # As in the metric, what counts as a tie goes with the size of the vectors.
    tolerance = TOLERANCE * float(np.trace(gram[0])) / (n + m)
    count = int(np.count_nonzero(null >= null[0] - tolerance))
    of_means = float(formulas.squared_mean_distances(gram, n)[0])
    return {
        "figures": [
            caption_cloud(name, vectors, n, ellipses=True),
            null_histogram(name, null, "Fréchet distance", tolerance),
        ],
        "meaning": f"{parts_in_words(of_means, null[0])} {meaning(count, len(null), n, m)}",
    }


def parts_in_words(of_means: float, distance: float) -> str:
    """How much of a distance is that of the means, in words."""
    if distance <= 0.0:
        return "The two sides have the same mean and the same spread."
    return f"{of_means / distance:.0%} of the distance lies between the means, the rest is a difference in spread."
