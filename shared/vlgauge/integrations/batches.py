"""A metric over batches of rows, for whatever carries rows to many machines: a loop, Ray, Spark's `mapInArrow`, Daft.

Knows nothing of any of them. `RowScorer` has plain functions from batches to batches, and `combine`, which makes the
result of their output. A batch is an Arrow table or record batch, a pandas frame, or a mapping from titles to columns;
what comes back is of the same kind.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import vlgauge
from vlgauge.base import Metric, Story
from vlgauge.base.parts import Counts, Parts, added_counts, joined
from vlgauge.box import reading
from vlgauge.encoders.clip.toy import is_told_once
from vlgauge.errors import UsageError, UsageTypeError
from vlgauge.integrations.run_identity import identified_settings
from vlgauge.media.tables import located
from vlgauge.set_sizes import signed_sizes
from vlgauge.settings import nearest, plain_number, shown, true_or_false, warn

# Columns of our own: what a model made of a row, and in the first row of a batch what belongs to all of it.
ENCODED, OF_BATCH = "vlgauge_encoded", "vlgauge_batch"
COUNTS = "vlgauge_counts"
_OWN = (ENCODED, OF_BATCH, COUNTS)

_FORMS = "stories"  # among the texts of a batch: strings or lists, which may not be mixed
_OF_ALL = re.compile(r"(\d+) of \d+ (?P<rest>.*)", re.DOTALL)
_WARNINGS_SHOWN = 20


class RowScorer:
    """A metric whose rows are scored apart: each example by itself, wherever it is.

    So that no bit of the result depends on batches, workers and order, on equal machines with equally many threads,
    a model sees one picture or text at a time, random draws come from the id of an example, and sums are exact. The
    result is that of `compute` on the rows in the order of their ids: equal but for the last digits, where a model
    that sees many pictures together rounds differently; p-values of a corpus that are drawn at random have the draws
    of `compute` where the ids are the numbers of the rows.

    It can be pickled; the metric is loaded where it is used first.

    Args:
        metric: Name of the metric.
        config_name: Its configuration.
        id: Column of the batches with the id of each example, a whole number or a text.
        columns: Column of the metric -> column of the batches, where they are called otherwise.
        together: Whether a model sees the rows of a batch together. Faster, most of all on a GPU; the last bits then
            depend on the batches.
        folder: Where relative paths of pictures start; None for the working folder.
        **settings: Of the metric.

    Raises:
        TypeError: If a setting is unknown.
        ValueError: If a setting is wrong, or the rows cannot be scored apart with these settings.
    """

    def __init__(
        self,
        metric: str,
        config_name: str | None = None,
        *,
        id: str = "id",
        columns: Mapping[str, str] | None = None,
        together: bool = False,
        folder: str | None = None,
        **settings: Any,
    ) -> None:
        self.name, self.id = metric, id
        self._load = {"config_name": config_name, "keep_in_memory": True, "progress": False, **settings}
        self._titles = dict(columns or {})
        self._together = true_or_false("together", together)
        self.folder = folder
        self._counts: Counts | None = None
        self._metric: Any = None
        if why := self.metric.not_apart():
            raise UsageError(f"`metric` must be one whose rows can be scored apart, got {metric}: {why}; use `compute`")
        own = [column.name for column in self.metric.columns]
        for name in self._titles:
            if name not in own:
                raise UsageError(f"`columns` must name columns of {metric}, got {name!r}; {nearest(name, own)}")

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_metric": None}

    @property
    def metric(self) -> Metric:
        """The metric of this process."""
        if self._metric is None:
            metric: Any = vlgauge.load(self.name, **self._load)
            if not self._together:
                metric.take_rows_alone()
            if self._counts is not None:
                metric.take_counts(self._counts)
            self._metric = metric
        return self._metric

    @property
    def titles(self) -> list[str]:
        """The columns of a batch that are read: the id first; optional ones may be missing."""
        return [self.id, *(self.title(column.name) for column in self.metric.columns)]

    @property
    def required(self) -> list[str]:
        """Those that may not."""
        columns = [one.name for one in self.metric.columns if not one.optional or one.name in self._titles]
        return [self.id, *map(self.title, columns)]

    def title(self, column: str) -> str:
        """What a column of the metric is called in the batches."""
        return self._titles.get(column, column)

    def described(self) -> dict[str, Any]:
        """What the scores depend on, for comparison with another run."""
        counts = hashlib.sha256(json.dumps(self._counts, sort_keys=True).encode()).hexdigest()
        columns = {column.name: self.title(column.name) for column in self.metric.columns}
        told = {"metric": self.name, "id": self.id, "columns": columns, "together": self._together, "counts": counts}
        signed = {"profile": self.metric.profile, "signature": self.metric.signature()}
        settings = {name: value for name, value in self._load.items() if name != "reading"}  # which changes no number
        return told | {"settings": identified_settings(settings)} | signed

    @property
    def needs_counts(self) -> bool:
        """Whether a pass over all rows has to count first, whose output `with_counts` takes."""
        return self.metric.counts_of(**{column.name: [] for column in self.metric.columns}) is not None

    def count_rows(self, batch: Any) -> Any:
        """What a batch adds to a table over the whole corpus, such as document frequencies, in one row.

        Raises:
            ValueError: As `score_rows`.
        """
        with reading(self.metric.reading):
            rows = self._rows(batch)[1]
        names = [column.name for column in self.metric.columns]
        counts = self.metric.counts_of(**{name: [row[name] for row in rows] for name in names})
        return _like(batch, {COUNTS: [json.dumps(counts or {})]})

    def with_counts(self, counted: Iterable[Any]) -> RowScorer:
        """The same scorer with the tables over the whole corpus.

        Args:
            counted: What `count_rows` returned of all batches, in any order.
        """
        other = RowScorer.__new__(RowScorer)
        other.__dict__ |= self.__getstate__()
        tables = [json.loads(cell) for batch in counted for cell in _cells(batch, COUNTS)]
        other._counts = added_counts(tables)
        return other

    def encode_rows(self, batch: Any) -> Any:
        """The batch with what a model makes of each row in a column of its own, so that `score_rows` needs no model.

        The batch comes back as it is where the metric needs no model, or where model and formula take turns, as with
        stories, whose phrases are parsed before they are encoded: there `score_rows` does both.

        Raises:
            ValueError: As `score_rows`.
        """
        with reading(self.metric.reading):
            return self._encoded(batch)

    def _encoded(self, batch: Any) -> Any:
        names, rows, _ = self._rows(batch)
        step = max(1, len(rows)) if self._together else 1
        packed: list[bytes] = []
        for start in range(0, len(rows), step):
            try:
                found = self.metric.encoded(rows[start : start + step])
            except UsageError as error:
                if self._together:
                    raise
                raise _of_row(names[start], error) from error
            if found is None:
                return batch
            packed += map(_packed, found)
        columns = {title: _cells(batch, title) for title in _titles(batch)}
        return _like(batch, columns | {ENCODED: packed})

    def score_rows(self, batch: Any) -> Any:
        """One row per example: its id, its numbers by the keys of the result, and what `combine` needs.

        Raises:
            ValueError: If a column is missing, an id is none, or the metric refuses a row, whose id is then named.
        """
        with reading(self.metric.reading):
            return self._scored(batch)

    def _scored(self, batch: Any) -> Any:
        names, rows, texts = self._rows(batch)
        encoded = _cells(batch, ENCODED) if ENCODED in _titles(batch) else [None] * len(rows)
        found, told = [], Counter[str]()
        for name, row, arrays in zip(names, rows, encoded, strict=True):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", UserWarning)
                try:
                    self.metric.take_encoded(None if arrays is None else _unpacked(arrays))
                    found.append(self.metric.parts_of(row, _key(name)))
                except UsageError as error:
                    raise _of_row(name, error) from error
                finally:
                    self.metric.take_encoded(None)
            for one in caught:
                _count(told, str(one.message))
        parts = joined(found)
        if not rows:
            return _like(batch, {self.id: [], OF_BATCH: []})
        of_batch = {
            "rows": len(rows),
            "means": sorted(parts.means),
            "sums": parts.sums,
            "draws": parts.draws,
            "texts": {key: sorted(values) for key, values in (parts.texts | texts).items()},
            "warnings": told,
        }
        numbers = {key: list(map(_shown_cell, column)) for key, column in parts.columns.items()}
        rest = [None] * (len(rows) - 1)
        return _like(batch, {self.id: names, **numbers, OF_BATCH: [json.dumps(of_batch), *rest]})

    def combine(self, scored: Iterable[Any]) -> dict[str, Any]:
        """The result of all rows, as `compute` has it, in the order of their ids.

        Args:
            scored: What `score_rows` returned of all batches, in any order.

        Returns:
            ``ids``, for sets of captions their ``sizes``, which the signature holds too, and the result of the metric.

        Raises:
            ValueError: If there is no row, an id is there twice, a batch is not complete, or rows were scored
                differently.
        """
        names: list[Any] = []
        parts: list[Parts] = []
        n_scored, told = 0, Counter[str]()
        for batch in scored:
            own, n_rows, warned = _restored(batch, self.id)
            parts.append(own)
            names += map(checked_id, _cells(batch, self.id))
            n_scored += n_rows
            told.update(warned)
        order = sorted_ids(names)
        if n_scored != len(names):
            raise UsageError(
                f"`scored` must have all rows that `score_rows` returned, got {len(names)} where {n_scored} were scored"
            )
        every = joined(parts)
        columns = {key: [column[i] for i in order] for key, column in every.columns.items()}
        forms = every.texts.get(_FORMS, frozenset())
        if len(forms) > 1:
            raise UsageError(f"`predictions` must have one form in all rows, got {' and '.join(sorted(forms))}")
        texts = {key: values for key, values in every.texts.items() if key != _FORMS}
        _warn(told)
        sizes = [columns[key] for key in ("n_predictions", "n_references") if key in columns]
        result = self.metric.result_of(Parts(every.n_rows, columns, every.means, every.sums, every.draws, texts))
        record: dict[str, Any] = {"ids": [names[i] for i in order]}
        if self.metric.compares_sets:
            record["sizes"] = list(zip(*sizes, strict=True))
            result = result | signed_sizes(result, record["sizes"], record["ids"])
        return record | result

    def _rows(self, batch: Any) -> tuple[list[Any], list[dict[str, Any]], dict[str, frozenset[str]]]:
        """Ids and checked rows of a batch, and the form of its stories."""
        there = _titles(batch)
        needed = [self.id]
        cells: dict[str, Any] = {}
        for column in self.metric.columns:
            title = self.title(column.name)
            if title in there:
                cells[column.name] = _cells(batch, title)
            elif column.optional and column.name not in self._titles:
                cells[column.name] = None
            else:
                needed.append(title)
        if absent := [title for title in needed if title not in there]:
            known = ", ".join(str(title) for title in there if title not in _OWN) or "none"
            raise UsageError(f"`batch` must have the columns {', '.join(absent)}, got {known}")
        names = [checked_id(name) for name in _cells(batch, self.id)]
        if not names:
            return [], [], {}
        if self.folder is not None:
            cells = located(cells, f"{self.folder}/-")
        texts = {}
        if isinstance(self.metric.columns[0], Story):
            forms = {"a string" if isinstance(cell, str) else "a list of sentences" for cell in cells["predictions"]}
            texts[_FORMS] = frozenset(forms)
        return names, self._checked(names, cells), texts

    def _checked(self, names: Sequence[Any], cells: Mapping[str, Any]) -> list[dict[str, Any]]:
        try:
            return list(self.metric.as_computed(cells))
        except UsageError:
            for i, name in enumerate(names):
                try:
                    list(self.metric.as_computed({key: own and [own[i]] for key, own in cells.items()}))
                except UsageError as error:
                    raise _of_row(name, error) from error
            raise


def checked_id(name: Any) -> int | str:
    """An id as a whole number or a text; ValueError if it is neither."""
    name = plain_number(name)
    if isinstance(name, bool) or not isinstance(name, (int, str)):
        raise UsageError(f"`id` must be a whole number or a text in every row, got {shown(name)}")
    return name


def sorted_ids(names: Sequence[int | str]) -> list[int]:
    """Positions of the ids in their order.

    Raises:
        ValueError: If there is none, one is there twice, or numbers and texts are mixed.
    """
    if not names:
        raise UsageError("`scored` must have at least one row, got none")
    kinds = {type(name).__name__ for name in names}
    if len(kinds) > 1:
        raise UsageError(f"`id` must be of one type in all rows, got {' and '.join(sorted(kinds))}")
    if len(set(names)) < len(names):
        name, count = Counter(names).most_common(1)[0]
        raise UsageError(f"`id` must name each row once, got {shown(name)} {count} times")
    return sorted(range(len(names)), key=names.__getitem__)


def _key(name: int | str) -> int:
    """What the draws of an example come from: its number, or the digest of its name."""
    if isinstance(name, int) and name >= 0:
        return name
    return int.from_bytes(hashlib.sha256(str(name).encode("utf-8", "surrogatepass")).digest()[:8])


def _of_row(name: Any, error: UsageError) -> UsageError:
    """The error, which names the row; one of a special kind says enough by itself."""
    if type(error) not in (UsageError, UsageTypeError):
        return error
    return error.with_message(f"the row of the id {shown(name)}: {error}")


def _count(told: Counter[str], message: str) -> None:
    """Count a warning of a row; "3 of 5 captions are empty" of several rows adds up."""
    if is_told_once(message):
        told[message] = 0
    elif found := _OF_ALL.fullmatch(message):
        told[found["rest"]] += int(found[1])
    else:
        told[f"rows: {message}"] += 1


def _warn(told: Mapping[str, int]) -> None:
    for message, count in sorted(told.items())[:_WARNINGS_SHOWN]:
        warn(f"{count} {message}" if count else message)
    if len(told) > _WARNINGS_SHOWN:
        warn(f"{len(told) - _WARNINGS_SHOWN} more kinds of warnings came from single rows")


def _restored(batch: Any, id_title: str) -> tuple[Parts, int, Counter[str]]:
    """Parts of scored rows, how many rows their batches had in all, and warnings."""
    titles = [title for title in _titles(batch) if title not in (id_title, *_OWN)]
    columns = {title: list(map(_read_cell, _cells(batch, title))) for title in titles}
    every = [Parts(len(_cells(batch, id_title)), columns)]
    n_scored, told = 0, Counter[str]()
    for of_batch in [json.loads(cell) for cell in _cells(batch, OF_BATCH) if isinstance(cell, str)]:
        texts = {key: frozenset(values) for key, values in of_batch["texts"].items()}
        every.append(Parts(0, {}, frozenset(of_batch["means"]), of_batch["sums"], of_batch["draws"], texts))
        n_scored += of_batch["rows"]
        told.update(of_batch["warnings"])
    return joined(every), n_scored, told


def _shown_cell(value: Any) -> Any:
    """A value of a row as the cell of a table: numbers as such, anything else as JSON."""
    return value if isinstance(value, (int, float)) else json.dumps(value)


def _read_cell(cell: Any) -> Any:
    """The value of a cell; a row without one, which its batch had no column for, has NaN."""
    if isinstance(cell, str):
        return json.loads(cell)
    return math.nan if cell is None else plain_number(cell)


def _packed(arrays: Mapping[str, Any]) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **arrays)
    return stream.getvalue()


def _unpacked(data: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return dict(arrays)


def _titles(batch: Any) -> list[str]:
    if isinstance(batch, (pa.Table, pa.RecordBatch)):
        return list(batch.schema.names)
    if isinstance(batch, pd.DataFrame):
        return list(batch.columns)
    if isinstance(batch, Mapping):
        return list(batch)
    raise UsageTypeError(
        "`batch` must be an Arrow table or record batch, a pandas frame or a mapping from titles to columns, got "
        f"{type(batch).__name__}"
    )


def _cells(batch: Any, title: str) -> list[Any]:
    if isinstance(batch, (pa.Table, pa.RecordBatch)):
        return list(batch.column(title).to_pylist())
    return list(batch[title])


def _like(batch: Any, columns: Mapping[str, Any]) -> Any:
    if isinstance(batch, (pa.Table, pa.RecordBatch)):
        return type(batch).from_pydict(dict(columns))
    return pd.DataFrame(columns) if isinstance(batch, pd.DataFrame) else dict(columns)
