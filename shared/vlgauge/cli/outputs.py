"""Output files of commands. Paths are checked before the work is done, and files appear only when they are complete."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from vlgauge.core.catalog import metric_facts
from vlgauge.core.errors import UsageError
from vlgauge.core.files import STDIN
from vlgauge.core.optional_dependencies import importing
from vlgauge.core.results import SIDECAR, printable, to_json
from vlgauge.core.writing import resolve_target, write
from vlgauge.leaderboard.run_files import RESULT_ENDINGS, TABLES, WITH_SIDECAR, is_formula, run_files

JSON = (".json",)


def check_target(
    target: str | None,
    sources: Sequence[str],
    option: str = "--output",
    endings: Sequence[str] = JSON,
    sidecar: str = "",
) -> None:
    """Check that a file can be written, before the work is done.

    Args:
        target: Path of the file. None for no file.
        sources: Paths of the inputs, ``"-"`` for standard input.
        option: Option that names the file.
        endings: Valid file extensions.
        sidecar: Suffix of a second file that is written next to it.

    Raises:
        ValueError: If the extension is unknown, the folder is missing or not writable, or the file is an input.
    """
    if target is None:
        return
    for name in (target, f"{target}{sidecar}"):
        resolve_target(name, option, [source for source in sources if source != STDIN])
    if Path(target).suffix.lower() not in endings:
        known = endings[0] if len(endings) == 1 else f"one of {', '.join(endings)}"
        raise UsageError(f"{option} must end in {known}, got {target!r}")


def check_result_target(target: str | None, source: str, *, details: bool = False) -> None:
    """Check that the result of `vlgauge score` can be written to a file, before the work is done.

    Raises:
        ValueError: If the file cannot be written, or its ending is not supported.
    """
    ending = "" if target is None else Path(target).suffix.lower()
    if details and ending in TABLES:
        raise UsageError(f"--output must end in .json with --details, which do not fit in a table, got {target!r}")
    check_target(target, [source], endings=RESULT_ENDINGS, sidecar=SIDECAR if ending in WITH_SIDECAR else "")


def check_report(target: str | None, sources: Sequence[str], metrics: Sequence[str]) -> None:
    """Check that a report can be written, before the work is done.

    Raises:
        ValueError: If the file cannot be written.
        MissingExtraError: If Jinja2 is not installed.
    """
    if target is None:
        return
    check_target(target, sources, "--report", (".html",))
    extras = ",".join(["explain", *(extra for name in metrics for extra in metric_facts(name).missing)])
    with importing(f'--report needs Jinja2; run: pip install "vlgauge[{extras}]"'):
        import_module("vlgauge.explain")  # a listed package may not be importable


def write_output(target: str | Path, content: str | bytes, option: str = "--output") -> None:
    """Write the file of an option and print its path. The file appears or is replaced only when it is complete.

    Raises:
        NotWritableError: If the file cannot be written.
    """
    write(target, content, option)
    sys.stderr.write(f"wrote {printable(str(target))}\n")


def write_json(target: str | Path, record: Mapping[str, Any]) -> None:
    """Write a record as JSON.

    Raises:
        NotWritableError: If the file cannot be written.
    """
    write_output(target, to_json(record) + "\n")


def print_result(options: argparse.Namespace, record: Mapping[str, Any], text: Callable[[], str]) -> None:
    """Write a record to the file of `--output`, and print it as JSON, or as text in the format of `--format`.

    Raises:
        NotWritableError: If the file cannot be written.
    """
    if options.output:
        write_json(options.output, record)
    print(to_json(record) if options.format == "json" else text())


def write_result(target: str, record: Mapping[str, Any]) -> None:
    """Write the result of `vlgauge score` in the format of the file extension. See `run_files`.

    Raises:
        NotWritableError: If the file cannot be written.
    """
    ending = Path(target).suffix.lower()
    for added, content in run_files(record, ending).items():
        write_output(f"{target}{added}", content)
    if ending == ".csv" and any(isinstance(one, str) and is_formula(one) for one in record["ids"]):
        sys.stderr.write(
            f"{target} has ids that spreadsheets would interpret as formulas; they begin with ' in the file\n"
        )
