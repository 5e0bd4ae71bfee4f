"""What is kept of a training of a head: the head, its record, a picture of the losses, and a card."""

from vlgauge.training.report import RECORD

HEAD = "head.safetensors"
MAIN_FILES = (HEAD, RECORD, "README.md")

FIGURES = ("training_loss", "validation_loss", "validation_tau_c")
CARD = """\
# {name}

A head of Polos (Wada et al., CVPR 2024), fitted to ratings by `vlgauge train polos`. It is not the authors' head:
encoders, rows and recipe are those below. To score with it:

    vlgauge.load("polos", checkpoint="path/to/{name}/{head}"{more})

{about}
| | |
|---|---|
{facts}

| epoch | training loss | validation loss | validation Kendall's tau-c |
|--:|--:|--:|--:|
{epochs}

The loss is the mean squared difference of score and rating, both from 0 to 1.

## Limitations

It knows the ratings that it was fitted to, and what its encoders see. Beside other encoders it is refused.
"""
