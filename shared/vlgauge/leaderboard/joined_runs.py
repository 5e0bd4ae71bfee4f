"""The runs of several systems, joined by the ids of their rows and checked: what can be compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from vlgauge.catalog import metric_facts
from vlgauge.corpus_values import COUNTED
from vlgauge.leaderboard.runs import Run, numbers, row_keys
from vlgauge.results import mean_of_defined
from vlgauge.settings import shown, warn
from vlgauge.signatures import parse_signature, unlike_fields

_MEAN_TOLERANCE = 1e-9  # a mean may have been added up in another order


def joined_rows(runs: Mapping[str, Run]) -> tuple[list[str], dict[str, list[int]]]:
    """Keys of the rows, and for each system the index of each of them among its own rows.

    Raises:
        ValueError: If a system names a row twice, or two do not have the same rows.
    """
    keys: list[str] = []
    orders = {}
    for name, run in runs.items():
        own = row_keys(run["ids"])
        index = {key: row for row, key in enumerate(own)}
        if len(index) < len(own):
            twice = next(key for row, key in enumerate(own) if index[key] != row)
            raise ValueError(f"`ids` must name each row once, {name} has {shown(twice)} more than once")
        keys = keys or own
        if set(keys) != set(own):
            first = next(iter(runs))
            raise ValueError(
                f"`ids` must be the same in every system, {first} has {_few(set(keys) - set(own))} that {name} lacks, "
                f"{name} has {_few(set(own) - set(keys))} that {first} lacks"
            )
        orders[name] = [index[key] for key in keys]
    if not keys:
        raise ValueError("`ids` must name at least one row, got none")
    return keys, orders


def _few(keys: set[str]) -> str:
    if not keys:
        return "none"
    named = ", ".join(map(shown, sorted(keys)[:3]))
    return named if len(keys) <= 3 else f"{named} and {len(keys) - 3} more"


def labels_in_order(groups: Mapping[str, object], keys: Sequence[str]) -> list[object]:
    """The label of each row.

    Raises:
        ValueError: If a row has none.
    """
    labels = dict(zip(row_keys(groups), groups.values(), strict=True))
    if lacking := [key for key in keys if key not in labels]:
        raise ValueError(f"`groups` must have a label for every row, lacks those of {_few(set(lacking))}")
    return [labels[key] for key in keys]


def common_signature(metric: str, runs: Mapping[str, Run]) -> str:
    """The signature that all systems have.

    Raises:
        ValueError: If one has none, or they differ; the message names where.
    """
    found: dict[str, str] = {}
    for name, run in runs.items():
        found[name] = str(run.get(f"{metric}_signature", ""))
        if parse_signature(found[name])[0] != metric:
            raise ValueError(f"`runs` must have a signature of {metric} for every system, {name} has none")
    (first, signature), *others = found.items()
    for name, other in others:
        if other == signature:
            continue
        raise ValueError(
            f"`runs` must have been scored in one way by {metric}, {first} and {name} differ in "
            f"{unlike_fields(signature, other) or 'order'}; score both with the same settings and version"
        )
    return signature


def compared_value(metric: str, runs: Mapping[str, Run], orders: Mapping[str, Sequence[int]]) -> str:
    """What is compared: "corpus" where counts are added, "excess" for sets of captions of unequal or unknown sizes.

    All else is "score".

    Raises:
        ValueError: If the excess is wanted and not there.
    """
    if metric in COUNTED:
        return "corpus"
    if not metric_facts(metric).compares_sets:
        return "score"
    sizes = [
        [tuple(run["sizes"][row]) for row in orders[name]] if "sizes" in run else None for name, run in runs.items()
    ]
    if None not in sizes and all(own == sizes[0] for own in sizes):
        return "score"
    if all(f"{metric}_excess_scores" in run for run in runs.values()):
        return "excess"
    if None not in sizes:
        raise ValueError(
            f"`runs` must have {metric}_excess_scores where systems have unequal numbers of captions, got none; score "
            f"with --set pvalue=auto"
        )
    warn(
        f"the scores of {metric} can only be compared if every system has as many captions per row as the others, "
        f"which files of scores do not tell; score with --set pvalue=auto to compare the excess over the null"
    )
    return "score"


def scores_in_order(
    metric: str, kind: str, name: str, run: Run, order: Sequence[int], n_rows: int
) -> tuple[float, ...]:
    """The compared values of one system.

    Args:
        metric: Name of the metric.
        kind: What `compared_value` says.
        name: Of the system.
        run: Its run.
        order: Index of each row among those of the run.
        n_rows: Number of the rows.

    Raises:
        ValueError: If they are missing, infinite, undefined in every row, or not those that the mean of the run is of.
    """
    key = f"{metric}_excess_scores" if kind == "excess" else f"{metric}_scores"
    if key not in run:
        raise ValueError(f"`runs` must have {key} for every system, {name} has none")
    own = numbers(f"{key} of {name}", run[key], row_keys(run["ids"]))
    if all(map(math.isnan, own)):
        raise ValueError(f"`{key} of {name}` must be defined for at least one of {n_rows} rows, got NaN for all")
    mean = run.get(key.removesuffix("_scores"))
    if (
        metric_facts(metric).is_mean
        and isinstance(mean, (int, float))
        and not is_same_mean(found := mean_of_defined(own), mean)
    ):
        raise ValueError(
            f"`{key} of {name}` must be the scores that {mean:.6g} is the mean of, got {found:.6g} as theirs; the file "
            f"was altered, score again"
        )
    return tuple(own[row] for row in order)


def is_same_mean(one: float, other: float) -> bool:
    """Whether two numbers are the mean of the same scores."""
    return math.isclose(one, other, rel_tol=_MEAN_TOLERANCE, abs_tol=_MEAN_TOLERANCE)
