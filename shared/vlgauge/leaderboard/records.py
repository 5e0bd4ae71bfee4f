"""Records of results in JSON Lines format, one object per line, with the origin of each value."""

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from filelock import FileLock

from vlgauge.core.catalog import score_facts, score_title
from vlgauge.core.errors import UsageError
from vlgauge.core.files import decode_text, limit_rows, parse_json, read_bytes
from vlgauge.core.results import row_keys
from vlgauge.core.signatures import parse_signature
from vlgauge.core.validation import warn
from vlgauge.core.writing import write
from vlgauge.families.aggregation import corpus_interval, corpus_value, row_counts
from vlgauge.leaderboard.record import (
    Confidence,
    Dataset,
    InvalidRecordError,
    Key,
    Model,
    Record,
    RecordSource,
    parse_record,
)
from vlgauge.leaderboard.recorded_scores import scores_digest
from vlgauge.leaderboard.runs import RowGroups, groups_of_run, numbers

FILE = "FILE"
LONGEST = 2**17  # maximum characters of a record, which has some hundred and notes
_LOCK_SECONDS = 60.0


def record_of(
    result: Mapping[str, Any],
    metric: str,
    model: Model,
    dataset: Dataset,
    *,
    date: str,
    source: RecordSource | None = None,
    notes: str | None = None,
) -> Record:
    """Return the record of a result.

    Args:
        result: Content of a file of scores. Intervals sample its groups of examples, if it has any.
        metric: Name of the metric.
        model: Model that was scored.
        dataset: Dataset on which it was scored.
        date: Date in ISO 8601 format.
        source: Publication of the result.
        notes: Additional notes.

    Raises:
        ValueError: If no example has a score, or a value is not valid in a record.
    """
    scores = numbers(f"{metric}_scores", result[f"{metric}_scores"], row_keys(result["ids"]))
    if all(map(math.isnan, scores)):
        raise UsageError.about(
            f"{metric}_scores", "must be defined for at least one row to be recorded, got NaN for all"
        )
    signature = str(result[f"{metric}_signature"])
    fields = parse_signature(signature)[1]
    rows = row_counts(metric, result)
    record = Record(
        metric=metric,
        title=score_title(metric),
        version=fields.get("v", ""),
        value=corpus_value(metric, result),
        ci=_interval(metric, result, groups_of_run(result)),
        n=rows.n,
        undefined=rows.undefined,
        higher_is_better=score_facts(metric).higher_is_better,
        profile=fields.get("profile", ""),
        model=model,
        dataset=dataset,
        signature=signature,
        date=date,
        source=source,
        notes=notes,
        scores_sha256=scores_digest(result, metric),
    )
    return parse_record(json.loads(record.line()))


def _interval(metric: str, result: Mapping[str, Any], groups: RowGroups | None) -> Confidence | None:
    found = corpus_interval(metric, result, groups=None if groups is None else groups.labels)
    if found is None:
        return None
    how = (found.method, found.resamples, found.seed, found.units, None if groups is None else groups.name)
    return Confidence(found.low, found.high, found.level, *how)


# -- Files ------------------------------------------------------------------------------------------------------------
def read_records(path: str | Path) -> list[Record]:
    """Read the records of a file.

    Raises:
        ValueError: If a line is not a valid record, or two records of the same metric, signature, model and dataset
            differ in more than the date. The message contains the line number.
        OSError: If the file cannot be read.
    """
    return parse_records(read_bytes(path, FILE), path)


def read_all_records(paths: Sequence[str]) -> list[Record]:
    """Read the records of several files, without duplicates.

    Raises:
        ValueError: If a line is not a valid record, or two records of the same metric, signature, model and dataset
            differ in more than the date.
        OSError: If a file cannot be read.
    """
    known: dict[Key, tuple[str, Record]] = {}
    for path in paths:
        for record in read_records(path):
            _add(known, record, repr(path))
    return [record for _, record in known.values()]


