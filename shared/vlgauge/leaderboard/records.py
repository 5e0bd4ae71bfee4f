"""Records of results: one JSON object per line, with all that tells how a number was made and of what."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from filelock import FileLock

from vlgauge.catalog import metric_facts, metric_title
from vlgauge.files import decoded, parse_json, read_bytes
from vlgauge.leaderboard.runs import numbers, row_keys
from vlgauge.results import mean_of_defined
from vlgauge.settings import PROFILES, shown
from vlgauge.signatures import parse_signature
from vlgauge.statistics import bootstrap_interval
from vlgauge.writing import write

SCHEMA = 1
FILE = "FILE"
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_METRIC = re.compile(r"[a-z][a-z0-9_]*")
_LOCK_SECONDS = 60.0

Key: TypeAlias = tuple[str | None, ...]
"""What two records may not have in common: metric, signature, model and data set."""


@dataclass(frozen=True)
class Confidence:
    """The interval of a value.

    Attributes:
        low: Lower end.
        high: Upper end.
        level: Share of such intervals that cover the true value, about.
        method: How it was made.
        resamples: Number of samples.
        seed: Of the samples.
    """

    low: float
    high: float
    level: float
    method: str
    resamples: int
    seed: int


@dataclass(frozen=True)
class Model:
    """What was scored.

    Attributes:
        id: On the Hub, ``owner/name``.
        name: For people.
        revision: Commit, None if it is not known.
    """

    id: str
    name: str
    revision: str | None = None


@dataclass(frozen=True)
class Dataset:
    """What it was scored on.

    Attributes:
        id: On the Hub, ``owner/name``.
        name: For people.
        config: Its configuration.
        split: Its split.
        revision: Commit, None if it is not known.
    """

    id: str
    name: str
    config: str
    split: str
    revision: str | None = None


@dataclass(frozen=True)
class Source:
    """Where more is to be seen.

    Attributes:
        url: Address.
        name: For people.
        user: Who published it, on the Hub.
        org: Which organization did, if no user is named.
    """

    url: str
    name: str | None = None
    user: str | None = None
    org: str | None = None


@dataclass(frozen=True)
class Record:
    """One number; the keys of a line of `results.jsonl`, in their order, after ``schema``.

    Attributes:
        metric: Name of the metric.
        title: The same for people.
        version: Of this package.
        value: Mean over the defined examples.
        ci: Its interval, None where it has none.
        n: Number of the examples that the value is the mean of.
        undefined: Number of those that have no score.
        higher_is_better: Direction.
        profile: "paper" or "embedded".
        model: What was scored.
        dataset: On what.
        signature: How.
        date: When, by ISO 8601.
        source: Where more is to be seen.
        notes: Anything else.
    """

    metric: str
    title: str
    version: str
    value: float
    ci: Confidence | None
    n: int
    undefined: int
    higher_is_better: bool
    profile: str
    model: Model
    dataset: Dataset
    signature: str
    date: str
    source: Source | None = None
    notes: str | None = None

    @property
    def key(self) -> Key:
        """What no other record of a file may have in common with this one; names for people do not count."""
        own, on = self.model, self.dataset
        return (self.metric, self.signature, own.id, own.revision, on.id, on.config, on.split, on.revision)

    def line(self) -> str:
        """The record as a line of `results.jsonl`."""
        content: dict[str, Any] = {"schema": SCHEMA} | asdict(self)
        if self.source is not None:
            content["source"] = {key: value for key, value in asdict(self.source).items() if value is not None}
        return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def record_of(
    result: Mapping[str, Any],
    metric: str,
    model: Model,
    dataset: Dataset,
    *,
    date: str,
    source: Source | None = None,
    notes: str | None = None,
) -> Record:
    """The record of a result.

    Args:
        result: What a metric returned, or a file of scores holds.
        metric: Its name.
        model: What was scored.
        dataset: On what.
        date: When, by ISO 8601.
        source: Where more is to be seen.
        notes: Anything else.

    Raises:
        ValueError: If no example has a score, or what is given is nothing that a record can hold.
    """
    cells = result[f"{metric}_scores"]
    scores = numbers(f"{metric}_scores", cells, row_keys(range(len(cells))))
    undefined, is_mean = sum(map(math.isnan, scores)), metric_facts(metric).is_mean
    value = mean_of_defined(scores) if is_mean else float(result[metric])
    if math.isnan(value):
        raise ValueError(f"`{metric}_scores` must be defined for at least one example to be recorded, got NaN for all")
    signature = str(result[f"{metric}_signature"])
    fields = parse_signature(signature)[1]
    record = Record(
        metric=metric,
        title=metric_title(metric),
        version=fields.get("v", ""),
        value=value,
        ci=_interval(scores) if is_mean else None,
        n=len(scores) - undefined,
        undefined=undefined,
        higher_is_better=metric_facts(metric).higher_is_better,
        profile=fields.get("profile", ""),
        model=model,
        dataset=dataset,
        signature=signature,
        date=date,
        source=source,
        notes=notes,
    )
    return parse_record(json.loads(record.line()))


def _interval(scores: Sequence[float]) -> Confidence | None:
    found = bootstrap_interval(scores)
    if found is None:
        return None
    return Confidence(found.low, found.high, found.level, "bootstrap", found.resamples, found.seed)


# -- Files ------------------------------------------------------------------------------------------------------------
def read_records(path: str | Path) -> list[Record]:
    """The records in a file.

    Raises:
        ValueError: If a line is none, or two records are of the same metric, signature, model and data set; the
            message names the line.
        OSError: If the file cannot be read.
    """
    return _records(decoded(read_bytes(path, FILE), FILE, path), path)


def _records(text: str, path: str | Path) -> list[Record]:
    records: list[Record] = []
    lines: dict[Key, int] = {}
    # Only "\n" ends a line of JSONL.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = parse_record(parse_json(line, FILE, path, number))
        except _Wrong as error:
            raise ValueError(f"FILE must hold one record per line, line {number} of {str(path)!r}: {error}") from None
        if (first := lines.setdefault(record.key, number)) != number:
            raise ValueError(
                f"FILE must have one record per metric, signature, model and data set, got lines {first} and {number} "
                f"of {str(path)!r} for {record.metric}, {record.model.id} and {record.dataset.id}"
            )
        records.append(record)
    return records


def append_records(path: str | Path, records: Iterable[Record]) -> list[Record]:
    """Add records to a file, which is made if it is not there; several processes may add to one.

    Args:
        path: The file.
        records: One that is there already, whatever its date, is not added again.

    Returns:
        The added ones.

    Raises:
        ValueError: If the file holds something else, or has another number for the same metric, signature, model and
            data set.
    """
    target = Path(path)
    with FileLock(target.with_name(f".{target.name}.lock"), timeout=_LOCK_SECONDS):
        before = decoded(read_bytes(target, FILE), FILE, path) if target.exists() else ""
        known = {record.key: record for record in _records(before, path)}
        added = []
        for record in records:
            other = known.setdefault(record.key, record)
            if other is record:
                added.append(record)
            elif unlike := [
                key for key, value in asdict(record).items() if key != "date" and asdict(other)[key] != value
            ]:
                raise ValueError(
                    f"FILE must have one record per metric, signature, model and data set, {str(path)!r} has one for "
                    f"{record.metric}, {record.model.id} and {record.dataset.id} with another {' and '.join(unlike)}; "
                    f"remove that line to record this result"
                )
        if added:
            gap = "\n" if before and not before.endswith("\n") else ""
            write(target, before + gap + "".join(record.line() for record in added), FILE)
    return added


# -- What a line may hold ---------------------------------------------------------------------------------------------
class _Wrong(ValueError):
    """What is no record."""


Check: TypeAlias = Callable[[str, Any], Any]


def parse_record(content: Any) -> Record:
    """The record of a JSON object.

    Raises:
        ValueError: If it is none.
    """
    values = _fields("record", content, {"schema": _schema, **_RECORD})
    del values["schema"]
    record = Record(**values)
    name, fields = parse_signature(record.signature)
    told = {"metric": name, "version": fields.get("v"), "profile": fields.get("profile")}
    for key, value in told.items():
        if value != getattr(record, key):
            raise _Wrong(f"`{key}` must be that of the signature, {shown(value)}, got {shown(getattr(record, key))}")
    return record


def _fields(name: str, content: Any, checks: Mapping[str, Check], optional: Sequence[str] = ()) -> dict[str, Any]:
    """The values of an object that has these keys and no other."""
    if not isinstance(content, dict):
        raise _Wrong(f"`{name}` must be an object, got {shown(content)}")
    lacking = [key for key in checks if key not in content and key not in optional]
    unknown = [key for key in content if key not in checks]
    if lacking or unknown:
        told = [f"lacks {', '.join(lacking)}"] if lacking else []
        told += [f"has {', '.join(map(shown, unknown))}, which is none of its keys"] if unknown else []
        raise _Wrong(f"`{name}` {' and '.join(told)}")
    prefix = "" if name == "record" else f"{name}."
    return {key: checks[key](f"{prefix}{key}", value) for key, value in content.items()}


def _schema(name: str, value: Any) -> int:
    if value != SCHEMA or isinstance(value, bool):
        raise _Wrong(f"`{name}` must be {SCHEMA}, the only one that there is, got {shown(value)}")
    return SCHEMA


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Wrong(f"`{name}` must be a text, got {shown(value)}")
    return value


def _matching(pattern: re.Pattern[str], expected: str) -> Check:
    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise _Wrong(f"`{name}` must be {expected}, got {shown(value)}")
        return value

    return check


def _or_null(check: Check) -> Check:
    return lambda name, value: None if value is None else check(name, value)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise _Wrong(f"`{name}` must be a finite number, got {shown(value)}")
    return float(value)


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _Wrong(f"`{name}` must be a whole number of at least 0, got {shown(value)}")
    return value


def _truth(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Wrong(f"`{name}` must be true or false, got {shown(value)}")
    return value


def _profile(name: str, value: Any) -> str:
    if value not in PROFILES:
        raise _Wrong(f"`{name}` must be {' or '.join(PROFILES)}, got {shown(value)}")
    return str(value)


def _signature(name: str, value: Any) -> str:
    try:
        parse_signature(_text(name, value))
    except ValueError as error:
        raise _Wrong(f"`{name}` must be the signature of a result: {error}") from None
    return str(value)


def _date(name: str, value: Any) -> str:
    try:
        datetime.fromisoformat(_text(name, value))
    except ValueError:
        raise _Wrong(f"`{name}` must be a date by ISO 8601, such as 2026-11-20, got {shown(value)}") from None
    return str(value)


def _address(name: str, value: Any) -> str:
    if not re.fullmatch(r"https?://[^\s<>\"]+", _text(name, value)):
        raise _Wrong(f"`{name}` must begin with https:// and have no blanks, got {shown(value)}")
    return str(value)


def _confidence(name: str, value: Any) -> Confidence:
    found = Confidence(**_fields(name, value, _CONFIDENCE))
    if found.low > found.high or not 0 < found.level < 1:
        raise _Wrong(f"`{name}` must have its low end first and a level between 0 and 1, got {shown(value)}")
    return found


def _source(name: str, value: Any) -> Source:
    found = Source(**_fields(name, value, _SOURCE, optional=("name", "user", "org")))
    if found.user and found.org:
        raise _Wrong(f"`{name}` must name a user or an org, got both")
    return found


_id = _matching(_REPOSITORY, "an id of the Hub, owner/name")
_revision = _or_null(_matching(_COMMIT, "a commit of 40 hexadecimal digits or null"))
_CONFIDENCE = (
    dict.fromkeys(("low", "high", "level"), _number) | {"method": _text} | dict.fromkeys(("resamples", "seed"), _count)
)
_MODEL: dict[str, Check] = {"id": _id, "name": _text, "revision": _revision}
_DATASET: dict[str, Check] = {"id": _id, "name": _text, "config": _text, "split": _text, "revision": _revision}
_SOURCE: dict[str, Check] = {"url": _address, "name": _text, "user": _text, "org": _text}
_RECORD: dict[str, Check] = {
    "metric": _matching(_METRIC, "the name of a metric"),
    "title": _text,
    "version": _text,
    "value": _number,
    "ci": _or_null(_confidence),
    "n": _count,
    "undefined": _count,
    "higher_is_better": _truth,
    "profile": _profile,
    "model": lambda name, value: Model(**_fields(name, value, _MODEL)),
    "dataset": lambda name, value: Dataset(**_fields(name, value, _DATASET)),
    "signature": _signature,
    "date": _date,
    "source": _or_null(_source),
    "notes": _or_null(_text),
}
