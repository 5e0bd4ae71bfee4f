"""
Distance from human stories
===========================

``d_hm`` compares generated stories with human stories in grounding, coherence and repetition. In the bundled scores, a
third of the stories has no defect, and the others are worse in one of the three aspects. The scores were computed with
demo models on synthetic stories.
"""

import pandas as pd

import vlgauge

names = ["groovist", "rovist_c", "rovist_nr"]
model, human = (pd.read_csv(f"../{side}_scores.csv", index_col="id") for side in ("model", "human"))
d_hm = vlgauge.load("d_hm", progress=False)
result = d_hm.compute(
    predictions=model[names].to_dict("records"), references=human[names].to_dict("records"), return_details=True
)

# d_hm is the mean of three distances.
parts = pd.DataFrame(result["d_hm_details"], index=model.index.str.removeprefix("story-"))[["d_g", "d_c", "d_r"]] / 3
parts.columns = ["grounding", "coherence", "repetition"]
axes = parts.plot.bar(stacked=True, figsize=(8, 3.2), color=["#5b7ea6", "#b5651d", "#9a9a9a"], rot=0)
axes.set(title="Stories scored by demo models", xlabel="story", ylabel="d_hm (lower is better)")
axes.figure.tight_layout()
