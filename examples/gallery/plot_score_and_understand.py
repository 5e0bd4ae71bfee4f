"""
Score a table and understand it
===============================

One call from a frame to numbers, reasons and pictures. The frame has 68 captions of drawn scenes, which tell right and
wrong things; CLIP-S is that of the **toy** CLIP of the embedded profile.
"""

import pandas as pd

import vlgauge

frame = pd.read_json("../captioned_scenes.jsonl", lines=True).set_index("id")
frame["images"] = "../" + frame["images"]
scores = vlgauge.score(frame, "clip_s,rouge_l,chrf", profile="embedded")
scores

# %%
# The rows have their scores beside what they had. Where two things have swapped their places, the model that looks at
# the picture gives far less than for right captions; ROUGE-L, which looks for shared words, hardly minds.
scores.rows.groupby("kind")[["clip_s", "rouge_l", "chrf"]].mean().sort_values("clip_s").round(2)

# %%
# Why has a row its scores?
print(scores.explain("scene-01, other colour"))

# %%
# Where the scores lie, with the value of the whole and its interval:
scores.plot()

# %%
# Which scores agree over the rows:
scores.plot("correlation")
