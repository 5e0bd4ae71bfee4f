"""Outputs of trainings over epochs in addition to the weights: record, tables of the card, and plot of the losses."""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vlgauge.core.files import DATA
from vlgauge.core.writing import atomic_write, write
from vlgauge.research.training.loop import Progressed

RECORD = "training.json"
IMAGE = "training.svg"
_MARKED = 100  # maximum number of steps of a curve with markers


def epoch_facts(state: Progressed, recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return the last fields of a record: ``minutes``, ``kept_epoch`` (from 1), ``recipe`` and ``epochs``."""
    minutes = sum(epoch["seconds"] for epoch in state.rounds) / 60
    return {"minutes": minutes, "kept_epoch": state.best + 1, "recipe": dict(recipe), "epochs": state.rounds}


def fill_card(recipe: str, **values: str) -> str:
    """Fill the placeholders of the card of a recipe."""
    return (DATA / "training_cards" / f"{recipe}.md").read_text("utf-8").format(**values)


def write_report(
    options: argparse.Namespace, record: Mapping[str, Any], recipe: str, figures: Sequence[str], **more: str
) -> None:
    """Write the record as JSON, a card whose values are all in the record, and a plot of the losses.

    Args:
        options: Options of the run. `about` is a paragraph for the card.
        record: Facts about the training.
        recipe: Recipe, whose card has placeholders for name, paragraph, facts, figures of the epochs, and `more`.
        figures: Names of the figures of an epoch in the card.
        **more: Values of additional placeholders of the card.

    Raises:
        NotWritableError: If the file cannot be written.
    """
    write(options.output / RECORD, json.dumps(record, indent=2) + "\n")
    card = fill_card(
        recipe,
        name=options.output.resolve().name,
        about=f"{options.about.strip()}\n" if options.about else "",
        facts=_fact_rows(record),
        epochs=_epoch_rows(record, figures),
        **more,
    )
    write(options.output / "README.md", card)
    if options.plot:
        epochs, what = record["epochs"], [name.removeprefix("training_") for name in figures if "train" in name]
        plots = {w: {side: [one[f"{side}_{w}"] for one in epochs] for side in ("training", "validation")} for w in what}
        draw_losses(options.output / IMAGE, range(1, len(epochs) + 1), plots, record["kept_epoch"], "epoch")


def _fact_rows(record: Mapping[str, Any]) -> str:
    """Return the rows of the first table of the card: training, recipe and held-out stories, in that order."""
    facts = [(key.replace("_", " "), value) for key, value in record.items() if not isinstance(value, (list, dict))]
    facts += [(key.replace("_", " "), value) for key, value in record["recipe"].items()]
    facts += list(record.get("held_out", {}).items())
    return "\n".join(f"| {key} | {f'{value:.4g}' if isinstance(value, float) else value} |" for key, value in facts)


def _epoch_rows(record: Mapping[str, Any], figures: Sequence[str]) -> str:
    rows = []
    for number, epoch in enumerate(record["epochs"], 1):
        kept = " (kept)" if number == record["kept_epoch"] else ""
        rows.append(f"| {number}{kept} | {' | '.join(f'{epoch[name]:.4f}' for name in figures)} |")
    return "\n".join(rows)


def draw_losses(
    path: Path, steps: Sequence[float], plots: Mapping[str, Mapping[str, Sequence[float]]], kept: float, unit: str
) -> None:
    """Draw figures of a training over its steps, with one plot next to another.

    Args:
        path: Image file. Its extension selects the format.
        steps: Positions on the axis, such as the number of each epoch.
        plots: Lines of each plot by the label of the plot. A line has one value per step, by its name.
        kept: Step whose weights are kept.
        unit: Name of a step.

    Raises:
        NotWritableError: If the file cannot be written.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(4 * len(plots), 3.6), layout="constrained")
    styles = ("o-", "s--") if len(steps) <= _MARKED else ("-", "--")
    for axes, (what, lines) in zip(figure.subplots(1, len(plots), squeeze=False)[0], plots.items(), strict=True):
        for (name, values), style in zip(lines.items(), styles, strict=True):
            axes.plot(steps, values, style, label=name)
        axes.axvline(kept, color="gray", linestyle=":", label="kept")
        axes.set(xlabel=unit, ylabel=what)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend()
    with atomic_write(path) as part:
        # The temporary name has another extension. Without a date, the same training yields the same bytes.
        kind = path.suffix.removeprefix(".").lower()
        figure.savefig(part, format=kind, metadata={"Date": None} if kind == "svg" else None)
