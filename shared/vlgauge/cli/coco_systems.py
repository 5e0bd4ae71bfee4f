"""Compute metrics on the captions of several captioning systems (`vlgauge protocol coco_systems`)."""

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from vlgauge.cli.outputs import print_result
from vlgauge.core.errors import UsageError
from vlgauge.core.results import plain
from vlgauge.leaderboard.table import Cell, Table, render
from vlgauge.research.protocols.coco_systems import NAME, CocoSystems, SystemValue, read_coco_systems, system_values
from vlgauge.stats import RESAMPLES

RULES = ("images", "references")
# Metrics whose values the papers multiply by 100.
HUNDREDFOLD = ("bleu_1", "bleu_4", "rouge_l", "meteor", "cider")

__all__ = ["NAME", "RULES", "run", "values_of"]


def run(options: argparse.Namespace, metrics: Sequence[Any]) -> None:
    """Run the protocol: read the captions, score them, and print a row per captioner.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    for option in ("scores", "write_rows", "against", "plot"):
        if getattr(options, option):
            raise UsageError(f"--{option.replace('_', '-')} is not supported for {NAME}")
    counts = list((options.references or {"all": None}).values())
    if not metrics or len(counts) > 1:
        wanted = "--metric of a metric that is not length" if not metrics else "one number of --references"
        raise UsageError(f"{NAME} requires {wanted}")
    systems = read_coco_systems(options.data, images=options.images, references=counts[0])
    resamples = RESAMPLES if options.resamples is None else options.resamples
    how = {"level": options.level, "resamples": resamples, "seed": options.seed}
    found = values_of(system_values(metrics, systems, missing=options.missing, **how))
    record = {"signature": systems.signature, "metrics": plain(found)}
    print_result(options, record, lambda: render(table_of(systems, found), options.format))


def values_of(found: Mapping[str, Mapping[str, SystemValue]]) -> dict[str, dict[str, SystemValue]]:
    """Return the values as in the papers, with the values of text metrics multiplied by 100."""
    return {family: {name: _scale(family, one) for name, one in own.items()} for family, own in found.items()}


def _scale(family: str, one: SystemValue) -> SystemValue:
    factor = 100 if family in HUNDREDFOLD else 1
    return replace(one, value=factor * one.value, low=factor * one.low, high=factor * one.high)


def table_of(systems: CocoSystems, found: Mapping[str, Mapping[str, SystemValue]]) -> Table:
    """Return a table with a row per captioner and a column per family of scores."""
    rows = [
        [Cell(name), *(Cell(_text(family, own[name]), right=True) for family, own in found.items())]
        for name in systems.columns
    ]
    notes = [
        f"{family}: {one.undefined} captions of {name} have no score; the results cover the {one.n} images for which "
        f"every captioner has one"
        for family, own in found.items()
        for name, one in own.items()
        if one.undefined
    ]
    signatures = dict.fromkeys(one.signature for own in found.values() for one in own.values())
    titles = [f"{family} x 100" if family in HUNDREDFOLD else family for family in found]
    return Table(["captioner", *titles], rows, notes=[*notes, systems.signature, *signatures])


def _text(family: str, one: SystemValue) -> str:
    if math.isnan(one.value):
        return "undefined"
    digits = 2 if family in HUNDREDFOLD else 4
    ends = "" if math.isnan(one.low) else f" [{one.low:.{digits}f}, {one.high:.{digits}f}]"
    return f"{one.value:.{digits}f}{ends}"
