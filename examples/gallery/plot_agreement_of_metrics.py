"""
What metrics have in common
===========================

Kendall's tau between metrics on 68 captions of drawn scenes. Metrics of words agree with each other; the metric of
pictures (toy CLIP) goes its own way.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import kendalltau

import vlgauge
from vlgauge.inputs.media.tables import located, read_rows

EXAMPLES = Path("..")
path = str(EXAMPLES / "captioned_scenes.jsonl")
rows = read_rows(path)
columns = {key: [row[key] for row in rows] for key in ("predictions", "references", "images")}
columns |= located({"images": columns["images"]}, path)

names = ["bleu", "rouge_l", "meteor", "cider", "clip_s", "pac_s"]
scores = []
for name in names:
    settings = {"profile": "embedded", "device": "cpu"} if name in ("clip_s", "pac_s") else {}
    metric = vlgauge.load(name, progress=False, **settings)
    own = [column.name for column in metric.columns]
    given = {key: cells for key, cells in columns.items() if key in own}
    scores.append(metric.compute(**given)[f"{name}_scores"])
taus = np.array([[kendalltau(one, other).statistic for other in scores] for one in scores])

figure, axes = plt.subplots(figsize=(5, 4.2), layout="constrained")
picture = axes.imshow(taus, cmap="Blues", vmin=0, vmax=1)
for i, j in np.ndindex(taus.shape):
    axes.text(j, i, f"{taus[i, j]:.2f}", ha="center", va="center", color="white" if taus[i, j] > 0.6 else "black")
axes.set(xticks=range(6), yticks=range(6), yticklabels=names, title="Kendall's tau")
axes.set_xticklabels(names, rotation=45, ha="right")
