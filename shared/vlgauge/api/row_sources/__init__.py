"""Rows of Hub datasets, archives, folders and tables, in the form that metrics score, with reasons for skipped rows.

Rows are untrusted. An image or video is taken from bytes in the row, or from a file that the source itself contains. No
other path is opened and no URL is requested.
"""

from vlgauge.api.row_sources.guessing import KINDS, guess_titles
from vlgauge.api.row_sources.reading import CheckedFiles, RowReader, SkippedRow, check_cell, skip_reasons
from vlgauge.api.row_sources.source import Origin, Source
from vlgauge.inputs.limits import RowLimits

__all__ = [
    "KINDS",
    "CheckedFiles",
    "Origin",
    "RowLimits",
    "RowReader",
    "SkippedRow",
    "Source",
    "check_cell",
    "guess_titles",
    "skip_reasons",
]
