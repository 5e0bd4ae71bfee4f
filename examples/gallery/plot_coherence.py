"""
Sentences out of order
======================

Drawn stories as told, and with more and more of their sentences swapped. ``rovist_c`` (toy model of drawn stories)
reads the order; ``rovist_nr`` does not.
"""

import matplotlib.pyplot as plt
import numpy as np

import vlgauge
from vlgauge import scenes

stories = [story.sentences for story in scenes.stories(30, seed=5, split="test")]


def swapped(sentences, times, rng):
    """The story with neighbours exchanged so many times."""
    order = list(sentences)
    for k in rng.integers(len(order) - 1, size=times).tolist():
        order[k], order[k + 1] = order[k + 1], order[k]
    return order


times = [0, 1, 2, 4, 8]
rng = np.random.default_rng(0)
told = {n: [swapped(story, n, rng) for story in stories] for n in times}
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, label, marker in (("rovist_c", "rovist_c (toy)", "o"), ("rovist_nr", "rovist_nr", "s")):
    metric = vlgauge.load(name, progress=False, profile="embedded")
    axes.plot(times, [metric.compute(predictions=told[n])[name] for n in times], marker=marker, label=label)
axes.set(xlabel="exchanges of neighbouring sentences", ylabel="mean score (higher is better)", ylim=(0, 1.05))
axes.legend()
