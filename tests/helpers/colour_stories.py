"""Two stories with images of plain colors, and groovist with an encoder that only distinguishes colors."""

from functools import cache

from fake_clip import FakeClip
from folders import GOLDEN
from PIL import Image

import vlgauge

# Made-up ratings, in steps of 0.5.
STANDIN = GOLDEN / "groovist" / "concreteness_standin.csv"
RED, GREEN, BLUE, YELLOW = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0)


def plain(colour, size=(12, 9)):
    return Image.new("RGB", size, colour)


def halves(left, right):
    image = plain(left)
    image.paste(right, (6, 0, 12, 9))
    return image


STORY = ["A red dog ran to it.", "The green tree saw the red dog."]
PHRASES = [["a red dog", "it"], ["the green tree", "the red dog"]]
IMAGES = [plain(RED), plain(GREEN)]


def load(encoder=None, **settings):
    defaults = {"theta": 1.2, "regions": "whole", "backbone": encoder or FakeClip()}
    if "concreteness" not in settings:
        defaults["concreteness_path"] = STANDIN
    return vlgauge.load("groovist", keep_in_memory=True, **defaults | settings)


@cache
def usual():
    return load()


def score(stories=(STORY,), images=(IMAGES,), phrases=(PHRASES,), metric=None, **data):
    """Return the result of one call."""
    metric = usual() if metric is None else metric  # an empty metric is false
    return metric.compute(predictions=list(stories), images=images, noun_phrases=phrases, **data)


def details(**data):
    """Return the details of the first story."""
    return score(**data, return_details=True)["groovist_details"][0]
