"""Tokens of captions in the metrics of the COCO caption evaluation."""

from vlgauge.inputs.text.ptb.tokens import ptb_words

PTB = "ptb-3.4.1"
"""Name of the tokens of the COCO caption evaluation in signatures."""


def coco_tokens(text: str) -> list[str]:
    """Split a caption into the tokens used by BLEU, CIDEr and METEOR of the COCO caption evaluation.

    These metrics read PTB tokens (`vlgauge.inputs.text.ptb.tokens`) joined by spaces and split them at any whitespace.
    ROUGE-L splits at spaces only and therefore uses the PTB tokens.

    Returns:
        The tokens, none of them empty or with whitespace inside. [] for a caption of whitespace and dropped
        punctuation.
    """
    return ptb_words(text)
