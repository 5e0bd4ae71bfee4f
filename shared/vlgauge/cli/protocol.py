"""Evaluate metrics on a published dataset."""

import argparse
import inspect
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vlgauge.api.computing import load_metric, load_metrics
from vlgauge.cli import coco_systems
from vlgauge.cli.drawing import FIGURE_SUFFIXES, check_figure_file, draw_figure
from vlgauge.cli.inputs import SET_SOME, add_limits, add_shared, declare, parse_number
from vlgauge.cli.outputs import check_target, print_result, write_output
from vlgauge.cli.protocol_tables import JudgedTask, draw, record_of, render_tables
from vlgauge.cli.scoring import name_list, names_in, settings_by_metric
from vlgauge.core.catalog import WITH_REFERENCES, metric_folder
from vlgauge.core.errors import UsageError
from vlgauge.core.files import DATA
from vlgauge.research.protocols import PROTOCOLS, scoring
from vlgauge.research.protocols.corpora import read_corpus
from vlgauge.research.protocols.evaluation import Task, check_resamples, judge

RULES = (
    *("images", "videos", "references", "average", "unanimous", "draws", "vote_ties", "score_ties", "zero"),
    "independent",
)
NAMES = [*PROTOCOLS, coco_systems.NAME]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = __doc__
    parser.epilog = (DATA / "protocol_layouts.txt").read_text("utf-8")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    declare(parser, "name NAME", ", ".join(NAMES), choices=NAMES)
    declare(parser, "data DATA", "published files (see below), or folders that contain them", nargs="+")
    declare(parser, "--images FOLDER", "folder of the images (default: the folder of DATA)")
    declare(parser, "--videos FOLDER", "folder of the videos (default: the folder of DATA)")
    words = "rows without their file: raise an error, or leave them undefined"
    declare(parser, "--missing", words, choices=("error", "nan"), default="error")
    add_limits(parser)
    declare(parser, "--metric METRIC,...", "metrics, separated by commas (see `vlgauge list`), or length")
    declare(parser, "--baselines", f"also {', '.join(scoring.BASELINES)}")
    declare(parser, "--against NAME", "compare the others with this one (bleu_1, pac_s, ref_pac_s, ...), not all pairs")
    add_shared(parser, "set", "profile", set=SET_SOME)
    declare(parser, "--idf FILE", "corpus of word weights: VATEX's or ActivityNet's train captions")
    declare(parser, "--scores FILE", "scores in the order of the rows, in place of --metric")
    declare(parser, "--write-rows FILE", "write the rows as JSONL, to score them elsewhere")
    words = "references per row: a number, all, or none; several with commas for one table of each"
    declare(parser, "--references N,...", words, type=_counts)
    declare(
        parser, "--plot FILE", f"plot the first figure over the number of references ({', '.join(FIGURE_SUFFIXES)})"
    )
    declare(parser, "--average", "average the ratings of a caption first", default=None)
    declare(parser, "--unanimous", "only captions about which the raters agree, one row each", default=None)
    declare(parser, "--draws N", "random draws of references: a number, or fixed", type=_draws)
    declare(parser, "--vote-ties", "how to count equal votes for two captions", choices=("half", "random"))
    declare(parser, "--score-ties", "how to count equal scores of two captions", choices=("wrong", "half", "second"))
    declare(parser, "--zero SCORE", "score that corresponds to a cosine of 0 (default: 0.5, as for specs)", type=float)
    words = "count answers regardless of the answers to the questions they depend on"
    declare(parser, "--independent", words, default=None)
    words = "number of bootstrap samples; 0 for none (default: 1000, or as many as the pairs of metrics require)"
    seed = "seed of draws, random ties and intervals (default: 0)"
    add_shared(parser, "level", "resamples", "seed", resamples=words, seed=seed)
    add_shared(parser, "format", "output", "no_progress", output="write the whole result as JSON to this file")


