"""Runs of several systems, joined by the ids of their rows and checked for comparability."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from vlgauge.core.catalog import metric_of_score, score_facts
from vlgauge.core.errors import UsageError
from vlgauge.core.results import mean_of_defined, row_keys
from vlgauge.core.signatures import describe_differences, parse_signature
from vlgauge.core.validation import short_repr, warn
from vlgauge.families.aggregation import corpus_counts, find_counts, value_of_rows
from vlgauge.families.set_sizes import (
    OPTION,
    are_bound,
    comparable_signature,
    sizes_signed,
    sizes_used,
    without_sizes,
)
from vlgauge.leaderboard.common_rows import JoinedScores
from vlgauge.leaderboard.runs import Run, groups_of_run, numbers
from vlgauge.stats.drawing import is_unlabeled

_REMEDY = (
    "compare the predictions of all systems instead of their scores: the same number of captions per row is sampled "
    "for every system"
)
_MEAN_TOLERANCE = 1e-9  # rounding of a mean that is summed in a different order


def join_rows(runs: Mapping[str, Run]) -> tuple[list[str], dict[str, list[int]]]:
    """Return the keys of the rows, and for each system the index of each key among its rows.

    Raises:
        ValueError: If a system has no list of ids, repeats an id, or has different rows from another system.
    """
    if lacking := [name for name, run in runs.items() if not isinstance(run.get("ids"), list | tuple)]:
        raise UsageError.about(
            "runs",
            f"must have a list `ids` of row ids for every system, {', '.join(lacking)} "
            f"{'have' if len(lacking) > 1 else 'has'} none",
            'from Python pass {"ids": ids} | metric.compute(...)',
        )
    keys: list[str] = []
    orders = {}
    for name, run in runs.items():
        own = row_keys(run["ids"])
        index = {key: row for row, key in enumerate(own)}
        if len(index) < len(own):
            twice = next(key for row, key in enumerate(own) if index[key] != row)
            problem = f"must name each row once, {name} has {short_repr(twice)} more than once"
            raise UsageError.about("ids", problem, "use a unique id for each row, or remove duplicates")
        keys = keys or own
        if set(keys) != set(own):
            first = next(iter(runs))
            raise UsageError.about(
                "ids",
                f"must be the same in every system, {first} has {_few(set(keys) - set(own))} that {name} lacks, "
                f"{name} has {_few(set(own) - set(keys))} that {first} lacks",
                "score the same rows with every system",
            )
        orders[name] = [index[key] for key in keys]
    if not keys:
        raise UsageError.about("ids", "must name at least one row, got none")
    return keys, orders


def _few(keys: set[str]) -> str:
    if not keys:
        return "none"
    named = ", ".join(map(short_repr, sorted(keys)[:3]))
    return named if len(keys) <= 3 else f"{named} and {len(keys) - 3} more"


def labels_in_order(groups: Mapping[str, object], keys: Sequence[str]) -> list[str]:
    """Return the label of each row as a string, so that 1 and "1" are the same group, as in files.

    Raises:
        ValueError: If the label of a row is missing, None, NaN or blank.
    """
    labels = dict(zip(row_keys(groups), groups.values(), strict=True))
    if lacking := [key for key in keys if is_unlabeled(labels.get(key))]:
        raise UsageError.about("groups", f"must have a label for every row, got none for {_few(set(lacking))}")
    return [str(labels[key]) for key in keys]


def labels_of_runs(runs: Mapping[str, Run], keys: Sequence[str]) -> list[str] | None:
    """Return the label of each row by the groups that runs name.

    Runs without groups have the same rows as the others, and use their groups.

    Returns:
        Labels in the order of `keys`. None if no run names groups, or if runs name them differently, with a warning.

    Raises:
        UsageError: If two runs assign a row to different groups.
    """
    found = {name: groups for name, run in runs.items() if (groups := groups_of_run(run)) is not None}
    names = sorted({groups.name for groups in found.values()})
    if len(names) > 1:
        warn(
            f"the files of scores have different groups ({' and '.join(names)}), so rows are resampled independently; "
            "choose the groups with `groups`"
        )
    if len(names) != 1:
        return None
    labels = check_labels_agree(
        {name: dict(zip(row_keys(runs[name]["ids"]), own.labels, strict=True)) for name, own in found.items()}
    )
    return [labels[key] for key in keys]


def check_labels_agree(found: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the label of each row, by its key, after checking that all systems agree.

    Args:
        found: Labels by key of the row, by name of the system.

    Raises:
        UsageError: If two systems assign a row to different groups.
    """
    labels: dict[str, str] = {}
    for name, own in found.items():
        for key, label in own.items():
            if labels.setdefault(key, label) != label:
                raise UsageError.about(
                    "groups",
                    f"must have each row in one group, row {short_repr(key)} is in {short_repr(labels[key])} and, by "
                    f"{name}, in {short_repr(label)}",
                    "pass labels by id",
                )
    return labels