def parse_records(content: bytes, path: str | Path) -> list[Record]:
    """Parse the content of a file of records.

    The content may be untrusted, but it is parsed in this process. Python's JSON parser is safe, the length of each
    line is checked before parsing, and a worker process could return its result only as JSON again.

    Args:
        content: Content of the file.
        path: Path of the file, for messages.

    Raises:
        ValueError: If a line is not a valid record, or two records of the same metric, signature, model and dataset
            differ in more than the date.
    """
    return _records(decode_text(content, FILE, path), path)


def _records(text: str, path: str | Path) -> list[Record]:
    known: dict[Key, tuple[str, Record]] = {}
    for number, line in limit_rows(_lines(text), FILE, path):
        if len(line) > LONGEST:
            raise UsageError(
                f"FILE must contain one record per line, of at most {LONGEST:,} characters, got {len(line):,} in line "
                f"{number} of {str(path)!r}"
            )
        try:
            record = parse_record(parse_json(line, FILE, path, number))
        except InvalidRecordError as error:
            raise UsageError(
                f"FILE must contain one record per line, line {number} of {str(path)!r}: {error}"
            ) from None
        _add(known, record, f"line {number} of {str(path)!r}")
    return [record for _, record in known.values()]


def _add(known: dict[Key, tuple[str, Record]], record: Record, place: str) -> bool:
    """Add a record with its place to the known ones, and return whether it is new.

    Raises:
        UsageError: If a known record of the same result differs in more than the date.
    """
    first, other = known.setdefault(record.key, (place, record))
    if other is record:
        return True
    others = asdict(other)
    if unlike := [key for key, value in asdict(record).items() if key != "date" and others[key] != value]:
        raise UsageError(
            f"FILE must have one record per metric, signature, model and dataset, got {first} and {place} for "
            f"{record.metric}, {record.model.id} and {record.dataset.id} with another {' and '.join(unlike)}; remove "
            "one of them"
        )
    return False


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank with their numbers, lazily because a file may have millions of blank lines."""
    number, end = 1, 0
    for found in re.finditer("[^\n]+", text):  # only "\n" separates lines of JSONL
        number += text.count("\n", end, found.start())
        end = found.end()
        if not found[0].isspace():
            yield number, found[0]


@contextmanager
def _lock_file(target: Path) -> Iterator[None]:
    """Hold a lock file next to the target inside the block, so that other processes do not add records."""
    lock = FileLock(target.with_name(f".{target.name}.lock"), timeout=_LOCK_SECONDS)
    with lock:
        try:
            yield
        finally:
            # Remove the file while the lock is held. Waiting processes then find it missing and create a new one.
            with suppress(OSError):
                os.unlink(lock.lock_file)


def _warn_of_another_signature(record: Record, known: Iterable[Record], path: str | Path) -> None:
    """Warn if a result of the same metric, model and dataset has a different signature, which tables must not mix."""
    metric, _, *rest = record.key
    alike = [
        one
        for one in known
        if one.profile == record.profile and (one.metric, *one.key[2:]) == (metric, *rest) and one is not record
    ]
    if alike:
        warn(
            f"{str(path)!r} now has {len(alike) + 1} results of {record.model.id} on {record.dataset.id} by "
            f"{record.metric}, computed in different ways: {alike[-1].signature} and {record.signature}; a table "
            "shows one of them, or both in separate columns with --split-signatures"
        )


def append_records(path: str | Path, records: Iterable[Record]) -> list[Record]:
    """Append records to a file, which is created if it does not exist.

    Several processes may append to the same file.

    Args:
        path: Path of the file.
        records: Records to append. Records that the file already contains, regardless of the date, are not added again.

    Returns:
        The added records.

    Raises:
        ValueError: If the file contains invalid lines, or a different record for the same metric, signature, model and
            dataset.
    """
    target = Path(path)
    with _lock_file(target):
        before = decode_text(read_bytes(target, FILE), FILE, path) if target.exists() else ""
        known = {record.key: (f"the one in {str(path)!r}", record) for record in _records(before, path)}
        added = []
        for record in records:
            if _add(known, record, "a new one"):
                added.append(record)
                _warn_of_another_signature(record, [one for _, one in known.values()], path)
        if added:
            gap = "\n" if before and not before.endswith("\n") else ""
            write(target, before + gap + "".join(record.line() for record in added), FILE)
    return added
