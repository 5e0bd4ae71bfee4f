"""Result of `vlgauge.compare`: tables for reading and for papers, figures, records, and rows with large differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from itertools import chain
from os import PathLike, fspath
from typing import Any

from vlgauge.api.notebook import notebook_tables
from vlgauge.api.recording import OF_SEVERAL, records_of
from vlgauge.api.scored import SystemScores
from vlgauge.core.errors import UsageError, UsageTypeError
from vlgauge.core.results import row_keys
from vlgauge.core.validation import check_bool, check_float, check_int, nearest, short_repr, with_argument_hints
from vlgauge.core.writing import write
from vlgauge.leaderboard import comparison as statistics
from vlgauge.leaderboard.paper import paper_latex, paper_table
from vlgauge.leaderboard.record import Dataset, Model, Record
from vlgauge.leaderboard.records import append_records
from vlgauge.leaderboard.runs import Run
from vlgauge.leaderboard.table import Numbers, pairs_table, render, systems_table


class Comparison:
    """Comparison of systems by one or more metrics.

    Attributes:
        statistics: All values. See `vlgauge.leaderboard.Comparison`.
    """

    def __init__(
        self,
        found: statistics.RunComparison,
        scored: Mapping[str, SystemScores],
        explained: Callable[[], Mapping[str, SystemScores]],
        runs: Mapping[str, Run],
    ) -> None:
        self.statistics = found
        self._runs = runs
        self._scored = scored
        self._explained = explained

    # -- tables ------------------------------------------------------------------------------------------------------
    @property
    def systems(self) -> Any:
        """Pandas frame with a row per metric and system.

        The columns are value, low, high, n, undefined, groups, best, better ("higher" or "lower") and signature.
        """
        import pandas as pd

        lines = [
            {"metric": compared.metric, **vars(one), "signature": compared.signature}
            | {"better": "higher" if compared.higher_is_better else "lower"}
            for compared in self.statistics.metrics
            for one in compared.systems
        ]
        titles = {"name": "system", "bold": "best"}
        frame = pd.DataFrame(lines).rename(columns=titles).set_index(["metric", "system"])
        columns = ["value", "low", "high", "n", "undefined", "groups", "best", "better", "signature"]
        return frame[columns].astype({"low": "float64", "high": "float64"})

    @property
    def pairs(self) -> Any:
        """Pandas frame with a row per metric and pair of systems.

        The columns are difference, low, high, pvalue, adjusted_pvalue, wins, losses, ties, n, n_differing, too_few and
        better, the name of the significantly better system or None.
        """
        import pandas as pd

        lines = [
            {"metric": compared.metric, **vars(pair)} for compared in self.statistics.metrics for pair in compared.pairs
        ]
        frame = pd.DataFrame(lines).astype({"low": "float64", "high": "float64"})
        # Keep None, which pandas would convert to NaN otherwise.
        frame["better"] = pd.Series([line["better"] for line in lines], dtype=object)
        columns = ["difference", "low", "high", "pvalue", "adjusted_pvalue", "wins", "losses", "ties", "n"]
        return frame.set_index(["metric", "first", "second"])[[*columns, "n_differing", "too_few", "better"]]

    def __repr__(self) -> str:
        """Return the tables that `vlgauge compare` prints."""
        return "\n\n".join(render(table(self.statistics), "text") for table in (systems_table, pairs_table))

    def _repr_html_(self) -> str:
        """Return both tables as HTML, in the colors of the notebook."""
        return notebook_tables([systems_table(self.statistics), pairs_table(self.statistics)])

    def to_markdown(self, *, digits: int = 4, scale: float = 1.0, intervals: bool = True) -> str:
        """Return a Markdown table with a row per system and a column per metric, followed by notes and signatures.

        Args:
            digits: Number of digits after the decimal point.
            scale: Factor by which values are multiplied, such as 100.
            intervals: Whether to show confidence intervals.

        Raises:
            ValueError: If `digits` or `scale` is not valid.
        """
        return render(paper_table(self.statistics, _numbers(digits, scale, intervals)), "markdown")

    def to_latex(
        self,
        *,
        digits: int = 1,
        scale: float = 100.0,
        booktabs: bool = True,
        caption: str = "",
        label: str = "",
        intervals: bool = True,
    ) -> str:
        """Return the same table as a LaTeX float.

        The caption explains the marks. Comments below the table contain the signatures.

        Args:
            digits: Number of digits after the decimal point.
            scale: Factor by which values are multiplied.
            booktabs: Whether to use the rules of the package booktabs.
            caption: LaTeX code for the beginning of the caption.
            label: Label of the float.
            intervals: Whether to show confidence intervals.

        Raises:
            ValueError: If `digits` or `scale` is not valid.
        """
        numbers = _numbers(digits, scale, intervals)
        return paper_latex(self.statistics, numbers, booktabs=booktabs, caption=caption, label=label)

    def plot(self) -> Any:
        """Return a matplotlib figure of the paired differences with intervals, for each metric (extra `plots`).

        Raises:
            ImportError: If matplotlib is not installed.
        """
        return import_module("vlgauge.api.figures").comparison_figure(self.statistics)

    # -- rows --------------------------------------------------------------------------------------------------------
    def rows_that_differ(self, n: int = 10, *, metric: str | None = None) -> Any:
        """Return a pandas frame with the rows in which the systems of each pair differ most, with their texts.

        Args:
            n: Maximum number of rows per pair and metric.
            metric: Metric of the rows. None for all metrics.

        Raises:
            ValueError: If nothing was compared by the metric.
        """
        import pandas as pd

        check_int("n", n, 1)
        known = [compared.metric for compared in self.statistics.metrics]
        if metric is not None and metric not in known:
            raise UsageError.about("metric", f"must be a compared metric, got {metric!r}", nearest(metric, known))
        texts = {
            name: dict(zip(row_keys(one.ids), one.columns["predictions"] or [], strict=True))
            for name, one in self._scored.items()
        }
        lines = []
        for compared in self.statistics.metrics:
            for pair in compared.pairs if metric in (None, compared.metric) else ():
                for row in statistics.rows_that_differ(compared, pair, n):
                    key = self.statistics.ids[row]
                    first, second = (compared.scores[name][row] for name in (pair.first, pair.second))
                    own = (texts.get(name, {}).get(key) for name in (pair.first, pair.second))
                    lines.append((compared.metric, pair.first, pair.second, key, first, second, first - second, *own))
        titles = ["metric", "first", "second", "id", "first_score", "second_score", "difference"]
        return pd.DataFrame(lines, columns=[*titles, "first_text", "second_text"])

    # -- records -----------------------------------------------------------------------------------------------------
    @with_argument_hints("Comparison.record", OF_SEVERAL)
    def record(
        self,
        file: str | PathLike[str] | None = None,
        *,
        models: Mapping[str, str | Model],
        dataset: str | Dataset,
        split: str = "test",
        date: str | None = None,
        notes: str | None = None,
    ) -> list[Record]:
        """Record the scores of systems by every compared metric, over all rows of each system, like `Scores.record`.

        Args:
            file: Path of results.jsonl, to which the records are appended. None to only return them.
            models: ID on the Hub or description of each system, by system name. Other systems are not recorded.
            dataset: ID on the Hub or description of the dataset.
            split: Split of the dataset, if the dataset is passed as an ID.
            date: ISO 8601 date. None for today.
            notes: Additional notes.

        Returns:
            The records. With a file, only the records that were added.

        Raises:
            ValueError: If a system is unknown or has no score in any row, or a record cannot contain a value.
            TypeError: If ``models`` is not a dictionary.
        """
        if not isinstance(models, Mapping):
            raise UsageTypeError.about(
                "models", f"must be a dictionary, got {short_repr(models)}", OF_SEVERAL["models"]
            )
        if strange := [name for name in models if name not in self._runs]:
            hint = nearest(str(strange[0]), self._runs)
            raise UsageError.about("models", f"must have names of compared systems as keys, got {strange[0]!r}", hint)
        names = [compared.metric for compared in self.statistics.metrics]
        how: dict[str, Any] = {"split": split, "date": date, "notes": notes}
        every = (records_of(self._runs[name], names, one, dataset, **how) for name, one in models.items())
        found = list(chain.from_iterable(every))
        return found if file is None else append_records(fspath(file), found)

    # -- pages -------------------------------------------------------------------------------------------------------
    def report(self, path: str | PathLike[str], *, n: int = 10) -> None:
        """Write a page with both tables and explanations of the rows with the largest differences (extra `explain`).

        Args:
            path: Path of the file, .html.
            n: Maximum number of rows per pair and metric.

        Raises:
            ValueError: If a system has scores only, which cannot be explained.
        """
        check_int("n", n, 1)
        pages = import_module("vlgauge.api.pages")
        write(path, pages.differences_page(self.statistics, self._explained(), n))


def _numbers(digits: int, scale: float, intervals: bool) -> Numbers:
    factor = check_float("scale", scale, "the factor of all values, such as 100")
    return Numbers(check_int("digits", digits, 0), factor, check_bool("intervals", intervals))
