"""The sections of the demo, one per metric. A new metric gets a file here and an entry in `SECTIONS`."""

from . import frechet_bert
from . import mmd_bert
from . import onlystyle
from . import rovist_nr
from . import stylecider
from . import trm
from .pages import page

SECTIONS = {
    "rovist_nr": rovist_nr.section,
    "trm": trm.section,
    "mmd_bert": mmd_bert.section,
    "frechet_bert": frechet_bert.section,
    "onlystyle": onlystyle.section,
    "stylecider": stylecider.section,
}

__all__ = ["SECTIONS", "page"]
