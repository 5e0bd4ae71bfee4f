"""Corpus-level values with confidence intervals, each the mean of the scores or a statistic of summed counts."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.core.catalog import Bounds, folder_module, metric_names, metrics_root, score_facts
from vlgauge.core.errors import UsageError
from vlgauge.core.lru_cache import LRUCache
from vlgauge.core.results import mean_of_defined
from vlgauge.core.signatures import parse_signature, uses_demo_model
from vlgauge.core.validation import short_repr
from vlgauge.stats import Interval, Statistic, bootstrap_interval, count_statistic, count_statistic_intervals

Floats = npt.NDArray[np.float64]

# Cache of intervals, because the table, the record and the page of one command need the same one. The values are keyed
# by score name, which is empty for a mean.
_KNOWN: LRUCache[tuple[Any, ...], dict[str, Interval | None]] = LRUCache(64)
_TOLERANCE = 1e-6  # relative difference between a score and the value of its counts


@dataclass(frozen=True)
class CountBasedMetric:
    """Metric whose corpus-level value sums the counts of all rows before it divides.

    Attributes:
        columns: Keys of the result columns with the counts of each row, without the name of the metric. NaN if there is
            nothing to count. All 0 if a row has no score and contributes nothing.
        counts: Function from these columns, shape ``(n, n_columns)``, to summable counts, shape ``(n, n_counts)``.
        value: Function from counts, or sums of counts, to a score or the corpus-level value.
        is_noise: Function from counts to whether a score results only from the constants that keep it above 0, shape
            ``(n,)``. None if the score has no such constants.
        noise: Description of a row whose scores are noise in both systems, as a continuation of "a row in which".
        unless: Signature field, such as "version:2007", with which the corpus-level value is the mean of the scores.
        others: Other values computed from the same counts, by key, such as "bleu_1".
    """

    columns: tuple[str, ...]
    counts: Callable[[Floats], Floats]
    value: Statistic
    is_noise: Callable[[Floats], npt.NDArray[np.bool_]] | None = None
    noise: str = ""
    unless: str = ""
    others: Mapping[str, Statistic] = field(default_factory=dict)

    def without_noise(self, counts: Floats) -> Floats:
        """Compute the values of counts, set to 0 if they result from constants only, so that these never differ.

        Args:
            counts: Counts of each row, shape ``(n, n_counts)``.

        Returns:
            Values, shape ``(n,)``.
        """
        values = self.value(counts)
        return values if self.is_noise is None else np.where(self.is_noise(counts), 0.0, values)


class _InFolders(Mapping[str, CountBasedMetric]):
    """Count-based metrics, found as `COUNTED` in the module `corpus_counts.py` of their metric folders."""

    def __getitem__(self, name: str) -> CountBasedMetric:
        if name not in self:
            raise KeyError(name)
        return folder_module(name, "corpus_counts").COUNTED

    def __contains__(self, name: object) -> bool:
        return name in _with_counts(metrics_root())

    def __iter__(self) -> Iterator[str]:
        return iter(_with_counts(metrics_root()))

    def __len__(self) -> int:
        return len(_with_counts(metrics_root()))


@cache
def _with_counts(root: Path) -> tuple[str, ...]:
    return tuple(name for name in metric_names() if (root / name / "corpus_counts.py").is_file())


COUNTED: Mapping[str, CountBasedMetric] = _InFolders()
"""Metrics whose corpus-level value sums counts. The values of all other metrics are means."""


def find_counts(name: str, signature: str) -> CountBasedMetric | None:
    """Look up the counts that the corpus-level value of a score sums. None if the value is the mean of the scores.

    Args:
        name: Name of the score.
        signature: Signature of its result, because a setting may make the value a mean.
    """
    counted = COUNTED.get(name)
    return None if counted is None or (counted.unless and counted.unless in signature.split("|")) else counted


def corpus_values(name: str, result: Mapping[str, Any]) -> dict[str, float]:
    """Compute the corpus-level values that sum the counts in a result, by key. Empty if the value is a mean.

    Args:
        name: Name of the metric.
        result: Result with the signature and the counts of each row. NaN for rows that are left out.

    Returns:
        Values by key of the result. NaN if no row is left.
    """
    counted = find_counts(name, result[f"{name}_signature"])
    if counted is None:
        return {}
    columns = np.array([result[f"{name}_{column}"] for column in counted.columns], dtype=np.float64).T
    known = columns[~np.isnan(columns).any(axis=1)]
    sums = counted.counts(known).sum(axis=0, keepdims=True)
    statistics = {name: counted.value, **counted.others}
    return {key: float(value(sums)[0]) if len(known) else math.nan for key, value in statistics.items()}


ARROWS = {True: "\N{UPWARDS ARROW}", False: "\N{DOWNWARDS ARROW}"}
"""Symbol of the direction, by whether higher is better."""


def number_title(
    name: str,
    *,
    called: str = "",
    signature: str = "",
    of_row: bool = False,
    higher_is_better: bool | None = None,
) -> str:
    """Return the title of a value for all tables, pages and plots, such as "bleu (corpus) \N{UPWARDS ARROW}".

    Args:
        name: Name of the score.
        called: Title to use instead of the name, such as "BLEU".
        signature: Signature of the score. Scores of a demo model are marked.
        of_row: Whether the value is the score of a single row instead of the value of the corpus.
        higher_is_better: Direction, shown as an arrow. None for no arrow.
    """
    kind = [("row" if of_row else "corpus")] if find_counts(name, signature) else []
    demo = ["demo"] if signature and uses_demo_model(signature) else []
    parser = parser_note(name, signature) if called else []
    suffix = f" ({', '.join([*parser, *kind, *demo])})" if parser or kind or demo else ""
    return f"{called or name}{suffix}{'' if higher_is_better is None else f' {ARROWS[higher_is_better]}'}"


# Scores that published tables compute with the parser of SPICE's authors.
_PARSED = ("spice", "spider", "spider_spice")


def parser_note(name: str, signature: str) -> list[str]:
    """Return a note for the title of SPICE or SPIDEr if the graphs are not from the parser of SPICE's authors.

    Args:
        name: Name of the score.
        signature: Signature of the score.

    Returns:
        A list with one note, or an empty list.
    """
    if name not in _PARSED or not signature or "|parser:spice-1.0" in signature:
        return []
    return ["own parser" if "|parser:rules" in signature else "another parser"]


def values_told(names: Mapping[str, str], signatures: Mapping[str, str]) -> str:
    """Describe the values of some scores: "Means", "Values of the corpus", or a phrase that names the latter.

    Args:
        names: Title of each score, by score name.
        signatures: Signatures of the scores, by score name.
    """
    added = [called for name, called in names.items() if find_counts(name, signatures[name])]
    if not added:
        return "Means"
    return (
        "Values of the corpus" if len(added) == len(names) else f"Means, for {', '.join(added)} values of the corpus,"
    )


def corpus_counts(name: str, result: Mapping[str, Any], what: str = "result") -> Floats:
    """Return the counts of each row, checked against its score.

    Args:
        name: Name of a metric of `COUNTED`.
        result: Result of the metric, or content of a file of scores.
        what: Name of the argument in error messages.

    Returns:
        Counts, shape ``(n_rows, n_counts)``. NaN in rows that cannot be scored, and all 0 in rows that contribute
        nothing.

    Raises:
        ValueError: If counts are missing or invalid, or do not yield the scores.
    """
    metric = COUNTED[name]
    keys = [f"{name}_{column}" for column in metric.columns]
    if lacking := [key for key in (f"{name}_scores", *keys) if key not in result]:
        raise UsageError.about(
            what, f"must have the counts of {name}, got none for {', '.join(lacking)}", "score again"
        )
    scores, *columns = (_column(what, key, result[key]) for key in (f"{name}_scores", *keys))
    if wrong := [key for key, column in zip(keys, columns, strict=True) if len(column) != len(scores)]:
        raise UsageError.about(what, f"must have one count per score, got another number of {wrong[0]}")
    counts = metric.counts(np.stack(columns, axis=1))
    undefined = np.isnan(scores)
    with np.errstate(all="ignore"):  # invalid counts yield no valid score
        values = metric.value(counts)
        near = np.isclose(values, scores, rtol=_TOLERANCE, atol=0.0)
    # An undefined score has no counts, or counts of 0 only. A defined score must follow from its counts.
    nothing = np.isnan(counts).all(axis=1) | ((counts == 0).all(axis=1) & np.isnan(values))
    right = np.where(undefined, nothing, near & (counts >= 0).all(axis=1))
    if not right.all():
        row = int(np.flatnonzero(~right)[0])
        got = ", ".join(f"{key} {column[row]:g}" for key, column in zip(keys, columns, strict=True))
        raise UsageError.about(
            what,
            f"must have counts that match the scores of {name}, got row {row} with the score {scores[row]:g} and {got}",
            "score again",
        )
    return counts


def _column(what: str, key: str, cells: Any) -> Floats:
    """Convert the cells of a column to floats, with NaN for empty cells."""
    try:
        column = np.array([math.nan if cell in (None, "") else float(cell) for cell in cells])
    except (TypeError, ValueError, OverflowError):
        raise UsageError.about(what, f"must have numbers in {key}, got {short_repr(cells)}") from None
    return column


def corpus_value(name: str, result: Mapping[str, Any]) -> float:
    """Compute the corpus-level value of a result. NaN if no row is defined.

    Raises:
        ValueError: If scores or counts are missing or invalid.
    """
    return value_of_rows(*_values(name, result))


def _values(name: str, result: Mapping[str, Any]) -> tuple[CountBasedMetric | None, Floats]:
    """Return the counts of each row with their metric, or None and the scores of the rows."""
    counted = find_counts(name, str(result.get(f"{name}_signature", "")))
    if counted is not None:
        return counted, corpus_counts(name, result)
    return None, _column("result", f"{name}_scores", result[f"{name}_scores"])


@dataclass(frozen=True)
class RowCounts:
    """Numbers of rows by their contribution to a corpus-level value.

    Attributes:
        n: Rows that contribute to the value. This includes rows without a score that add 0 of 0, such as a caption that
            names no object for CHAIR_i.
        undefined: All other rows.
        drawn: Rows that are resampled for a confidence interval if each row is drawn separately: rows that add more
            than 0.
        silent: Rows among the ``n`` rows that have no score.
    """

    n: int
    undefined: int
    drawn: int
    silent: int


def row_counts(name: str, result: Mapping[str, Any]) -> RowCounts:
    """Count the rows that contribute to a corpus-level value, in the same way for every table, record and page.

    Args:
        name: Name of the value, as in `corpus_interval`.
        result: Result of the metric, or content of a file of scores.

    Raises:
        UsageError: If scores or counts are missing or invalid.
    """
    name = _owner(name, result)
    counted, values = _values(name, result)
    if counted is None:
        n = int(np.count_nonzero(~np.isnan(values)))
        return RowCounts(n, len(values) - n, n, 0)
    known = ~np.isnan(values).any(axis=1)
    adding = known & (values != 0).any(axis=1)
    silent = known & np.isnan(_column("result", f"{name}_scores", result[f"{name}_scores"]))
    return RowCounts(*(int(np.count_nonzero(rows)) for rows in (known, ~known, adding, silent)))


def describe_silent_rows(name: str, n_silent: int, *, of: str = "") -> str:
    """Return a note that rows without a score contribute to a corpus-level value.

    Args:
        name: Name of the value.
        n_silent: Number of these rows.
        of: Owner of the rows, such as the name of a system.
    """
    rows = "1 row has" if n_silent == 1 else f"{n_silent} rows have"
    return (
        f"{name}: {rows} no score of their own{f' by {of}' if of else ''}, but are included in n, because they add 0 "
        "of 0"
    )


def value_of_rows(counted: CountBasedMetric | None, values: Floats) -> float:
    """Compute the corpus-level value from counts, or from row scores if there are no counts. NaN if none is defined.

    Args:
        counted: Metric that sums counts. None for a mean of scores.
        values: Counts, shape ``(n, n_counts)``, or scores, shape ``(n,)``. Rows of NaN are left out.
    """
    return mean_of_defined(values.tolist()) if counted is None else count_statistic(values, counted.value)


def corpus_interval(
    name: str,
    result: Mapping[str, Any],
    *,
    groups: Sequence[object] | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval | None:
    """Compute a confidence interval of a corpus-level value, within the bounds of the score under its settings.

    See `vlgauge.stats.bootstrap_interval` for the method and the coverage.

    Args:
        name: Name of the metric, or of another value computed from the same counts, such as "bleu_1".
        result: Result of the metric.
        groups: Label of each row. Rows with the same label, such as captions of one image, are resampled together.
        level: Confidence level, in (0, 1).
        resamples: Number of bootstrap samples.
        seed: Seed of the bootstrap samples.

    Returns:
        The interval. None if there are fewer than two defined rows, or groups of rows.

    Raises:
        ValueError: If scores or counts are missing or invalid, or ``level`` or ``resamples`` is out of range.
    """
    owner = _owner(name, result)
    counted, values = _values(owner, result)
    labels = None if groups is None else tuple(groups)
    key = (counted is not None and owner, values.tobytes(), labels, level, resamples, seed)
    if (known := _KNOWN.get(key)) is None:
        how: dict[str, Any] = {"level": level, "resamples": resamples, "seed": seed, "groups": labels}
        if counted is not None:
            known = _compute_count_intervals(owner, counted, values, **how)
        else:
            known = {"": bootstrap_interval(values.tolist(), **how)}
        _KNOWN.put(key, known)
    is_signed = owner in metric_names() or f"{owner}_signature" in result
    bounds = score_bounds(owner, str(result.get(f"{owner}_signature", ""))) if is_signed else (None, None)
    found = known["" if counted is None else name]
    if found is None:
        return None
    value = value_of_rows(counted, values) if name == owner else float(result[name])
    return found.within(bounds, value)


def score_bounds(name: str, signature: str) -> Bounds:
    """Return the lower and upper bound of a score under the settings of a signature. None for an unbounded end.

    Args:
        name: Name of the score, such as "ref_clip_s".
        signature: Signature of the score. If it is empty or belongs to another score, the bounds hold under any
            settings.

    Raises:
        UsageError: If no metric has a score with this name.
    """
    facts = score_facts(name)
    try:
        signed, fields = parse_signature(signature)
    except UsageError:
        return facts.bounds
    return facts.bounds_for(fields) if signed == name else facts.bounds


def has_interval(name: str, result: Mapping[str, Any]) -> bool:
    """Return whether `corpus_interval` supports a value, because it has row scores or is computed from counts."""
    return f"{name}_scores" in result or _owner(name, result) != name


def _owner(name: str, result: Mapping[str, Any]) -> str:
    """Return the metric whose counts determine a value, such as "bleu" for "bleu_1", or the name itself."""
    if f"{name}_scores" in result:
        return name
    for key in result:
        if (owner := key.removesuffix("_scores")) != key and name in getattr(COUNTED.get(owner), "others", ()):
            return owner
    return name


def _compute_count_intervals(
    name: str, counted: CountBasedMetric, counts: Floats, **how: Any
) -> dict[str, Interval | None]:
    """Compute the intervals of all values of the same counts, from the same bootstrap samples."""
    statistics = {name: counted.value, **counted.others}

    def each(sums: Floats) -> Floats:
        return np.stack([own(of_one) for own, of_one in zip(statistics.values(), sums, strict=True)])

    contrasts = [(number,) for number in range(len(statistics))]
    found = count_statistic_intervals([counts] * len(statistics), contrasts, each, **how)
    return dict(zip(statistics, found, strict=True))
