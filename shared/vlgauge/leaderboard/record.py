"""One record of a result, and what a line of `results.jsonl` may hold."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, TypeAlias

from vlgauge.catalog import is_score, score_facts, score_title
from vlgauge.errors import UsageError
from vlgauge.settings import PROFILES, shown
from vlgauge.signatures import parse_signature

SCHEMA = 1
MOST_EXAMPLES = 10**12
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ROUNDING = 1e-6  # by which a sum of floats may lie beyond a bound
_METRIC = re.compile(r"[a-z][a-z0-9_]*")

Key: TypeAlias = tuple[str | None, ...]
"""What two records may not have in common: metric, signature, model and data set."""


@dataclass(frozen=True)
class Confidence:
    """The interval of a value.

    Attributes:
        low: Lower end.
        high: Upper end.
        level: Share of such intervals that cover the true value, about.
        method: How it was made; None, as any of the following, where that is not told.
        resamples: Number of samples.
        seed: Of the samples.
        groups: Number of what was drawn: of the defined examples, or of the groups of them that were drawn together.
        grouped_by: What examples that were drawn together have in common, such as the title of a column; None where
            each was drawn by itself.
    """

    low: float
    high: float
    level: float
    method: str | None = None
    resamples: int | None = None
    seed: int | None = None
    groups: int | None = None
    grouped_by: str | None = None


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
        value: Mean over the defined examples, or of a metric such as BLEU the value of their added
            counts.
        ci: Its interval, None where it has none.
        n: Number of the examples that the value is of, see `vlgauge.corpus_values.RowCounts`.
        undefined: Number of the others.
        higher_is_better: Direction.
        profile: "paper" or "embedded".
        model: What was scored.
        dataset: On what.
        signature: How.
        date: When, by ISO 8601.
        source: Where more is to be seen.
        notes: Anything else.
        scores_sha256: Digest of the scores of its examples, see `vlgauge.leaderboard.recorded_scores`; None where the
            record is unsigned.
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
    scores_sha256: str | None = None

    @property
    def key(self) -> Key:
        """What no other record of a file may have in common with this one; names for people do not count."""
        own, on = self.model, self.dataset
        return (self.metric, self.signature, own.id, own.revision, on.id, on.config, on.split, on.revision)

    def line(self) -> str:
        """The record as a line of `results.jsonl`."""
        content: dict[str, Any] = {"schema": SCHEMA} | asdict(self)
        for name in ("source", "ci"):
            if content[name] is not None:
                content[name] = {key: value for key, value in content[name].items() if value is not None}
        return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def is_hub_id(text: str) -> bool:
    """Whether a text is the id of a model or data set, as a record names them."""
    return _REPOSITORY.fullmatch(text) is not None


# -- What a line may hold ---------------------------------------------------------------------------------------------
class NoRecord(UsageError):
    """What is no record."""


Check: TypeAlias = Callable[[str, Any], Any]


def parse_record(content: Any) -> Record:
    """The record of a JSON object.

    Raises:
        ValueError: If it is none.
    """
    values = _fields("record", content, {"schema": _schema, **_RECORD}, optional=("scores_sha256",))
    del values["schema"]
    record = Record(**values)
    name, fields = parse_signature(record.signature)
    _refuse_others(record, {"metric": name, "version": fields.get("v"), "profile": fields.get("profile")})
    if is_score(record.metric):
        _check_facts(record, fields)
    _check_numbers(record)
    return record


def _refuse_others(record: Record, told: Mapping[str, Any], of: str = "the signature") -> None:
    """Refuse what is not as something else tells it."""
    for key, value in told.items():
        if value != getattr(record, key):
            raise NoRecord(f"`{key}` must be that of {of}, {shown(value)}, got {shown(getattr(record, key))}")


def _check_facts(record: Record, fields: Mapping[str, str]) -> None:
    """Check title, direction and range against those of the metric with the settings of the signature."""
    try:
        facts = score_facts(record.metric)
    except UsageError as error:
        raise NoRecord(f"`metric` {str(error).removeprefix('`name` ')}") from error
    told = {"title": score_title(record.metric), "higher_is_better": facts.higher_is_better}
    _refuse_others(record, told, record.metric)
    low, high = facts.bounds_for(fields)
    ends = {} if record.ci is None else {"ci.low": record.ci.low, "ci.high": record.ci.high}
    for name, number in {"value": record.value, **ends}.items():
        if (low is not None and number < low - _ROUNDING) or (high is not None and number > high + _ROUNDING):
            least = "" if low is None else f"at least {low:g}"
            most = "" if high is None else f"at most {high:g}"
            raise NoRecord(
                f"`{name}` must be {' and '.join(filter(None, (least, most)))}, as every score of {record.metric} is "
                f"with these settings, got {shown(number)}"
            )


def _check_numbers(record: Record) -> None:
    """Refuse numbers that contradict one another."""
    ci, n = record.ci, record.n
    if not 0 < n <= MOST_EXAMPLES - record.undefined:
        raise NoRecord(
            f"`n` must be at least 1, the value is of them, and with `undefined` at most {MOST_EXAMPLES:,}, got "
            f"{shown(n)} and {shown(record.undefined)}"
        )
    if ci is None:
        return
    if not ci.low - _ROUNDING <= record.value <= ci.high + _ROUNDING:
        raise NoRecord(f"`value` must lie in its interval, {ci.low:.6g} to {ci.high:.6g}, got {record.value:.6g}")
    if n < 2:
        raise NoRecord(f"`ci` must be null for fewer than 2 rows, got one for {n}")
    if ci.groups is not None and not 2 <= ci.groups <= n:
        raise NoRecord(f"`ci.groups` must be at least 2 and at most `n`, {n}, got {shown(ci.groups)}")


def _fields(name: str, content: Any, checks: Mapping[str, Check], optional: Sequence[str] = ()) -> dict[str, Any]:
    """The values of an object that has these keys and no other."""
    if not isinstance(content, dict):
        raise NoRecord(f"`{name}` must be an object, got {shown(content)}")
    lacking = [key for key in checks if key not in content and key not in optional]
    unknown = [key for key in content if key not in checks]
    if lacking or unknown:
        told = [f"lacks {', '.join(lacking)}"] if lacking else []
        told += [f"has {', '.join(map(shown, unknown))}, which is none of its keys"] if unknown else []
        raise NoRecord(f"`{name}` {' and '.join(told)}")
    prefix = "" if name == "record" else f"{name}."
    return {key: checks[key](f"{prefix}{key}", value) for key, value in content.items()}


_SURROGATE = re.compile("[\ud800-\udfff]")


def _must_be(expected: str, is_it: Callable[[Any], object]) -> Check:
    def check(name: str, value: Any) -> Any:
        if not is_it(value):
            raise NoRecord(f"`{name}` must be {expected}, got {shown(value)}")
        return value

    return check


def _matching(pattern: re.Pattern[str], expected: str) -> Check:
    return _must_be(expected, lambda value: isinstance(value, str) and pattern.fullmatch(value))


def _or_null(check: Check) -> Check:
    return lambda name, value: None if value is None else check(name, value)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise NoRecord(f"`{name}` must be a finite number, got {shown(value)}")
    return float(value)


def _signature(name: str, value: Any) -> str:
    try:
        parse_signature(_text(name, value))
    except ValueError as error:
        raise NoRecord(f"`{name}` must be the signature of a result: {error}") from None
    return str(value)


def _date(name: str, value: Any) -> str:
    try:
        datetime.fromisoformat(_text(name, value))
    except ValueError:
        raise NoRecord(f"`{name}` must be a date by ISO 8601, such as 2026-11-20, got {shown(value)}") from None
    return str(value)


def _address(name: str, value: Any) -> str:
    if not re.fullmatch(r"https?://[^\s<>\"]+", _text(name, value)):
        raise NoRecord(f"`{name}` must begin with https:// and have no blanks, got {shown(value)}")
    return str(value)


def _confidence(name: str, value: Any) -> Confidence:
    found = Confidence(**_fields(name, value, _CONFIDENCE, optional=_OF_SAMPLES))
    if found.low > found.high or not 0 < found.level < 1:
        raise NoRecord(f"`{name}` must have its low end first and a level between 0 and 1, got {shown(value)}")
    return found


def _source(name: str, value: Any) -> Source:
    found = Source(**_fields(name, value, _SOURCE, optional=("name", "user", "org")))
    if found.user and found.org:
        raise NoRecord(f"`{name}` must name a user or an org, got both")
    return found


_schema = _must_be(f"{SCHEMA}, the only one that there is", lambda one: one == SCHEMA and not isinstance(one, bool))
# A lone surrogate, half of a broken character, can be written to no file.
_text = _must_be("a text", lambda value: isinstance(value, str) and value.strip() and not _SURROGATE.search(value))
_count = _must_be("a whole number of at least 0", lambda value: type(value) is int and value >= 0)
_id = _matching(_REPOSITORY, "an id of the Hub, owner/name")
_revision = _or_null(_matching(_COMMIT, "a commit of 40 hexadecimal digits or null"))
_OF_SAMPLES = ("method", "resamples", "seed", "groups", "grouped_by")
_CONFIDENCE = (
    dict.fromkeys(("low", "high", "level"), _number)
    | {"method": _text, "grouped_by": _text}
    | dict.fromkeys(("resamples", "seed", "groups"), _count)
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
    "higher_is_better": _must_be("true or false", lambda value: isinstance(value, bool)),
    "profile": _must_be(" or ".join(PROFILES), lambda value: value in PROFILES),
    "model": lambda name, value: Model(**_fields(name, value, _MODEL)),
    "dataset": lambda name, value: Dataset(**_fields(name, value, _DATASET)),
    "signature": _signature,
    "date": _date,
    "source": _or_null(_source),
    "notes": _or_null(_text),
    "scores_sha256": _or_null(_matching(_SHA256, "a digest of 64 hexadecimal digits or null")),
}
