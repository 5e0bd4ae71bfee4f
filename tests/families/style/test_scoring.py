"""The n-grams of captions with their weights."""

from fractions import Fraction

import numpy as np
import pytest
from style_definition import (
    TOY,
)

from vlgauge.families.style import scoring


def test_golden_norms_and_products(tables):
    table = tables["toy"]
    rows = [row for row in TOY["stylecider"] if "paper_parts_first_reference" in row]
    assert len(rows) > 5
    for row in rows:
        tokens, reference = row["candidate"].split(), row["references"][0].split()
        own_style = table.style_ids([row["style"]])
        own = scoring.weigh_ngrams(table, [tokens], own_style, "paper")
        theirs = scoring.weigh_references(table, [reference], np.array([0]), own, own_style, "paper")
        for part, a, (b, shared) in zip(row["paper_parts_first_reference"], own, theirs, strict=True):
            found = [(b.weights[shared] ** 2).sum(), (a.weights**2).sum(), (b.weights**2).sum()]
            keys = ("dot", "candidate_norm_squared", "reference_norm_squared")
            assert found == pytest.approx([float(Fraction(part[key])) for key in keys], abs=1e-12)
