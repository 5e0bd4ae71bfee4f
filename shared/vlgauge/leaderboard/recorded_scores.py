"""Verification of scores against a record, by their digest and by recomputing the recorded values.

The digest covers the sorted ids, scores and summed counts. It is the same for every format of a file of scores and for
the exported Parquet file. It detects damaged and swapped files, but not a forged record with forged scores, because
their digest can be computed to match.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vlgauge.core.errors import UsageError
from vlgauge.core.results import row_keys
from vlgauge.core.signatures import describe_differences
from vlgauge.families.aggregation import corpus_interval, corpus_value, find_counts, row_counts
from vlgauge.leaderboard.joined_runs import is_same_mean
from vlgauge.leaderboard.record import Record
from vlgauge.leaderboard.runs import Run, groups_of_run, numbers, scores_in

MOST_SAMPLES = 100_000
_UNLIKE = "the file is of another model or other rows, or one of the two was modified; score again and add a new record"


@dataclass(frozen=True)
class Checked:
    """Scores that match a record.

    Attributes:
        record: The record.
        run: Its scores.
        interval: Reason why the interval was not recomputed. Empty if it was recomputed and is equal.
    """

    record: Record
    run: Run
    interval: str


def score_columns(run: Run, metric: str, what: str = "") -> dict[str, list[Any]]:
    """Return the columns ``id`` and ``score`` of a run, and the columns of its counts if they are summed, by name.

    Empty cells are NaN.

    Raises:
        ValueError: If a column is not a list with one number per row.
    """
    keys = row_keys(run["ids"])
    names = score_keys(metric, str(run.get(f"{metric}_signature", "")))
    return {"id": keys, **{name: numbers(what or key, run.get(key, ()), keys) for name, key in names.items()}}


def score_keys(metric: str, signature: str) -> dict[str, str]:
    """Return the keys of the scores, and of the counts if they are summed, in a run, by column of a file of scores."""
    counted = find_counts(metric, signature)
    counts = () if counted is None else counted.columns
    return {"score": f"{metric}_scores", **{name: f"{metric}_{name}" for name in counts}}


def scores_digest(run: Run, metric: str) -> str:
    """Return the SHA-256 digest of ids, scores and counts in hexadecimal, independently of the order of the rows."""
    columns = score_columns(run, metric)
    empty = [
        [None if isinstance(cell, float) and math.isnan(cell) else cell for cell in own] for own in columns.values()
    ]
    rows = sorted(json.dumps(row) for row in zip(*empty, strict=True))
    return hashlib.sha256("\n".join([json.dumps(list(columns)), *rows]).encode()).hexdigest()


def check_scores(record: Record, run: Run, *, what: str = "", interval: bool = True) -> Checked:
    """Check scores against a record by number of rows, value, digest and interval.

    Args:
        record: The record.
        run: The scores.
        what: Name of the scores in messages. Empty for a default name.
        interval: Whether to recompute the interval.

    Raises:
        ValueError: If the scores do not match the record.
    """
    metric, called = record.metric, what or f"the scores of {record.model.id} by {record.metric}"
    if record.signature != (signature := str(run.get(f"{metric}_signature", ""))):
        unlike = describe_differences(record.signature, signature) or "order"
        raise UsageError(f"{called} must have been computed as recorded, but differ in {unlike}")
    score_columns(run, metric, what)
    rows, value = row_counts(metric, run), corpus_value(metric, run)
    for what, recorded, own in (
        ("number of scores", record.n, rows.n),
        ("number of undefined scores", record.undefined, rows.undefined),
        ("value", record.value, value),
        ("digest", record.scores_sha256, scores_digest(run, metric)),
    ):
        is_equal = is_same_mean(value, record.value) if what == "value" else recorded in (None, own)
        if not is_equal:
            raise UsageError(f"{called} must have the {what} of the record, {recorded}, got {own}: {_UNLIKE}")
    unchecked = _interval_fault(record, run, called) if interval else "not requested"
    return Checked(record, run, unchecked)


def is_grouped(record: Record, run: Run) -> bool:
    """Return whether the interval of a record uses groups of rows that were sampled together.

    The result is False without an interval.

    Args:
        record: The record.
        run: Its scores.
    """
    ci = record.ci
    if ci is None or ci.grouped_by is not None:
        return ci is not None
    return ci.groups is not None and ci.groups != row_counts(record.metric, run).drawn


def _interval_fault(record: Record, run: Run, called: str) -> str:
    """Return the reason why the interval of a record cannot be recomputed, or an empty string if it was recomputed.

    Raises:
        UsageError: If the recomputed interval differs.
    """
    ci = record.ci
    if ci is None:
        return "the record has no interval"
    expected = {"method": ci.method, "samples": ci.resamples, "seed": ci.seed, "groups": ci.groups}
    if lacking := [name for name, value in expected.items() if value is None]:
        return f"the record does not contain its {' and '.join(lacking)}"
    groups = groups_of_run(run) if ci.grouped_by is not None else None
    if is_grouped(record, run) and (groups is None or groups.name != ci.grouped_by):
        return f"{ci.groups} groups of rows were resampled, which are unknown for scores"
    if not 1 <= (ci.resamples or 0) <= MOST_SAMPLES:
        return f"it is of {ci.resamples} samples, the maximum is {MOST_SAMPLES:,}"
    how: dict[str, Any] = {"level": ci.level, "resamples": ci.resamples, "seed": ci.seed}
    found = corpus_interval(record.metric, run, groups=None if groups is None else groups.labels, **how)
    if found is not None and found.units != ci.groups:
        raise UsageError(f"{called} must be of {ci.groups} groups of rows as the record, got {found.units}")
    if found is not None and found.method != ci.method:
        return f"its method is {ci.method}, that of this version {found.method}"
    if found is None or not (is_same_mean(found.low, ci.low) and is_same_mean(found.high, ci.high)):
        got = "none" if found is None else f"{found.low:.6g} to {found.high:.6g}"
        raise UsageError(f"{called} must have the interval of the record, {ci.low:.6g} to {ci.high:.6g}, got {got}")
    return ""


def scores_of_records(records: Sequence[Record], runs: Mapping[str, Sequence[Run]]) -> list[Checked]:
    """Return the records for which scores are passed, after checking the scores.

    Args:
        records: Records of results.
        runs: Scores by id of the model.

    Raises:
        ValueError: If scores do not match any record of their model and metric, a run does not belong to any record, or
            a record has two runs.
    """
    found: dict[Any, Checked] = {}
    for model, own in runs.items():
        for run in own:
            of_run = [
                one
                for metric in scores_in(run)
                if (one := _match([r for r in records if (r.model.id, r.metric) == (model, metric)], run))
            ]
            if not of_run:
                raise UsageError.about("runs", f"must have scores of the metrics in the records, got none for {model}")
            for one in of_run:
                if one.record.key in found:
                    raise UsageError.about(
                        "runs",
                        f"must have the scores of a record once, got two files of {model} by {one.record.metric}",
                    )
                found[one.record.key] = one
    return list(found.values())


def _match(records: Sequence[Record], run: Run) -> Checked | None:
    """Return the checked record of a run among records of the same model and metric, or None without records.

    Raises:
        UsageError: If the run does not match any of the records.
    """
    faults = []
    for record in records:
        try:
            return check_scores(record, run)
        except ValueError as error:
            faults.append(str(error))
    if faults:
        raise UsageError("; ".join(faults))
    return None
