"""
Classifying the style of captions
=================================

160 captions in four styles, each scored by ``onlystyle`` for each of the styles. On the diagonal, the requested style
is the style of the caption. The style table was fitted on other captions of other images.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import vlgauge

rows = pd.read_csv("../styled_captions.csv")
onlystyle = vlgauge.load("onlystyle", "demo", progress=False)
styles = sorted(rows["style"].unique())
captions = rows["caption"].to_list()
for style in styles:
    rows[style] = onlystyle.compute(predictions=captions, styles=[style] * len(rows))["onlystyle_scores"]
means = rows.groupby("style")[styles].mean().to_numpy()

figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
image = axes.imshow(means, cmap="RdBu", vmin=-abs(means).max(), vmax=abs(means).max())
for i, j in np.ndindex(means.shape):
    axes.text(j, i, f"{means[i, j]:.3f}", ha="center", va="center", color="white" if means[i, j] > 0.04 else "black")
axes.set(xticks=range(4), xticklabels=styles, yticks=range(4), yticklabels=styles)
axes.set(xlabel="requested style", ylabel="style of the captions", title="mean onlystyle")
figure.colorbar(image)
