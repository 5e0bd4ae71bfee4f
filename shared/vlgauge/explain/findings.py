"""Summary sentences of a report: the overall result, the worst row, and the reason for its score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from vlgauge.core.catalog import metric_title
from vlgauge.core.validation import is_missing

from .pages import number, quote_word, safe

if TYPE_CHECKING:
    from .explanation import Explanation

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def in_letters(n: int) -> str:
    """Format a number as a word up to twelve, and a larger one with digits."""
    return NUMBERS[n] if n < len(NUMBERS) else f"{n:,}"


def finding_of_rows(metric: Explanation) -> str:
    """Return a sentence with the corpus-level value, the number of rows, and the row with the worst score."""
    name, n, scored = metric_title(metric.name), len(metric.scores), metric.worst_first
    if not scored:
        return f"{name} has no score for {'the row' if n == 1 else f'any of {n:,} rows'}."
    whole = metric.result.get(metric.name)
    if n == 1 or is_missing(whole):
        whole = metric.scores[scored[0]] if n == 1 else None
    of = n if len(scored) == n else metric.row_counts.n  # undefined rows may still contribute to summed counts
    over = f"{of:,} of {n:,} rows" if of < n else f"{n:,} row{'' if n == 1 else 's'}"
    mean = "" if whole is None else f" is {number(whole, metric.digits)}"
    sentence = f"{name}{mean}{' on average' if metric.is_mean and n > 1 else ''} over {over}"
    if len(scored) == 1:
        return f"{sentence}."
    worst = _with_the_worst_score(metric)
    score = number(metric.scores[worst[0]], metric.digits)
    if len(worst) == len(scored):
        return f"{sentence}; all score the same."
    if len(worst) > 1:
        return f"{sentence}; {len(worst):,} share the worst score, {score}."
    return f"{sentence}; {quote_word(metric.title(worst[0]))} is the worst, with {score}."


def reason_of_the_worst(metric: Explanation) -> Markup:
    """Return the explanation of the worst score, or of missing scores if all rows are undefined."""
    if not metric.worst_first:
        return metric.headline(0) if metric.scores else Markup("")
    worst = metric.worst_first[0]
    if len(metric.scores) == 1:
        return metric.headline(worst)
    return Markup("<b>{}</b>: {}").format(safe(quote_word(metric.title(worst))), metric.headline(worst))


def finding_of_metrics(explained: Sequence[Explanation]) -> str:
    """Return a sentence with the rows that have the worst score by most of several metrics."""
    n, m = len(explained[0].scores), in_letters(len(explained))
    start = f"{n:,} row{'' if n == 1 else 's'} by {m} metrics"
    of_each = [_with_the_worst_score(one) for one in explained]
    # If all rows tie, no row is worse than the others.
    of_each = [rows for one, rows in zip(explained, of_each, strict=True) if len(rows) < len(one.worst_first)]
    by_row = Counter(row for rows in of_each for row in rows)
    most = max(by_row.values(), default=0)
    if most < 2:
        return f"{start}: no row is the worst by two of them." if of_each and n > 1 else f"{start}."
    rows = sorted(row for row, count in by_row.items() if count == most)
    by = "all" if most == len(explained) else f"{in_letters(most)} of them"
    first, others = quote_word(explained[0].title(rows[0])), len(rows) - 1
    if others:
        return (
            f"{start}: {first} and {in_letters(others)} other{'s' if others > 1 else ''} have the worst score by {by}."
        )
    return f"{start}: {first} has the worst score by {by}."


def _with_the_worst_score(metric: Explanation) -> list[int]:
    """Return the rows whose formatted score equals the worst one, because readers cannot distinguish them."""
    formatted = {row: number(metric.scores[row], metric.digits) for row in metric.worst_first}
    return [row for row in formatted if formatted[row] == formatted[metric.worst_first[0]]]
