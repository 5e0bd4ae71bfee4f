"""What is kept of a training: the checkpoint, its record, a picture of the losses, and a card."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vlgauge.encoders.grounding.model import CONFIG, FORMAT, WEIGHTS
from vlgauge.training.report import RECORD
from vlgauge.writing import replacing, write

# What a finished training leaves under names that do not depend on its options.
MAIN_FILES = (WEIGHTS, CONFIG, RECORD, "README.md")

FIGURES = ("training_loss", "validation_loss")
CARD = """\
# {name}

Two heads that bring regions of images and words into one space, made by `vlgauge train rovist_vg` of vlgauge by the
recipe of RoViST-VG (Wang et al., 2022, Algorithm 1) for its metric `rovist_vg`:

    vlgauge.load("rovist_vg", checkpoint="{name}", glove_path=...)

{about}
| | |
|---|---|
{facts}

| epoch | training loss | validation loss |
|--:|--:|--:|
{epochs}

## Limitations

It knows the regions and the words that it was trained on; a noun that never occurred in training gets a direction that
means nothing.
"""


def save_checkpoint(folder: Path, net: Any, config: Mapping[str, Any], *, half: bool) -> None:
    """Write the weights as safetensors, and the configuration."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    tensors = {
        name: (value.half() if half else value.float()).detach().cpu().contiguous()
        for name, value in net.state_dict().items()
    }
    # An interruption must leave the checkpoint of an earlier epoch whole.
    with replacing(folder / WEIGHTS, in_folder=True) as part:
        save_file(tensors, part)
    widths = {
        "image_width": net.image_head.in_features,
        "text_width": net.text_head.in_features,
        "width": net.image_head.out_features,
    }
    write(folder / CONFIG, json.dumps({"format": FORMAT, **config, **widths, "activation": "tanh"}, indent=2) + "\n")
