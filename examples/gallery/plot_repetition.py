"""
What repetition costs a story
=============================

A story of five sentences, of which more and more are the first one again. ``rovist_nr`` counts every pair of equal
words and can fall below 0; the paper's own similarity (``variant="paper"``) stays within [0, 1].
"""

import matplotlib.pyplot as plt

import vlgauge

SENTENCES = [
    "We had a great time and had a great time.",
    "My brother caught two small fish.",
    "Clouds came over the hills at three.",
    "Everybody helped to fold the tents.",
    "On the road home it began to rain.",
]
stories = [[SENTENCES[0]] * (k + 1) + SENTENCES[k + 1 :] for k in range(5)]

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for variant, marker in (("released", "o"), ("paper", "s")):
    metric = vlgauge.load("rovist_nr", variant=variant, progress=False)
    axes.plot(range(1, 6), metric.compute(predictions=stories)["rovist_nr_scores"], marker=marker, label=variant)
axes.set(xlabel="times the first sentence is said", ylabel="rovist_nr (higher is better)", xticks=range(1, 6))
axes.legend(title="variant")

# %%
# Which words take it: the story with the first sentence three times.

from vlgauge.explain import explain

metric = vlgauge.load("rovist_nr", progress=False)
columns = {"predictions": stories[2:3]}
explain("rovist_nr", columns, metric.compute(**columns, return_details=True))
