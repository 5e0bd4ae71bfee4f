"""
Varied, or right?
=================

Ten candidates, m of them from k wordings of a drawn scene and the others from k captions of other scenes (a toy: 20
wordings a scene). METEOR of single captions asks only how many are right, ``trm`` also how many differ. Lighter is
better.
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
for axes, (label, (title, colours)) in zip(panels, shown.items(), strict=True):
    scores = np.array([cell.score for cell in cells if cell.metric == label]).reshape(len(uniques), len(corrects))
    picture = axes.imshow(scores, origin="lower", aspect="auto", cmap=colours)
    axes.set_xticks(range(len(corrects)), corrects)
    axes.set_yticks(range(len(uniques)), uniques)
    axes.set(xlabel="correct of ten candidates (m)", ylabel="different captions per pool (k)", title=title)
    figure.colorbar(picture, ax=axes)
