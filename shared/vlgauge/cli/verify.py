"""Recompute published numbers. `--list` lists every table and figure."""

import argparse
import re
from collections.abc import Sequence
from typing import Any

from vlgauge import cli
from vlgauge.api.computing import load_metric
from vlgauge.cli.inputs import SET_SOME, add_limits, add_shared, declare
from vlgauge.cli.outputs import check_target, print_result
from vlgauge.cli.scoring import settings_by_metric
from vlgauge.core.catalog import metric_names
from vlgauge.core.errors import UsageError
from vlgauge.core.results import plain, printable
from vlgauge.core.validation import nearest
from vlgauge.leaderboard.table import Cell, Table, render
from vlgauge.research.studies.published import PublishedRow, PublishedTable, list_papers, list_published_tables, rows
from vlgauge.research.verification import Data, Finding, Tools, Unchecked, metric_of, verify_all

DIFFERS, LACKS = 1, 3
# Maximum number of rows per table in the list.
SHOWN = 6


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = (
        f"{__doc__} Exits with 0 if all numbers match, {DIFFERS} if one does not, and {LACKS} if none differs "
        "but some could not be checked."
    )
    declare(parser, "metrics METRIC", "metrics to check (default: all)", nargs="*")
    declare(parser, "--list", "list every table and figure: command, data, values, and whether it is checked")
    declare(parser, "--data FOLDER", "published files, at any depth", nargs="+", default=[])
    declare(parser, "--images FOLDER", "images of the datasets (default: next to their files)")
    declare(parser, "--videos FOLDER", "videos of the datasets (default: next to their files)")
    backbones = sorted({row.backbone for row in rows() if row.backbone})
    declare(parser, "--backbone", "backbone of clip_s and pac_s", choices=backbones, default="ViT-B/32")
    add_shared(parser, "set", set=SET_SOME)
    add_limits(parser)
    add_shared(parser, "format", "output", "no_progress", output="write everything as JSON to this file")


