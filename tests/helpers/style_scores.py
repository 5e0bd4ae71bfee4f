"""OnlyStyle and StyleCIDEr of captions given by tokens, by the formulas in the files of the two metrics."""

import importlib.util
import warnings

import numpy as np
from folders import METRICS

from vlgauge import style

VARIANTS = ("paper", "authors")


def formulas_of(name):
    """The file of a metric, loaded by its path, since its folder is no package."""
    spec = importlib.util.spec_from_file_location(f"{name}_formulas", METRICS / name / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ONLYSTYLE, STYLECIDER = formulas_of("onlystyle"), formulas_of("stylecider")


def own_scores(table, captions, styles, variant="paper", orders="available", *, exclude_self=False):
    """OnlyStyle in the own style."""
    ids = table.style_ids(styles)
    weighted = style.weighted_ngrams(table, captions, ids, variant, exclude_self=exclude_self)
    means = [ONLYSTYLE.order_scores(order.weights, order.grams.captions, order.grams.sizes) for order in weighted]
    return ONLYSTYLE.onlystyle_scores(np.stack(means), np.stack([order.grams.sizes for order in weighted]), orders)


def all_scores(table, captions, variant="paper", **options):
    """OnlyStyle in every style."""
    return np.concatenate(list(style.score_blocks(table, captions, variant, **options)))


def cider_scores(table, examples, variant="paper", *, exclude_self=False):
    """StyleCIDEr of (tokens, list of references, style)."""
    captions, references, styles = zip(*examples, strict=True)
    ids = table.style_ids(styles)
    of = np.repeat(np.arange(len(captions)), [len(row) for row in references])
    flat = [reference for row in references for reference in row]
    own = style.weighted_ngrams(table, captions, ids, variant, exclude_self=exclude_self)
    theirs = style.weighted_references(table, flat, of, own, ids, variant)
    cosines = [
        STYLECIDER.ngram_cosines((a.weights, a.grams.captions), (b.weights, b.grams.captions), shared, of)
        for a, (b, shared) in zip(own, theirs, strict=True)
    ]
    penalties = None
    if variant == "authors":
        lengths, others = (np.array([len(row) for row in rows], int) for rows in (captions, flat))
        penalties = style.length_penalties(lengths[of], others)
    parts = STYLECIDER.reference_scores(np.stack(cosines), penalties)
    return STYLECIDER.mean_over_references(parts, of, len(captions))


def without_warning(metric, **columns):
    """Result of a metric that may warn of captions which its table was fitted on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return metric.compute(**columns)
