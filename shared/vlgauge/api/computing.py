"""Computation of one or more metrics over the columns of a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import vlgauge
from vlgauge.checkpoints.preflight import look_for_all
from vlgauge.core.columns import COLUMNS
from vlgauge.core.errors import UsageError, as_option
from vlgauge.inputs.tables.files import CsvRow, name_of_rows
from vlgauge.inputs.text.ngrams import tokens_shared

if TYPE_CHECKING:
    from vlgauge.families.base import Metric

Settings = dict[str, Any]

_PLACE = re.compile(rf"`(?:{'|'.join(COLUMNS)})\[(\d{{1,12}})\]")


def load_metric(name: str, config_name: str | None = None, **settings: Any) -> Any:
    """Load a metric that keeps its rows in memory, and return it.

    Raises:
        ValueError: If the metric does not exist.
        TypeError: If a setting is unknown.
    """
    return vlgauge.load(name, config_name, keep_in_memory=True, **settings)


def load_metrics(
    settings: Mapping[str, Settings],
    *,
    config: str | None = None,
    profile: str | None = None,
    progress: bool | None = None,
) -> list[Metric]:
    """Load metrics with their settings.

    Raises:
        ValueError: If a configuration is passed and none of several metrics has configurations, or a setting has an
            invalid value.
        TypeError: If a setting is unknown.
    """
    metrics = []
    for name, own in settings.items():
        if profile and "profile" in own:
            raise UsageError(
                f"{as_option('profile')} cannot be combined with a profile in the settings of {name}, got {profile!r} "
                f"and {own['profile']!r}"
            )
        common = {"profile": profile} if profile else {}
        # Pass the configuration to a single metric in any case, because its error message is more specific.
        wanted = config if len(settings) == 1 or (config and load_metric(name).configs) else None
        metrics.append(load_metric(name, wanted, progress=progress, **common, **own))
    if config and len(settings) > 1 and not any(metric.configs for metric in metrics):
        raise UsageError(
            f"{as_option('config')} must be of a metric with configurations, got {config!r} for {', '.join(settings)}"
        )
    return metrics


def compute_all(
    metrics: Sequence[Metric],
    columns: Mapping[str, list[Any] | None],
    *,
    details: bool = False,
    rows: Sequence[Mapping[str, Any]] = (),
    on_failure: Callable[[str, Exception], None] | None = None,
) -> dict[str, dict[str, Any]]:
    """Compute all metrics.

    Args:
        metrics: The metrics.
        columns: Cells by column name.
        details: Whether the results contain the details of each row.
        rows: Rows as they were read, for error messages.
        on_failure: Function that is called with the name of a failing metric and its exception. The other metrics are
            still computed. None to raise the exception.

    Returns:
        Results by metric name, without failed metrics.

    Raises:
        ImportError: If packages of a metric are known to be missing. The message names the packages of all metrics.
        SourcesMissingError: If weights are missing.
        ValueError: If a metric cannot score a row or has no details. With several metrics, the message names the
            metric.
    """
    if len(metrics) > 1:  # a single metric checks this before it scores
        try:
            look_for_all(metrics, columns)
        except UsageError as error:
            if on_failure is None:
                raise
            # The user chose a suite and not its metrics, so suggest to leave metrics out.
            raise error.with_message(
                f"{error}\nOr leave metrics of the suite out with {as_option('without')}"
            ) from error
    results = {}
    with tokens_shared():
        for metric in metrics:
            own = {column.name: columns[column.name] for column in metric.columns}
            try:
                with _errors_located("" if len(metrics) == 1 else f"{metric.name}: ", rows):
                    if details and not metric.has_details:
                        raise UsageError(f"{as_option('details')} is not supported by {metric.name}")
                    how = {"return_details": True} if details else {}
                    results[metric.name] = metric.compute(**own, **how) or {}
            except Exception as error:
                if on_failure is None:
                    raise
                on_failure(metric.name, error)
    return results


@contextmanager
def _errors_located(of: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[None]:
    """Add the metric and the line of the row to messages of usage errors."""
    try:
        yield
    except UsageError as error:
        line = _line_of(str(error), rows)
        if not (of or line):
            raise
        raise error.with_message(f"{of}{error}{line}") from error


def _line_of(message: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a clause with the line number of the CSV row that a message names by index, such as `predictions[3]`."""
    found = _PLACE.search(message)
    row = rows[int(found[1])] if found and int(found[1]) < len(rows) else None
    return f" (line {row.line} of {name_of_rows()})" if isinstance(row, CsvRow) else ""


def without_details(name: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a result by key, without the details that ``return_details`` adds."""
    only_with_details = (f"{name}_details", f"{name}_unfinished")
    return {key: value for key, value in result.items() if key not in only_with_details}
