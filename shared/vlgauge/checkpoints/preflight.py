"""Check for missing requirements of a metric call, before anything is parsed, loaded or downloaded.

All missing requirements are reported in one error.
"""

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vlgauge.checkpoints.files import SourcesMissingError
from vlgauge.checkpoints.torch_runtime import missing_packages
from vlgauge.core.errors import MissingExtraError, UsageError


class Preflight:
    """Requirement checks of one metric call.

    Args:
        metric: Name of the metric.
        extra: Extra that installs the packages. Empty for the one with the name of the metric.
    """

    def __init__(self, metric: str, extra: str = "") -> None:
        self.sources: list[str] = []
        self._packages: list[str] = []
        self._unusable: list[str] = []
        self.metric, self._extra = metric, extra or metric.replace("_", "-")

    def need(self, packages: Sequence[str]) -> None:
        """Require packages, given by the names of their modules."""
        self._packages += packages

    def look(self, check: Callable[[], object]) -> None:
        """Run a check for a source or package that downloads nothing, and record its error if something is missing."""
        try:
            check()
        except ImportError as error:
            self._unusable.append(str(error))
        except FileNotFoundError as error:
            self.sources.append(str(error))

    def look_for_file(self, path: object, read: Callable[[Any], object]) -> None:
        """Check that a path names a file and otherwise record the error of its reader. Skip values other than paths."""
        if isinstance(path, (str, os.PathLike)) and not Path(path).expanduser().is_file():
            self.look(lambda: read(path))

    def join(self, other: "Preflight", hint: str = "") -> None:
        """Add the missing requirements of a component of this metric, with an optional hint for each source."""
        self._packages += other._packages
        self._unusable += other._unusable
        self.sources += [f"{source}; {hint}" if hint else source for source in other.sources]

    def end(self) -> None:
        """Report all missing requirements in one error.

        Raises:
            ImportError: If packages are not installed.
            SourcesMissingError: If sources were not passed or do not exist.
        """
        problems = [missing_packages(self.metric, self._packages, self._extra), *dict.fromkeys(self._unusable)]
        if lacking := "; ".join(filter(None, problems)):
            raise MissingExtraError(lacking)
        if len(self.sources) == 1:
            raise SourcesMissingError(self.sources[0])
        if self.sources:
            # Use a list, because several sentences on one line are hard to read.
            listed = "\n".join(f"({i}) {source}" for i, source in enumerate(self.sources, start=1))
            raise SourcesMissingError(f"{self.metric} requires {len(self.sources)} missing sources:\n{listed}")


def look_for_all(metrics: Sequence[Any], columns: Mapping[str, Any] | None = None) -> None:
    """Check the requirements of all metrics before any of them computes a score.

    Args:
        metrics: Metrics to check.
        columns: Columns of the rows. If None, metrics whose requirements depend on the columns are checked later, when
            they score.

    Raises:
        ImportError: If packages are not installed. The message covers all metrics.
        SourcesMissingError: If weights are not available. The message covers all metrics and names the affected ones.
        ValueError: If a metric lacks a column.
    """
    packages: list[str] = []
    sources: dict[str, list[str]] = {}
    for metric in metrics:
        look = getattr(metric, "check_sources", None)
        if look is None:
            continue
        wanted = [one.name for one in inspect.signature(look).parameters.values() if one.default is one.empty]
        if columns is not None or not wanted:
            try:
                look(**{name: (columns or {}).get(name) for name in wanted}).end()
            except ImportError as error:
                packages.append(str(error))
            except SourcesMissingError as error:
                sources.setdefault(str(error), []).append(metric.name)
            except UsageError as error:
                raise error.with_message(f"{metric.name}: {error}") from error
    if packages:
        raise MissingExtraError("; ".join(dict.fromkeys(packages)))
    if sources:
        several = len(metrics) > 1
        raise SourcesMissingError(
            "; ".join(f"{', '.join(of)}: {reason}" if several else reason for reason, of in sources.items())
        )
