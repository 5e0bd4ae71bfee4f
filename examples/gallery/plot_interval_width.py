"""
How many rows are enough?
=========================

The bootstrap interval of a mean for an increasing number of synthetic stories. With four times as many stories, the
interval is half as wide. The interval does not show whether the stories represent the ones that you care about.
"""

import matplotlib.pyplot as plt

import vlgauge
from vlgauge import scenes
from vlgauge.stats import bootstrap_interval

stories = [story.sentences for story in scenes.stories(400, seed=2, split="test")]
rovist_nr = vlgauge.load("rovist_nr", progress=False)
scores = rovist_nr.compute(predictions=stories)["rovist_nr_scores"]

numbers = [10, 25, 50, 100, 200, 400]
intervals = [bootstrap_interval(scores[:n]) for n in numbers]
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.fill_between(
    numbers, [one.low for one in intervals], [one.high for one in intervals], alpha=0.3, label="95% interval"
)
axes.plot(numbers, [sum(scores[:n]) / n for n in numbers], marker="o", label="mean")
axes.set(xscale="log", xticks=numbers, xticklabels=numbers, xlabel="stories", ylabel="rovist_nr")
axes.legend()
