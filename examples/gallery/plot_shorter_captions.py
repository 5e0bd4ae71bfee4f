"""
What a shorter caption loses
============================

The right captions of ten drawn scenes, cut after so many words. BLEU has a penalty for short texts as a whole, CIDEr-D
one for each caption, ROUGE-L and METEOR weigh recall.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import vlgauge
from vlgauge.inputs.media.tables import read_rows

EXAMPLES = Path("..")
rows = [row for row in read_rows(str(EXAMPLES / "captioned_scenes.jsonl")) if row["kind"] == "right"]
references = [row["references"] for row in rows]
lengths = range(2, 17)

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, marker in zip(("bleu", "rouge_l", "meteor", "cider"), "osv^", strict=True):
    metric = vlgauge.load(name, progress=False)
    cut = [[" ".join(row["predictions"].split()[:n]) for row in rows] for n in lengths]
    values = [metric.compute(predictions=captions, references=references)[name] for captions in cut]
    axes.plot(lengths, [value / max(values) for value in values], marker=marker, label=name)
axes.set(xlabel="words that are kept", ylabel="share of the highest mean")
axes.legend()
