"""OnlyStyle and StyleCIDEr of tokenized captions, computed as in the two metrics."""

import warnings

import numpy as np

from vlgauge.core.catalog import folder_module
from vlgauge.families.style import formula, scoring
from vlgauge.inputs.text import ngrams

VARIANTS = ("paper", "released")
ONLYSTYLE = folder_module("onlystyle", "onlystyle")


def own_scores(table, captions, styles, variant="paper", orders="available", *, exclude_self=False):
    """Compute OnlyStyle in the style of each caption."""
    ids = table.style_ids(styles)
    return formula.own_scores(scoring.weigh_ngrams(table, captions, ids, variant, exclude_self=exclude_self), orders)


def all_scores(table, captions, variant="paper", **options):
    """Compute OnlyStyle in every style."""
    return np.concatenate(list(formula.score_blocks(table, captions, variant, **options)))


def cider_scores(table, examples, variant="paper", *, exclude_self=False):
    """Compute StyleCIDEr of triples (tokens, list of references, style)."""
    captions, references, styles = zip(*examples, strict=True)
    ids = table.style_ids(styles)
    of = np.repeat(np.arange(len(captions)), ngrams.lengths_of(references))
    flat = [reference for row in references for reference in row]
    own = scoring.weigh_ngrams(table, captions, ids, variant, exclude_self=exclude_self)
    theirs = scoring.weigh_references(table, flat, of, own, ids, variant)
    cosines = formula.reference_cosines(own, theirs, of)
    parts = formula.reference_scores(cosines, variant, ngrams.lengths_of(captions)[of], ngrams.lengths_of(flat))
    return formula.mean_over_references(parts, of, len(captions))


def without_warning(metric, **columns):
    """Return the result of a metric without the warning about captions that its table was fitted on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return metric.compute(**columns)
