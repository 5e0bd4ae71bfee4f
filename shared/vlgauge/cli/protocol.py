"""`vlgauge protocol NAME DATA... --metric METRIC`: how well a metric does on a data set that metrics are judged by."""

from __future__ import annotations

import argparse
import inspect
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vlgauge.cli.inputs import add_limits
from vlgauge.cli.outputs import check_target, write_json, write_output
from vlgauge.cli.scoring import load_metric, load_metrics, metric_list, settings_by_metric
from vlgauge.results import plain, to_json, to_table
from vlgauge.settings import PROFILES
from vlgauge.studies.protocols import (
    PROTOCOLS,
    Evaluation,
    Figure,
    Scores,
    Task,
    metric_scores,
    read_corpus,
    read_scores,
)

RULES = ("images", "videos", "references", "average", "draws", "vote_ties", "score_ties")
EMBEDDED = "embedded profile: a toy trained on drawn scenes; these are no figures of the published metric"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = __doc__
    parser.add_argument("name", metavar="NAME", choices=PROTOCOLS, help=", ".join(PROTOCOLS))
    parser.add_argument("data", metavar="DATA", nargs="+", help="the published files, or folders that hold them")
    parser.add_argument("--images", metavar="FOLDER", help="the images (default: the folder of DATA)")
    parser.add_argument("--videos", metavar="FOLDER", help="the videos (default: the folder of DATA)")
    parser.add_argument(
        "--missing", choices=("error", "nan"), default="error", help="rows without their file: refuse, or no score"
    )
    add_limits(parser)
    parser.add_argument("--metric", metavar="METRIC", help="a metric that scores the rows; see `vlgauge list`")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the metric")
    parser.add_argument("--profile", choices=PROFILES, help="published weights, or what is shipped")
    parser.add_argument("--idf", metavar="FILE", help="corpus of word weights: VATEX's or ActivityNet's train captions")
    parser.add_argument("--scores", metavar="FILE", help="scores in the order of the rows, in place of --metric")
    parser.add_argument("--write-rows", metavar="FILE", help="write the rows as JSONL, to score them elsewhere")
    parser.add_argument("--references", metavar="N", type=_count, help="references per row: a number, all, or none")
    parser.add_argument("--average", action="store_true", default=None, help="average the ratings of a caption first")
    parser.add_argument("--draws", metavar="N", type=_draws, help="random draws of references: a number, or fixed")
    parser.add_argument("--vote-ties", choices=("half", "random"), help="what as many votes for either caption count")
    parser.add_argument(
        "--score-ties", choices=("wrong", "half", "second"), help="what equal scores of two captions count"
    )
    parser.add_argument("--level", type=float, default=0.95, help="of the intervals (default: 0.95)")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="of the intervals; 0 for none (1000)")
    parser.add_argument("--seed", type=int, default=0, help="of draws, random ties and intervals (default: 0)")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="of what is printed")
    parser.add_argument("--output", metavar="FILE", help="write the whole result as JSON to this file")
    parser.add_argument("--no-progress", action="store_true", help="never show a bar")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read the data, score the rows or read their scores, print the figures."""
    _check(options)
    reader = PROTOCOLS[options.name]
    task = reader(options.data, **_rules(options, list(inspect.signature(reader).parameters)))
    if options.write_rows:
        _write_rows(task, options.write_rows)
    if not (options.metric or options.scores):
        return 0
    found = read_scores(Path(options.scores)) if options.scores else _scored(task, options)
    how = {"level": options.level, "resamples": options.resamples, "seed": options.seed}
    progress = False if options.no_progress else None
    judged = [(scores, task.evaluate(scores.values, **how, progress=progress)) for scores in found]
    record = {scores.name: _record(scores, evaluation) for scores, evaluation in judged}
    record["left_out"] = dict(task.left_out)
    if options.output:
        write_json(options.output, record)
    print(to_json(record) if options.format == "json" else summary(task, judged))
    return 0


def summary(task: Task, judged: Sequence[tuple[Scores, Evaluation]]) -> str:
    """One row per family of scores, as in the papers' tables, and below it what was left out and how it was made."""
    seen = "videos" if "videos" in task.columns else "images"
    header = ["metric", *judged[0][1].figures, task.unit, seen, "undefined"]
    rows = [
        [_label(scores), *map(_cell, found.figures.values()), found.n, found.n_groups, found.undefined]
        for scores, found in judged
    ]
    lines = [to_table(header, rows), ""]
    lines += [f"left out: {count} {reason}" for reason, count in task.left_out.items() if count]
    lines += [
        f"{scores.name}: {found.undefined} {task.unit} have no score and do not count"
        for scores, found in judged
        if found.undefined
    ]
    lines += [EMBEDDED] if any(map(_is_embedded, (scores for scores, _ in judged))) else []
    lines += [judged[0][1].signature, *(scores.signature for scores, _ in judged if scores.signature)]
    return "\n".join(lines)


