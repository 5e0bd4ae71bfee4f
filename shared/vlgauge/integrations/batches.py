"""Scoring of a corpus in batches of rows, for libraries that distribute rows: a loop, Ray, Spark's `mapInArrow`, Daft.

`RowScorer` has plain functions from batches to batches, and `combine`, which computes the result from their output. A
batch is an Arrow table or record batch, a pandas DataFrame, or a mapping from column names to columns. The output has
the same type.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

import vlgauge
from vlgauge.core.errors import UsageError, UsageTypeError
from vlgauge.core.validation import nearest, plain_number, short_repr, warn
from vlgauge.families.base import Metric
from vlgauge.families.base.parts import SIZES, Counts, PartialResult, add_counts, merge_partial_results
from vlgauge.families.set_sizes import add_set_sizes
from vlgauge.inputs.sandbox import use_sandbox
from vlgauge.inputs.tables.files import make_paths_absolute
from vlgauge.integrations.run_identity import identify_settings

# Columns of the output: values of the whole batch, in its first row, and counts.
OF_BATCH, COUNTS = "vlgauge_batch", "vlgauge_counts"

_FORMS = "stories"  # key of the form of stories in a batch: strings or lists, which must not be mixed
# Keys of sums that are not in the result: rows of a batch, numbers that decide on the warning about languages, and
# numbers in warnings, by their text.
_ROWS, _SCRIPTS, _WARNING = "rows", ("texts_in_other_scripts", "texts"), "warning: "
_NUMBERED = re.compile(r"(\d+) (?:of \d+ )?(?P<rest>.*)", re.DOTALL)
_WARNINGS_SHOWN = 20

Output = TypeVar("Output")


class RowScorer:
    """Metric that scores the rows of a corpus batch by batch, on any machine.

    The result equals `compute` on the rows sorted by id. Scores of models agree within 1e-6, because models round
    differently in other batches. Counts, and corpus-level values computed from counts, are equal. Random draws are
    seeded with the id of a row. The p-value of a corpus uses the same draws as `compute` if the ids are the row
    numbers.

    Instances can be pickled. Each process loads the metric on first use.

    Args:
        metric: Name of the metric.
        config_name: Configuration of the metric.
        id: Column of the batches with the id of each row, an integer or a string.
        columns: Column of the batches by column of the metric, if the names differ.
        folder: Folder of relative image paths. None for the working directory.
        **settings: Settings of the metric.

    Attributes:
        columns: Column of the batches by column of the metric. Optional columns may be missing.
        required: Columns of a batch that must not be missing, beginning with the id.
        needs_counts: Whether `with_counts` must be called before `score_rows`.

    Raises:
        TypeError: If a setting is unknown.
        ValueError: If a setting is invalid, or the rows cannot be scored in batches with these settings.
    """

    def __init__(
        self,
        metric: str,
        config_name: str | None = None,
        *,
        id: str = "id",
        columns: Mapping[str, str] | None = None,
        folder: str | None = None,
        **settings: Any,
    ) -> None:
        self.name, self.id = metric, id
        self._load = {"config_name": config_name, "keep_in_memory": True, "progress": False, **settings}
        # Compute this before the metric uses an object, which may change its state. `sandbox` does not affect scores.
        self._settings = identify_settings({key: value for key, value in self._load.items() if key != "sandbox"})
        self.folder = folder
        self._counts: Counts | None = None
        self._metric: Any = None
        given, own = dict(columns or {}), {column.name: column for column in self.metric.columns}
        try:
            self.needs_counts = self.metric.count({name: [] for name in own}) is not None
        except UsageError as error:
            raise UsageError.about(
                "metric", f"must score rows independently, got {metric}: {error}", "use `compute`"
            ) from None
        for name in given:
            if name not in own:
                raise UsageError.about("columns", f"must name columns of {metric}, got {name!r}", nearest(name, own))
        self.columns = {name: given.get(name, name) for name in own}
        needed = [name for name, column in own.items() if not column.optional or name in given]
        self.required = [id, *(self.columns[name] for name in needed)]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_metric": None}

    @property
    def metric(self) -> Metric:
        """Metric of this process, loaded on first use."""
        if self._metric is None:
            metric: Any = vlgauge.load(self.name, **self._load)
            if self._counts is not None:
                metric.use_counts(self._counts)
            self._metric = metric
        return self._metric

    @property
    def titles(self) -> list[str]:
        """Columns of a batch that are used, beginning with the id. Optional columns may be missing."""
        return [self.id, *self.columns.values()]

    def describe(self) -> dict[str, Any]:
        """Return everything that affects the scores except the rows, for comparison with another run.

        Returns:
            ``metric``, ``id``, ``columns``, ``counts`` (a digest), ``settings``, ``profile`` and ``signature``.
        """
        counts = hashlib.sha256(json.dumps(self._counts, sort_keys=True).encode()).hexdigest()
        described = {"metric": self.name, "id": self.id, "columns": self.columns, "counts": counts}
        signed = {"profile": self.metric.profile, "signature": self.metric.signature()}
        return described | {"settings": self._settings} | signed

    def count_rows(self, batch: Any) -> Any:
        """Count the corpus-level statistics of a batch, such as document frequencies, in one row.

        Only required if `needs_counts`. Pass the output of all batches to `with_counts`.

        Returns:
            Batch of the same type with one row, a JSON text.

        Raises:
            ValueError: If a column is missing, an id is invalid, or the metric rejects a row.
        """
        with use_sandbox(self.metric.sandbox):
            counts = self.metric.count(self._rows(batch)[1])
        return _like(batch, {COUNTS: [json.dumps(counts or {})]})

    def with_counts(self, counted: Iterable[Any]) -> RowScorer:
        """Return a copy of this scorer that uses the counts of the whole corpus.

        Args:
            counted: Output of `count_rows` for all batches, in any order.
        """
        other = RowScorer.__new__(RowScorer)
        other.__dict__ |= self.__getstate__()
        other._counts = add_counts(json.loads(cell) for batch in counted for cell in _cells(batch, COUNTS))
        return other

    def score_rows(self, batch: Any) -> Any:
        """Score a batch and return one row per input row.

        Returns:
            A batch of the same type with the id, the values by key of the result, and further columns for `combine`.

        Raises:
            ValueError: If a column is missing, an id is invalid, or the metric rejects a row. The message names its id.
        """
        with use_sandbox(self.metric.sandbox), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            names, columns = self._rows(batch)
            keys = list(map(_key, names))

            def score(rows: Sequence[int]) -> PartialResult:
                own = {name: [cells[i] for i in rows] for name, cells in columns.items()}
                return self.metric.score_batch(own, [keys[i] for i in rows])

            if not names:
                return _like(batch, {self.id: [], OF_BATCH: []})
            form = "a string" if isinstance(columns["predictions"][0], str) else "a list of sentences"
            scripts = dict(zip(_SCRIPTS, self.metric.count_other_scripts(columns["predictions"]), strict=True))
            found = _name_row_in_errors(names, score)
        sums = Counter({_ROWS: len(names)} | found.sums | scripts)
        for one in caught:
            _count(sums, str(one.message))
        of_batch = {
            "sums": sums,
            "totals": found.totals,
            "draws": {key: draws.tolist() for key, draws in found.draws.items()},
            "texts": {key: sorted(values) for key, values in (found.texts | {_FORMS: [form]}).items()},
        }
        values = {key: list(map(_format_cell, column)) for key, column in found.columns.items()}
        rest = [None] * (len(names) - 1)
        return _like(batch, {self.id: names, **values, OF_BATCH: [json.dumps(of_batch), *rest]})

    def combine(self, scored: Iterable[Any]) -> dict[str, Any]:
        """Compute the result of all rows, sorted by id, in the form that `compute` returns.

        Args:
            scored: Output of `score_rows` for all batches, in any order.

        Returns:
            The result of the metric, with the ``ids`` and, for caption sets, their ``sizes``, which are also in the
            signature.

        Raises:
            ValueError: If there are no rows, an id is repeated, a batch is incomplete, or rows were scored with
                different settings.
        """
        names: list[Any] = []
        partials: list[PartialResult] = []
        for batch in scored:
            titles = [title for title in _titles(batch) if title not in (self.id, OF_BATCH)]
            own = list(map(check_id, _cells(batch, self.id)))
            columns = {title: list(map(_read_cell, _cells(batch, title))) for title in titles}
            partials.append(PartialResult(len(own), columns))
            partials += [_restore(cell) for cell in _cells(batch, OF_BATCH) if isinstance(cell, str)]
            names += own
        order = sort_ids(names)
        merged = merge_partial_results(partials)
        if (n_scored := merged.sums.pop(_ROWS, 0)) != len(names):
            raise UsageError.about(
                "scored",
                f"must have all rows that `score_rows` returned, got {len(names)} where {n_scored} were scored",
            )
        forms = merged.texts.pop(_FORMS, frozenset())
        if len(forms) > 1:
            raise UsageError.about(
                "predictions", f"must have the same type in all rows, got {' and '.join(sorted(forms))}"
            )
        _warn({key: merged.sums.pop(key) for key in sorted(merged.sums) if key.startswith(_WARNING)})
        self.metric.warn_of_other_scripts(*(merged.sums.pop(key, 0) for key in _SCRIPTS))
        columns = {key: [column[i] for i in order] for key, column in merged.columns.items()}
        result = self.metric.combine(replace(merged, columns=columns))
        record: dict[str, Any] = {"ids": [names[i] for i in order]}
        if self.metric.compares_sets:
            record["sizes"] = list(zip(*(columns[key] for key in SIZES), strict=True))
            result = result | add_set_sizes(result, record["sizes"], record["ids"])
        return record | result

    def _rows(self, batch: Any) -> tuple[list[Any], dict[str, Sequence[Any]]]:
        """Return the ids and validated columns of a batch."""
        there = _titles(batch)
        if absent := [title for title in self.required if title not in there]:
            known = ", ".join(map(str, there)) or "none"
            raise UsageError.about("batch", f"must have the columns {', '.join(absent)}, got {known}")
        titles = self.columns.items()
        cells = {name: _cells(batch, title) if title in there else None for name, title in titles}
        names = [check_id(name) for name in _cells(batch, self.id)]
        if not names:
            return [], {name: [] for name in cells}
        if self.folder is not None:
            cells = make_paths_absolute(cells, f"{self.folder}/-")

        def check(rows: Sequence[int]) -> dict[str, Sequence[Any]]:
            own = {name: column and [column[i] for i in rows] for name, column in cells.items()}
            return self.metric.from_table(self.metric.to_table(own))

        return names, _name_row_in_errors(names, check)


def _name_row_in_errors(names: Sequence[Any], work: Callable[[Sequence[int]], Output]) -> Output:
    """Apply a function to all rows. If it raises UsageError, add the id of the row that causes it to the message."""
    try:
        return work(range(len(names)))
    except UsageError:
        for i, name in enumerate(names):
            try:
                work([i])
            except UsageError as error:
                raise _of_row(name, error) from error
        raise


def check_id(name: Any) -> int | str:
    """Check that an id is an integer or a string, and return it without NumPy types.

    Raises:
        ValueError: If it is neither.
    """
    name = plain_number(name)
    if isinstance(name, bool) or not isinstance(name, (int, str)):
        raise UsageError.about("id", f"must be an integer or a string in every row, got {short_repr(name)}")
    return name


def sort_ids(names: Sequence[int | str]) -> list[int]:
    """Return the positions of ids in sorted order.

    Raises:
        ValueError: If there are no ids, an id is repeated, or integers and strings are mixed.
    """
    if not names:
        raise UsageError.about("scored", "must have at least one row, got none")
    kinds = {type(name).__name__ for name in names}
    if len(kinds) > 1:
        raise UsageError.about("id", f"must be of one type in all rows, got {' and '.join(sorted(kinds))}")
    if len(set(names)) < len(names):
        name, count = Counter(names).most_common(1)[0]
        raise UsageError.about("id", f"must name each row once, got {short_repr(name)} {count} times")
    return sorted(range(len(names)), key=names.__getitem__)


def _key(name: int | str) -> int:
    """Return the seed of the random draws of a row: its integer id, or a digest of its id."""
    if isinstance(name, int) and name >= 0:
        return name
    return int.from_bytes(hashlib.sha256(str(name).encode("utf-8", "surrogatepass")).digest()[:8])


def _of_row(name: Any, error: UsageError) -> UsageError:
    """Add the id of the row to an error. Subclasses of UsageError are returned unchanged, because they are specific."""
    if type(error) not in (UsageError, UsageTypeError):
        return error
    return error.with_message(f"the row of the id {short_repr(name)}: {error}")


def _count(counted: Counter[str], message: str) -> None:
    """Count a warning of a batch. Numbers as in "3 of 5 captions are empty" are summed, other warnings appear once."""
    if found := _NUMBERED.fullmatch(message):
        counted[_WARNING + found["rest"]] += int(found[1])
    else:
        counted[_WARNING + message] = 0


def _warn(counted: Mapping[str, int]) -> None:
    for key, count in list(counted.items())[:_WARNINGS_SHOWN]:
        message = key.removeprefix(_WARNING)
        warn(f"{count} {message}" if count else message)
    if len(counted) > _WARNINGS_SHOWN:
        warn(f"{len(counted) - _WARNINGS_SHOWN} more kinds of warnings came from individual batches")


def _restore(cell: str) -> PartialResult:
    """Return the part of a partial result that belongs to a whole batch."""
    found = PartialResult(0, {}, **json.loads(cell))
    draws = {key: np.array(values) for key, values in found.draws.items()}
    return replace(found, draws=draws, texts={key: frozenset(values) for key, values in found.texts.items()})


def _format_cell(value: Any) -> Any:
    """Convert a value of a row to a table cell: numbers unchanged, anything else as JSON."""
    return value if isinstance(value, (int, float)) else json.dumps(value)


def _read_cell(cell: Any) -> Any:
    """Convert a table cell to a value. NaN if the batch of the row had no such column."""
    if isinstance(cell, str):
        return json.loads(cell)
    return math.nan if cell is None else plain_number(cell)


def _titles(batch: Any) -> list[str]:
    if isinstance(batch, (pa.Table, pa.RecordBatch)):
        return list(batch.schema.names)
    if isinstance(batch, (pd.DataFrame, Mapping)):
        return list(batch)
    raise UsageTypeError.about(
        "batch",
        "must be an Arrow table or record batch, a pandas DataFrame or a mapping from column names to columns, got "
        f"{type(batch).__name__}",
    )


def _cells(batch: Any, title: str) -> list[Any]:
    if isinstance(batch, (pa.Table, pa.RecordBatch)):
        return list(batch.column(title).to_pylist())
    return list(batch[title])


def _like(batch: Any, columns: Mapping[str, Any]) -> Any:
    if isinstance(batch, (pa.Table, pa.RecordBatch)):
        return type(batch).from_pydict(dict(columns))
    return pd.DataFrame(columns) if isinstance(batch, pd.DataFrame) else dict(columns)
