"""Run the experiments of GROOViST on a file of stories and their images."""

import argparse
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from vlgauge.api.computing import load_metric
from vlgauge.cli.inputs import add_limits, add_shared, at_least, declare, ratings_of
from vlgauge.cli.outputs import check_target, write_json
from vlgauge.cli.protocol_tables import EMBEDDED
from vlgauge.cli.scoring import name_list, settings_by_metric
from vlgauge.core.catalog import metric_facts
from vlgauge.core.errors import UsageError
from vlgauge.core.progress import progress_bar
from vlgauge.core.results import PValue, mean_of_defined, plain, pvalue_text, to_table
from vlgauge.inputs.tables.files import Rows, make_paths_absolute, read_rows, take_column
from vlgauge.inputs.text.story_idf import fit_idf, idf_table
from vlgauge.leaderboard.table import few_notes
from vlgauge.research.studies.groovist import (
    PairedScores,
    RandomPairs,
    Stories,
    ablations,
    compare_pairs,
    parts_of_data,
    random_pairs,
)
from vlgauge.research.studies.groovist_analyses import MATCHING, StoryAnalyses, analyze_stories
from vlgauge.research.studies.random_pairing import noun_pairs, sentence_pairs
from vlgauge.stats import FEW, FEW_MARK, FEW_NOTE
from vlgauge.stats.rating_agreement import PVALUE_NOTE, Agreement, agreement

