"""
Metrics of words and metrics of images
======================================

Captions of ten synthetic scenes, right or with one error. If the positions of two objects are swapped, the words are
nearly the same: ``cider`` hardly changes, ``meteor`` a little, ``clip_s`` clearly. CLIP is the demo model of the
embedded profile.
"""

import matplotlib.pyplot as plt

import vlgauge

clip_s = vlgauge.load("clip_s", profile="embedded", device="cpu")
scores = vlgauge.score("../captioned_scenes.jsonl", ["cider", "meteor", clip_s], progress=False)
means = scores.rows.groupby("kind", sort=False)[["cider", "meteor", "clip_s"]].mean()

figure, panels = plt.subplots(1, 3, figsize=(9, 3.2), sharey=True, layout="constrained")
for axes, name in zip(panels, means, strict=True):
    axes.barh(means.index, means[name], color="#5b7ea6")
    axes.set(xlabel="clip_s (demo model)" if name == "clip_s" else name)
panels[0].invert_yaxis()
