"""
Effect of repetition on a story
===============================

A story of five sentences in which more and more sentences repeat the first one. ``rovist_nr`` counts each pair of equal
words, so its score can be negative. With the similarity of the paper (``variant="paper"``), the score is between 0 and
1.
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
axes.set(xlabel="occurrences of the first sentence", ylabel="rovist_nr (higher is better)", xticks=range(1, 6))
axes.legend(title="variant")

# %%
# The words that lower the score of the story with three occurrences of the first sentence:

from vlgauge.explain import explain

metric = vlgauge.load("rovist_nr", progress=False)
columns = {"predictions": stories[2:3]}
explain("rovist_nr", columns, metric.compute(**columns, return_details=True))
