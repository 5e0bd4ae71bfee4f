"""A reader in a box: files of strangers are read in child processes that may do little and are believed nothing.

A `Box` starts its children as `python -m vlgauge.box.child` with a closed table of ``module:function``, which the room
above hands in: the box knows no format. A child may take so much memory and time for a job, opens no file beside the
libraries, makes no socket and starts no program, as far as the platform gives that (`walls.holding`). What it answers
is length-prefixed JSON and bytes of a bounded number; nothing is ever unpickled. A child that dies, takes too much or
is late costs its own job one sentence, and the next job gets a fresh one.
"""

from vlgauge.box.children import MEGABYTE, Beyond, Box, bounds
from vlgauge.box.frames import Answer, Ask, Garbled, Part, bounded_json
from vlgauge.box.reading import Reading, checked_reading, is_boxed, reading
from vlgauge.box.visitors import Paused, current_visitor, visitor

__all__ = [
    "MEGABYTE",
    "Answer",
    "Ask",
    "Beyond",
    "Box",
    "Garbled",
    "Part",
    "Paused",
    "Reading",
    "bounded_json",
    "bounds",
    "checked_reading",
    "current_visitor",
    "is_boxed",
    "reading",
    "visitor",
]
