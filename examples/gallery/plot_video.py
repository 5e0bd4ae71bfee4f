"""
Scoring captions of videos
==========================

Right and wrong captions of videos in which an object moves. For videos, ``clip_s`` is EMScore, which compares the whole
caption and each of its words with the frames. CLIP is the demo model of the embedded profile.
"""

import matplotlib.pyplot as plt
import pandas as pd

import vlgauge
from vlgauge.explain import explain

rows = pd.read_json("../captioned_clips.jsonl", lines=True)
columns = {"predictions": rows["predictions"].to_list(), "videos": ("../" + rows["videos"]).to_list()}
clip_s = vlgauge.load("clip_s", "video", profile="embedded", device="cpu", progress=False)
result = clip_s.compute(**columns, return_details=True)

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(result["clip_s_scores"], rows["kind"], "o", alpha=0.6)
axes.set(xlabel="clip_s of videos (demo model; higher is better)")
axes.invert_yaxis()

# %%
# The rows with the lowest and the highest score, frame by frame:

explain("clip_s", {"id": rows["id"].to_list(), **columns}, result)
