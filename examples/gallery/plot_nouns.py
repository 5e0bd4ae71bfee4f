"""
Sum or mean over the nouns of a story
=====================================

``rovist_vg`` adds up the similarities of all nouns by default (Eq. 2 of the paper), so a story with more nouns scores
higher. ``aggregate="mean"`` does not have this effect. The plot shows the mean scores of the first k sentences of
synthetic stories. CLIP and the heads are demo models.
"""

import matplotlib.pyplot as plt

import vlgauge
from vlgauge import scenes

stories = scenes.stories(10, seed=4, split="test")
images = [story.images() for story in stories]
boxes = [[{"boxes": drawing.boxes} for drawing in story.drawings()] for story in stories]

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for aggregate, marker in (("log_sum_exp", "o"), ("mean", "s")):
    metric = vlgauge.load("rovist_vg", profile="embedded", device="cpu", progress=False, aggregate=aggregate)
    means = [
        metric.compute(predictions=[story.sentences[:k] for story in stories], images=images, regions=boxes)[
            "rovist_vg"
        ]
        for k in range(1, 6)
    ]
    axes.plot(range(1, 6), [mean / means[0] for mean in means], marker=marker, label=aggregate)
axes.set(xlabel="sentences of the story", ylabel="rovist_vg, relative to one sentence (demo model)", xticks=range(1, 6))
axes.legend(title="aggregate")
