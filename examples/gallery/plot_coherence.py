"""
Coherence of shuffled stories
=============================

Synthetic stories in their original order, and after more and more swaps of neighboring sentences. ``rovist_c`` depends
on the order of the sentences, ``rovist_nr`` does not. The model of ``rovist_c`` is a demo model trained on synthetic
stories.
"""

import matplotlib.pyplot as plt
import numpy as np

import vlgauge
from vlgauge import scenes

stories = [story.sentences for story in scenes.stories(30, seed=5, split="test")]


def swapped(sentences, times, rng):
    """Swap random pairs of neighboring sentences."""
    order = list(sentences)
    for k in rng.integers(len(order) - 1, size=times).tolist():
        order[k], order[k + 1] = order[k + 1], order[k]
    return order


times = [0, 1, 2, 4, 8]
rng = np.random.default_rng(0)
shuffled = {n: [swapped(story, n, rng) for story in stories] for n in times}
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, label, marker in (("rovist_c", "rovist_c (demo model)", "o"), ("rovist_nr", "rovist_nr", "s")):
    metric = vlgauge.load(name, progress=False, profile="embedded")
    axes.plot(times, [metric.compute(predictions=shuffled[n])[name] for n in times], marker=marker, label=label)
axes.set(xlabel="swaps of neighboring sentences", ylabel="mean score (higher is better)", ylim=(0, 1.05))
axes.legend()
