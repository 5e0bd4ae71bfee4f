"""HTML tables for notebooks, in the light or dark colors of the notebook."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape

from vlgauge.leaderboard.table import Table, notes_of, render

# Do not set text or background colors, so that the notebook determines both.
_STYLE = (
    ".vlgauge table{border-collapse:collapse;color:inherit;background:transparent}"
    ".vlgauge th,.vlgauge td{padding:.25em .7em;color:inherit;background:transparent;"
    "border:0;border-bottom:1px solid rgba(128,128,128,.45)}"
    ".vlgauge th{text-align:left}"
    ".vlgauge td{font-variant-numeric:tabular-nums}"
    ".vlgauge p{margin:.35em 0;font-size:.85em;max-width:70em;overflow-wrap:anywhere;color:inherit}"
    ".vlgauge .wide{overflow-x:auto}"
)


def notebook_tables(tables: Sequence[Table], notes: Sequence[str] = ()) -> str:
    """Return tables as HTML, one below the other, each with its notes and followed by common notes."""
    parts = []
    for one in tables:
        parts.append(f'<div class="wide">{render(replace(one, notes=[], bold=""), "html")}</div>')
        parts += [f"<p>{escape(note)}</p>" for note in notes_of(one)]
    own = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f'<div class="vlgauge"><style>{_STYLE}</style>{"".join(parts)}{own}</div>'


def frame_page(page: str, title: str) -> str:
    """Return a page as an iframe, so that its style does not affect the notebook."""
    return (
        f'<iframe title="{escape(title)}" srcdoc="{escape(page)}" sandbox '
        f'style="width: 100%; height: 480px; border: 0"></iframe>'
    )
