"""
How far from human stories
==========================

``d_hm`` compares a model's stories with people's in grounding, coherence and repetition. Of the bundled scores every
third story is told well, the others badly in one of the three ways (toy scores of drawn stories).
"""

from pathlib import Path

import matplotlib.pyplot as plt

import vlgauge
from vlgauge.inputs.media.tables import read_rows

EXAMPLES = Path("..")
model, people = (read_rows(str(EXAMPLES / f"{side}_scores.csv")) for side in ("model", "human"))
d_hm = vlgauge.load("d_hm", progress=False)
parts = ("groovist", "rovist_c", "rovist_nr")
sides = [[{part: float(row[part]) for part in parts} for row in rows] for rows in (model, people)]
details = d_hm.compute(predictions=sides[0], references=sides[1], return_details=True)["d_hm_details"]

figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
bottom = [0.0] * len(details)
for part, label, colour in (
    ("d_g", "grounding", "#5b7ea6"),
    ("d_c", "coherence", "#b5651d"),
    ("d_r", "repetition", "#9a9a9a"),
):
    heights = [detail[part] / 3 for detail in details]
    axes.bar(range(len(details)), heights, bottom=bottom, label=label, color=colour)
    bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
axes.set(xticks=range(len(details)), xlabel="story", ylabel="d_hm (toy; lower is better)")
axes.set_xticklabels([row["id"].removeprefix("story-") for row in model])
axes.legend()
