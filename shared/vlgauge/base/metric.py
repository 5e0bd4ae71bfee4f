"""The base of every metric: rows checked one by one, known settings only, one form of result."""

import inspect
import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import evaluate
import pyarrow as pa
from datasets import Features
from packaging.version import Version

from vlgauge.base.columns import Captions, Column, Images, Story, Text
from vlgauge.base.host import HostedMetric, StoredRows, lock_of
from vlgauge.base.parts import Counts, PartialResult, partial_result, shared_text
from vlgauge.catalog import Bounds, citation, metric_facts, metric_names
from vlgauge.errors import MissingExtraError, UsageError, UsageTypeError
from vlgauge.media.animations import one_warning_for_animations
from vlgauge.progress import Progress, checked_progress, progress_chosen
from vlgauge.results import result_record
from vlgauge.sandbox import Reading, checked_reading
from vlgauge.sandbox import reading as reading_chosen
from vlgauge.settings import (
    PROFILES,
    nearest,
    one_of,
    refuse_unknown_settings,
    rows_of,
    setting_names,
    true_or_false,
    warn,
    whole_number,
)
from vlgauge.signatures import format_signature
from vlgauge.version import __version__

REPOSITORY = "https://github.com/vlgauge/vlgauge"

# Every column of the project: one that a metric does not use is ignored by it, so that `evaluate.combine` can hand the
# same columns to metrics of different kinds.
PROJECT_COLUMNS = ("predictions", "references", "images", "videos", "styles")
_SINGULAR = {name.removesuffix("s"): name for name in PROJECT_COLUMNS}


# Settings that change how a number is computed or what comes with it, but not the number; `Metric.unsigned` adds those
# that only one metric has. All others are in its signature.
NOT_IN_SIGNATURE = (
    *("progress", "reading", "batch_size", "workers", "chunk_bytes", "device", "feature_cache", "details"),
)
# What every signature begins with, as far as a metric has it.
_FIRST_FIELDS = ("v", "profile", "enc", "dtype", "prep")

FACTS_OF_CARDS = ("measures", "score_range", "bounds", "higher_is_better", "needs", "is_mean", "compares_sets")

MAX_BYTES_PER_WRITE = 256 * 2**20


