"""Result of `vlgauge.score`: tables, explanations, files and records of the scores of rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from vlgauge.api.notebook import frame_page, notebook_tables
from vlgauge.api.numbers import CONFIDENCE, notes_of, numbers_of, numbers_table, summary
from vlgauge.api.recording import OF_ONE, records_of
from vlgauge.api.score_suite import suite_table
from vlgauge.api.scored import SelectedRows, SystemScores, score_columns
from vlgauge.core.errors import UsageError, UsageIndexError
from vlgauge.core.results import DIGITS, printable
from vlgauge.core.suites import SUITES, Suite
from vlgauge.core.validation import check_float, check_int, nearest, with_argument_hints
from vlgauge.core.writing import write
from vlgauge.families.base import Metric
from vlgauge.inputs.tables.files import rows_called
from vlgauge.leaderboard.record import Dataset, Model, Record
from vlgauge.leaderboard.records import append_records
from vlgauge.leaderboard.run_files import run_files
from vlgauge.leaderboard.table import PLAIN, Numbers, Table, render

if TYPE_CHECKING:
    from vlgauge.explain import Explanation

_SHOWN = 5  # rows in the text representation


class Scores:
    """Scores of rows by one or more metrics, with the scored columns.

    Attributes:
        ids: IDs of the rows.
        results: Results by metric name.
    """

    def __init__(
        self, scored: SystemScores, metrics: Sequence[Metric], frame: Callable[[], Any], suite: Suite | None = None
    ) -> None:
        self._scored = scored
        self._suite = suite
        self._metrics = list(metrics)
        self._frame = frame
        self._explanations: list[Explanation] | None = None

    @property
    def ids(self) -> list[Any]:
        """IDs of the rows."""
        return list(self._scored.ids)

    @property
    def results(self) -> dict[str, dict[str, Any]]:
        """Results by metric name, each a dictionary of values by key, without details."""
        return self._scored.plain

    @property
    def columns(self) -> Mapping[str, list[Any] | None]:
        """Scored columns by name. None for columns that do not exist."""
        return self._scored.columns

    def run(self) -> dict[str, Any]:
        """Return everything as a dictionary, which `vlgauge.compare` and `vlgauge.leaderboard` accept as a system.

        Returns:
            ``ids``, metadata such as the ``dataset``, optionally ``sizes``, ``groups`` and ``grouped_by``, and the
            values of all results by key.
        """
        return self._scored.run()

    # -- tables ------------------------------------------------------------------------------------------------------
    @property
    def rows(self) -> Any:
        """Pandas frame of the input table with its index and columns, and an additional column per score."""
        frame = self._frame()
        for name, scores in self.scores().items():
            frame[name] = scores
        return frame

    def scores(self) -> dict[str, list[float]]:
        """Return the scores of the rows by name, such as "clip_s", and with references "ref_clip_s"."""
        found: dict[str, list[float]] = {}
        for result in self.results.values():
            for key, value in result.items():
                if key.endswith("_scores"):
                    found.setdefault(key.removesuffix("_scores"), value)
        return found

    def summary(self, *, confidence: float = CONFIDENCE) -> Any:
        """Return the corpus-level values as a pandas frame.

        It has a row per score. The columns are value, low, high, n, undefined, better (direction), range and signature.

        Args:
            confidence: Level of the bootstrap intervals.

        Raises:
            ValueError: If `confidence` is not between 0 and 1.
        """
        import pandas as pd

        every = numbers_of(self.results, confidence, self._scored.groups)
        numbers = [one for one in every if not one.name.endswith("_undefined")]
        lines = []
        for one in numbers:
            result = self.results[one.metric]
            counts = {"n": one.rows and one.rows.n, "undefined": one.rows and one.rows.undefined}
            line: dict[str, Any] = {"value": one.value, "low": one.low, "high": one.high, **counts}
            line |= {"better": one.better, "range": one.score_range}
            line["signature"] = result.get(f"{one.name}_signature", result[f"{one.metric}_signature"])
            lines.append(line)
        names = pd.Index([one.name for one in numbers], name="score")
        frame = pd.DataFrame(lines, index=names)
        return frame.astype({"low": "float64", "high": "float64", "n": "Int64", "undefined": "Int64"})

    def __repr__(self) -> str:
        """Return the table that `vlgauge score` prints, with a few rows."""
        texts = self.columns["predictions"] or []
        how: dict[str, Any] = {"groups": self._scored.groups, "where": "`.rows` contains all rows"}
        summarized = summary(self.results, self.ids, texts, _SHOWN, **how)
        return "\n\n".join([*(render(one, "text") for one in self._suite_tables()), summarized])

    def _repr_html_(self) -> str:
        """Return the corpus-level values as HTML, in the colors of the notebook."""
        groups = self._scored.groups
        tables = [*self._suite_tables(), numbers_table(self.results, groups=groups)]
        return notebook_tables(tables, notes_of(self.results, groups))

    def to_markdown(self, *, digits: int = DIGITS, scale: float = 1.0) -> str:
        """Return the table of a suite in Markdown.

        Args:
            digits: Number of digits after the decimal point.
            scale: Factor by which values are multiplied.

        Raises:
            UsageError: If the scores are not of a suite.
        """
        return self._render("markdown", digits, scale)

    def to_latex(self, *, digits: int = 1, scale: float = 100.0) -> str:
        """Return the table of a suite in LaTeX, by default in percent. See `to_markdown`.

        Raises:
            ValueError: If the metrics are not a suite, or `digits` or `scale` is not valid.
        """
        return self._render("latex", digits, scale)

    def _render(self, form: str, digits: int, scale: float) -> str:
        factor = check_float("scale", scale, "the factor of all values, such as 100")
        numbers = Numbers(check_int("digits", digits, 0), factor)
        if not (tables := self._suite_tables(numbers)):
            raise UsageError(
                f"the scores must be those of a suite ({', '.join(SUITES)}), got {', '.join(self.results)}"
            )
        return render(tables[0], form)

    def _suite_tables(self, numbers: Numbers = PLAIN) -> list[Table]:
        return [] if self._suite is None else [suite_table(self._suite, self._scored, numbers)]

    def plot(self, kind: str = "distribution", *, scores: Sequence[str] | None = None) -> Any:
        """Return a matplotlib figure of the scores (extra `plots`).

        Args:
            kind: "distribution" of each score with its corpus-level value and interval, "correlation" of each pair of
                scores over the rows, or "length" for each score against the number of words.
            scores: Names of the scores, such as "ref_clip_s". None for the main score of each metric.

        Raises:
            ValueError: If the kind or a score does not exist, or there are too few scores for the kind.
            ImportError: If matplotlib is not installed.
        """
        return import_module("vlgauge.api.figures").scores_figure(self._scored, kind, scores)

    # -- reasons -----------------------------------------------------------------------------------------------------
    def explain(self, row: int | str) -> RowExplanation:
        """Explain the scores of a row (extra `explain`).

        Args:
            row: Row number, starting at 0, or a row ID that is a string.

        Raises:
            ValueError: If no row has this ID, or several have it.
            IndexError: If the row number does not exist.
        """
        number = self._number_of(row)
        return RowExplanation(self._explained(), number)

    def report(self, path: str | PathLike[str], *, worst: int = 10, best: int = 5, title: str = "") -> None:
        """Write a page that explains the rows with the worst and best scores (extra `explain`).

        Args:
            path: Path of the file, .html.
            worst: Number of rows with the worst scores of each metric.
            best: Number of other rows with the best scores.
            title: Headline. By default the number of rows and the metrics.

        Raises:
            NotWritableError: If the file cannot be written.
            ImportError: If Jinja2 is not installed.
        """
        pages = import_module("vlgauge.api.pages")
        write(path, pages.report(self._explained(), worst=worst, best=best, title=title))

    def _explained(self) -> list[Explanation]:
        if self._explanations is None:
            pages = import_module("vlgauge.api.pages")
            if any(f"{name}_details" not in result for name, result in self._scored.results.items()):
                with rows_called("`rows`"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # already shown when the rows were scored
                    own = self._scored
                    given = SelectedRows(own.ids, own.columns, groups=own.groups)
                    again = score_columns(self._metrics, given, details=True)
                self._scored = self._scored.with_details(again)
            self._explanations = pages.explanations(self._scored)
        return self._explanations

    def _number_of(self, row: int | str) -> int:
        if not isinstance(row, str):
            number = check_int("row", row, 0)
            if number >= len(self._scored.ids):
                raise UsageIndexError.about("row", f"must be a row, 0 to {len(self._scored.ids) - 1}, got {row}")
            return number
        found = [number for number, one in enumerate(self._scored.ids) if one == row]
        if len(found) != 1:
            texts = [one for one in self._scored.ids if isinstance(one, str)]
            hint = nearest(row, texts) if not found and len(texts) < 100 else "give its number from 0"
            raise UsageError.about("row", f"must be the ID of one row, {len(found)} rows have the ID {row!r}", hint)
        return found[0]

    # -- files -------------------------------------------------------------------------------------------------------
    def to_json(self, path: str | PathLike[str] | None = None) -> str | None:
        """Write everything to a JSON file like `vlgauge score --output`, or return it as a string without a path.

        Returns:
            The JSON text. None if a file was written.

        Raises:
            NotWritableError: If the file cannot be written.
        """
        return self._write(path, ".json")

    def to_csv(self, path: str | PathLike[str] | None = None) -> str | None:
        """Write a CSV file with a line per row, and a second file with everything else.

        Returns:
            The CSV text without a path. None if files were written.

        Raises:
            NotWritableError: If a file cannot be written.
        """
        return self._write(path, ".csv")

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write a Parquet file with a line per row and everything else in the metadata.

        Raises:
            NotWritableError: If the file cannot be written.
        """
        self._write(path, ".parquet")

    def _write(self, path: str | PathLike[str] | None, ending: str) -> str | None:
        files = run_files(self.run(), ending)
        if path is None:
            return str(files[""])
        if not fspath(path).lower().endswith(ending):
            raise UsageError.about("path", f"must end in {ending}, got {fspath(path)!r}")
        for added, content in files.items():
            write(f"{fspath(path)}{added}", content)
        return None

    @with_argument_hints("Scores.record", OF_ONE)
    def record(
        self,
        file: str | PathLike[str] | None = None,
        *,
        model: str | Model,
        dataset: str | Dataset,
        split: str = "test",
        date: str | None = None,
        notes: str | None = None,
        scores: Iterable[str] | None = None,
    ) -> list[Record]:
        """Return records of the corpus-level scores, for exports and leaderboards.

        Args:
            file: Path of results.jsonl, to which the records are appended. None to only return them.
            model: ID on the Hub or description of the model that generated the predictions.
            dataset: ID on the Hub or description of the dataset.
            split: Split of the dataset, if the dataset is passed as an ID.
            date: ISO 8601 date. None for today.
            notes: Additional notes.
            scores: Names of the scores, such as "ref_clip_s". None for the main score of each metric.

        Returns:
            The records. With a file, only the records that were added.

        Raises:
            ValueError: If a score is unknown, no row has a score, or a record cannot contain a value.
        """
        run, known = self.run(), self.scores()
        names = list(self.results) if scores is None else list(scores)
        for name in names:
            if name not in known or f"{name}_signature" not in run:
                raise UsageError.about("scores", f"must be in the result, got {name!r}", nearest(name, known))
        found = records_of(run, names, model, dataset, split=split, date=date, notes=notes)
        return found if file is None else append_records(fspath(file), found)


class RowExplanation:
    """Explanation of the scores of a row, as text, in a notebook or as a page.

    Attributes:
        row: Row number, starting at 0.
        scores: Scores by metric name.
        reasons: Short reasons by metric name.
    """

    def __init__(self, explained: Sequence[Explanation], row: int) -> None:
        self.row = row
        self.scores = {one.name: one.scores[row] for one in explained}
        self.reasons = {
            one.name: one.explain_undefined(row) if one.is_undefined(row) else one.reason(row) for one in explained
        }
        self._explained = explained

    def __repr__(self) -> str:
        """Return a line per metric."""
        return "\n".join(f"{name} {self.scores[name]:.4f}: {printable(why)}" for name, why in self.reasons.items())

    def html(self) -> str:
        """Return a complete HTML page."""
        return import_module("vlgauge.api.pages").row_page(self._explained, self.row)

    def _repr_html_(self) -> str:
        """Return the page as an iframe, so that its style does not affect the notebook."""
        return frame_page(self.html(), f"row {self.row}")
