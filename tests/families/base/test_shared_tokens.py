"""Metrics of one call share the tokens of captions, and ROUGE-L keeps tokens that contain whitespace."""

from meteor15 import needs_wheel

import vlgauge
from vlgauge.families.base import captions

# COCO's tokenizer makes one token of the fraction, which holds a no-break space.
ROWS = [{"predictions": "a board of 5 7/8 inches", "references": ["a board of 5 inches", "boards of 5 7/8 inches"]}] * 2
NAMES = ["bleu", "rouge_l", "meteor"]


def values(names):
    scores = vlgauge.score(ROWS, names, progress=False)
    return {name: scores.results[name][f"{name}_scores"] for name in names}


@needs_wheel
def test_every_caption_is_split_once(monkeypatch):
    alone = {name: values([name])[name] for name in NAMES}
    seen = []
    split = captions.ptb_tokens
    monkeypatch.setattr(captions, "ptb_tokens", lambda caption: seen.append(caption) or split(caption))
    assert values(NAMES) == alone
    assert sorted(seen) == sorted({ROWS[0]["predictions"], *ROWS[0]["references"]})
    assert values(NAMES) == alone
    assert len(seen) == 6


def test_rouge_l_does_not_split_at_white_space_in_tokens():
    rows = {"predictions": ["5 7/8"], "references": [["7/8"]]}
    assert vlgauge.load("rouge_l").compute(**rows)["rouge_l"] == 0
    assert vlgauge.load("bleu").compute(**rows)["bleu_1"] > 0.4