class Metric(HostedMetric, ABC):
    """Abstract base over `evaluate.Metric`.

    A subclass sets the class attributes and scores in `_compute`. Its settings are the keyword-only parameters of its
    constructor, each kept in an attribute of the same name. The attributes of `FACTS_OF_CARDS` come from the card of
    the installed metric of the same name; a class without such a card sets them itself.

    Attributes:
        about: What the metric is, and its arguments and results, as the host shows them; they also begin the docstring
            of the class.
        papers: Addresses of its papers.
        measures: Question that the metric answers, in one line.
        score_range: Range of a score, in words.
        bounds: Least and greatest score with any settings; None for an end without a bound.
        higher_is_better: Direction of a score.
        needs: Names of the extras without which the metric cannot score.
        requires: Oldest version of this package that the script works with.
        columns: Input columns; an instance may set its own before the base is initialized.
        configs: Known values of ``config_name``.
        is_mean: Whether the number of a call is the mean of the scores of its rows.
        compares_sets: Whether a score depends on how many captions a row has.
        unsigned: Settings of its own that change no number, see `NOT_IN_SIGNATURE`.
        source_settings: Settings that name models, parsers or files; a call adds to the signature what was read there.
        has_reference_scores: Whether it has a second score, ``ref_NAME``, where there are references.
        rewards_silence: Whether a caption that says less cannot score worse, since only what is said is looked at: no
            reward by itself.
        undefined_hint: What a call most likely got wrong where every score is undefined; empty to say nothing.
    """

    papers: ClassVar[tuple[str, ...]]
    measures: ClassVar[str]
    score_range: ClassVar[str]
    bounds: ClassVar[Bounds] = (None, None)
    higher_is_better: ClassVar[bool]
    needs: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[str] = "0.1"
    columns: tuple[Column, ...]
    configs: ClassVar[tuple[str, ...]] = ()
    is_mean: ClassVar[bool] = True
    compares_sets: ClassVar[bool] = False
    unsigned: ClassVar[tuple[str, ...]] = ()
    source_settings: ClassVar[tuple[str, ...]] = ()
    has_reference_scores: ClassVar[bool] = False
    rewards_silence: ClassVar[bool] = False
    undefined_hint: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "about" in vars(cls):
            cls.__doc__ = "".join((*vars(cls)["about"], "\n\n", cls.__doc__ or ""))
        name = evaluate.naming.camelcase_to_snakecase(cls.__name__)
        if name in metric_names():
            facts = metric_facts(name)
            for fact in FACTS_OF_CARDS:
                if fact not in vars(cls):
                    setattr(cls, fact, getattr(facts, fact))

    def __init__(
        self,
        *args: Any,
        profile: str | None = None,
        progress: Progress = None,
        reading: Reading | None = None,
        **host: Any,
    ) -> None:
        name = evaluate.naming.camelcase_to_snakecase(type(self).__name__)
        self._check_version(name)
        refuse_unknown_settings(type(self), name, host)
        config_name = host.get("config_name", args[0] if args else None)
        if config_name not in (None, "default", *self.configs):
            hint = f"known are {', '.join(self.configs)}" if self.configs else "leave it out"
            raise UsageError(f"`config_name` is no configuration of {name}, got {config_name!r}; {hint}")
        usual = os.environ.get("VLGAUGE_PROFILE") or PROFILES[0]
        self.profile = one_of("profile", usual if profile is None else profile, PROFILES)
        self.progress = checked_progress(progress)
        self.reading = checked_reading(reading)
        if (seed := host.get("seed")) is not None:
            whole_number("seed", seed, 0, 2**32 - 1)
        super().__init__(*args, **host)

    @property
    @abstractmethod
    def about(self) -> tuple[str, str]:
        """See the class."""

    @abstractmethod
    def _compute(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Scores of the rows, as the dictionary that `result` makes.

        A metric names its columns here, then per-call data and ``return_details``; it never takes ``**kwargs``.
        """

    def cited(self) -> str:
        """How the metric is cited, from its card."""
        return citation(evaluate.naming.camelcase_to_snakecase(type(self).__name__))

    def _info(self) -> evaluate.MetricInfo:
        description, inputs = self.about
        return evaluate.MetricInfo(
            description=description,
            citation=self.cited(),
            inputs_description=inputs,
            features=Features({column.name: column.feature() for column in self.columns}),
            homepage=REPOSITORY,
            license="Apache-2.0",
            codebase_urls=[REPOSITORY],
            reference_urls=list(self.papers),
        )

    def compute(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> dict[str, Any] | None:
        """Score the given rows together with those added before.

        Args:
            predictions: Rows of this column, one per row.
            references: Rows of this column, where the metric has it.
            **kwargs: Other columns, per-call data and ``return_details``.

        Returns:
            The result dictionary; None on the processes of a distributed run other than the first.

        Raises:
            TypeError: If a keyword is unknown; the rows added before stay.
            ValueError: If a row is not what its column holds, or there is no row; the round ends with it.
        """
        given = {"predictions": predictions, "references": references, **kwargs}
        with lock_of(self):
            columns, options = self._sort_keywords(given)
            try:
                if any(rows is not None for rows in columns.values()):
                    self.add_batch(**columns)
                if self.num_process == 1 and self.writer is None:
                    raise UsageError(self._no_rows())
                with one_warning_for_animations(), progress_chosen(self.progress), reading_chosen(self.reading):
                    record = self._host_compute(options)
                self._warn_of_undefined(record or {})
                return record
            finally:
                self._end_round()

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Add rows to those that the next `compute` scores.

        Args:
            predictions: Rows of this column, one per row.
            references: Rows of this column, where the metric has it.
            **kwargs: Other columns.

        Raises:
            TypeError: If a keyword is unknown.
            ValueError: If a column is missing, or a row is not what its column holds; the rows added before stay.
        """
        given = {"predictions": predictions, "references": references, **kwargs}
        with lock_of(self):
            columns, options = self._sort_keywords(given)
            if options:
                raise UsageTypeError(f"`{next(iter(options))}` is no column of {self.name}; pass it to `compute`")
            stored = self._stored(columns)
            for chunk in self._chunks(stored):
                self._host_add(chunk)

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Add one row; the columns may be named in the singular or in the plural.

        Args:
            prediction: The row of the column ``predictions``.
            reference: The row of the column ``references``, where the metric has it.
            **kwargs: Rows of other columns.

        Raises:
            TypeError: If a keyword is unknown.
            ValueError: If a column is missing, or the row is not what its column holds.
        """
        given = {"prediction": prediction, "reference": reference, **kwargs}
        row: dict[str, list[Any]] = {}
        for name, value in given.items():
            plural = _SINGULAR.get(name, name)
            if value is not None and plural in row:
                raise UsageTypeError(f"`{plural}` must be given once, in the singular or in the plural, got both")
            if value is not None:
                row[plural] = [value]
        self.add_batch(**row)

    def result(
        self, scores: Sequence[float], *, made_with: Mapping[str, Any] | None = None, details: Any = None, **extra: Any
    ) -> dict[str, Any]:
        """The dictionary that every metric returns; see `vlgauge.results.result_record`.

        Args:
            scores: One score per row, NaN where it is undefined.
            made_with: Fields of the signature that only this call knows, see `signature`.
            details: What explains each score; None if nobody asked.
            **extra: Further values; their keys get the metric's name as prefix.
        """
        more = extra if details is None else extra | {"details": details}
        return result_record(self.name, scores, self.signature(**(made_with or {})), more)

    def with_score(self, record: Mapping[str, Any], key: str, scores: Sequence[float], **extra: Any) -> dict[str, Any]:
        """A result with another score, which has the same signature but for its name.

        Args:
            record: The result that `result` made.
            key: Name of the other score, prefix of its keys.
            scores: One per row.
            **extra: Further values of the other score.
        """
        signature = key + record[f"{self.name}_signature"].removeprefix(self.name)
        return {**record, **result_record(key, scores, signature, extra)}

    @property
    def uses_models(self) -> bool:
        """Whether models take part with these settings; else no toy does, and the number is that of either profile."""
        return bool(self.needs)

    def signature(self, **made_with: Any) -> str:
        """Everything that a number depends on, such as ``rovist_nr|v:0.1.0|profile:paper|variant:released|n:4``.

        Args:
            **made_with: What only a call knows, such as the digest of an encoder; None takes out a setting that the
                call did not read.
        """
        fields = {"v": __version__, "profile": self.profile if self.uses_models else PROFILES[0]}
        fields |= ({"config": self.config_name} if self.configs else {}) | self.signature_fields() | made_with
        unread = {name for name, value in made_with.items() if value is None}
        ordered = dict.fromkeys(name for name in (*_FIRST_FIELDS, *fields) if name in fields and name not in unread)
        return format_signature(self.name, {name: fields[name] for name in ordered})

    def signature_fields(self) -> dict[str, Any]:
        """Settings by name, without those that name models or files: a call adds what identifies them."""
        left_out = {"profile", *NOT_IN_SIGNATURE, *self.unsigned, *self.source_settings}
        return {name: getattr(self, name) for name in setting_names(type(self)) if name not in left_out}

    def count(self, columns: Mapping[str, Sequence[Any]]) -> Counts | None:
        """Count what a table over a whole corpus needs of some rows, such as document frequencies.

        Args:
            columns: Rows as `_compute` takes them.

        Returns:
            The counts; None if these settings need no such table.

        Raises:
            UsageError: If a score depends on other rows in a way that no table holds, with the reason.
        """
        return None

    def use_counts(self, counts: Counts) -> None:
        """Score with a table over the whole corpus instead of one over the rows of a call.

        Args:
            counts: Sums of what `count` returned of all rows.
        """

    def score_batch(self, columns: Mapping[str, Sequence[Any]], keys: Sequence[int]) -> PartialResult:
        """Score some rows of a corpus.

        Args:
            columns: Rows as `_compute` takes them.
            keys: An integer of at least 0 per row, which seeds its random draws.
        """
        result = self._compute(**columns)
        return partial_result(result, len(keys), len(keys) - result[f"{self.name}_undefined"])

    def combine(self, partial: PartialResult) -> dict[str, Any]:
        """Return the result of a corpus, from the merged partial results of all its rows.

        Raises:
            UsageError: If rows were scored with different settings or models.
        """
        found: dict[str, Any] = {}
        for key, column in partial.columns.items():
            if (stem := key.removesuffix("_scores")) == key:
                found[key] = column
            else:
                signature = shared_text(f"{stem}_signature", partial.texts[f"{stem}_signature"])
                found |= result_record(stem, column, signature, {})
        n_defined = partial.n_rows - found[f"{self.name}_undefined"]
        found |= {key: total / n_defined if n_defined else math.nan for key, total in partial.totals.items()}
        found |= partial.sums
        texts = {key: texts for key, texts in partial.texts.items() if key not in found}
        return found | {key: json.loads(shared_text(key, own)) for key, own in texts.items()}

    def stored_table(self, columns: Mapping[str, Any]) -> pa.Table:
        """Return checked rows as the host stores them, without adding them.

        Args:
            columns: Rows by name of the column; columns of other metrics are left out.

        Raises:
            TypeError: If a name is no column of a metric.
            ValueError: As of `add_batch`.
        """
        own, options = self._sort_keywords(columns)
        if options:
            names = ", ".join(column.name for column in self.columns)
            raise UsageTypeError(f"`{next(iter(options))}` is no column of {self.name}, which reads {names}")
        schema = Features({column.name: column.feature() for column in self.columns}).arrow_schema
        chunks = [pa.Table.from_pydict(chunk, schema=schema) for chunk in self._chunks(self._stored(own))]
        return pa.concat_tables(chunks) if chunks else schema.empty_table()

    def restored(self, table: pa.Table) -> dict[str, Sequence[Any]]:
        """Return the columns of a table from `stored_table`, as `_compute` takes them."""
        rows = StoredRows(table, self.columns)
        return {column.name: rows[column.name] for column in self.columns}

    def as_computed(self, columns: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Rows, checked, one by one as `_compute` takes them; ValueError as of `add_batch`."""
        table = self.stored_table(columns)
        restored = self.restored(table)
        for i in range(table.num_rows):
            yield {name: cells[i] for name, cells in restored.items()}

    def _warn_of_undefined(self, record: Mapping[str, Any]) -> None:
        """Say what makes all scores of a call undefined; a single one is seen to be so."""
        scores = record.get(f"{self.name}_scores", ())
        if self.undefined_hint and 1 < len(scores) == record[f"{self.name}_undefined"]:
            warn(f"every score of {self.name} is undefined; {self.undefined_hint}")

    def _check_version(self, name: str) -> None:
        installed, required = Version(__version__), Version(self.requires)
        if installed < required:
            extra = name.replace("_", "-")
            raise MissingExtraError(
                f"{name} needs vlgauge {required} or newer, got {installed}; "
                f'run: pip install --upgrade "vlgauge[{extra}] @ git+{REPOSITORY}@v{required.base_version}.0"'
            )

    def _sort_keywords(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Own columns, and other keywords of `_compute`; columns of other metrics are left out."""
        own = [column.name for column in self.columns]
        known = [name for name in inspect.signature(self._compute).parameters if name not in own]
        options = {name: value for name, value in given.items() if name not in {*own, *PROJECT_COLUMNS}}
        for name, value in options.items():
            if name not in known:
                raise UsageTypeError(f"`{name}` is no keyword of {self.name}; {nearest(name, [*own, *known])}")
            if name == "return_details" and value is not None:
                options[name] = true_or_false(name, value)
            if self.num_process > 1 and name != "return_details" and value is not None:
                raise UsageError.about(
                    name,
                    "must be left out when `num_process` is over 1, because only the rows travel between "
                    "processes; gather the rows and compute in one process",
                )
        return {name: given.get(name) for name in own}, options

    def _stored(self, columns: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Rows as the host stores them, every one checked, before anything is written."""
        needed = " and ".join(f"`{column.name}`" for column in self.columns if not column.optional)
        rows: dict[str, list[Any]] = {}
        for column in self.columns:
            if columns[column.name] is not None:
                rows[column.name] = rows_of(column.name, columns[column.name])
            elif not column.optional:
                raise UsageError(f"`{column.name}` is missing: {self.name} needs {needed}")
        first, count = next((name, len(values)) for name, values in rows.items())
        for name, values in rows.items():
            if len(values) != count:
                raise UsageError.about(name, f"must have one row per row of `{first}`, got {len(values)} and {count}")
        stored = {}
        for column in self.columns:
            values = rows.get(column.name, [None] * count)
            stored[column.name] = column.store_all(values)
            column.check_together(stored[column.name])
        return stored

    def _chunks(self, stored: Mapping[str, list[Any]]) -> Iterator[dict[str, list[Any]]]:
        """Rows in pieces whose bytes one Arrow array can hold; no piece for no rows."""
        count, start, size = len(next(iter(stored.values()))), 0, 0
        heavy = [column for column in self.columns if type(column).size is not Column.size]
        for i in range(count if heavy else 0):
            row_size = sum(column.size(stored[column.name][i]) for column in heavy)
            if i > start and size + row_size > MAX_BYTES_PER_WRITE:
                yield {name: rows[start:i] for name, rows in stored.items()}
                start, size = i, 0
            size += row_size
        if count:
            yield {name: rows[start:] for name, rows in stored.items()}


# Of the metrics that compare the sentences of a story.
NEEDS_SENTENCES = (
    "a story must have at least two sentences, so give each as a list of sentences or a text of several; a list of "
    "single sentences is as many stories"
)


class StoryMetric(Metric):
    """Base of the metrics that read nothing but stories."""

    columns = (Story("predictions"),)


class StoryImageMetric(Metric):
    """Base of the metrics that look at the pictures of a story."""

    columns = (Story("predictions"), Images("images"))


class ImageMetric(Metric):
    """Base of the metrics that compare a caption with its picture and, where given, with references."""

    columns = (Text("predictions"), Images("images"), Captions("references", optional=True))
