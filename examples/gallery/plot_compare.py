"""
Which of three systems is better?
=================================

The differences of ``trm`` between three made-up captioners on ten scenes, with paired bootstrap intervals and p-values
after Holm's correction. An interval that holds 0 does not tell two systems apart.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import vlgauge
from vlgauge.leaderboard import compare
from vlgauge.media.tables import read_rows

EXAMPLES = Path("..")
runs = {}
for name in ("sampler", "greedy", "wanderer"):
    rows = read_rows(str(EXAMPLES / "leaderboard" / f"{name}.jsonl"))
    trm = vlgauge.load("trm", progress=False, pvalue="exact")
    columns = {key: [row[key] for row in rows] for key in ("predictions", "references")}
    runs[name] = {"ids": [row["id"] for row in rows]} | trm.compute(**columns)
found = compare(runs, ["trm"]).metrics[0]

figure, axes = plt.subplots(figsize=(6.5, 2.6), layout="constrained")
for height, pair in enumerate(found.pairs):
    axes.plot([pair.low, pair.high], [height] * 2, color="#5b7ea6", linewidth=3)
    axes.plot(pair.difference, height, "o", color="black")
titles = [f"{pair.first} - {pair.second}\np = {pair.adjusted_pvalue:.3f}" for pair in found.pairs]
axes.axvline(0, color="gray", linestyle="--")
axes.set(yticks=range(len(titles)), yticklabels=titles, xlabel="difference of trm (below 0: the first is better)")
axes.invert_yaxis()
