"""TRM: which side of the triangles of captions is the shortest, and how often it would be in other splits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import vlgauge
from vlgauge.distances.cider import DocumentFrequency
from vlgauge.distances.meteor_backends import open_meteor
from vlgauge.statistics import partitions

from .caption_plots import null_histogram
from .caption_sets import (
    TESTED,
    CaptionSets,
    extremes_table,
    read_caption_sets,
    scored,
    scored_by_kind,
    scores_of_kinds,
    shown_sets,
    tested,
)
from .pages import fragment
from .section import Say, Section, Table, extreme_positions
from .triangle_plots import RANKS, SIDES, triangle_picture

NAME = "trm"
TIE_TOLERANCE = 1e-12  # the metric's own for METEOR

Floats = npt.NDArray[np.float64]

# By whether candidates and references are closer among themselves than a random split has them.
VERDICTS = {
    (True, True): "each set keeps to itself, so the candidates say something else than the references",
    (True, False): "the candidates lie closer together than the references do",
    (False, True): "the candidates lie farther apart than the references do",
    (False, False): "captions are closer to those of the other set than to those of their own, as where each set "
    "avoids saying anything twice",
}


def section(examples: Path, say: Say) -> Section:
    """Score the caption sets and show their triangles."""
    sets = read_caption_sets(examples)
    say(f"Scoring {len(sets.rows)} caption sets with METEOR and with CIDEr-D distances")
    metric: Any = vlgauge.load(NAME, keep_in_memory=True, pvalue="exact", tie_tol=TIE_TOLERANCE)
    result = scored(metric, sets.rows)
    # One table of document frequencies for all kinds, so that a score does not depend on the kind.
    df = DocumentFrequency.from_references(row["references"] for row in sets.rows)
    by_cider: Any = vlgauge.load(NAME, keep_in_memory=True, pvalue="exact", distance="cider_d", df=df)
    of_kinds = scored_by_kind(metric, sets)
    table = _kind_table(of_kinds, scored_by_kind(by_cider, sets))
    first = {kind: extreme_positions(where, result[f"{NAME}_scores"]) for kind, where in sets.kinds_at.items()}
    picked = {kind: list(dict.fromkeys([*first[kind], *where])) for kind, where in sets.kinds_at.items()}
    say(f"Drawing the plots of {len(sets.rows)} caption sets")
    shown = shown_sets(NAME, sets, result, picked, lambda i, name: _explained(metric, sets, result, i, name))
    return Section(
        metric=NAME,
        signature=result[f"{NAME}_signature"],
        scores=scores_of_kinds(NAME, of_kinds),
        by_kind=table,
        extremes=extremes_table(NAME, sets, result),
        body=fragment(NAME, kinds=shown, n_open={kind: len(where) for kind, where in first.items()}),
    )


def _kind_table(by_meteor: dict[str, dict[str, Any]], by_cider: dict[str, dict[str, Any]]) -> Table:
    rows = []
    for kind, result in by_meteor.items():
        numbers = (*tested(result, NAME), result[NAME], result[f"{NAME}_null_mean"])
        separate = (result[f"{NAME}_separate_pvalue"], result[f"{NAME}_separate_excess"])
        cider = (by_cider[kind][f"{NAME}_pvalue"], by_cider[kind][f"{NAME}_excess"])
        rows.append((kind, len(result[f"{NAME}_scores"]), result[f"{NAME}_undefined"], *numbers, *separate, *cider))
    others = ("p (separate)", "excess (separate)", "p (CIDEr-D)", "excess (CIDEr-D)")
    titles = (*TESTED, "mean Q", "by chance", *others)
    return Table(("kind", "sets", "undefined", *titles), rows)


def _explained(metric: Any, sets: CaptionSets, result: dict[str, Any], i: int, name: str) -> dict[str, Any]:
    """Plots and words that explain the score of a caption set."""
    formulas = sys.modules[type(metric).__module__]
    row = sets.rows[i]
    with open_meteor() as meteor:
        distances = next(iter(meteor.matrices([[*row["predictions"], *row["references"]]])))
    levels = formulas.levels(distances[None], metric.tie_tol)
    shares, q = triangles_of_splits(formulas, levels, len(row["predictions"]))
    pvalues = result[f"{NAME}_pvalues"][i], result[f"{NAME}_separate_pvalues"][i]
    return {
        "figures": [triangle_picture(name, shares), null_histogram(name, q, "Q")],
        "facts": [
            ("p", pvalues[0]),
            ("Q by chance", result[f"{NAME}_null_means"][i]),
            ("separate Q", result[f"{NAME}_separate_scores"][i]),
            ("p (separate)", pvalues[1]),
        ],
        "meaning": meaning(shares, *pvalues),
    }


def triangles_of_splits(formulas: Any, levels: npt.NDArray[np.signedinteger], n: int) -> tuple[Floats, Floats]:
    """How often the side within a set has which rank, and Q, in every split, by the metric's own functions.

    Args:
        formulas: The module of the metric.
        levels: shape ``(1, N, N)``, order of the distances, the n candidates first.
        n: Number of candidates.

    Returns:
        Shares, shape ``(P, 2, 3)``: lone candidate and lone reference, by rank; and Q, shape ``(P,)``. The observed
        split comes first.
    """
    splits = partitions(n, levels.shape[1] - n, pvalue="exact").candidates
    # The candidates of each split to the front: P examples with the same split have the counts of all.
    order = np.argsort(~splits, axis=1, kind="stable")
    tests = formulas.triangle_tests(levels[0][order[:, :, None], order[:, None, :]], splits[:1])
    counts: Floats = tests.counts
    return counts / counts.sum(axis=2, keepdims=True), tests.q[0, :, 0]


def meaning(shares: Floats, pvalue: float, separate_pvalue: float) -> str:
    """What the triangles of a caption set say, in words.

    Args:
        shares: shape ``(P, 2, 3)``, as `triangles_of_splits` makes them.
        pvalue: p of the pooled Q.
        separate_pvalue: p of the separate Q.
    """
    expected = shares.mean(axis=0)
    excess = shares[0] - expected
    ends = [(side, lone, pair, rank) for side, lone, pair, *_ in SIDES for rank in (0, 2)]
    side, lone, pair, rank = max(ends, key=lambda end: round(abs(excess[end[0], end[3]]), 9))
    sentence = (
        f"The side between two {pair} is the {RANKS[rank]} in {shares[0, side, rank]:.0%} of the triangles with a lone "
        f"{lone}, where a random split gives {expected[side, rank]:.0%}"
    )
    closer = excess[:, 0] - excess[:, 2] > 0.0
    verdict = VERDICTS[bool(closer[1]), bool(closer[0])]
    # Two tests were made, so the smaller p counts twice.
    p = 2.0 * min(pvalue, separate_pvalue)
    if p <= 0.05:
        return f"{sentence}: {verdict}."
    if p <= 0.2:
        return f"{sentence}: it may be that {verdict}, but one set this small cannot tell."
    return f"{sentence}: many other splits of these captions are as uneven."
