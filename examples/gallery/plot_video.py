"""
A caption and its video
=======================

Clips in which an object moves, with captions that are right or not. For videos ``clip_s`` is EMScore: the caption as a
whole against the frames, and its words against the frames (toy CLIP of drawn scenes).
"""

from pathlib import Path

import matplotlib.pyplot as plt

import vlgauge
from vlgauge.explain import explain
from vlgauge.inputs.media.tables import located, read_rows

EXAMPLES = Path("..")
path = str(EXAMPLES / "captioned_clips.jsonl")
rows = read_rows(path)
columns = {key: [row[key] for row in rows] for key in ("id", "predictions", "videos")}
columns |= located({"videos": columns["videos"]}, path)
clip_s = vlgauge.load("clip_s", "video", profile="embedded", device="cpu", progress=False)
result = clip_s.compute(predictions=columns["predictions"], videos=columns["videos"], return_details=True)

kinds = list(dict.fromkeys(row["kind"] for row in rows))
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for height, kind in enumerate(kinds):
    found = [score for score, row in zip(result["clip_s_scores"], rows, strict=True) if row["kind"] == kind]
    axes.plot(found, [height] * len(found), "o", alpha=0.6)
axes.set(yticks=range(len(kinds)), yticklabels=kinds, xlabel="clip_s of videos (toy; higher is better)")
axes.invert_yaxis()

# %%
# The worst and the best, frame by frame.

explain("clip_s", columns, result)
