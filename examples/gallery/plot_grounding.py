"""
An invented object
==================

Twenty drawn stories as they are told, with one object that no picture shows, and beside the pictures of another story.
``groovist`` (toy CLIP of drawn scenes) tells them apart, and says which phrase is to blame.
"""

import matplotlib.pyplot as plt

import vlgauge
from vlgauge import scenes

stories = scenes.stories(20, seed=11, split="test")
images = [story.images() for story in stories]
boxes = [[{"boxes": drawing.boxes} for drawing in story.drawings()] for story in stories]
told = {
    "as told": [story.sentences for story in stories],
    "one object invented": [story.with_hallucination(5)[0].sentences for story in stories],
    "another story": [story.sentences for story in stories[1:] + stories[:1]],
}
groovist = vlgauge.load("groovist", profile="embedded", device="cpu", progress=False)
results = {
    kind: groovist.compute(predictions=texts, images=images, regions=boxes, return_details=True)
    for kind, texts in told.items()
}

figure, axes = plt.subplots(figsize=(6, 2.8), layout="constrained")
axes.boxplot(
    [result["groovist_scores"] for result in results.values()], orientation="horizontal", tick_labels=list(told)
)
axes.set(xlabel="groovist (toy; higher is better)")
axes.invert_yaxis()

# %%
# The worst and the best of the stories with an invented object.

from vlgauge.explain import explain

kind = "one object invented"
explain("groovist", {"predictions": told[kind], "images": images, "regions": boxes}, results[kind])
