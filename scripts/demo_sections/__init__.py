"""The sections of the demo, one per metric. A new metric gets a file here and an entry in `SECTIONS`."""

from . import mmd_bert
from . import rovist_nr
from .pages import page

SECTIONS = {
    "rovist_nr": rovist_nr.section,
    "mmd_bert": mmd_bert.section,
}

__all__ = ["SECTIONS", "page"]
