"""Run over a dataset. Rows are read in small batches, which can be stopped and continued, and then scored together."""

import hashlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vlgauge.api.columns import warn_of_repeated
from vlgauge.api.row_sources import RowReader, Source
from vlgauge.api.row_sources.hub import HubRows, pin_dataset
from vlgauge.api.row_sources.tables import ARCHIVES, archive_rows, read_uploaded_rows
from vlgauge.api.sources import groups_of
from vlgauge.core.errors import UsageError
from vlgauge.inputs.sandbox import use_sandbox
from vlgauge.inputs.tables.files import rows_called
from vlgauge_workbench.hosting import Hosting
from vlgauge_workbench.scoring import (
    ScoredTable,
    metric_of,
    normalize_tokenizer,
    notes_of,
    score_checked,
    takes_questions,
)
from vlgauge_workbench.stopping import Cancelled, Work, this_work

BATCH = 8  # rows between two progress reports


@dataclass
class Run:
    """Rows of a source, scored by one metric.

    Attributes:
        metric: Name of the metric.
        config: Configuration of the metric.
        profile: Profile of the models.
        reader: Reader with the rows that were read so far.
        stop_row: Number of the row before which reading ends. None for no limit.
        is_stopped: Whether the user stopped the current step, which is reading or scoring.
        is_busy: Whether the run is being read or scored.
        trouble: Reason why reading ended before all rows were read. Empty if it did not.
        work: Work that scores the run now.
        settings: Settings that differ from the defaults of the metric.
    """

    metric: str
    config: str
    profile: str
    reader: RowReader
    stop_row: int | None
    is_stopped: bool = False
    is_busy: bool = False
    trouble: str = ""
    work: Work | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    def stop(self) -> None:
        """Stop reading, after which the rows that were read are scored, or stop scoring."""
        self.is_stopped = True
        if self.work is not None:
            self.work.stopped.set()

    @property
    def is_done(self) -> bool:
        """Whether all rows were read."""
        return self.reader.is_done or self.reader.next_row == self.stop_row

    @property
    def extent(self) -> str:
        """Note on the part of the rows that was read. Empty if all rows were read."""
        reader, total = self.reader, self.reader.source.n_rows
        n_read = reader.n_read
        if reader.is_done or total is None or total < reader.next_row:
            total = reader.next_row if reader.is_done else None
        if n_read == total:
            return ""
        there = "more rows than were read" if total is None else f"{total:,} rows"
        first = reader.next_row - n_read
        return f"{there}, {f'{n_read:,} from row {first:,} on' if first else f'the first {n_read:,}'} scored"

    @property
    def status(self) -> str:
        """Progress as a sentence."""
        reader = self.reader
        whole = "" if self.is_done or self._n_wanted is None else f" of {self._n_wanted:,}"
        sentence = f"{reader.n_read:,}{whole} rows read, {len(reader.left_out):,} of them left out"
        return f"{sentence}. {self.trouble}." if self.trouble else f"{sentence}."

    @property
    def _n_wanted(self) -> int | None:
        """Number of rows to read in total. None if it is unknown."""
        reader, total = self.reader, self.reader.source.n_rows
        ends = [end for end in (self.stop_row, total) if end is not None]
        return min(ends) - (reader.next_row - reader.n_read) if ends else None

    def read(self) -> Iterator[str]:
        """Read rows until the end, a stop by the user, or an error of the source.

        Yields:
            Progress as a sentence, after each batch and at the end.
        """
        self.is_stopped, self.trouble, self.reader.stop_row = False, "", self.stop_row
        while not self.is_done and not self.is_stopped:
            try:
                for _ in range(BATCH):
                    if self.is_stopped or self.is_done:
                        break
                    self.reader.read(1)
            except (UsageError, OSError) as error:
                self.trouble = " ".join(str(error).split())
                break
            yield self.status
        if self.is_stopped and not self.is_done:
            self.trouble = "Stopped"
        self.is_stopped = False
        if self.trouble:
            until = f"the rows before row {self.reader.next_row:,} are scored"
            self.trouble = f"{self.trouble[0].upper()}{self.trouble[1:].rstrip('.')}; {until}"
        yield self.status

    def clear(self) -> None:
        """Delete the stored rows. The run can neither be scored nor continued afterwards."""
        self.reader.clear()

    def scored(self) -> ScoredTable:
        """Score all rows that were read.

        Raises:
            ValueError: If there are no rows, or the metric cannot score them together.
            Cancelled: If the user stopped the run.
        """
        self.work = this_work()
        if self.is_stopped:  # while it waited for its turn
            raise Cancelled
        reader = self.reader
        left_out = [(one.id, one.reason) for one in reader.left_out]
        if not reader.ids:
            why = self.trouble or (left_out[0][1] if left_out else "there is no row from this number on")
            raise UsageError.about("rows", f"must have one that can be scored, got none: {why}")
        metric = metric_of(self.metric, self.profile, self.config, **self.settings)
        columns = {name: None if cells is None else list(cells) for name, cells in reader.columns.items()}
        groups = groups_of(reader)
        with use_sandbox():  # as for reading the rows
            found = score_checked(metric, columns, list(reader.ids), left_out, groups)
        with rows_called("`rows`"), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            # Each row has separate files, so compare the content of images.
            seen = {"images": [_content_key(cell) for cell in columns.get("images") or ()]}
            warn_of_repeated(list(reader.ids), seen, grouped=groups is not None)
        return replace(found, notes=[*found.notes, *notes_of(caught)])


