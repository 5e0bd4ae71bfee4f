"""Base classes of all metrics: input validation, settings, signatures and result dictionaries."""

import inspect
import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import chain
from typing import Any, ClassVar

import evaluate
import pyarrow as pa
from datasets import Features
from packaging.version import Version

from vlgauge.core.catalog import (
    ANY_LANGUAGE,
    Bounds,
    alternatives_in_words,
    citation,
    languages_in_words,
    metric_facts,
    metric_names,
)
from vlgauge.core.columns import COLUMNS
from vlgauge.core.errors import MissingExtraError, UsageError, UsageTypeError
from vlgauge.core.progress import Progress, check_progress, progress_chosen
from vlgauge.core.results import result_record
from vlgauge.core.signatures import format_signature
from vlgauge.core.validation import (
    PROFILES,
    check_bool,
    check_choice,
    check_int,
    check_setting_names,
    nearest,
    rows_of,
    setting_names,
    setting_parameters,
    warn,
)
from vlgauge.families.aggregation import corpus_values
from vlgauge.families.base.columns import Captions, Column, Images, Story, Text
from vlgauge.families.base.evaluate_adapter import EvaluateAdapter, StoredRows, lock_of
from vlgauge.families.base.parts import Counts, PartialResult, find_shared_text, partial_result
from vlgauge.inputs.images.animations import one_warning_for_animations
from vlgauge.inputs.sandbox import use_sandbox
from vlgauge.inputs.text.scripts import count_other_scripts
from vlgauge.version import __version__

REPOSITORY = "https://github.com/vlgauge/vlgauge"

_SINGULAR = {name.removesuffix("s"): name for name in COLUMNS}


# Settings that affect how a score is computed or which values are returned with it, but not the score itself. They are
# left out of the signature, as are the metric-specific settings in `Metric.unsigned`.
NOT_IN_SIGNATURE = (
    *("progress", "sandbox", "batch_size", "workers", "chunk_bytes", "device", "feature_cache", "details"),
)
# Fields that come first in a signature, if the metric has them.
_FIRST_FIELDS = ("v", "profile", "enc", "dtype", "prep")

FACTS_OF_CARDS = (
    *("measures", "score_range", "bounds", "higher_is_better", "needs", "is_mean", "compares_sets"),
    *("languages", "other_languages"),
)

MAX_BYTES_PER_WRITE = 256 * 2**20


