"""
Diversity versus correctness
============================

Each caption set has ten candidates: m captions of the right synthetic scene and 10 - m captions of other scenes, both
drawn from pools of k different captions. METEOR of single captions depends on the number of correct captions, ``trm``
also on the number of different ones. Lighter is better.
"""

import matplotlib.pyplot as plt
import numpy as np

import vlgauge
from vlgauge import scenes
from vlgauge.research.studies.unique_versus_correct import unique_versus_correct

references = [scenes.captions(scene, seed=i, n=20) for i, scene in enumerate(scenes.scenes(40, seed=0, split="test"))]
trm = vlgauge.load("trm", mean_aggregate=True, progress=False)
uniques, corrects = [1, 2, 3, 5, 7, 10], [0, 2, 4, 6, 8, 10]
cells = unique_versus_correct(references, {"trm": trm}, uniques=uniques, corrects=corrects)

figure, panels = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
shown = {"trm": ("TRM, METEOR (lower is better)", "viridis_r"), "trm:base": ("METEOR (higher is better)", "viridis")}
for axes, (label, (title, colors)) in zip(panels, shown.items(), strict=True):
    scores = np.array([cell.score for cell in cells if cell.metric == label]).reshape(len(uniques), len(corrects))
    image = axes.imshow(scores, origin="lower", aspect="auto", cmap=colors)
    axes.set_xticks(range(len(corrects)), corrects)
    axes.set_yticks(range(len(uniques)), uniques)
    axes.set(xlabel="correct of ten candidates (m)", ylabel="different captions per pool (k)", title=title)
    figure.colorbar(image, ax=axes)
