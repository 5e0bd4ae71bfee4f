"""Record of a result, and the validation of lines of `results.jsonl`."""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from datetime import datetime
from typing import Any, TypeAlias

from vlgauge.core.catalog import is_score, score_facts, score_title
from vlgauge.core.errors import UsageError
from vlgauge.core.signatures import parse_signature
from vlgauge.core.validation import PROFILES, short_repr

SCHEMA = 1
MOST_EXAMPLES = 10**12
_REPOSITORY = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
_ROUNDING = 1e-6  # maximum distance by which rounding may move a sum beyond a bound

Key: TypeAlias = tuple[str | None, ...]
"""Unique key of a record: metric, signature, model and dataset."""


class InvalidRecordError(UsageError):
    """Raised if content is not a valid record."""


# -- Values in JSON ---------------------------------------------------------------------------------------------------
Check: TypeAlias = Callable[[str, Any], Any]
"""Function that accepts a name, for messages, and a value, and returns the checked value."""


def _must_be(expected: str, is_it: Callable[[Any], object]) -> Check:
    def check(name: str, value: Any) -> Any:
        if not is_it(value):
            raise InvalidRecordError(f"`{name}` must be {expected}, got {short_repr(value)}")
        return value

    return check


def _matching(pattern: str, expected: str) -> Check:
    return _must_be(expected, lambda value: isinstance(value, str) and re.fullmatch(pattern, value))


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InvalidRecordError(f"`{name}` must be a finite number, got {short_repr(value)}")
    return float(value)


def _signature(name: str, value: Any) -> str:
    try:
        parse_signature(_text(name, value))
    except ValueError as error:
        raise InvalidRecordError(f"`{name}` must be the signature of a result: {error}") from None
    return str(value)


def _is_date(value: Any) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value) is not None
    except ValueError:
        return False


def _or_null(check: Check) -> Check:
    return lambda name, value: None if value is None else check(name, value)


def _build_check(kind: type[Any]) -> Check:
    return lambda name, value: _build(kind, name, value)


# A lone surrogate cannot be written to a file.
_text = _must_be(
    "a string", lambda value: isinstance(value, str) and value.strip() and not re.search("[\ud800-\udfff]", value)
)
_count = _must_be("an integer of at least 0", lambda value: type(value) is int and value >= 0)
_id = _matching(_REPOSITORY, "an id of the Hub, owner/name")
_revision = _matching("[0-9a-f]{40}", "a commit of 40 hexadecimal digits or null")
_sha256 = _matching("[0-9a-f]{64}", "a digest of 64 hexadecimal digits or null")
_date = _must_be("an ISO 8601 date, such as 2026-11-20", _is_date)
_address = _matching(r"https?://[^\s<>\"\ud800-\udfff]+", "a URL that begins with https://, without spaces")
_direction = _must_be("true or false", lambda value: isinstance(value, bool))
_schema = _must_be(f"{SCHEMA}, the only supported version", lambda one: one == SCHEMA and not isinstance(one, bool))


def _build(kind: type[Any], name: str, content: Any, **more: Check) -> Any:
    """Build a dataclass from a JSON object whose keys must match the attributes.

    Args:
        kind: The dataclass.
        name: Name of the object in messages.
        content: The JSON object.
        **more: Checks of additional required keys that are not attributes.

    Raises:
        InvalidRecordError: If a key is missing or unknown, or a value is invalid.
    """
    if not isinstance(content, dict):
        raise InvalidRecordError(f"`{name}` must be an object, got {short_repr(content)}")
    # An attribute with a default may be null or absent.
    checks = more | {
        one.name: one.metadata["check"] if one.default is MISSING else _or_null(one.metadata["check"])
        for one in fields(kind)
    }
    needed = [*more, *(one.name for one in fields(kind) if one.default is MISSING)]
    lacking = [key for key in needed if key not in content]
    unknown = [key for key in content if key not in checks]
    if lacking or unknown:
        problems = [f"lacks {', '.join(lacking)}"] if lacking else []
        problems += [f"has {', '.join(map(short_repr, unknown))}, which are not valid keys"] if unknown else []
        raise InvalidRecordError(f"`{name}` {' and '.join(problems)}")
    prefix = "" if kind is Record else f"{name}."
    values = {key: checks[key](f"{prefix}{key}", value) for key, value in content.items()}
    return kind(**{key: value for key, value in values.items() if key not in more})


