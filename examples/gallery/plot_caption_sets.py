"""
Detecting repeated captions
===========================

Three kinds of caption sets, each with five model captions and five human captions: captions as diverse as the human
ones, the same caption five times, and diverse captions of another scene. ``trm`` (with METEOR) detects the second kind,
``mmd_bert`` the second and the third.
"""

import matplotlib.pyplot as plt
import pandas as pd

import vlgauge
from vlgauge.explain import explain

kinds = ["diverse", "collapsed", "off-topic"]
rows = pd.read_json("../caption_sets.jsonl", lines=True).query("kind in @kinds").set_index("id")
columns = {"predictions": rows["predictions"].to_list(), "references": rows["references"].to_list()}

figure, panels = plt.subplots(1, 2, figsize=(8, 3), sharey=True, layout="constrained")
for axes, (name, settings) in zip(panels, {"trm": {}, "mmd_bert": {"profile": "embedded"}}.items(), strict=True):
    metric = vlgauge.load(name, pvalue="exact", progress=False, **settings)
    pvalues = metric.compute(**columns)[f"{name}_pvalues"]
    axes.plot(pvalues, rows["kind"], "o", alpha=0.6)
    axes.axvline(0.05, color="gray", linestyle="--")
    axes.set(xscale="log", xlabel=f"p of {name} (small: differs from human captions)")
panels[0].invert_yaxis()

# %%
# Explanation of a diverse set and of a set of repeated captions:

trm = vlgauge.load("trm", pvalue="exact", progress=False)
chosen = rows.loc[["diverse-01", "collapsed-01"]]
columns = {"predictions": chosen["predictions"].to_list(), "references": chosen["references"].to_list()}
explain("trm", columns, trm.compute(**columns, return_details=True))
