"""What trainings over epochs leave beside the weights: the record, the tables of the card, a picture of the losses."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vlgauge.training.loop import Progressed
from vlgauge.writing import replacing, write

RECORD = "training.json"
PICTURE = "training.svg"


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Write the record of the training as JSON."""
    write(folder / RECORD, json.dumps(record, indent=2) + "\n")


def write_card(
    folder: Path, card: str, record: Mapping[str, Any], about: str, figures: Sequence[str], **more: str
) -> None:
    """Write a card, all numbers of which are in the record: a paragraph about it, facts, and figures of the epochs."""
    filled = card.format(
        name=folder.resolve().name,
        about=f"{about.strip()}\n" if about else "",
        facts=fact_rows(record),
        epochs=epoch_rows(record, figures),
        **more,
    )
    write(folder / "README.md", filled)


def fact_rows(record: Mapping[str, Any]) -> str:
    """Rows of the card's first table: what the record says of training, recipe and held-out stories, in that order."""
    facts = [(key.replace("_", " "), value) for key, value in record.items() if not isinstance(value, (list, dict))]
    facts += [(key.replace("_", " "), value) for key, value in record["recipe"].items()]
    facts += list(record.get("held_out", {}).items())
    return "\n".join(f"| {key} | {f'{value:.4g}' if isinstance(value, float) else value} |" for key, value in facts)


def epoch_rows(record: Mapping[str, Any], figures: Sequence[str]) -> str:
    """Rows of the card's second table: figures of each epoch."""
    rows = []
    for number, epoch in enumerate(record["epochs"], 1):
        kept = " (kept)" if number == record["kept_epoch"] else ""
        rows.append(f"| {number}{kept} | {' | '.join(f'{epoch[name]:.4f}' for name in figures)} |")
    return "\n".join(rows)


def draw(folder: Path, state: Progressed, quantities: Sequence[str]) -> Path:
    """What changed over the epochs as a picture, each quantity in its own plot.

    The quantity "loss" stands for the values "training_loss" and "validation_loss".
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(4 * len(quantities), 3.6), layout="constrained")
    numbers = range(1, len(state.rounds) + 1)
    for axes, what in zip(figure.subplots(1, len(quantities), squeeze=False)[0], quantities, strict=True):
        for side, line in (("training", "o-"), ("validation", "s--")):
            axes.plot(numbers, [epoch[f"{side}_{what}"] for epoch in state.rounds], line, label=side)
        axes.axvline(state.best + 1, color="gray", linestyle=":", label="kept")
        axes.set(xlabel="epoch", ylabel=what)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend()
    with replacing(folder / PICTURE) as part:
        figure.savefig(part, format=PICTURE.rpartition(".")[2], metadata={"Date": None})
    return folder / PICTURE
