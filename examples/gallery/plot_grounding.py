"""
Detecting a hallucinated object
===============================

Twenty synthetic stories in three versions: the original, one with an object that is in none of the images, and one with
the images of another story. ``groovist`` distinguishes them, and its explanation marks the phrases that lower the
score. CLIP is the demo model of the embedded profile.
"""

import matplotlib.pyplot as plt

import vlgauge
from vlgauge import scenes

stories = scenes.stories(20, seed=11, split="test")
images = [story.images() for story in stories]
boxes = [[{"boxes": drawing.boxes} for drawing in story.drawings()] for story in stories]
versions = {
    "original": [story.sentences for story in stories],
    "one hallucinated object": [story.with_hallucination(5)[0].sentences for story in stories],
    "another story": [story.sentences for story in stories[1:] + stories[:1]],
}
groovist = vlgauge.load("groovist", profile="embedded", device="cpu", progress=False)
results = {
    kind: groovist.compute(predictions=texts, images=images, regions=boxes, return_details=True)
    for kind, texts in versions.items()
}

figure, axes = plt.subplots(figsize=(6, 2.8), layout="constrained")
axes.boxplot(
    [result["groovist_scores"] for result in results.values()], orientation="horizontal", tick_labels=list(versions)
)
axes.set(xlabel="groovist (demo model; higher is better)")
axes.invert_yaxis()

# %%
# The worst and the best of the stories with a hallucinated object:

from vlgauge.explain import explain

kind = "one hallucinated object"
explain("groovist", {"predictions": versions[kind], "images": images, "regions": boxes}, results[kind])
