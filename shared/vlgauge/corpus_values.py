"""The number of a whole call with its interval: the mean of the scores, or a statistic of counts that are added up."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.catalog import Bounds, folder_module, metric_names, metrics_root, score_facts
from vlgauge.errors import UsageError
from vlgauge.remembered import Remembered
from vlgauge.results import mean_of_defined
from vlgauge.settings import shown
from vlgauge.signatures import made_by_toy, parse_signature
from vlgauge.statistics import Interval, Statistic, bootstrap_interval, summed_intervals, summed_value

Floats = npt.NDArray[np.float64]

# The table, the record and the page of one command ask for the same interval.
# By the name of the number, empty for a mean.
_KNOWN: Remembered[tuple[Any, ...], dict[str, Interval | None]] = Remembered(64)
_TOLERANCE = 1e-6  # relative, between a score and what its counts give


@dataclass(frozen=True)
class Counted:
    """A metric whose number adds the counts of all rows before it divides.

    Attributes:
        columns: Keys of a result that hold the counts of each row, without the name of the metric; NaN where there is
            nothing to count, or all 0 where a row has no score, and adds nothing.
        counts: From these columns, shape ``(n, n_columns)``, to what is added, shape ``(n, n_counts)``.
        value: From counts or sums of them to a score or the number of the corpus.
        is_noise: From counts to whether only the constants that keep a score from 0 make it, shape ``(n,)``; None where
            a score has no such constants.
        noise: What is so of a row whose scores are noise in both systems, to be read after "a row in which".
        unless: Field of a signature, such as "version:2007", with which the number is the mean of the scores.
        others: Other numbers of the same counts, by their keys, such as "bleu_1".
    """

    columns: tuple[str, ...]
    counts: Callable[[Floats], Floats]
    value: Statistic
    is_noise: Callable[[Floats], npt.NDArray[np.bool_]] | None = None
    noise: str = ""
    unless: str = ""
    others: Mapping[str, Statistic] = field(default_factory=dict)

    def without_noise(self, counts: Floats) -> Floats:
        """The values of counts, exactly 0 where only constants make them: two of these do not differ."""
        values = self.value(counts)
        return values if self.is_noise is None else np.where(self.is_noise(counts), 0.0, values)


class _InFolders(Mapping[str, Counted]):
    """Those that a metric has in its folder, as `COUNTED` of `corpus_counts.py`."""

    def __getitem__(self, name: str) -> Counted:
        if name not in self:
            raise KeyError(name)
        return folder_module(name, "corpus_counts").COUNTED

    def __contains__(self, name: object) -> bool:
        # A file of records asks for each line; the names in it are anybody's.
        return isinstance(name, str) and name.isidentifier() and (metrics_root() / name / "corpus_counts.py").is_file()

    def __iter__(self) -> Iterator[str]:
        return iter([name for name in metric_names() if name in self])

    def __len__(self) -> int:
        return len(list(iter(self)))


COUNTED: Mapping[str, Counted] = _InFolders()
"""Metrics whose number adds counts; the numbers of all others are means."""


def counted_of(name: str, signature: str) -> Counted | None:
    """Look up the counts that the number of a score adds; None if it is the mean of the scores.

    Args:
        name: Name of the score.
        signature: Of its result, since a setting may make it a mean.
    """
    counted = COUNTED.get(name)
    return None if counted is None or (counted.unless and counted.unless in signature.split("|")) else counted


ARROWS = {True: "\N{UPWARDS ARROW}", False: "\N{DOWNWARDS ARROW}"}
"""Direction in a sign, by whether higher is better."""


def number_title(
    name: str,
    *,
    called: str = "",
    signature: str = "",
    of_row: bool = False,
    higher_is_better: bool | None = None,
) -> str:
    """Return what a number is called in every table, page and picture, such as "bleu (corpus) \N{UPWARDS ARROW}".

    Args:
        name: Name of the score.
        called: What to write in its place, such as "BLEU".
        signature: Made with the score; a toy is named.
        of_row: Whether it is the score of a single row, not the value of all.
        higher_is_better: Direction, which becomes an arrow; None for no arrow.
    """
    kind = [("row" if of_row else "corpus")] if counted_of(name, signature) else []
    toy = ["toy"] if signature and made_by_toy(signature) else []
    parser = parser_note(name, signature) if called else []
    told = f" ({', '.join([*parser, *kind, *toy])})" if parser or kind or toy else ""
    return f"{called or name}{told}{'' if higher_is_better is None else f' {ARROWS[higher_is_better]}'}"


# Scores that published tables have with the parser of SPICE's authors.
_PARSED = ("spice", "spider", "spider_spice")


def parser_note(name: str, signature: str) -> list[str]:
    """Return what stands behind the name of SPICE or SPIDEr when its graphs are not of the parser of SPICE's authors.

    Args:
        name: Name of the score.
        signature: Made with the score.
    """
    if name not in _PARSED or not signature or "|parser:spice-1.0" in signature:
        return []
    return ["own parser" if "|parser:rules" in signature else "another parser"]


def values_told(names: Mapping[str, str], signatures: Mapping[str, str]) -> str:
    """Return what the values of some scores are: "Means", "Values of the corpus", or which is which.

    Args:
        names: What each score is called, by its name.
        signatures: Made with the scores, by name.
    """
    added = [called for name, called in names.items() if counted_of(name, signatures[name])]
    if not added:
        return "Means"
    return (
        "Values of the corpus" if len(added) == len(names) else f"Means, for {', '.join(added)} values of the corpus,"
    )


def corpus_counts(name: str, result: Mapping[str, Any], what: str = "result") -> Floats:
    """The counts of each row, shape ``(n_rows, n_counts)``, NaN where it cannot be scored, all 0 where it adds nothing.

    Args:
        name: Name of a metric of `COUNTED`.
        result: What it returned, or a file of scores holds.
        what: Name of the argument in messages.

    Raises:
        ValueError: If counts are missing or no counts, or do not give the scores.
    """
    metric = COUNTED[name]
    keys = [f"{name}_{column}" for column in metric.columns]
    if lacking := [key for key in (f"{name}_scores", *keys) if key not in result]:
        raise UsageError(f"`{what}` must have the counts of {name}, lacks {', '.join(lacking)}; score again")
    scores, *columns = (_column(what, key, result[key]) for key in (f"{name}_scores", *keys))
    if wrong := [key for key, column in zip(keys, columns, strict=True) if len(column) != len(scores)]:
        raise UsageError(f"`{what}` must have one count per score, got another number of {wrong[0]}")
    counts = metric.counts(np.stack(columns, axis=1))
    undefined = np.isnan(scores)
    with np.errstate(all="ignore"):  # what is no count gives no score
        values = metric.value(counts)
        near = np.isclose(values, scores, rtol=_TOLERANCE, atol=0.0)
    # An undefined score has no counts, or nothing that was counted; a defined one has those that give it.
    nothing = np.isnan(counts).all(axis=1) | ((counts == 0).all(axis=1) & np.isnan(values))
    right = np.where(undefined, nothing, near & (counts >= 0).all(axis=1))
    if not right.all():
        row = int(np.flatnonzero(~right)[0])
        got = ", ".join(f"{key} {column[row]:g}" for key, column in zip(keys, columns, strict=True))
        raise UsageError(
            f"`{what}` must have the counts that give the scores of {name}, row {row} has the score {scores[row]:g} "
            f"and {got}; score again"
        )
    return counts


def _column(what: str, key: str, cells: Any) -> Floats:
    """The cells of a column, NaN for what is empty."""
    try:
        column = np.array([math.nan if cell in (None, "") else float(cell) for cell in cells])
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"`{what}` must have numbers in {key}, got {shown(cells)}") from None
    return column


def corpus_value(name: str, result: Mapping[str, Any]) -> float:
    """The number of a call; NaN where no row is defined.

    Raises:
        ValueError: If scores or counts are missing or wrong.
    """
    return value_of_rows(*_values(name, result))


def _values(name: str, result: Mapping[str, Any]) -> tuple[Counted | None, Floats]:
    """What the number is made of: the counts of each row, or its score."""
    counted = counted_of(name, str(result.get(f"{name}_signature", "")))
    if counted is not None:
        return counted, corpus_counts(name, result)
    return None, _column("result", f"{name}_scores", result[f"{name}_scores"])


@dataclass(frozen=True)
class RowCounts:
    """How many rows a number is of.

    Attributes:
        n: Rows that the number is of. A row without a score of its own that adds 0 of 0, such as a caption that names
            no object for CHAIR_i, is one of them.
        undefined: Number of the others.
        drawn: Rows that an interval draws, where each is drawn by itself: those that add more than 0.
        silent: Those of the ``n`` rows that have no score of their own.
    """

    n: int
    undefined: int
    drawn: int
    silent: int


def row_counts(name: str, result: Mapping[str, Any]) -> RowCounts:
    """Count the rows that the number of a call is of, the same for every table, record and page.

    Args:
        name: Of the number, as for `corpus_interval`.
        result: What the metric returned, or a file of scores holds.

    Raises:
        UsageError: If scores or counts are missing or wrong.
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


