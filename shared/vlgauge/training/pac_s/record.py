"""What a training leaves beside the weights: the log, the curve, the model card."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vlgauge.training.loop import Progressed
from vlgauge.training.pac_s.evaluation import Comparison
from vlgauge.writing import replacing, write

_CARD = """\
# {title}

Trained with `vlgauge train pac_s`, the positive-augmented contrastive recipe of Sarto et al. (CVPR 2023, Eqs. 2
and 3). These are not the weights of the paper: base, data and everything that the paper leaves open are those below.

```sh
{command}
```

| | |
|---|---|
{facts}

## Before and after

Share of pairs in which the right caption scores above the wrong one, behind the prompt "A photo depicts "; ties count
as wrong. The interval is that of `vlgauge.statistics.bootstrap_interval` for the difference, at 95 %, drawn by image
or, of drawings, by scene.

| wrong caption | pairs | images | before | after | difference | 95 % interval |
|---|--:|--:|--:|--:|--:|---|
{comparisons}
"""


def write_log(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Write the log as JSON lines."""
    write(path, "".join(f"{json.dumps(line)}\n" for line in lines))


def write_card(
    path: Path, title: str, command: str, facts: Mapping[str, str], comparisons: Sequence[Comparison]
) -> None:
    """Write the model card."""
    table = [f"| {name.replace('_', ' ')} | {value} |" for name, value in facts.items()]
    card = _CARD.format(
        title=title, command=command, facts="\n".join(table), comparisons="\n".join(map(comparison_line, comparisons))
    )
    write(path, card)


def comparison_line(comparison: Comparison) -> str:
    """Row of the table in the card."""
    c = comparison
    shares = f"{100 * c.before:.2f} % | {100 * c.after:.2f} % | {100 * c.gain:+.2f}"
    return f"| {c.kind} | {c.n_pairs} | {c.n_images} | {shares} | {100 * c.low:+.2f} to {100 * c.high:+.2f} |"


def draw_losses(path: Path, state: Progressed) -> None:
    """Draw training and validation loss over the iterations."""
    from matplotlib.figure import Figure

    lines = state.rounds
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.add_subplot()
    trained = [line for line in lines if "train_total" in line]
    axes.plot([line["iteration"] for line in trained], [line["train_total"] for line in trained], label="training")
    axes.plot([line["iteration"] for line in lines], [line["validation_total"] for line in lines], label="validation")
    axes.axvline(lines[state.best]["iteration"], color="0.5", linestyle=":", label="best")
    axes.set(xlabel="iteration", ylabel="loss (Eq. 3)")
    axes.legend(frameon=False)
    with replacing(path) as part:
        # The temporary name has another suffix; without a date the same training draws the same bytes.
        kind = path.suffix.removeprefix(".").lower()
        figure.savefig(part, format=kind, metadata={"Date": None} if kind == "svg" else None)