def _check(options: argparse.Namespace) -> None:
    """Refuse words that do not go together before anything is read."""
    if options.metric and options.scores:
        raise ValueError("--metric must be left out next to --scores, got both")
    if not (options.metric or options.scores or options.write_rows):
        raise ValueError("--metric, --scores or --write-rows must be given, got none of them")
    if not options.metric and (options.set or options.profile or options.idf):
        raise ValueError("--set, --profile and --idf must come with --metric, which was left out")
    if options.metric and len(metric_list(options.metric)) > 1:
        raise ValueError(f"--metric must name one metric, got {options.metric!r}")
    sources = [*options.data, *([options.scores] if options.scores else [])]
    check_target(options.output, sources)
    check_target(options.write_rows, sources, "--write-rows", (".jsonl",))


def _rules(options: argparse.Namespace, known: Sequence[str]) -> dict[str, Any]:
    """Keywords of the reader.

    Raises:
        ValueError: If an option is none of them.
    """
    given = {name: getattr(options, name) for name in RULES if getattr(options, name) is not None}
    for name in given:
        if name not in known:
            rules = ", ".join(f"--{rule.replace('_', '-')}" for rule in RULES if rule in known)
            raise ValueError(f"--{name.replace('_', '-')} must be left out for {options.name}, which has {rules}")
    if given.get("references") == "all":
        given["references"] = None
    return {**given, **({"seed": options.seed} if "seed" in known else {})}


def _scored(task: Task, options: argparse.Namespace) -> list[Scores]:
    (name,) = metric_list(options.metric)
    settings = settings_by_metric(options.set, [name])
    if options.idf:
        if "idf" in settings[name]:
            raise ValueError("--idf must be left out next to --set idf=..., got both")
        settings[name]["idf"] = read_corpus(options.idf)
    config = "video" if "videos" in task.columns and "video" in load_metric(name).configs else None
    (metric,) = load_metrics(settings, config=config, profile=options.profile, quiet=options.no_progress)
    return metric_scores(metric, task.columns, missing=options.missing)


def _write_rows(task: Task, target: str) -> None:
    if any(isinstance(image, Mapping) and image.get("bytes") for image in task.columns.get("images", [])):
        raise ValueError("--write-rows must be left out where DATA has the images in it, which JSON cannot hold")
    cells = zip(*task.columns.values(), strict=True)
    lines = [json.dumps(dict(zip(task.columns, row, strict=True)), ensure_ascii=False) for row in cells]
    write_output(target, "\n".join(lines) + "\n", "--write-rows")


def _record(scores: Scores, found: Evaluation) -> dict[str, Any]:
    return {**plain(found), "scores": scores.values, "scores_signature": scores.signature}


def _is_embedded(scores: Scores) -> bool:
    return "profile:embedded" in scores.signature.split("|")


def _label(scores: Scores) -> str:
    return f"{scores.name} (embedded)" if _is_embedded(scores) else scores.name


def _cell(figure: Figure) -> str:
    if figure.value != figure.value:
        return "undefined"
    interval = f" [{figure.low:.1f}, {figure.high:.1f}]" if figure.low == figure.low else ""
    return f"{figure.value:.2f}{interval}"


def _count(text: str) -> int | str:
    return "all" if text == "all" else 0 if text == "none" else _whole(text, "a whole number, all or none")


def _draws(text: str) -> int | str:
    return text if text == "fixed" else _whole(text, "a whole number or fixed")


def _whole(text: str, expected: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be {expected}, got {text!r}") from None
