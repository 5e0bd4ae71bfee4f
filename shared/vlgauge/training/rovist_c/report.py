"""What is kept of a training: the model, its record, a picture of the losses, and a card."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vlgauge.writing import replacing, write

from .loop import Progressed

RECORD = "training.json"
PICTURE = "training.svg"
# What a finished training leaves under names that do not depend on its options.
MAIN_FILES = ("model.safetensors", "config.json", RECORD, "README.md")

_CARD = """\
---
library_name: transformers
tags:
- text-classification
- sentence-order
license: apache-2.0
---

# {name}

Says whether the second of two sentences follows the first in a story: a sequence-pair classifier with the labels
"swapped" (0) and "in order" (1), made by `vlgauge train rovist_c` of vlgauge by the recipe of RoViST-C (Wang et al.,
2022) for its metric `rovist_c`:

    vlgauge.load("rovist_c", model="path/to/{name}")

{about}
| | |
|---|---|
{facts}

| epoch | training loss | training accuracy | validation loss | validation accuracy |
|--:|--:|--:|--:|--:|
{epochs}

Accuracy is that of single pairs, half of them swapped. "Ordered above swapped" is the share of sentence pairs that get
a higher probability in order than swapped.

## Limitations

It knows the kind of text it was trained on; on other text its probabilities mean little. Sentences that are in order
by world knowledge alone, and stories that are coherent in another way than by order, are beyond it.
"""


def save_model(folder: Path, tokenizer: Any, model: Any, *, half: bool) -> None:
    """Write weights as safetensors, configuration, label names and tokenizer.

    Args:
        folder: Made if it is not there.
        tokenizer: Of the model.
        model: Stays as it is.
        half: Whether the weights are stored in float16.
    """
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    tensors = {
        name: (value.half() if half and value.is_floating_point() else value).detach().cpu().contiguous()
        for name, value in model.state_dict().items()
    }
    config = model.config.to_diff_dict() | {"architectures": [type(model).__name__]}
    config["dtype"] = "float16" if half else "float32"
    tokenizer.save_pretrained(str(folder))
    write(folder / "config.json", json.dumps(config, indent=2, sort_keys=True) + "\n")
    with replacing(folder / "model.safetensors") as part:
        save_file(tensors, part, metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)  # it comes out readable for its owner only


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Write the record of the training as JSON."""
    write(folder / RECORD, json.dumps(record, indent=2) + "\n")


def write_card(folder: Path, record: Mapping[str, Any], about: str = "") -> None:
    """Write the card, all numbers of which are in the record."""
    facts = [(key.replace("_", " "), value) for key, value in record.items() if not isinstance(value, (list, dict))]
    facts += [(key.replace("_", " "), value) for key, value in record["recipe"].items()]
    names = ("training_loss", "training_accuracy", "validation_loss", "validation_accuracy")
    rows = [
        f"| {number}{' (kept)' if number == record['kept_epoch'] else ''} | "
        + " | ".join(f"{epoch[name]:.4f}" for name in names)
        + " |"
        for number, epoch in enumerate(record["epochs"], 1)
    ]
    text = _CARD.format(
        name=folder.resolve().name,
        about=f"{about.strip()}\n" if about else "",
        facts="\n".join(f"| {key} | {_shown(value)} |" for key, value in facts),
        epochs="\n".join(rows),
    )
    write(folder / "README.md", text)


def draw(folder: Path, state: Progressed, quantities: Sequence[str] = ("loss", "accuracy")) -> Path:
    """What changed over the epochs as a picture.

    Args:
        folder: Where it goes.
        state: Of the training.
        quantities: What is drawn, each in its own plot: "loss" for the values "training_loss" and "validation_loss".

    Raises:
        ImportError: If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError as error:
        raise ImportError('the plot needs matplotlib; run: pip install "vlgauge[demo]"') from error
    figure = Figure(figsize=(4 * len(quantities), 3.6), layout="constrained")
    numbers = range(1, len(state.epochs) + 1)
    for axes, what in zip(figure.subplots(1, len(quantities), squeeze=False)[0], quantities, strict=True):
        for side, line in (("training", "o-"), ("validation", "s--")):
            axes.plot(numbers, [epoch[f"{side}_{what}"] for epoch in state.epochs], line, label=side)
        axes.axvline(state.best + 1, color="gray", linestyle=":", label="kept")
        axes.set(xlabel="epoch", ylabel=what)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend()
    with replacing(folder / PICTURE) as part:
        figure.savefig(part, format=PICTURE.rpartition(".")[2], metadata={"Date": None})
    return folder / PICTURE


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
