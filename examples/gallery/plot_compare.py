"""
Which of three systems is better?
=================================

Three artificial captioners on ten scenes, with five captions per scene. ``vlgauge.compare`` computes paired differences
with bootstrap intervals, tests with Holm's correction, a table for a paper, and the rows with the largest differences.
"""

import vlgauge

files = {name: f"../leaderboard/{name}.jsonl" for name in ("sampler", "greedy", "wanderer")}
found = vlgauge.compare(files, "trm,rovist_nr")
found

# %%
# To the right of 0, the first of the two systems is better. A filled mark is a pair that the corrected test
# distinguishes.
found.plot()

# %%
# The table for a paper: its caption explains bold values and daggers, and the signatures are for the appendix.
print(found.to_latex(caption="Captioners on ten scenes.", label="tab:captioners"))

# %%
# The rows with the largest differences:
found.rows_that_differ(2, metric="trm")[["first", "second", "id", "difference"]]