# -- Records ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Confidence:
    """Confidence interval of a value.

    Attributes:
        low: Lower end.
        high: Upper end.
        level: Approximate share of such intervals that cover the true value.
        method: Name of the method. None if it is unknown, as for the following attributes.
        resamples: Number of samples.
        seed: Seed of the samples.
        groups: Number of sampled units, which are defined examples, or groups of examples that were sampled together.
        grouped_by: Property that examples of a group have in common, such as a column name. None if examples were
            sampled independently.
    """

    low: float = field(metadata={"check": _number})
    high: float = field(metadata={"check": _number})
    level: float = field(metadata={"check": _number})
    method: str | None = field(default=None, metadata={"check": _text})
    resamples: int | None = field(default=None, metadata={"check": _count})
    seed: int | None = field(default=None, metadata={"check": _count})
    groups: int | None = field(default=None, metadata={"check": _count})
    grouped_by: str | None = field(default=None, metadata={"check": _text})


@dataclass(frozen=True)
class Model:
    """Model that was scored.

    Attributes:
        id: Id on the Hub, ``owner/name``.
        name: Display name.
        revision: Commit. None if it is unknown.
    """

    id: str = field(metadata={"check": _id})
    name: str = field(metadata={"check": _text})
    revision: str | None = field(default=None, metadata={"check": _revision})


@dataclass(frozen=True)
class Dataset:
    """Dataset on which a model was scored.

    Attributes:
        id: Id on the Hub, ``owner/name``.
        name: Display name.
        config: Configuration of the dataset.
        split: Split of the dataset.
        revision: Commit. None if it is unknown.
    """

    id: str = field(metadata={"check": _id})
    name: str = field(metadata={"check": _text})
    config: str = field(metadata={"check": _text})
    split: str = field(metadata={"check": _text})
    revision: str | None = field(default=None, metadata={"check": _revision})


@dataclass(frozen=True)
class RecordSource:
    """Publication of a result.

    Attributes:
        url: URL of the publication.
        name: Display name. None if it is unknown.
        user: Hub user who published the result. None if it is unknown.
        org: Hub organization that published the result, if `user` is None.
    """

    url: str = field(metadata={"check": _address})
    name: str | None = field(default=None, metadata={"check": _text})
    user: str | None = field(default=None, metadata={"check": _text})
    org: str | None = field(default=None, metadata={"check": _text})


@dataclass(frozen=True)
class Record:
    """Recorded value with its origin.

    The attributes are the keys of a line of `results.jsonl`, in the same order after ``schema``.

    Attributes:
        metric: Name of the metric.
        title: Display name of the metric.
        version: Version of this package.
        value: Mean over the defined examples, or the value of their summed counts for a metric such as BLEU.
        ci: Confidence interval of the value. None without an interval.
        n: Number of examples that the value includes. See `vlgauge.families.aggregation.RowCounts`.
        undefined: Number of the other examples.
        higher_is_better: Whether higher values are better.
        profile: Profile, "paper" or "embedded".
        model: Model that was scored.
        dataset: Dataset on which it was scored.
        signature: Signature of the metric.
        date: Date in ISO 8601 format.
        source: Publication of the result. None if it is unknown.
        notes: Additional notes. None without notes.
        scores_sha256: Digest of the scores of the examples (see `vlgauge.leaderboard.recorded_scores`). None if the
            record has no digest.
    """

    metric: str = field(metadata={"check": _matching("[a-z][a-z0-9_]*", "a metric name")})
    title: str = field(metadata={"check": _text})
    version: str = field(metadata={"check": _text})
    value: float = field(metadata={"check": _number})
    ci: Confidence | None = field(metadata={"check": _or_null(_build_check(Confidence))})
    n: int = field(metadata={"check": _count})
    undefined: int = field(metadata={"check": _count})
    higher_is_better: bool = field(metadata={"check": _direction})
    profile: str = field(metadata={"check": _must_be(" or ".join(PROFILES), lambda value: value in PROFILES)})
    model: Model = field(metadata={"check": _build_check(Model)})
    dataset: Dataset = field(metadata={"check": _build_check(Dataset)})
    signature: str = field(metadata={"check": _signature})
    date: str = field(metadata={"check": _date})
    source: RecordSource | None = field(default=None, metadata={"check": _build_check(RecordSource)})
    notes: str | None = field(default=None, metadata={"check": _text})
    scores_sha256: str | None = field(default=None, metadata={"check": _sha256})

    @property
    def key(self) -> Key:
        """Key that must be unique among the records of a file. It does not include display names."""
        own, on = self.model, self.dataset
        return (self.metric, self.signature, own.id, own.revision, on.id, on.config, on.split, on.revision)

    def line(self) -> str:
        """Return the record as a line of `results.jsonl`."""
        content: dict[str, Any] = {"schema": SCHEMA} | asdict(self)
        for name in ("source", "ci"):
            if content[name] is not None:
                content[name] = {key: value for key, value in content[name].items() if value is not None}
        return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def is_hub_id(text: str) -> bool:
    """Return whether a string is a valid id of a model or dataset on the Hub."""
    return re.fullmatch(_REPOSITORY, text) is not None


