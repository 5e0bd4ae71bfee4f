"""
Score a table and explain the scores
====================================

One call computes scores, intervals, explanations and plots for a data frame. The frame contains 68 captions of
synthetic scenes, some correct and some with errors. CLIP is the demo model of the embedded profile.
"""

import pandas as pd

import vlgauge

frame = pd.read_json("../captioned_scenes.jsonl", lines=True).set_index("id")
frame["images"] = "../" + frame["images"]
scores = vlgauge.score(frame, "clip_s,rouge_l,chrf", profile="embedded")
scores

# %%
# ``scores.rows`` is the frame with one additional column per score. If the positions of two objects are swapped, CLIP-S
# is much lower than for the right captions. ROUGE-L compares only words and hardly changes.
scores.rows.groupby("kind")[["clip_s", "rouge_l", "chrf"]].mean().sort_values("clip_s").round(2)

# %%
# The explanation of the scores of one row:
print(scores.explain("scene-01, other colour"))

# %%
# The distribution of each score, with the corpus-level value and its interval:
scores.plot()

# %%
# The correlation between the scores:
scores.plot("correlation")
