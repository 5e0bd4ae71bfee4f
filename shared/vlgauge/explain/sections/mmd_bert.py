"""MMD-BERT: caption clouds, and the observed value among those of all ways to split the captions."""

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

NAME = "mmd_bert"


def section(examples: Path, say: Say) -> Section:
    """Score the caption sets and show what their captions look like to the metric."""
    sets = read_caption_sets(examples)
    say(f"Loading MiniLM and scoring {len(sets.rows)} caption sets")
    metric: Any = vlgauge.load(NAME, keep_in_memory=True, profile="embedded", pvalue="exact", device=DEVICE)
    result = scored(metric, sets.rows)
    say("Testing each kind as a corpus of its own")
    of_kinds = scored_by_kind(metric, sets)
    picked = {kind: extreme_positions(where, result[f"{NAME}_scores"]) for kind, where in sets.kinds_at.items()}
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
    n, m = len(row["predictions"]), len(row["references"])
    encoder = sentence_encoder(profile="embedded", device=DEVICE)
    vectors = encoder.encode([*row["predictions"], *row["references"]])
    null = _null_distribution(metric, vectors, n)
    count = int(np.count_nonzero(null >= null[0] - TOLERANCE))
    return {
        "figures": [caption_cloud(name, vectors, n), null_histogram(name, null, "squared MMD")],
        "meaning": meaning(count, len(null), n, m),
    }


def _null_distribution(metric: Any, vectors: np.ndarray, n: int) -> np.ndarray:
    """The squared MMD of every split by the metric's own functions, shape ``(P,)``, the observed one first."""
    formulas = sys.modules[type(metric).__module__]
    squared = formulas.squared_distances(vectors[None])
    kernel = formulas.gaussian_kernel(squared, formulas.bandwidths(squared, metric.bandwidth))
    splits = partitions(n, len(vectors) - n, pvalue="exact").candidates
    null: np.ndarray = formulas.null_distribution(kernel, splits, metric.estimator)[0]
    return null
