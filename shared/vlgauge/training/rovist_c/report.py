"""What is kept of a training: the model, its record, a picture of the losses, and a card."""

import json
from pathlib import Path
from typing import Any

from vlgauge.training.report import RECORD
from vlgauge.writing import replacing, write

# What a finished training leaves under names that do not depend on its options.
MAIN_FILES = ("model.safetensors", "config.json", RECORD, "README.md")

FIGURES = ("training_loss", "training_accuracy", "validation_loss", "validation_accuracy")
CARD = """\
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
    """Write weights as safetensors, configuration, label names and tokenizer."""
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
    with replacing(folder / "model.safetensors", in_folder=True) as part:
        save_file(tensors, part, metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)  # it comes out readable for its owner only
