"""
Five captions that are one
==========================

Sets of five captions against five by people: as varied as people's, the same caption again and again, and varied ones
of another scene. ``trm`` (METEOR) finds out the second, ``mmd_bert`` the second and the third.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import vlgauge
from vlgauge.inputs.media.tables import read_rows

EXAMPLES = Path("..")
rows = [
    row
    for row in read_rows(str(EXAMPLES / "caption_sets.jsonl"))
    if row["kind"] in ("diverse", "collapsed", "off-topic")
]
kinds = ["diverse", "collapsed", "off-topic"]
columns = {key: [row[key] for row in rows] for key in ("predictions", "references")}

figure, panels = plt.subplots(1, 2, figsize=(8, 3), sharey=True, layout="constrained")
for axes, (name, settings) in zip(panels, {"trm": {}, "mmd_bert": {"profile": "embedded"}}.items(), strict=True):
    metric = vlgauge.load(name, pvalue="exact", progress=False, **settings)
    pvalues = metric.compute(**columns)[f"{name}_pvalues"]
    for height, kind in enumerate(kinds):
        found = [p for p, row in zip(pvalues, rows, strict=True) if row["kind"] == kind]
        axes.plot(found, [height] * len(found), "o", alpha=0.6)
    axes.axvline(0.05, color="gray", linestyle="--")
    axes.set(xscale="log", xlabel=f"p of {name} (small: not as people write)", yticks=range(3), yticklabels=kinds)
panels[0].invert_yaxis()

# %%
# The two most extreme sets, explained.

from vlgauge.explain import explain

trm = vlgauge.load("trm", pvalue="exact", progress=False)
chosen = {key: [cells[k] for k in (0, 10)] for key, cells in columns.items()}
explain("trm", chosen, trm.compute(**chosen, return_details=True))
