"""HTML tables for notebooks, in the light or dark colors of the notebook."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape

from vlgauge.core.files import DATA
from vlgauge.leaderboard.table import Table, notes_of, render


def notebook_tables(tables: Sequence[Table], notes: Sequence[str] = ()) -> str:
    """Return tables as HTML, one below the other, each with its notes and followed by common notes."""
    parts = []
    for one in tables:
        parts.append(f'<div class="wide">{render(replace(one, notes=[], bold=""), "html")}</div>')
        parts += [f"<p>{escape(note)}</p>" for note in notes_of(one)]
    own = "".join(f"<p>{escape(note)}</p>" for note in notes)
    style = (DATA / "notebook.css").read_text("utf-8")
    return f'<div class="vlgauge"><style>{style}</style>{"".join(parts)}{own}</div>'


def frame_page(page: str, title: str) -> str:
    """Return a page as an iframe, so that its style does not affect the notebook."""
    return (
        f'<iframe title="{escape(title)}" srcdoc="{escape(page)}" sandbox '
        f'style="width: 100%; height: 480px; border: 0"></iframe>'
    )
