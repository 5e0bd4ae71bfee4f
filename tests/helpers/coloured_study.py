"""Stories with colored images for the experiments of GROOViST, and the metric with an encoder of colors."""

from fake_clip import FakeClip
from PIL import Image

import vlgauge
from vlgauge.research.studies import groovist as study

COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255), "yellow": (255, 255, 0)}
NAMES = list(COLOURS)


def loader(**common):
    """Return a function that loads groovist with an encoder of colors, as the command does."""
    settings = {"theta": 0.3, "regions": "whole", "noun_phrases": "embedded"}
    metric = settings | {"backbone": FakeClip()} | common

    def load(**more):
        return vlgauge.load("groovist", keep_in_memory=True, **metric | more)

    return load


def coloured_stories():
    """Return four stories with two images each."""
    stories = [[f"A {name} dog ran.", f"He saw the {name} tree."] for name in NAMES]
    images = [[Image.new("RGB", (6, 6), COLOURS[name])] * 2 for name in NAMES]
    return study.Stories(stories, images)