def told_of_silent(name: str, n_silent: int, *, of: str = "") -> str:
    """Return that rows without a score of their own are among those of a number.

    Args:
        name: Of the number.
        n_silent: How many rows.
        of: Whose they are, such as the name of a system.
    """
    rows = "1 row has" if n_silent == 1 else f"{n_silent} rows have"
    return f"{name}: {rows} no score of their own{f' by {of}' if of else ''}, but count in n, as they add 0 of 0"


def value_of_rows(counted: Counted | None, values: Floats) -> float:
    """Return the number of a call from the counts or, without them, the scores of its rows; NaN if none is defined."""
    return mean_of_defined(values.tolist()) if counted is None else summed_value(values, counted.value)


def corpus_interval(
    name: str,
    result: Mapping[str, Any],
    *,
    groups: Sequence[object] | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval | None:
    """Interval of the number of a call, over its rows, within the range of the metric with its settings.

    See `vlgauge.statistics.bootstrap_interval` for how it is made and how often it covers the true number.

    Args:
        name: Of the number, such as that of the metric, or another that the same counts make, such as "bleu_1".
        result: What the metric returned.
        groups: Label per row; rows of one label, such as the captions of one image, are drawn together.
        level: Coverage, in (0, 1).
        resamples: Number of bootstrap samples.
        seed: Their seed.

    Returns:
        The interval; None with fewer than two rows, or groups of rows, that are defined.

    Raises:
        ValueError: If scores or counts are missing or wrong, or ``level`` or ``resamples`` is out of range.
    """
    owner = _owner(name, result)
    counted, values = _values(owner, result)
    labels = None if groups is None else tuple(groups)
    key = (counted is not None and owner, values.tobytes(), labels, level, resamples, seed)
    if (known := _KNOWN.get(key)) is None:
        how: dict[str, Any] = {"level": level, "resamples": resamples, "seed": seed, "groups": labels}
        if counted is not None:
            known = _counted_intervals(owner, counted, values, **how)
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
    """Return the least and the greatest score with the settings of a signature; None for an end without a number.

    Args:
        name: Name of the score, such as "ref_clip_s".
        signature: Signature of the score, or empty.

    Raises:
        UsageError: If no metric can have the score.
    """
    facts = score_facts(name)
    try:
        signed, fields = parse_signature(signature)
    except UsageError:
        return facts.bounds
    return facts.bounds_for(fields) if signed == name else facts.bounds


def has_interval(name: str, result: Mapping[str, Any]) -> bool:
    """Whether `corpus_interval` knows a number: it has scores of rows, or the counts of its metric make it."""
    return f"{name}_scores" in result or _owner(name, result) != name


def _owner(name: str, result: Mapping[str, Any]) -> str:
    """The metric whose counts make a number, such as "bleu" of "bleu_1"; else the number itself."""
    if f"{name}_scores" in result:
        return name
    for key in result:
        if (owner := key.removesuffix("_scores")) != key and name in getattr(COUNTED.get(owner), "others", ()):
            return owner
    return name


def _counted_intervals(name: str, counted: Counted, counts: Floats, **how: Any) -> dict[str, Interval | None]:
    """The intervals of all numbers that the same counts make, from the same samples."""
    statistics = {name: counted.value, **counted.others}

    def each(sums: Floats) -> Floats:
        return np.stack([own(of_one) for own, of_one in zip(statistics.values(), sums, strict=True)])

    contrasts = [(number,) for number in range(len(statistics))]
    found = summed_intervals([counts] * len(statistics), contrasts, each, **how)
    return dict(zip(statistics, found, strict=True))
