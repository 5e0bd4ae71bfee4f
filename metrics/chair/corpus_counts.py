"""Counts whose sums make CHAIR_i of a corpus, which is no mean of scores."""

from vlgauge.corpus_values import Counted

from .formula import chair_i

# A caption that names nothing has no score of its own, but adds 0 of 0.
COUNTED = Counted(("invented", "mentions"), lambda columns: columns, chair_i)
