"""
Correlation between metrics
===========================

Kendall's tau between six metrics on 68 captions of synthetic scenes. Metrics that compare words with references agree
with each other. They agree less with ``clip_s`` and ``pac_s``, which compare the caption with the image. CLIP is the
demo model of the embedded profile.
"""

import matplotlib.pyplot as plt
import numpy as np

import vlgauge

names = ["bleu", "rouge_l", "meteor", "cider", "clip_s", "pac_s"]
metrics = [*names[:4], *(vlgauge.load(name, profile="embedded", device="cpu") for name in names[4:])]
scores = vlgauge.score("../captioned_scenes.jsonl", metrics, progress=False)
taus = scores.rows[names].corr("kendall").to_numpy()

figure, axes = plt.subplots(figsize=(5, 4.2), layout="constrained")
axes.imshow(taus, cmap="Blues", vmin=0, vmax=1)
for i, j in np.ndindex(taus.shape):
    axes.text(j, i, f"{taus[i, j]:.2f}", ha="center", va="center", color="white" if taus[i, j] > 0.6 else "black")
axes.set(xticks=range(6), yticks=range(6), yticklabels=names, title="Kendall's tau")
axes.set_xticklabels(names, rotation=45, ha="right")
