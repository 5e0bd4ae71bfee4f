"""
Which of three systems is better?
=================================

Three made-up captioners on ten scenes, which each draws five captions of: paired differences with bootstrap intervals,
tests with Holm's correction, the table of a paper, and the rows in which the systems part.
"""

import vlgauge

files = {name: f"../leaderboard/{name}.jsonl" for name in ("sampler", "greedy", "wanderer")}
found = vlgauge.compare(files, "trm,rovist_nr")
found

# %%
# Right of 0 the first of two systems is better; a filled mark is told apart by the corrected test.
found.plot()

# %%
# The table of a paper says in its caption what bold and daggers mean, and has the signatures for the appendix.
print(found.to_latex(caption="Captioners on ten scenes.", label="tab:captioners"))

# %%
# Where do they part?
found.rows_that_differ(2, metric="trm")[["first", "second", "id", "difference"]]
