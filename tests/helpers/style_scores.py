"""OnlyStyle and StyleCIDEr of tokenized captions, computed as in the two metrics."""

import warnings

import numpy as np

from vlgauge.core.catalog import folder_module
from vlgauge.families import style

VARIANTS = ("paper", "released")
ONLYSTYLE = folder_module("onlystyle", "onlystyle")


def own_scores(table, captions, styles, variant="paper", orders="available", *, exclude_self=False):
    """Compute OnlyStyle in the style of each caption."""
    ids = table.style_ids(styles)
    return style.own_scores(style.weigh_ngrams(table, captions, ids, variant, exclude_self=exclude_self), orders)


def all_scores(table, captions, variant="paper", **options):
    """Compute OnlyStyle in every style."""
    return np.concatenate(list(style.score_blocks(table, captions, variant, **options)))


def cider_scores(table, examples, variant="paper", *, exclude_self=False):
    """Compute StyleCIDEr of triples (tokens, list of references, style)."""
    captions, references, styles = zip(*examples, strict=True)
    ids = table.style_ids(styles)
    of = np.repeat(np.arange(len(captions)), style.lengths_of(references))
    flat = [reference for row in references for reference in row]
    own = style.weigh_ngrams(table, captions, ids, variant, exclude_self=exclude_self)
    theirs = style.weigh_references(table, flat, of, own, ids, variant)
    cosines = style.reference_cosines(own, theirs, of)
    parts = style.reference_scores(cosines, variant, style.lengths_of(captions)[of], style.lengths_of(flat))
    return style.mean_over_references(parts, of, len(captions))


def without_warning(metric, **columns):
    """Return the result of a metric without the warning about captions that its table was fitted on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return metric.compute(**columns)