def run(options: argparse.Namespace) -> int:
    """Run the command: list the tables, or recompute and compare their values.

    Returns:
        Exit code: 0 if all values match, 1 if one differs, 3 if none differs but some could not be checked.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    check_target(options.output, [])
    names = [*metric_names(), "length"]
    for name in options.metrics:
        if name not in names:
            raise UsageError(f"METRIC must be the name of a metric, or length, got {name!r}; {nearest(name, names)}")
    if options.list:
        return _print_list(options)
    settings = settings_by_metric(options.set, [name for name in options.metrics or names if name != "length"])

    def load(name: str, config_name: str | None = None, **more: Any) -> Any:
        given = {"profile": "paper"} | more | settings.get(name, {})
        return load_metric(name, config_name, **given)

    data = Data(options.data, options.images, options.videos)
    tools = Tools(load, options.metrics, options.backbone)
    results = list(verify_all(data, tools))
    found = [one for one in results if isinstance(one, Finding)]
    lacking = [one for one in results if isinstance(one, Unchecked)]
    print_result(options, record_of(found, lacking), lambda: render_findings(found, lacking, options.format))
    if not all(one.is_met for one in found):
        return DIFFERS
    return LACKS if lacking or not found else 0


def record_of(found: Sequence[Finding], lacking: Sequence[Unchecked]) -> dict[str, Any]:
    """Return everything as a record for JSON output.

    Returns:
        ``compared``, one entry per value, and ``not_checked``, the rows with reason and remedy.
    """
    compared = []
    for one in found:
        ours = {"ours": one.ours, "low": one.spread[0], "high": one.spread[1]}
        published = {"column": one.column, "published": one.row.values[one.column]}
        compared.append(_place(one.row) | published | ours | {"difference": one.difference, "verdict": one.verdict})
    rest = [{"rows": [_place(row) for row in one.rows], "why": one.why, "how": one.how} for one in lacking]
    return {"compared": plain(compared), "not_checked": rest}


def _place(row: PublishedRow) -> dict[str, Any]:
    names = ("paper", "table", "protocol", "rules", "row", "metric", "backbone")
    return {name: getattr(row, name) for name in names}


def render_findings(found: Sequence[Finding], lacking: Sequence[Unchecked], form: str) -> str:
    """Render the values that were compared, then those not checked with instructions."""
    rows = []
    for one in found:
        texts = [one.row.source, _row_text(one.row), one.column]
        numbers = [Cell(text, right=True) for text in _numbers(one)]
        rows.append([*map(Cell, texts), *numbers, Cell(one.verdict.partition(":")[0])])
    notes = dict.fromkeys(one.verdict for one in found if ":" in one.verdict)
    met = sum(one.is_met and not one.row.apart for one in found)
    apart = sum(bool(one.row.apart) for one in found)
    missed = sum(not one.is_met for one in found)
    rest = sum(one.n_values for one in lacking)
    summary = f"{met} values match, {missed} differ, {apart} are not compared, {rest} were not checked"
    header = ["published in", "row", "number", "published", "ours", "difference", "verdict"]
    texts = [render(Table(header, rows, notes=list(notes)), form)] if rows else []
    if lacking and form == "text":
        lines = [
            f"not checked: {_sources(one)} ({one.n_values})\n  {printable(one.why)}\n  {printable(one.how)}"
            for one in lacking
        ]
        texts.append("\n".join(lines))
    elif lacking:
        cells = [[Cell(text) for text in (_sources(one), str(one.n_values), one.why, one.how)] for one in lacking]
        texts.append(render(Table(["not checked", "numbers", "why", "how to get it"], cells), form))
    return "\n\n".join([*texts, summary])


def _row_text(row: PublishedRow) -> str:
    backbone = f", {row.backbone}" if row.backbone else ""
    return f"{row.row}{backbone} ({row.protocol}{_rules_text(row)})"


def _rules_text(row: PublishedRow) -> str:
    return "".join(f", {name} {value}" for name, value in row.rules.items() if name in ("references", "ratings"))


def _numbers(one: Finding) -> list[str]:
    if one.ours != one.ours:
        return [one.row.text(one.column), "undefined", ""]
    digits = one.row.digits + 1
    return [one.row.text(one.column), f"{one.ours:.{digits}f}", f"{one.difference:+.{digits}f}"]


def _sources(one: Unchecked) -> str:
    """Return the tables of the rows with their metrics, without duplicates."""
    by_source: dict[str, list[str]] = {}
    for row in one.rows:
        by_source.setdefault(f"{row.source}{_rules_text(row)}", []).append(row.metric or row.row)
    return "; ".join(f"{source}: {', '.join(dict.fromkeys(names))}" for source, names in by_source.items())


def _print_list(options: argparse.Namespace) -> int:
    wanted = [one for one in list_published_tables() if not options.metrics or _is_of(one, options.metrics)]
    record = {"tables": [plain(one) | {"published": _list_published(one, None)} for one in wanted]}
    print_result(options, record, lambda: _render_list(wanted, options.format))
    return 0


def _render_list(wanted: Sequence[PublishedTable], form: str) -> str:
    if form == "text":
        return "\n\n".join(map(_in_lines, wanted))
    header = ["paper", "table or figure", "about", "command", "needs", "published", "checked", "why"]
    cells = []
    for one in wanted:
        published = "; ".join(_list_published(one, SHOWN)) or "-"
        texts = [list_papers()[one.paper], one.table, one.about, _command(one), one.needs or "-", published]
        cells.append([*map(Cell, texts), Cell(one.checked), Cell(one.why)])
    return render(Table(header, cells), form)


def _in_lines(one: PublishedTable) -> str:
    """Describe a table or figure with one fact per line, because its texts are too long for columns."""
    lines = [f"{list_papers()[one.paper]}, {one.table}: {one.about}"]
    lines += [f"  command: {_command(one)}"] if one.command else []
    lines += [f"  needs: {one.needs}"] if one.needs else []
    if published := _list_published(one, SHOWN):
        lines += ["  published:", *(f"    {row}" for row in published)]
    return "\n".join([*lines, f"  checked: {one.checked}, {one.why}"])


def _is_of(one: PublishedTable, metrics: Sequence[str]) -> bool:
    families = [row.metric for row in rows() if (row.paper, row.table) == (one.paper, one.table) and row.metric]
    words = {*re.findall(r"\w+", one.command or ""), *map(metric_of, families)}
    return not words.isdisjoint(metrics)


def _command(one: PublishedTable) -> str:
    """Return the command. Commands that this version does not have are marked."""
    if one.command is None:
        return "-"
    words = re.findall(r"vlgauge ([a-z-]+)", one.command)
    return one.command + "".join(f" ({word} is to come)" for word in dict.fromkeys(words) if word not in cli.COMMANDS)


def _list_published(one: PublishedTable, most: int | None) -> list[str]:
    """Return the rows of a table. Rows of metrics in vlgauge come first."""
    own = [row for row in rows() if (row.paper, row.table) == (one.paper, one.table)]
    own.sort(key=lambda row: row.metric is None)
    texts = [f"{_row_text(row)} {', '.join(f'{column} {row.text(column)}' for column in row.values)}" for row in own]
    return texts if most is None or len(texts) <= most else [*texts[:most], f"and {len(texts) - most} more rows"]