def run(options: argparse.Namespace) -> None:
    """Run the command: read the data, compute or read the scores, and print the results.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    _check(options)
    if options.name == coco_systems.NAME:
        _check_rules(options, coco_systems.RULES)
        coco_systems.run(options, _metrics(options, video=False))
        return
    tasks = _tasks(options)
    if options.write_rows:
        _write_rows(next(iter(tasks.values())), options.write_rows)
    first = next(iter(tasks.values()))
    if not (_is_requested(options) or options.write_rows or first.released):
        raise UsageError("one of --metric, --baselines, --scores and --write-rows is required")
    if not (_is_requested(options) or first.released):
        return
    metrics = [] if options.scores else _metrics(options, video="videos" in first.columns)
    if options.against and not options.scores:
        _check_against(options.against, [*first.released, *families_of(_names(options), metrics)])
    judged = {count: _judge_scores(task, metrics, options) for count, task in tasks.items()}
    records = {count: record_of(one) for count, one in judged.items()}
    record = records.get(None, {"by_references": records})
    print_result(options, record, lambda: render_tables(judged, options.format))
    if options.plot:
        draw_figure(options.plot, lambda figure: draw(figure.subplots(), judged))


def _tasks(options: argparse.Namespace) -> dict[str | None, Task]:
    """Return the dataset for each number of references. The only key is None for a single one."""
    reader = PROTOCOLS[options.name]
    known = list(inspect.signature(reader).parameters)
    _check_rules(options, known)
    rules = {name: getattr(options, name) for name in RULES if getattr(options, name) is not None}
    rules |= {"seed": options.seed} if "seed" in known else {}
    counts = rules.pop("references", None)
    if counts is None:
        return {None: reader(options.data, **rules)}
    tasks = {text: reader(options.data, references=count, **rules) for text, count in counts.items()}
    return tasks if len(tasks) > 1 else {None: next(iter(tasks.values()))}


def _judge_scores(task: Task, metrics: Sequence[Any], options: argparse.Namespace) -> JudgedTask:
    """Return the scores of a task and their evaluation.

    A metric that requires references is left out if the rows have none. If nothing else is requested for the only
    table, it is kept and raises an error itself.
    """
    readable = [metric for metric in metrics if "references" in task.columns or not _needs_references(metric)]
    if not (readable or scoring.LENGTH in _names(options) or _has_several_tables(options)):
        readable = list(metrics)
    found = scoring.read_released_scores(task)
    found += [scoring.length_scores(task.columns)] if scoring.LENGTH in _names(options) else []
    if options.scores:
        found += scoring.read_scores(Path(options.scores))
    elif readable or not found:
        readable = readable or list(metrics)
        names = [*(scores.name for scores in found), *families_of([], readable)]
        names = [name for name in names if "references" in task.columns or not name.startswith(WITH_REFERENCES)]
        # Check this before anything is scored.
        n_pairs = len(names) - 1 if options.against else len(names) * (len(names) - 1) // 2
        check_resamples(options.resamples, n_pairs, options.level)
        with warnings.catch_warnings():
            # Each table is scored in one call, so the references of other tables do not matter.
            warnings.filterwarnings("ignore", message="CIDEr-D counts n-grams in the references of a call")
            found += scoring.metric_scores(readable, task.columns, missing=options.missing)
    how = {"level": options.level, "resamples": options.resamples, "seed": options.seed}
    values = {scores.name: scores.values for scores in found}
    left_out = [metric for metric in metrics if metric not in readable]
    unscored = [metric.name for metric in left_out]
    if options.against and options.against in families_of([], left_out):
        # There is no baseline in this table. It exists in the tables with references.
        return JudgedTask(task, found, replace(judge(task, values, **how), differences=[]), unscored)
    if options.against:
        _check_against(options.against, list(values))
    return JudgedTask(task, found, judge(task, values, against=options.against, **how), unscored)


def families_of(names: Sequence[str], metrics: Sequence[Any]) -> list[str]:
    """Return the families of scores that the metrics can return, and the length if it is one of the names."""
    found = [scoring.LENGTH] if scoring.LENGTH in names else []
    for metric in metrics:
        scored_with_references = [f"ref_{metric.name}"] if metric.configs else []
        found += ["bleu_1", "bleu_4"] if metric.name == "bleu" else [metric.name, *scored_with_references]
    return found


def _check_against(name: str, families: Sequence[str]) -> None:
    if name not in families:
        raise UsageError(f"--against must be one of {', '.join(families)}, got {name!r}")


def _needs_references(metric: Any) -> bool:
    return any(column.name == "references" and not column.optional for column in metric.columns)


def _names(options: argparse.Namespace) -> list[str]:
    given = names_in(options.metric)
    return [*given, *(name for name in scoring.BASELINES if options.baselines and name not in given)]


def _is_requested(options: argparse.Namespace) -> bool:
    return bool(options.metric or options.baselines or options.scores)


def _check(options: argparse.Namespace) -> None:
    """Check that the options can be combined, before anything is read."""
    if options.scores and (options.metric or options.baselines):
        raise UsageError("--metric and --baselines cannot be combined with --scores")
    if not options.metric and (options.profile or options.idf or (options.set and not options.baselines)):
        raise UsageError("--set, --profile and --idf require --metric")
    if _is_requested(options) and not options.scores:
        for name in name_list(",".join(_names(options))):
            if name != scoring.LENGTH:
                metric_folder(name)
    for option in ("plot", "scores", "write_rows"):
        if getattr(options, option) and _has_several_tables(options) != (option == "plot"):
            numbers = "several numbers" if option == "plot" else "one number"
            raise UsageError(f"--{option.replace('_', '-')} requires --references of {numbers}")
    sources = [*options.data, *([options.scores] if options.scores else [])]
    check_target(options.output, sources)
    check_target(options.write_rows, sources, "--write-rows", (".jsonl",))
    check_figure_file(options.plot, sources)


def _has_several_tables(options: argparse.Namespace) -> bool:
    return options.references is not None and len(options.references) > 1


def _check_rules(options: argparse.Namespace, known: Sequence[str]) -> None:
    for name in RULES:
        if getattr(options, name) is not None and name not in known:
            rules = ", ".join(f"--{rule.replace('_', '-')}" for rule in RULES if rule in known)
            raise UsageError(f"--{name.replace('_', '-')} is not supported for {options.name}, which has {rules}")


def _metrics(options: argparse.Namespace, *, video: bool) -> list[Any]:
    """Load the metrics of the options. For data of videos, use the configuration for videos of metrics that have it."""
    names = [name for name in _names(options) if name != scoring.LENGTH]
    if not names:
        return []
    settings = settings_by_metric(options.set, names)
    if options.idf:
        weighing = [name for name in names if "video" in load_metric(name).configs]
        for name in weighing:
            if "idf" in settings[name]:
                raise UsageError("--idf cannot be combined with --set idf=...")
            settings[name]["idf"] = read_corpus(options.idf)
        if not weighing:
            raise UsageError(f"--idf requires a metric that weighs words, got {', '.join(names)}")
    config = "video" if video and any("video" in load_metric(name).configs for name in names) else None
    return load_metrics(settings, config=config, profile=options.profile)


def _write_rows(task: Task, target: str) -> None:
    if any(isinstance(image, Mapping) and image.get("bytes") for image in task.columns.get("images", [])):
        raise UsageError("--write-rows is not supported if DATA contains the images, which cannot be written as JSON")
    cells = zip(*task.columns.values(), strict=True)
    lines = [json.dumps(dict(zip(task.columns, row, strict=True)), ensure_ascii=False) for row in cells]
    write_output(target, "\n".join(lines) + "\n", "--write-rows")


def _counts(text: str) -> dict[str, int | None]:
    """Parse numbers of references. The keys are the words of the user, the values are None for all."""
    found: dict[str, int | None] = {}
    for word in [part.strip() for part in text.split(",")]:
        count = None if word == "all" else 0 if word == "none" else parse_number(word, int, "an integer, all or none")
        if count in found.values():
            raise argparse.ArgumentTypeError(f"must have each number once, got {text!r}")
        found[word] = count
    return found


def _draws(text: str) -> int | str:
    return text if text == "fixed" else parse_number(text, int, "an integer or fixed")
