"""
Choosing a sampling temperature
===============================

A simulated sampler draws captions of synthetic scenes from 30 candidates by softmax at a temperature. At a low
temperature it repeats its most likely caption. At a high temperature it often draws a wrong caption. ``trm`` is best in
between. METEOR of single captions is best at the lowest temperature. ``diversity`` (Self-CIDEr) increases with the
temperature, because it does not use the images. The dashed lines show the expected values for two sets from one
distribution.
"""

import matplotlib.pyplot as plt
import numpy as np

import vlgauge
from vlgauge import scenes
from vlgauge.families.ngram.cider import DocumentFrequency
from vlgauge.research.studies.temperature_curve import curve

rng = np.random.default_rng(0)
temperatures = [0.1, 0.3, 0.6, 1.0, 1.5, 2.5, 4.0]
predictions = {temperature: [] for temperature in temperatures}
references = []
for i, scene in enumerate(scenes.scenes(40, seed=0, split="test")):
    wordings = scenes.captions(scene, seed=i, n=20)
    wrong = scenes.captions(scenes.change_fact(scene, "colour", seed=i), seed=i, n=20)
    references.append(wordings[10:])
    # Ten right captions, each slightly less likely than the previous one, and wrong captions that are much less likely.
    logits = np.concatenate([-0.3 * np.arange(10), np.full(20, -5.0)])
    for temperature in temperatures:
        weights = np.exp(logits / temperature)
        drawn = rng.choice(30, 10, p=weights / weights.sum())
        predictions[temperature].append([[*wordings[:10], *wrong][k] for k in drawn])

trm = vlgauge.load("trm", pvalue="auto", permutations=999, mean_aggregate=True, progress=False)
points = curve(predictions, references, {"trm": trm})
diversity = vlgauge.load("diversity", df=DocumentFrequency.from_references(references), progress=False)
spread = [diversity.compute(predictions=predictions[temperature])["diversity"] for temperature in temperatures]

figure, panels = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
titles = {"trm": "TRM with METEOR (lower is better)", "trm:base": "METEOR (higher is better)"}
for axes, (label, title) in zip(panels[:2], titles.items(), strict=True):
    own = [point for point in points if point.metric == label]
    axes.fill_between(temperatures, [point.low for point in own], [point.high for point in own], alpha=0.2)
    axes.plot(temperatures, [point.score for point in own], marker="o", label="simulated sampler")
    axes.plot(temperatures, [point.null_mean for point in own], "k--", label="equal distributions")
    axes.set(xscale="log", xlabel="temperature", title=title)
panels[2].plot(temperatures, spread, marker="o")
panels[2].set(xscale="log", xlabel="temperature", title="Self-CIDEr (higher is more diverse)")
panels[1].legend()