class Metric(EvaluateAdapter, ABC):
    """Abstract base class of all metrics, built on `evaluate.Metric`.

    Subclasses set the class attributes below and implement `_compute`. Their docstring describes the metric, and in the
    sections ``Args``, ``Returns`` and ``Examples`` its columns and result. Settings are keyword-only parameters of the
    constructor or fields of a setting group, each stored in an attribute of the same name. The attributes in
    `FACTS_OF_CARDS` are read from the card of the installed metric of the same name. A class without such a card sets
    them itself.

    Attributes:
        papers: URLs of the papers that define the metric.
        measures: Question that the metric answers, in one sentence.
        score_range: Range of a score, as text.
        bounds: Lower and upper bound of a score under any settings. None for an unbounded end.
        higher_is_better: Whether higher scores are better.
        needs: Names of the extras that the metric requires.
        requires: Minimum version of vlgauge that the metric script works with.
        columns: Input columns. An instance may override them before it calls ``super().__init__``.
        setting_groups: Frozen dataclasses of settings, which check them in ``__post_init__`` and return their part of a
            signature by ``signature_fields()``, unless the class overrides `signature_fields`. `grouped` contains the
            instances.
        configs: Valid values of ``config_name``.
        is_mean: Whether the corpus-level value is the mean of the row scores.
        compares_sets: Whether a score depends on the number of captions per row.
        languages: Languages that the settings support, see `MetricFacts`. An instance may override them.
        other_languages: Alternatives for other languages, see `MetricFacts`. An instance may override them.
        checks_words: Whether the metric itself warns about captions of other languages, by their words.
        unsigned: Metric-specific settings that do not change the scores. See `NOT_IN_SIGNATURE`.
        source_settings: Settings that name models, parsers or files. Each call adds the identity of the loaded source
            to the signature instead.
        has_reference_scores: Whether the metric returns a second score, ``ref_NAME``, if references are passed.
        rewards_silence: Whether removing content from a caption never lowers its score, because only the content that
            is mentioned is checked. Such a metric is not suitable as the only reward.
        undefined_hint: Most likely mistake in a call whose scores are all undefined, used in a warning. Empty for no
            warning.
    """

    papers: ClassVar[tuple[str, ...]]
    measures: ClassVar[str]
    score_range: ClassVar[str]
    bounds: ClassVar[Bounds] = (None, None)
    higher_is_better: ClassVar[bool]
    needs: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[str] = "0.1"
    columns: tuple[Column, ...]
    setting_groups: ClassVar[tuple[type[Any], ...]] = ()
    configs: ClassVar[tuple[str, ...]] = ()
    is_mean: ClassVar[bool] = True
    compares_sets: ClassVar[bool] = False
    languages: tuple[str, ...] = (ANY_LANGUAGE,)
    other_languages: tuple[tuple[str, ...], ...] = ()
    checks_words: ClassVar[bool] = False
    unsigned: ClassVar[tuple[str, ...]] = ()
    source_settings: ClassVar[tuple[str, ...]] = ()
    has_reference_scores: ClassVar[bool] = False
    rewards_silence: ClassVar[bool] = False
    undefined_hint: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
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
        sandbox: bool = False,
        **host: Any,
    ) -> None:
        self._given: Collection[str] = ()  # names of the per-call inputs of the current call
        self.grouped: dict[type, Any] = {}
        for group in self.setting_groups:
            given = {one.name: host.pop(one.name) for one in fields(group) if one.name in host}
            self.grouped[group] = group(**given)
        name = evaluate.naming.camelcase_to_snakecase(type(self).__name__)
        self._check_version(name)
        check_setting_names(type(self), name, host)
        config_name = host.get("config_name", args[0] if args else None)
        if config_name not in (None, "default", *self.configs):
            hint = f"choose one of {', '.join(self.configs)}" if self.configs else "omit it"
            raise UsageError.about("config_name", f"must be a configuration of {name}, got {config_name!r}", hint)
        usual = os.environ.get("VLGAUGE_PROFILE") or PROFILES[0]
        self.profile = check_choice("profile", usual if profile is None else profile, PROFILES)
        self.progress = check_progress(progress)
        self.sandbox = check_bool("sandbox", sandbox)
        if (seed := host.get("seed")) is not None:
            check_int("seed", seed, 0, 2**32 - 1)
        super().__init__(*args, **host)
        for settings in self.grouped.values():
            # A setting `seed` replaces the one of `evaluate`, the seed of NumPy's global generator.
            self.__dict__.update(vars(settings))

    @abstractmethod
    def _compute(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Compute the scores of the rows and return the dictionary built by `result`.

        Subclasses declare their columns as named parameters, followed by per-call data and ``return_details``. They
        must not accept ``**kwargs``.
        """

    def cite(self) -> str:
        """Return the BibTeX entries of the metric card. Empty if there are none."""
        return citation(evaluate.naming.camelcase_to_snakecase(type(self).__name__))

    @classmethod
    def split_docstring(cls) -> tuple[str, str]:
        """Return the description of the metric, and the sections of its inputs, outputs and examples."""
        description, args, inputs = (inspect.getdoc(cls) or "").partition("\nArgs:\n")
        return description, args.lstrip() + inputs

    def _info(self) -> evaluate.MetricInfo:
        description, inputs = self.split_docstring()
        return evaluate.MetricInfo(
            description=description,
            citation=self.cite(),
            inputs_description=inputs,
            features=Features({column.name: column.feature for column in self.columns}),
            homepage=REPOSITORY,
            license="Apache-2.0",
            codebase_urls=[REPOSITORY],
            reference_urls=list(self.papers),
        )

    def compute(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> dict[str, Any] | None:
        """Compute the metric over the given rows and all rows added before.

        Args:
            predictions: Values of the column ``predictions``, one per row.
            references: Values of the column ``references``, one per row, if the metric has this column.
            **kwargs: Other columns, per-call data and ``return_details``.

        Returns:
            Values by key, such as ``<name>``, ``<name>_scores`` (one per row) and ``<name>_signature``. None on all
            processes of a distributed run except the first.

        Raises:
            TypeError: If a keyword argument is unknown. Rows added before are kept.
            ValueError: If a row is invalid or there are no rows. Rows added before are discarded.
        """
        given = {"predictions": predictions, "references": references, **kwargs}
        with lock_of(self):
            columns, options = self._sort_keywords(given)
            try:
                if any(rows is not None for rows in columns.values()):
                    self.add_batch(**columns)
                if self.num_process == 1 and self.writer is None:
                    raise UsageError(self._no_rows())
                self._given = [name for name, value in options.items() if value is not None]
                with one_warning_for_animations(), progress_chosen(self.progress), use_sandbox(self.sandbox):
                    record: dict[str, Any] | None = super().compute(**options)
                self._warn_of_undefined(record or {})
                return record
            finally:
                self._end_round()

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Add a batch of rows for the next call to `compute`.

        Args:
            predictions: Values of the column ``predictions``, one per row.
            references: Values of the column ``references``, one per row, if the metric has this column.
            **kwargs: Other columns.

        Raises:
            TypeError: If a keyword is unknown.
            ValueError: If a column is missing or a row is invalid. Rows added before are kept.
        """
        given = {"predictions": predictions, "references": references, **kwargs}
        with lock_of(self):
            columns, options = self._sort_keywords(given)
            if options:
                raise UsageTypeError.unexpected(f"{self.name}.add_batch", next(iter(options)), "pass it to `compute`")
            stored = self._store_rows(columns)
            for chunk in self._chunks(stored):
                self._host_add(chunk)

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Add a single row for the next call to `compute`.

        Column names may be singular or plural, such as ``image`` or ``images``.

        Args:
            prediction: Value of the column ``predictions``.
            reference: Value of the column ``references``, if the metric has this column.
            **kwargs: Values of other columns.

        Raises:
            TypeError: If a keyword is unknown, or a column is passed in both forms.
            ValueError: If a column is missing or the row is invalid.
        """
        given = {"prediction": prediction, "reference": reference, **kwargs}
        row: dict[str, list[Any]] = {}
        for name, value in given.items():
            plural = _SINGULAR.get(name, name)
            if value is not None and plural in row:
                raise UsageTypeError.about(plural, "cannot be combined with its singular; pass one of them")
            if value is not None:
                row[plural] = [value]
        self.add_batch(**row)

    def result(
        self,
        scores: Sequence[float],
        *,
        signature_extra: Mapping[str, Any] | None = None,
        details: Any = None,
        **extra: Any,
    ) -> dict[str, Any]:
        """Build the result dictionary with `vlgauge.core.results.result_record`.

        Args:
            scores: One score per row, NaN if undefined.
            signature_extra: Signature fields that are only known at call time. See `signature`.
            details: Details that explain each score. None if they were not requested.
            **extra: Additional values. Their keys are prefixed with the name of the metric.

        Returns:
            Result dictionary with ``<name>``, ``<name>_scores``, ``<name>_undefined``, ``<name>_signature`` and the
            additional values, in plain Python types.
        """
        more = extra if details is None else extra | {"details": details}
        record = result_record(self.name, scores, self.signature(**(signature_extra or {})), more)
        return record | corpus_values(self.name, record)

    def with_score(self, record: Mapping[str, Any], key: str, scores: Sequence[float], **extra: Any) -> dict[str, Any]:
        """Return a copy of a result dictionary with another score added.

        The signature of the other score differs from the first one only in its name.

        Args:
            record: Result dictionary built by `result`.
            key: Name of the other score, used as prefix of its keys.
            scores: One score per row, NaN if undefined.
            **extra: Additional values of the other score.
        """
        signature = key + record[f"{self.name}_signature"].removeprefix(self.name)
        return {**record, **result_record(key, scores, signature, extra)}

    @property
    def has_details(self) -> bool:
        """Whether `compute` accepts ``return_details``."""
        return "return_details" in inspect.signature(self._compute).parameters

    @property
    def uses_models(self) -> bool:
        """Whether the current settings require a model.

        If they do not, scores are the same under both profiles.
        """
        return bool(self.needs)

    def signature(self, **signature_extra: Any) -> str:
        """Return the signature, a string that lists everything that affects the scores.

        An example is ``rovist_nr|v:0.1.0|profile:paper|variant:released|n:4``.

        Args:
            **signature_extra: Fields that are only known at call time, such as the digest of an encoder. None removes a
                setting that the call did not use.
        """
        fields = {"v": __version__, "profile": self.profile if self.uses_models else PROFILES[0]}
        fields |= ({"config": self.config_name} if self.configs else {}) | self.signature_fields() | signature_extra
        unread = {name for name, value in signature_extra.items() if value is None}
        ordered = dict.fromkeys(name for name in (*_FIRST_FIELDS, *fields) if name in fields and name not in unread)
        return format_signature(self.name, {name: fields[name] for name in ordered})

    def signature_fields(self) -> dict[str, Any]:
        """Return the settings that belong in the signature, by name.

        Settings that name models or files are left out, because each call adds the identity of the loaded source.
        """
        groups = self.grouped.values()
        left_out = {"profile", *NOT_IN_SIGNATURE, *self.unsigned, *self.source_settings}.union(*map(vars, groups))
        found = {name: getattr(self, name) for name in setting_names(type(self)) if name not in left_out}
        return found | {name: value for one in groups for name, value in one.signature_fields().items()}

    def count(self, columns: Mapping[str, Sequence[Any]]) -> Counts | None:
        """Count the statistics that some rows contribute to the corpus, such as document frequencies.

        Args:
            columns: Values of each column, in the form that `_compute` expects.

        Returns:
            The counts. None if these settings need no corpus-level counts.

        Raises:
            UsageError: If a score depends on other rows in a way that counts cannot represent. The message contains the
                reason.
        """
        return None

    def use_counts(self, counts: Counts) -> None:
        """Use the counts of the whole corpus instead of counting the rows of each call.

        Args:
            counts: Sums of the values that `count` returned for all rows.
        """

    def score_batch(self, columns: Mapping[str, Sequence[Any]], keys: Sequence[int]) -> PartialResult:
        """Compute the partial result of some rows of a corpus, to be merged and passed to `combine`.

        Args:
            columns: Values of each column, in the form that `_compute` expects.
            keys: One integer of at least 0 per row, which seeds its random draws.
        """
        result = self._compute(**columns)
        return partial_result(result, len(keys), len(keys) - result[f"{self.name}_undefined"])

    def combine(self, partial: PartialResult) -> dict[str, Any]:
        """Compute the result dictionary of a corpus from the merged partial results of all its rows.

        Args:
            partial: Result of `vlgauge.families.base.parts.merge_partial_results`.

        Returns:
            Values by key, as returned by `compute`.

        Raises:
            UsageError: If rows were scored with different settings or models.
        """
        found: dict[str, Any] = {}
        for key, column in partial.columns.items():
            if (stem := key.removesuffix("_scores")) == key:
                found[key] = column
            else:
                signature = find_shared_text(f"{stem}_signature", partial.texts[f"{stem}_signature"])
                found |= result_record(stem, column, signature, {})
        n_defined = partial.n_rows - found[f"{self.name}_undefined"]
        found |= {key: total / n_defined if n_defined else math.nan for key, total in partial.totals.items()}
        found |= partial.sums
        texts = {key: texts for key, texts in partial.texts.items() if key not in found}
        found |= {key: json.loads(find_shared_text(key, own)) for key, own in texts.items()}
        return found | corpus_values(self.name, found)

    def to_table(self, columns: Mapping[str, Any]) -> pa.Table:
        """Validate rows and return them in the storage format of `evaluate`, without adding them.

        Args:
            columns: Rows by column name. Columns of other metrics are ignored.

        Raises:
            TypeError: If a name is not a column of any metric.
            ValueError: If a column is missing or a row is invalid.
        """
        own, options = self._sort_keywords(columns)
        if options:
            names = ", ".join(column.name for column in self.columns)
            raise UsageTypeError.about(next(iter(options)), f"is not a column of {self.name}, which uses {names}")
        schema = Features({column.name: column.feature for column in self.columns}).arrow_schema
        chunks = [pa.Table.from_pydict(chunk, schema=schema) for chunk in self._chunks(self._store_rows(own))]
        return pa.concat_tables(chunks) if chunks else schema.empty_table()

    def from_table(self, table: pa.Table) -> dict[str, Sequence[Any]]:
        """Convert a table from `to_table` to columns in the form that `_compute` expects.

        Returns:
            Rows by column name, one value per row.
        """
        rows = StoredRows(table, self.columns)
        return {column.name: rows[column.name] for column in self.columns}

    def as_computed(self, columns: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Validate the rows and yield them one by one, in the form that `_compute` expects.

        Yields:
            Value of each column by name, for one row.

        Raises:
            TypeError: If a name is not a column of any metric.
            ValueError: If a column is missing or a row is invalid.
        """
        table = self.to_table(columns)
        restored = self.from_table(table)
        for i in range(table.num_rows):
            yield {name: cells[i] for name, cells in restored.items()}

    def languages_of_call(self, given: Collection[str] = ()) -> tuple[str, ...]:
        """Return the languages that a call supports with the settings of the metric, see `MetricFacts.languages`.

        Args:
            given: Names of the per-call inputs that are passed.
        """
        settings = setting_names(type(self))

        def is_chosen(one: str) -> bool:
            name, _, value = one.partition("=")
            if name not in settings:
                return name in given
            if value:
                return value == f'"{getattr(self, name)}"'
            return name in given or self.is_for_other_languages(name, getattr(self, name))

        replaced = any(all(map(is_chosen, together)) for together in self.other_languages)
        return (ANY_LANGUAGE,) if replaced else self.languages

    def is_for_other_languages(self, name: str, setting: Any) -> bool:
        """Return whether a setting of `other_languages` has a value that may support other languages.

        Values that the user selects are assumed to. Subclasses exclude the English ones that they know.

        Args:
            name: Name of the setting.
            setting: Its value.
        """
        default = setting_parameters(type(self))[name].default
        return setting is not None and not (isinstance(setting, str) and setting == default)

    @property
    def remedy_for_other_languages(self) -> str:
        """Advice on texts of other languages, for messages."""
        others = alternatives_in_words(self.other_languages)
        return "translate them" + (f", or pass {others} for their language" if others else "")

    def count_other_scripts(self, texts: Sequence[str | Sequence[str]], given: Collection[str] = ()) -> tuple[int, int]:
        """Count the texts that are mostly in another script than Latin, if the metric needs English.

        Args:
            texts: Captions, lists of captions, or stories.
            given: Names of the per-call inputs that are passed.

        Returns:
            Number of these texts and number of all texts, both 0 if the metric supports any language or warns itself.
        """
        if not self._checks_scripts(given):
            return 0, 0
        is_story = isinstance(self.columns[0], Story)
        parts = (row if isinstance(row, str) else " ".join(row) if is_story else row for row in texts)
        return count_other_scripts(chain.from_iterable([part] if isinstance(part, str) else part for part in parts))

    def warn_of_other_scripts(self, n_other: int, n_texts: int) -> None:
        """Warn if more than one in ten texts is in another script. Scripts are detected, not languages.

        Args:
            n_other: See `count_other_scripts`.
            n_texts: See `count_other_scripts`.

        Warns:
            UserWarning: If there are so many.
        """
        if 10 * n_other > n_texts:
            kind = "stories" if isinstance(self.columns[0], Story) else "captions"
            warn(
                f"{n_other} of {n_texts} {kind} are not in Latin script, but {self.name} supports "
                f"{languages_in_words(self.languages)} only, so the scores are meaningless; "
                f"{self.remedy_for_other_languages}"
            )

    def check_all_rows(self) -> None:
        """Warn about texts of other languages, once per call."""
        if self._checks_scripts(self._given):  # otherwise, spare converting the stored rows
            self.warn_of_other_scripts(*self.count_other_scripts(self.data["predictions"], self._given))

    def _checks_scripts(self, given: Collection[str]) -> bool:
        return not self.checks_words and ANY_LANGUAGE not in self.languages_of_call(given)

    def _warn_of_undefined(self, record: Mapping[str, Any]) -> None:
        """Warn, with a hint, if a call with two or more rows has undefined scores only."""
        scores = record.get(f"{self.name}_scores", ())
        if self.undefined_hint and 1 < len(scores) == record[f"{self.name}_undefined"]:
            warn(f"every score of {self.name} is undefined; {self.undefined_hint}")

    def _check_version(self, name: str) -> None:
        installed, required = Version(__version__), Version(self.requires)
        if installed < required:
            extra = name.replace("_", "-")
            raise MissingExtraError(
                f"{name} requires vlgauge {required} or newer, got {installed}; run: pip install --upgrade "
                f'"vlgauge[{extra}] @ git+{REPOSITORY}@v{required.base_version}.0"'
            )

    def _sort_keywords(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Split keywords into the columns of this metric and other options, and drop columns of other metrics."""
        own = [column.name for column in self.columns]
        known = [name for name in inspect.signature(self._compute).parameters if name not in own]
        options = {name: value for name, value in given.items() if name not in {*own, *COLUMNS}}
        for name, value in options.items():
            if name not in known:
                raise UsageTypeError.unexpected(f"{self.name}.compute", name, nearest(name, [*own, *known]))
            if name == "return_details" and value is not None:
                options[name] = check_bool(name, value)
            if self.num_process > 1 and name != "return_details" and value is not None:
                raise UsageError.about(
                    name,
                    "is not supported if `num_process` is over 1, because only rows are sent between processes; "
                    "gather the rows and compute in one process",
                )
        return {name: given.get(name) for name in own}, options

    def _store_rows(self, columns: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Validate all rows and convert them to the storage format of `evaluate`, before any row is written."""
        needed = " and ".join(f"`{column.name}`" for column in self.columns if not column.optional)
        rows: dict[str, list[Any]] = {}
        for column in self.columns:
            if columns[column.name] is not None:
                rows[column.name] = rows_of(column.name, columns[column.name])
            elif not column.optional:
                raise UsageError.about(column.name, f"is missing: {self.name} requires {needed}")
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
        """Split rows into chunks whose bytes fit into one Arrow array. Yield nothing if there are no rows."""
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


NEEDS_SENTENCES = (
    "a story must have at least two sentences; pass each story as a list of sentences or one string, because a "
    "list of sentences alone is a list of stories"
)
"""Hint of metrics that compare the sentences of a story, for `Metric.undefined_hint`."""


class StoryMetric(Metric):
    """Base class of metrics that score stories without images."""

    columns = (Story("predictions"),)


class ImageMetric(Metric):
    """Base class of metrics that compare a caption with its image and, optionally, with references."""

    columns = (Text("predictions"), Images("images"), Captions("references", optional=True))
