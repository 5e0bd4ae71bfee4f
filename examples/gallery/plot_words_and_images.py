"""
Metrics of words and a metric of pictures
=========================================

Captions of ten drawn scenes, right or with one thing wrong. Where two objects have changed places the words are nearly
the same: ``cider`` hardly notices, ``meteor`` a little, ``clip_s`` (toy CLIP) does.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import vlgauge
from vlgauge.inputs.media.tables import located, read_rows

EXAMPLES = Path("..")
path = EXAMPLES / "captioned_scenes.jsonl"
rows = read_rows(str(path))
kinds = list(dict.fromkeys(row["kind"] for row in rows))
columns = {key: [row[key] for row in rows] for key in ("predictions", "references", "images")}
columns |= located({"images": columns["images"]}, str(path))

settings = {"cider": {}, "meteor": {}, "clip_s": {"profile": "embedded", "device": "cpu"}}
figure, panels = plt.subplots(1, 3, figsize=(9, 3.2), sharey=True, layout="constrained")
for axes, (name, own) in zip(panels, settings.items(), strict=True):
    metric = vlgauge.load(name, progress=False, **own)
    given = {column.name: columns[column.name] for column in metric.columns if column.name in columns}
    scores = np.array(metric.compute(**given)[f"{name}_scores"])
    means = [scores[[row["kind"] == kind for row in rows]].mean() for kind in kinds]
    axes.barh(kinds, means, color="#5b7ea6")
    axes.set(xlabel=f"{name}{' (toy)' if own else ''}")
panels[0].invert_yaxis()