def join_scores(
    metric: str, runs: Mapping[str, Run], orders: Mapping[str, Sequence[int]], keys: Sequence[str]
) -> JoinedScores:
    """Return the scores of all systems by a metric, in the order of the joined rows.

    Args:
        metric: Name of the metric.
        runs: Scores by name of the system.
        orders: Indices of the rows of each system, from `join_rows`.
        keys: Keys of the rows.

    Raises:
        ValueError: If scores, counts or signatures are missing, invalid or not comparable, no row is defined for every
            system, or a system has only counts of 0 in these rows.
    """
    signature = _common_signature(metric, runs)
    counted = find_counts(metric, signature)
    if counted is None and score_facts(metric).compares_sets:
        _check_set_sizes(metric, runs, orders)
    scores = {name: _scores_in_order(metric, name, run, orders[name], len(keys)) for name, run in runs.items()}
    if counted is None:
        values = {name: np.array(own) for name, own in scores.items()}
    else:
        values = {name: corpus_counts(metric, run, f"runs[{name!r}]")[orders[name]] for name, run in runs.items()}
    joined = JoinedScores(metric, signature, keys, scores, counted, values)
    for name, own in values.items():
        if math.isnan(value_of_rows(counted, own[joined.rows])):
            raise UsageError.about(
                "runs",
                f"must have a value of {metric} for every system, {name} has none on the {len(joined.rows)} rows that "
                "are defined for every system, because all counts are zero",
                f"leave {name} out",
            )
    return joined


def _common_signature(metric: str, runs: Mapping[str, Run]) -> str:
    """Return the signature that all systems have in common.

    Raises:
        ValueError: If a system has no signature, or two signatures differ. The message names the fields that differ.
    """
    found = {name: str(run.get(f"{metric}_signature", "")) for name, run in runs.items()}
    first, signature = next(iter(found.items()))
    for name, other in found.items():
        if parse_signature(other)[0] != metric:
            raise UsageError.about("runs", f"must have a signature of {metric} for every system, {name} has none")
        if without_sizes(other) != without_sizes(signature):
            unlike = describe_differences(without_sizes(signature), without_sizes(other)) or "order"
            problem = f"must have been scored in the same way by {metric}, {first} and {name} differ in {unlike}"
            raise UsageError.about("runs", problem, "score both with the same settings and version")
    return signature if len(set(found.values())) == 1 else comparable_signature(signature)


def _check_set_sizes(metric: str, runs: Mapping[str, Run], orders: Mapping[str, Sequence[int]]) -> None:
    """Check that the caption sets of each row have equal sizes in every system. Warn if the sizes are unknown.

    Raises:
        ValueError: If caption sets have unequal sizes.
    """
    sizes = {
        name: sizes_used(metric_of_score(metric), [run["sizes"][row] for row in orders[name]])
        for name, run in runs.items()
        if run.get("sizes")
    }
    (first, own), *others = sizes.items() or [("", [])]
    for name, other in others:
        if other != own:
            raise UsageError(_unequal(metric, sizes, first, name))
    if len(sizes) == len(runs):
        return
    set_sizes = {name: sizes_signed(str(run[f"{metric}_signature"])) for name, run in runs.items()}
    known = sorted(set(filter(None, set_sizes.values())))
    if known and not (len(known) == 1 and are_bound(known[0])):
        raise UsageError.about(
            "runs",
            f"must have sets of equal sizes per row for every system by {metric}, which the signatures do not "
            f"contain, got {' and '.join(known)}",
            _REMEDY,
        )
    if not all(set_sizes.values()):
        warn(
            f"the scores of {metric} can only be compared if every system has the same number of captions per row, "
            "but the files contain no sizes; score again with `vlgauge score`"
        )


def _unequal(metric: str, sizes: Mapping[str, Sequence[tuple[int, ...]]], first: str, other: str) -> str:
    of_people = [[size[1:] for size in sizes[name]] for name in (first, other)]
    if of_people[0] != of_people[1]:
        return (
            f"`runs` must have as many references per row for every system by {metric}, {first} and {other} have "
            f"unequal numbers; score both against the same references"
        )
    least = min(size[0] for own in sizes.values() for size in own)
    # Rows with fewer than two captions have no score.
    again = f", or score every system again with {OPTION} {least}, the smallest number per row" if least > 1 else ""
    return (
        f"`runs` must have as many captions per row for every system by {metric}, because its scores depend on this "
        f"number; {first} and {other} have unequal numbers; {_REMEDY}{again}"
    )


def _scores_in_order(metric: str, name: str, run: Run, order: Sequence[int], n_rows: int) -> tuple[float, ...]:
    """Return the scores of a system in the order of the joined rows.

    Raises:
        ValueError: If the scores are missing, infinite, undefined in every row, or inconsistent with the mean of the
            run.
    """
    key = f"{metric}_scores"
    if key not in run:
        raise UsageError.about("runs", f"must have {key} for every system, {name} has none")
    own = numbers(f"{key} of {name}", run[key], row_keys(run["ids"]))
    if all(map(math.isnan, own)):
        raise UsageError.about(
            f"{key} of {name}", f"must be defined for at least one of {n_rows} rows, got NaN for all"
        )
    mean = run.get(key.removesuffix("_scores"))
    if (
        find_counts(metric, str(run.get(f"{metric}_signature", ""))) is None
        and isinstance(mean, (int, float))
        and not is_same_mean(found := mean_of_defined(own), mean)
    ):
        problem = f"must have the mean {mean:.6g}, got {found:.6g}"
        raise UsageError.about(f"{key} of {name}", problem, "the file was modified, score again")
    return tuple(own[row] for row in order)


def is_same_mean(one: float, other: float) -> bool:
    """Return whether two values are equal up to the rounding error of a mean."""
    return math.isclose(one, other, rel_tol=_MEAN_TOLERANCE, abs_tol=_MEAN_TOLERANCE)
