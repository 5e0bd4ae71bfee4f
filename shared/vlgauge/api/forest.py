"""Forest plot in HTML of two systems by all metrics, and a sentence that summarizes it."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from vlgauge.explain.findings import in_letters
from vlgauge.explain.pages import fragment
from vlgauge.leaderboard import MetricComparison, RunComparison, SystemPair
from vlgauge.leaderboard.table import TOO_FEW, pair_pvalue_text, title, verdict

_HALF = 48.0  # percent of the width on either side of zero


def forest(comparison: RunComparison, first: str, second: str, letters: tuple[str, str] = ("", "")) -> Markup:
    """Draw the differences of two systems for each metric. The first system is better on the right."""
    pairs = _pairs_of(comparison, first, second)
    names = [letter or name for letter, name in zip(letters, (first, second), strict=True)]
    lines = [_line(comparison, compared, pair, names) for compared, pair in pairs]
    n_rows, corrected = len(comparison.ids), comparison.n_tests > 1
    note: dict[str, Any] = {"level": comparison.level, "n_rows": n_rows, "corrected": corrected}
    return fragment("forest", names=names, lines=lines, few=any(pair.few for _, pair in pairs), **note)


def summarize_pair(comparison: RunComparison, first: str, second: str) -> str:
    """Summarize in a sentence which of two systems is better, and by how many metrics."""
    pairs = [pair for _, pair in _pairs_of(comparison, first, second)]
    better = {name: sum(pair.better == name for pair in pairs) for name in (first, second)}
    lead, other = (first, second) if better[first] >= better[second] else (second, first)
    n, rest = len(pairs), sum(pair.better is None for pair in pairs)
    if all(pair.too_few for pair in pairs):
        return f"Neither is better: {first} and {second} have {TOO_FEW}."
    if not better[lead]:
        return f"Neither is better: no metric distinguishes {first} and {second}."
    sentence = (
        f"{lead} is better by {in_letters(better[lead])} of {in_letters(n)} metrics" if n > 1 else f"{lead} is better"
    )
    sentence += f", {other} by {in_letters(better[other])}" if better[other] else ""
    if rest:
        sentence += f"; {in_letters(rest)} {'does' if rest == 1 else 'do'} not distinguish them"
    return f"{sentence}."


def _pairs_of(comparison: RunComparison, first: str, second: str) -> list[tuple[MetricComparison, SystemPair]]:
    return [
        (compared, pair)
        for compared in comparison.metrics
        for pair in compared.pairs
        if (pair.first, pair.second) == (first, second)
    ]


def _line(
    comparison: RunComparison, compared: MetricComparison, pair: SystemPair, names: Sequence[str]
) -> dict[str, Any]:
    """Return the template values of a metric, with signs such that the first system is better on the right."""
    sign = 1 if compared.higher_is_better else -1
    ends = None if pair.low is None or pair.high is None else sorted((sign * pair.low, sign * pair.high))
    value = sign * pair.difference
    span = max(map(abs, [value, *(ends or ())])) or 1.0
    tone = "nil" if pair.better is None else "for" if pair.better == pair.first else "against"
    values = {one.name: one.value for one in compared.systems}
    found = verdict(pair) if pair.better is None else f"{names[pair.better != pair.first]} is better"
    return {
        "metric": title(compared, spoken=True),
        "higher": compared.higher_is_better,
        "verdict": found,
        "tone": tone,
        "values": [values[pair.first], values[pair.second]],
        "difference": value,
        "ends": ends,
        "few": pair.few,
        "digits": 3 if span >= 0.01 else 4,
        "at": f"{50 + _HALF * value / span:.2f}%",
        "whiskers": [f"{50 + _HALF * end / span:.2f}%" for end in ends or ()],
        "p": pair_pvalue_text(comparison, pair),
        "outcomes": [(kind, n) for kind, n in (("wins", pair.wins), ("ties", pair.ties), ("losses", pair.losses)) if n],
        "wins": pair.wins,
        "ties": pair.ties,
        "losses": pair.losses,
    }