# -- Lines ------------------------------------------------------------------------------------------------------------
def parse_record(content: Any) -> Record:
    """Return the record of a JSON object.

    Raises:
        ValueError: If the object is not a valid record.
    """
    record: Record = _build(Record, "record", content, schema=_schema)
    name, signed = parse_signature(record.signature)
    _check_stated(record, {"metric": name, "version": signed.get("v"), "profile": signed.get("profile")})
    if is_score(record.metric):
        _check_facts(record, signed)
    _check_numbers(record)
    return record


def _check_stated(record: Record, stated: Mapping[str, Any], of: str = "the signature") -> None:
    """Check that values of a record match the values in its signature or in the catalog.

    Raises:
        InvalidRecordError: If a value differs.
    """
    for key, value in stated.items():
        if value != getattr(record, key):
            raise InvalidRecordError(
                f"`{key}` must be that of {of}, {short_repr(value)}, got {short_repr(getattr(record, key))}"
            )


def _check_facts(record: Record, signed: Mapping[str, str]) -> None:
    """Check title, direction and range of a record against its metric with the settings of the signature."""
    try:
        facts = score_facts(record.metric)
    except UsageError as error:
        raise InvalidRecordError(f"`metric` {str(error).removeprefix('`name` ')}") from error
    stated = {"title": score_title(record.metric), "higher_is_better": facts.higher_is_better}
    _check_stated(record, stated, record.metric)
    low, high = facts.bounds_for(signed)
    ends = {} if record.ci is None else {"ci.low": record.ci.low, "ci.high": record.ci.high}
    for name, number in {"value": record.value, **ends}.items():
        if (low is not None and number < low - _ROUNDING) or (high is not None and number > high + _ROUNDING):
            least = "" if low is None else f"at least {low:g}"
            most = "" if high is None else f"at most {high:g}"
            raise InvalidRecordError(
                f"`{name}` must be {' and '.join(filter(None, (least, most)))}, the range of {record.metric} with "
                f"these settings, got {short_repr(number)}"
            )


def _check_numbers(record: Record) -> None:
    """Check the consistency of the numbers and the names of a record."""
    ci, n, source = record.ci, record.n, record.source
    if source is not None and source.user and source.org:
        raise InvalidRecordError("`source` must have a user or an org, not both")
    if not 0 < n <= MOST_EXAMPLES - record.undefined:
        raise InvalidRecordError(
            f"`n` must be at least 1, and `n` + `undefined` at most {MOST_EXAMPLES:,}, got "
            f"{short_repr(n)} and {short_repr(record.undefined)}"
        )
    if ci is None:
        return
    if ci.low > ci.high or not 0 < ci.level < 1:
        raise InvalidRecordError(
            "`ci` must have its low end first and a level between 0 and 1, got "
            f"{ci.low:g} to {ci.high:g} at {ci.level:g}"
        )
    if not ci.low - _ROUNDING <= record.value <= ci.high + _ROUNDING:
        raise InvalidRecordError(
            f"`value` must be in its interval, {ci.low:.6g} to {ci.high:.6g}, got {record.value:.6g}"
        )
    if n < 2:
        raise InvalidRecordError(f"`ci` must be null for fewer than 2 rows, got one for {n}")
    if ci.groups is not None and not 2 <= ci.groups <= n:
        raise InvalidRecordError(f"`ci.groups` must be at least 2 and at most `n`, {n}, got {short_repr(ci.groups)}")
