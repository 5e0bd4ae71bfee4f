"""Counts whose sums make CHAIR_i of a corpus, which is no mean of scores."""

import numpy as np

from vlgauge.corpus_values import Counted
from vlgauge.corpus_values import Floats

from .formula import chair_i


def counts_of_columns(columns: Floats) -> Floats:
    """Invented and all mentions; NaN for a caption that names nothing, which adds nothing and has no score."""
    return np.where(columns[:, 1:] > 0, columns, np.nan)


COUNTED = Counted(("invented", "mentions"), counts_of_columns, chair_i)