NAME = "groovist"
ANALYSES = {
    "misalignment": "temporal misalignment T",
    "proportion": "noun phrase proportion P",
    "coverage": "coverage of the images",
    "f": "harmonic mean of score and coverage",
}
# Metrics that score random pairs, with the function that scores them. None for the metric itself.
PAIRED: dict[str, Callable[..., PairedScores] | None] = {
    NAME: None,
    "rovist_vg": noun_pairs,
    "clip_s": sentence_pairs,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = __doc__
    experiments = parser.add_subparsers(dest="experiment", required=True, metavar="EXPERIMENT")
    one = _add(experiments, "random-pairs", "compare stories with random stories for the same images")
    words = f"of {', '.join(PAIRED)}, with commas (default: {NAME}); the same random stories for all"
    declare(one, "--metrics METRICS", words, default=NAME)
    words = "random stories per sequence (default: 5)"
    declare(one, "--random N", words, type=int, default=5)
    one.set_defaults(run=run_random_pairs)
    one = _add(
        experiments, "correlation", "Kendall's tau-c with ratings, over all stories and over stories with high T or P"
    )
    declare(one, "--ratings COLUMN", "column of the ratings", required=True)
    add_shared(one, "resamples", resamples={"type": partial(at_least, 0), "default": 1000})
    one.set_defaults(run=run_correlation)
    one = _add(experiments, "analyses", "T, P and the coverage of the images by the stories, without ratings")
    matching = "T: count each other image that matches, or the best once (default: each)"
    declare(one, "--matching", matching, choices=MATCHING, default="each")
    declare(one, "--sentence-image COLUMN", "column with the image of each sentence, for T")
    one.set_defaults(run=run_analyses)
    one = _add(experiments, "ablations", "all variants of Tables 2 and 3 of the paper, from one comparison")
    declare(one, "--ratings COLUMN", "column of the ratings, for tau-c")
    declare(one, "--idf FILE", "fitted idf (default: fitted on the stories of FILE)")
    add_shared(one, "resamples", resamples={"type": partial(at_least, 0), "default": 1000})
    declare(one, "--random N", words, type=int, default=5)
    one.set_defaults(run=run_ablations)
    one = _add(experiments, "fit-theta", "fit theta on the stories and write it, for --set theta=THETA")
    declare(one, "--theta THETA", "JSON file to write", required=True)
    one.set_defaults(run=run_fit_theta)


def _add(experiments: Any, name: str, words: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = experiments.add_parser(name, help=words, description=words[0].upper() + words[1:])
    declare(parser, "file FILE", "JSONL, JSON or Parquet file, one story per row")
    add_shared(parser, "input_format")
    add_limits(parser)
    declare(parser, "--predictions COLUMN", "column of the stories", default="predictions")
    declare(parser, "--images COLUMN", "column with the lists of image files", default="images")
    declare(parser, "--regions COLUMN", "column of the regions of each image (default: detect them)")
    declare(parser, "--noun-phrases COLUMN", "column of the noun phrases of each story (default: extract them)")
    changed = {"set": "set an option of groovist", "output": "write all results as JSON to this file"}
    add_shared(parser, "set", "profile", "seed", "output", "no_progress", **changed)
    return parser


def run_random_pairs(options: argparse.Namespace) -> None:
    """Run the first evaluation criterion of the paper.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    names = name_list(options.metrics, "--metrics")
    if set(names) - PAIRED.keys():
        raise UsageError(f"--metrics must be one or several of {', '.join(PAIRED)}, got {options.metrics!r}")
    loaders = {name: loader(options, name, names) for name in names}
    data, _ = _read(options)
    _check_random(options, len(data.stories), 1)
    drawn: dict[str, Any] = {"n_random": options.random, "seed": options.seed}
    others = {name: loaders[name]() for name in names if name != NAME}
    record = {}
    for name in names:
        with progress_bar(len(data.stories), f"Comparing by {name}") as advance:
            pair = PAIRED[name]
            if pair is None:
                scores = compare_pairs(loaders[name], data, advance=advance, **drawn).scores()
            else:
                scores = pair(others[name], data, advance=advance, **drawn)
        result = random_pairs(scores.own, scores.random, seed=options.seed)
        _print_random_pairs(name, options.random, result, len(scores.own) - result.n, scores.signature)
        record[name] = {"summary": result, **vars(scores)}
    if options.profile == "embedded":
        print(EMBEDDED)
    _write(options, record[NAME] if names == [NAME] else {"metrics": record})


def _print_random_pairs(name: str, n_random: int, result: RandomPairs, left_out: int, signature: str) -> None:
    titles = {"own": "own story", "random": f"best of {n_random} random stories"}
    titles |= {"difference": "difference", "wins": "own story wins"}
    rows: list[list[Any]] = []
    for key, title in titles.items():
        interval = result.intervals[key]
        rows.append([title, getattr(result, key), *((interval.low, interval.high) if interval else (None, None))])
    rows.append(["p of the difference", PValue(result.test.pvalue), None, None])
    better = metric_facts(name).better
    print(to_table([f"{name} ({better} is better), {result.n} image sequences", "value", "95% from", "to"], rows))
    if 2 <= result.n < FEW:
        print(f"{FEW_MARK} {FEW_NOTE}")
    _print_left_out(left_out, "a score")
    print(f"\n{signature}\n")


def run_correlation(options: argparse.Namespace) -> None:
    """Run the second evaluation criterion of the paper, with Figure 3.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    data, rows = _read(options)
    ratings = ratings_of(rows, options.ratings)
    result, analyses = _analyze(options, data)
    scores, t, p = result[f"{NAME}_scores"], analyses.misalignment, analyses.proportion
    parts = parts_of_data(t, p, ratings)
    found = {name: _agreement(scores, ratings, options, chosen) for name, chosen in parts.items()}
    cells = []
    for name, one in found.items():
        tau = one.correlations["tau_c"]
        pvalue = pvalue_text(tau.pvalue, least=tau.least_pvalue)
        cells.append([_mark_name(name, one), one.n, tau.value, tau.low, tau.high, pvalue])
    print(to_table([f"{NAME} with {options.ratings}", "stories", "tau-c", "95% from", "to", "p"], cells))
    print(f"\n{PVALUE_NOTE}")
    _print_few(found.values())
    _print_left_out(found["all stories"].n_dropped, "a score or a rating")
    print(f"\n{result[f'{NAME}_signature']}")
    _write(options, {"agreement": found, "scores": scores, "T": t, "P": p, "signature": result[f"{NAME}_signature"]})


def run_analyses(options: argparse.Namespace) -> None:
    """Compute T, P and the coverage of the images, and print their means.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    data, rows = _read(options)
    images = take_column(rows, options.sentence_image) if options.sentence_image else None
    result, analyses = _analyze(options, data, matching=options.matching, sentence_image=images)
    columns = {ANALYSES[name]: values for name, values in vars(analyses).items()}
    cells = [[title, mean_of_defined(values), sum(map(math.isnan, values))] for title, values in columns.items()]
    print(to_table([f"{NAME}, {len(data.stories)} stories", "mean", "undefined"], cells))
    print(f"\n{result[f'{NAME}_signature']}")
    _write(options, {"scores": result[f"{NAME}_scores"], **vars(analyses), "signature": result[f"{NAME}_signature"]})


def _analyze(options: argparse.Namespace, data: Stories, **how: Any) -> tuple[dict[str, Any], StoryAnalyses]:
    metric = loader(options)()
    result = metric.compute(**_columns(data), return_details=True)
    return result, analyze_stories(metric, result, **how)


def _columns(data: Stories) -> dict[str, Any]:
    given = {"images": data.images, "regions": data.regions, "noun_phrases": data.noun_phrases}
    return {"predictions": data.stories, **given}


def run_ablations(options: argparse.Namespace) -> None:
    """Compute Tables 2 and 3 of the paper.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    if options.noun_phrases:
        raise UsageError("--noun-phrases is not supported, because the variants with nouns extract their own units")
    _check_ablated(settings_by_metric(options.set, [NAME])[NAME])
    data, rows = _read(options)
    _check_random(options, len(data.stories), 0)
    ratings = ratings_of(rows, options.ratings) if options.ratings else None
    # Phrases are lowercase.
    idf = idf_table(options.idf) if options.idf else fit_idf(data.stories, lowercase=True)
    with progress_bar(2 * len(data.stories), "Comparing") as advance:
        variants = ablations(loader(options), data, idf, n_random=options.random, seed=options.seed, advance=advance)
    table, record, agreements, left_out = [], {}, [], 0
    titles = ["variant", "own", "random", "difference", "own wins"]
    titles += [] if ratings is None else ["tau-c", "95% from", "to"]
    for name, scores in variants.items():
        pairs = random_pairs(scores.own, scores.random, seed=options.seed)
        found = None if ratings is None else _agreement(scores.own, ratings, options)
        tau = None if found is None else found.correlations["tau_c"]
        interval = [] if tau is None else [tau.value, tau.low, tau.high]
        left_out = 0 if found is None else max(left_out, found.n_dropped)
        title = name if found is None else _mark_name(name, found)
        agreements += [] if found is None else [found]
        table.append([title, pairs.own, pairs.random, pairs.difference, pairs.wins, *interval])
        record[name] = {"pairs": pairs, "agreement": found, "scores": scores}
    print(to_table(titles, table))
    _print_few(agreements)
    _print_left_out(left_out, "a score or a rating")
    print(f"\n{variants['GROOViST'].signature}")
    _write(options, {"variants": record})


def run_fit_theta(options: argparse.Namespace) -> None:
    """Fit theta on the stories with the settings of the metric.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    check_target(options.theta, [options.file], "--theta")
    data, _ = _read(options)
    fitted = loader(options)().fit_theta(**_columns(data), path=options.theta)
    print(to_table(["theta", options.theta], list(fitted.items())))
    _write(options, fitted)


def loader(options: argparse.Namespace, name: str = NAME, names: Sequence[str] = (NAME,)) -> Callable[..., Any]:
    """Return a function that loads a metric with the settings of the command and additional ones.

    Args:
        options: Options of the command.
        name: Name of the metric.
        names: Names of all metrics of the command.
    """
    common = {"profile": options.profile} if options.profile else {}
    settings = settings_by_metric(options.set, names)[name]
    return lambda **more: load_metric(name, **common | settings | more)


def _check_random(options: argparse.Namespace, n_stories: int, least: int) -> None:
    if n_stories <= least:
        raise UsageError(f"FILE must have at least {least + 1} stories for random pairs, got {n_stories}")
    if not least <= options.random < n_stories:
        raise UsageError(
            f"--random must be from {least} to {n_stories - 1}, the number of other stories, got {options.random}"
        )


def _check_ablated(settings: Mapping[str, Any]) -> None:
    """Check that no settings are passed that the ablations vary or do not support."""
    varied = [name for name in ("units", "penalize", "idf", "normalize") if name in settings]
    if settings.get("concreteness", "brysbaert") in (None, "idf"):
        varied.append("concreteness")
    if varied:
        raise UsageError(
            f"--set {varied[0]} is not supported for ablations, which vary it, got {settings[varied[0]]!r}"
        )


def _read(options: argparse.Namespace) -> tuple[Stories, Rows]:
    check_target(options.output, [options.file])
    rows = read_rows(options.file, options.input_format)
    columns = {name: getattr(options, name) for name in ("predictions", "images", "regions", "noun_phrases")}
    cells = {name: take_column(rows, title) if title else None for name, title in columns.items()}
    for name in ("images", "regions"):
        # Relative paths of images and crops are relative to the folder of the file.
        cells[name] = make_paths_absolute({"images": cells[name]}, options.file)["images"]
    return Stories(cells["predictions"] or [], cells["images"] or [], cells["regions"], cells["noun_phrases"]), rows


def _agreement(
    scores: Sequence[float], ratings: Sequence[float], options: argparse.Namespace, chosen: Sequence[bool] | None = None
) -> Agreement:
    which = [i for i in range(len(scores)) if chosen is None or chosen[i]]
    return agreement(
        [scores[i] for i in which],
        [ratings[i] for i in which],
        coefficients=["tau_c"],
        resamples=options.resamples,
        seed=options.seed,
    )


def _mark_name(name: str, found: Agreement) -> str:
    """Return the name of a row, with the mark of intervals of few stories if its interval is one."""
    return f"{name} {FEW_MARK}" if found.is_of_few and not math.isnan(found.correlations["tau_c"].low) else name


def _print_few(every: Iterable[Agreement]) -> None:
    for note in few_notes(_mark_name("", found) != "" for found in every):
        print(note)


def _print_left_out(count: int, lacking: str) -> None:
    if count:
        print(f"\nleft out for lack of {lacking}: {count}")


def _write(options: argparse.Namespace, record: Mapping[str, Any]) -> None:
    if options.output:
        write_json(options.output, plain(record))