def _content_key(cell: Any) -> Any:
    """Return a key that is equal for image files with equal content. None for no image."""
    if isinstance(cell, (list, tuple)):
        return [_content_key(one) for one in cell]
    if not isinstance(cell, str) or not Path(cell).is_file():
        return cell
    with open(cell, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def begin_run(
    source: Source,
    metric: tuple[str, str, str],
    titles: Mapping[str, Sequence[str]],
    first: int,
    rows: int | None,
    hosting: Hosting,
    tokenizer: str = "",
    questions: str | None = None,
) -> Run:
    """Create a run that has read no rows yet.

    Raises:
        UsageError: If `first` or `rows` is out of range, a column or the tokenizer is not valid, or the metric has no
            setting for a table of questions.
    """
    if first < 0:
        raise UsageError.about("first_row", f"must be an integer of at least 0, got {first}")
    if rows is not None and rows < 1:
        raise UsageError.about("rows", f"must be an integer of at least 1, got {rows}")
    if hosting.most_rows is not None and (rows is None or rows > hosting.most_rows):
        asked = "all" if rows is None else f"{rows:,}"
        raise UsageError.about(
            "rows",
            f"must be at most {hosting.most_rows} here, got {asked}; `vlgauge workbench` and `vlgauge score` on "
            "your own machine have no such limit",
        )
    name, config, profile = metric
    chosen = normalize_tokenizer(name, config, tokenizer)
    settings = {"tokenizer": chosen} if chosen else {}
    loaded = metric_of(name, profile, config, **settings)
    if questions is not None:
        if not takes_questions(name):
            raise UsageError.about("questions", f"must be empty for {name}, which asks no questions of a table")
        settings["questions"] = questions
    known = {column.name for column in loaded.columns} | {"id", "groups"}
    given = {column: list(own) for column, own in titles.items() if own and column in known}
    reader = RowReader(source, loaded.columns, given, hosting.limits, in_files=True, next_row=first)
    return Run(name, config, profile, reader, None if rows is None else first + rows, settings=settings)


def open_hub_rows(
    dataset: str, config: str | None, split: str | None, revision: str | None, token: str, hosting: Hosting
) -> HubRows:
    """Open the rows of a dataset of the Hub, with the token of the user or otherwise the token of the hosting.

    Raises:
        UsageError: If the dataset, configuration or split does not exist or cannot be read.
    """
    return HubRows(pin_dataset(dataset, revision or None, token or hosting.token), config or None, split or None)


def open_upload(table: str, files: Sequence[str], hosting: Hosting) -> Source:
    """Return the rows of an uploaded table or archive. Files uploaded with a table are resolved by name.

    Raises:
        UsageError: If the table or archive is not valid.
    """
    is_archive = table.lower().endswith(ARCHIVES)
    return archive_rows(table, hosting.limits) if is_archive else read_uploaded_rows(table, files)
