"""Explanations: what a score is made of, for the rows that a user scored, as HTML that needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlgauge.settings import one_of

from .bleu import Bleu
from .cider import Cider
from .clip_s import ClipS
from .d_hm import DHm
from .differing import Differing, Row, differences
from .explanation import Columns, Explanation, report
from .frechet_bert import FrechetBert
from .groovist import Groovist
from .meteor import Meteor
from .mmd_bert import MmdBert
from .onlystyle import OnlyStyle
from .pac_s import PacS
from .rouge_l import RougeL
from .rovist import Rovist
from .rovist_c import RovistC
from .rovist_nr import RovistNr
from .rovist_vg import RovistVg
from .stylecider import StyleCider
from .trm import Trm

# Stories, sets of captions, style, pictures and captions, captions and references.
_CLASSES: tuple[type[Explanation], ...] = (
    RovistNr,
    RovistC,
    Groovist,
    RovistVg,
    Rovist,
    DHm,
    Trm,
    MmdBert,
    FrechetBert,
    OnlyStyle,
    StyleCider,
    ClipS,
    PacS,
    Cider,
    Meteor,
    RougeL,
    Bleu,
)
EXPLANATIONS: dict[str, type[Explanation]] = {cls.name: cls for cls in _CLASSES}


def explain(name: str, columns: Columns, result: Mapping[str, Any]) -> Explanation:
    """Explain the scores of a metric.

    Args:
        name: Name of the metric.
        columns: The columns that were scored, by name, and ``"id"`` if the rows have names.
        result: What `compute(..., return_details=True)` returned for them.

    Raises:
        ValueError: If no metric has this name, or columns or details are missing; all of them are named.
    """
    return EXPLANATIONS[one_of("name", name, tuple(EXPLANATIONS))](columns, result)


__all__ = ["EXPLANATIONS", "Differing", "Explanation", "Row", "differences", "explain", "report"]
