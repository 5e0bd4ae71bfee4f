"""Rows of data sets of the Hub, archives, folders and tables, as a metric scores them, and why some are left out.

Rows are hostile: of a picture the bytes are taken, or a file that the source itself holds; no other path is opened and
no address asked for.
"""

from vlgauge.media.limits import RowLimits
from vlgauge.row_sources.guessing import KINDS, guessed_titles
from vlgauge.row_sources.reading import LeftOut, RowReader, checked_cell, counted_reasons
from vlgauge.row_sources.source import Origin, Source

__all__ = [
    "KINDS",
    "LeftOut",
    "Origin",
    "RowLimits",
    "RowReader",
    "Source",
    "checked_cell",
    "counted_reasons",
    "guessed_titles",
]
