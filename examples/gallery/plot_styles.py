"""
Which style a caption has
=========================

160 captions in four styles, each scored as if every style had been asked for. The table of ``onlystyle`` was fitted on
other captions of other pictures.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import vlgauge
from vlgauge.inputs.media.tables import read_rows

EXAMPLES = Path("..")
rows = read_rows(str(EXAMPLES / "styled_captions.csv"))
styles = sorted({row["style"] for row in rows})
captions, own = [row["caption"] for row in rows], np.array([row["style"] for row in rows])
onlystyle = vlgauge.load("onlystyle", "demo", progress=False)
scores = {
    asked: np.array(onlystyle.compute(predictions=captions, styles=[asked] * len(captions))["onlystyle_scores"])
    for asked in styles
}
means = np.array([[scores[asked][own == style].mean() for asked in styles] for style in styles])

figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
picture = axes.imshow(means, cmap="RdBu", vmin=-abs(means).max(), vmax=abs(means).max())
for i, j in np.ndindex(means.shape):
    axes.text(j, i, f"{means[i, j]:.3f}", ha="center", va="center", color="white" if means[i, j] > 0.04 else "black")
axes.set(xticks=range(4), xticklabels=styles, yticks=range(4), yticklabels=styles)
axes.set(xlabel="style that was asked for", ylabel="style of the captions", title="mean onlystyle")
figure.colorbar(picture)
