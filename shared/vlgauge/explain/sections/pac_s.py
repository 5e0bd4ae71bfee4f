"""PAC-S: pictures and clips with right and wrong captions."""

from __future__ import annotations

from pathlib import Path

from .captioned_pictures import captioned_section
from .section import Say, Section

NAME = "pac_s"


def section(examples: Path, say: Say) -> Section:
    """Score the captions of the drawn scenes and clips with the toy's own projections."""
    return captioned_section(NAME, examples, say)
