"""Pages of explanations inside the page of the workbench, each in a frame, so that no style meets another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from markupsafe import Markup, escape

from vlgauge.explain import Explanation
from vlgauge.explain.pages import fragment, number
from vlgauge.explain.plots import Axis
from vlgauge.leaderboard import MetricComparison, Pair, rows_that_differ
from vlgauge.leaderboard.table import TOO_FEW, lack_others, least_pvalue, pvalue_text
from vlgauge.row_sources import Origin
from vlgauge.scoring.forest import forest
from vlgauge.signatures import made_by_toy
from vlgauge.statistics import FEW_MARK, FEW_NOTE
from vlgauge.workbench.picker import ICONS
from vlgauge.workbench.scoring import Scored
from vlgauge.workbench.snippets import Snippet
from vlgauge.workbench.two_runs import TwoRuns

N_ROWS_THAT_DIFFER = 10
_TESTS = {"corpus": "test that swaps the counts of rows"}

_TEMPLATES = Path(__file__).parent / "templates"

# The frame runs nothing, and is as high as what it shows, also when a part of it is folded out.
_FIT = (
    "const page=this.contentDocument.documentElement;page.classList.add('framed');"
    "const fit=()=>this.style.height=page.offsetHeight+'px';"
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


def page_of_file(scored: Scored, origin: Origin, extent: str = "") -> str:
    """Which rows they are, what was left out and why, the summary of the scores, the worst and best rows explained.

    Args:
        scored: The scores.
        origin: Which rows they are of.
        extent: How much of it they are; empty for all.
    """
    reasons: dict[str, list[str]] = {}
    for name, reason in scored.left_out:
        reasons.setdefault(reason, []).append(str(name))
    head = [origin.id, origin.config, origin.split, origin.revision and f"commit {origin.revision}"]
    told = _page(
        "left_out",
        origin=", ".join(part for part in head if part),
        reasons=sorted(reasons.items(), key=lambda one: -len(one[1])),
        n_left_out=len(scored.left_out),
        extent=extent,
        notes=scored.notes,
        n=len(scored.ids) + len(scored.left_out),
        n_undefined=sum(map(math.isnan, scored.explanation.scores)),
    )
    page = report_of(scored.explanation)
    return framed(told, "Rows that were scored and left out") + framed(page, f"Scores by {scored.explanation.name}")


def page_of_tables(tables: str, why_none: str = "", copied: Mapping[str, str] = MappingProxyType({})) -> str:
    """Tables in HTML, whose texts are escaped, or why there is none.

    Args:
        tables: What the page sorts, and draws intervals in.
        why_none: Said where there is none.
        copied: The same as text, by the name of its form.
    """
    texts = {name: Snippet(text) for name, text in copied.items()}
    return _page("tables", tables=Markup(tables), why_none=why_none, copied=texts, icons=ICONS)


def page_of_two(two: TwoRuns) -> str:
    """Which of two runs is better, and the rows that differ most explained side by side."""
    ((compared,), comparison) = two.comparison.metrics, two.comparison
    (pair,) = compared.pairs
    explained = [one.explanation if one else None for one in two.scored]
    known = next((one for one in explained if one), None)
    ends = [compared.scores[name] for name in (pair.first, pair.second)]
    axis = known.axis if known else Axis.holding([value for own in ends for value in own], compared.higher_is_better)
    page = _page(
        "two_runs",
        metric=compared,
        pair=pair,
        level=comparison.level,
        digits=known.digits if known else 3,
        headline=_headline(compared, pair, known.digits if known else 3),
        lack_others=lack_others(compared),
        systems=[_system(compared, name) for name in (pair.first, pair.second)],
        forest=forest(comparison, pair.first, pair.second, ("A", "B")),
        ends=axis.ends,
        few_mark=FEW_MARK,
        few_note=FEW_NOTE,
        pvalue=pvalue_text(pair.pvalue, least=least_pvalue(comparison)),
        test=_TESTS.get(compared.value, "sign-flip test of the rows"),
        is_toy=made_by_toy(compared.signature),
        left_out=two.left_out,
        n=len(comparison.ids) + len(two.left_out),
        rows=[
            _row(two, compared, pair, row, explained, axis)
            for row in rows_that_differ(compared, pair, N_ROWS_THAT_DIFFER)
        ],
        known=known,
        notes=two.notes,
    )
    return framed(page, "Comparison of two runs")


def _headline(compared: MetricComparison, pair: Pair, digits: int) -> str:
    if pair.too_few:
        return f"{compared.metric}: {TOO_FEW}"
    if pair.better is None:
        return f"{compared.metric} does not tell A and B apart"
    letter = "A" if pair.better == pair.first else "B"
    return f"{letter} is better by {number(abs(pair.difference), digits)} {compared.metric}"


def _system(compared: MetricComparison, name: str) -> Any:
    """A run over the rows of both."""
    return next(one for one in compared.systems if one.name == name)


def _row(
    two: TwoRuns,
    compared: MetricComparison,
    pair: Pair,
    row: int,
    explained: Sequence[Explanation | None],
    axis: Axis,
) -> dict[str, Any]:
    """A row in which the runs differ, with what explains the score of each."""
    scores = [compared.scores[name][row] for name in (pair.first, pair.second)]
    return {
        "title": two.comparison.ids[row],
        "scores": scores,
        "difference": (scores[0] - scores[1]) * (1 if compared.higher_is_better else -1),
        "at": [f"{2 + 96 * axis.at(score):.1f}%" for score in scores],
        # The rows of an explanation are those of the comparison, in its order.
        "parts": [one.example(row, title=letter) if one else "" for letter, one in zip("AB", explained, strict=True)],
    }


def report_of(explanation: Explanation) -> str:
    """The report that can be kept."""
    return explanation.html(worst=10, best=5)


def _page(template: str, **values: Any) -> str:
    return str(fragment(template, folder=_TEMPLATES, **values))
