"""
A sum grows with its terms
==========================

``rovist_vg`` joins the likeness of all nouns (its default, the paper's Eq. 2), so that a story of more nouns scores
higher by itself; ``aggregate="mean"`` does not. Drawn stories of the first k sentences (toy CLIP and heads).
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
axes.set(xlabel="sentences of the story", ylabel="rovist_vg, one sentence = 1 (toy)", xticks=range(1, 6))
axes.legend(title="aggregate")
