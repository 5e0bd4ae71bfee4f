"""Explanations inside the page of the workbench. Each one is in an iframe, so that styles do not interfere."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from markupsafe import Markup, escape

from vlgauge.api.forest import forest, summarize_pair
from vlgauge.api.row_sources import Origin
from vlgauge.core.catalog import metric_title
from vlgauge.core.signatures import DEMO_NUMBERS, uses_demo_model
from vlgauge.explain import Explanation
from vlgauge.explain.plots import Axis
from vlgauge.leaderboard import MetricComparison, RunComparison, rows_that_differ
from vlgauge.leaderboard.table import lack_others, the_test, title
from vlgauge_workbench.compare_snippets import Asked, compare_link, compare_snippets
from vlgauge_workbench.compared_systems import Compared
from vlgauge_workbench.picker import part_of_page
from vlgauge_workbench.scoring import ScoredTable
from vlgauge_workbench.snippets import Snippet

N_ROWS_THAT_DIFFER = 10
N_ROWS_SHOWN, N_BEST_SHOWN = 60, 20  # on the page, for files; the downloaded report has fewer
_NO_LINK = "A link cannot contain your files"

# The iframe runs no scripts. Its height follows its content, also when a part is expanded.
_FIT = (
    "const page=this.contentDocument.documentElement;page.classList.add('framed');"
    "const fit=()=>this.style.height=page.offsetHeight+'px';"
    "fit();new ResizeObserver(fit).observe(page)"
)

# Links open in a new page, to which the restrictions of the iframe do not apply.
_SANDBOX = "allow-same-origin allow-popups allow-popups-to-escape-sandbox"


def frame(page: str, title: str) -> str:
    """Return a page as an iframe."""
    return (
        f'<iframe class="vlgauge-page" title="{escape(title)}" sandbox="{_SANDBOX}" srcdoc="{escape(page)}" '
        f'onload="{_FIT}"></iframe>'
    )


def page_of_file(scored: ScoredTable, origin: Origin, extent: str = "") -> str:
    """Return the page of a run.

    It has the source of the rows, the rows that were left out with reasons, the summary of the scores, and explanations
    of the worst and best rows.
    """
    reasons: dict[str, list[str]] = {}
    for name, reason in scored.left_out:
        reasons.setdefault(reason, []).append(str(name))
    head = [origin.id, origin.config, origin.split, origin.revision and f"commit {origin.revision}"]
    summary = part_of_page(
        "left_out",
        origin=", ".join(part for part in head if part),
        reasons=sorted(reasons.items(), key=lambda one: -len(one[1])),
        n_left_out=len(scored.left_out),
        extent=extent,
        notes=scored.notes,
        n=len(scored.ids) + len(scored.left_out),
        n_undefined=scored.explanation.row_counts.undefined,
    )
    page = scored.explanation.html(worst=N_ROWS_SHOWN, best=N_BEST_SHOWN)
    return frame(summary, "Scored and skipped rows") + frame(page, f"Scores by {scored.explanation.name}")


def page_without_rows() -> str:
    """Return the page before the first run, with instructions."""
    return part_of_page("no_rows_yet")


def page_of_tables(
    tables: str, why_none: str = "", copied: Mapping[str, str] = MappingProxyType({}), *, is_demo: bool = False
) -> str:
    """Return the page of tables in HTML, which must be escaped already, or of the reason why there are no tables."""
    texts = {name: Snippet(text) for name, text in copied.items()}
    return part_of_page("tables", tables=Markup(tables), why_none=why_none, copied=texts, is_demo=is_demo)


def page_of_compared(compared: Compared, asked: Asked, pair: int = 0, rows_by: str = "") -> str:
    """Return the page that compares two systems by each metric and explains the rows with the largest differences."""
    comparison, names = compared.comparison, compared.pairs[pair]
    metric = next((one for one in comparison.metrics if one.metric == rows_by), comparison.metrics[0])
    two = next(one for one in metric.pairs if (one.first, one.second) == names)
    explained = [compared.explained(metric.metric).get(name) for name in names]
    known = next((one for one in explained if one), None)
    rows = rows_that_differ(metric, two, N_ROWS_THAT_DIFFER)
    values = [metric.scores[name][row] for name in names for row in rows]
    axis = Axis.holding(values, metric.higher_is_better)
    return part_of_page(
        "compared",
        link=compare_link(asked, pair, metric.metric),
        why_no_link=_NO_LINK,
        snippets=compare_snippets(asked),
        names=names,
        pairs=compared.pairs,
        pairs_said=[(str(number), " and ".join(one)) for number, one in enumerate(compared.pairs)],
        pair=pair,
        level=f"{100 * comparison.level:g}%",
        the_test=the_test(comparison),
        headline=summarize_pair(comparison, *names),
        forest=forest(comparison, *names),
        n_rows=len(comparison.ids),
        is_demo=any(uses_demo_model(one.signature) for one in comparison.metrics),
        is_bundled=asked.is_bundled,
        notes=[note for note in compared.notes if DEMO_NUMBERS not in note],
        left_out=compared.left_out,
        own_values=[_describe_own_values(one, names) for one in comparison.metrics if lack_others(one)],
        metrics=[(one.metric, metric_title(one.metric)) for one in comparison.metrics],
        metric=metric.metric,
        known=known,
        digits=known.digits if known else 3,
        ends=axis.ends,
        rows=[_row(comparison, metric, names, row, explained, axis) for row in rows],
        signatures=[one.signature for one in comparison.metrics],
    )


def _describe_own_values(compared: MetricComparison, names: tuple[str, str]) -> dict[str, Any]:
    """Return the values of two systems over all of their rows, if these differ from the common rows."""
    own = [one for name in names for one in compared.systems if one.name == name]
    return {"metric": title(compared, spoken=True), "systems": own}


def _row(
    comparison: RunComparison,
    compared: MetricComparison,
    names: tuple[str, str],
    row: int,
    explained: Sequence[Explanation | None],
    axis: Axis,
) -> dict[str, Any]:
    """Return the template values of a row, with the explanation of each score."""
    scores = [compared.scores[name][row] for name in names]
    return {
        "title": comparison.ids[row],
        "scores": scores,
        "difference": (scores[0] - scores[1]) * (1 if compared.higher_is_better else -1),
        "at": [f"{2 + 96 * axis.at(score):.1f}%" for score in scores],
        # Explanations have the rows of the comparison in the same order.
        "parts": [one.body(row) + one.bars(row) if one else "" for one in explained],
    }


def report_of(explanation: Explanation) -> str:
    """Return the report for download."""
    return explanation.html(worst=10, best=5)
