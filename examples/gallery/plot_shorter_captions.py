"""
Effect of truncated captions
============================

The right captions of ten synthetic scenes, truncated to 2 to 16 words. BLEU has a brevity penalty for the whole corpus,
CIDEr-D a length penalty for each caption, and ROUGE-L and METEOR give recall a high weight.
"""

import matplotlib.pyplot as plt
import pandas as pd

import vlgauge

rows = pd.read_json("../captioned_scenes.jsonl", lines=True).query("kind == 'right'")
references = rows["references"].to_list()
lengths = range(2, 17)

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, marker in zip(("bleu", "rouge_l", "meteor", "cider"), "osv^", strict=True):
    metric = vlgauge.load(name, progress=False)
    truncated = [[" ".join(caption.split()[:n]) for caption in rows["predictions"]] for n in lengths]
    values = [metric.compute(predictions=captions, references=references)[name] for captions in truncated]
    axes.plot(lengths, [value / max(values) for value in values], marker=marker, label=name)
axes.set(xlabel="number of words", ylabel="share of the maximum score")
axes.legend()
