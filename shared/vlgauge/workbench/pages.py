"""Pages of explanations inside the page of the workbench, each in a frame, so that no style meets another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from vlgauge.explain import Explanation
from vlgauge.explain.pages import fragment
from vlgauge.workbench.scoring import Scored

_TEMPLATES = Path(__file__).parent / "templates"

# The frame runs nothing, and is as high as what it shows, also when a part of it is folded out.
_FIT = (
    "const page=this.contentDocument.documentElement;const fit=()=>this.style.height=page.offsetHeight+'px';"
    "fit();new ResizeObserver(fit).observe(page)"
)

# A link opens a page of its own, which is not bound by the frame.
_SANDBOX = "allow-same-origin allow-popups allow-popups-to-escape-sandbox"


def framed(page: str, title: str) -> str:
    """A page as a frame."""
    return (
        f'<iframe class="vlgauge-page" title="{escape(title)}" sandbox="{_SANDBOX}" srcdoc="{escape(page)}" '
        f'onload="{_FIT}"></iframe>'
    )


def page_of_one(scored: Scored) -> str:
    """The explained score of one example."""
    return framed(_page("one", metric=scored.explanation, notes=scored.notes), f"Score by {scored.explanation.name}")


def page_of_file(scored: Scored) -> str:
    """What was left out and why, the summary of the scores, the worst and best rows explained."""
    left_out = [(str(name), reason) for name, reason in scored.left_out]
    page = report_of(scored.explanation)
    told = _page("left_out", left_out=left_out, notes=scored.notes, n=len(scored.ids) + len(left_out))
    return framed(told, "Rows that were scored and left out") + framed(page, f"Scores by {scored.explanation.name}")


def page_of_tables(tables: str) -> str:
    """Tables in HTML, whose texts are escaped."""
    return framed(_page("tables", tables=Markup(tables), notes=()), "Leaderboard")


def report_of(explanation: Explanation) -> str:
    """The report that can be kept."""
    return explanation.html(worst=10, best=5)


def _page(template: str, **values: Any) -> str:
    return str(fragment(template, folder=_TEMPLATES, **values))
