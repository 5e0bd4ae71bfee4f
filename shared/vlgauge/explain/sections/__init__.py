"""The sections of the demo, one per metric. A new metric gets a file here and an entry in `SECTIONS`."""

from . import (
    clip_s,
    d_hm,
    frechet_bert,
    groovist,
    mmd_bert,
    onlystyle,
    pac_s,
    rovist,
    rovist_c,
    rovist_nr,
    rovist_vg,
    stylecider,
    trm,
)
from .pages import page

SECTIONS = {
    "rovist_nr": rovist_nr.section,
    "rovist_c": rovist_c.section,
    "rovist": rovist.section,
    "d_hm": d_hm.section,
    "trm": trm.section,
    "mmd_bert": mmd_bert.section,
    "frechet_bert": frechet_bert.section,
    "onlystyle": onlystyle.section,
    "stylecider": stylecider.section,
    "clip_s": clip_s.section,
    "pac_s": pac_s.section,
    "groovist": groovist.section,
    "rovist_vg": rovist_vg.section,
}

__all__ = ["SECTIONS", "page"]
