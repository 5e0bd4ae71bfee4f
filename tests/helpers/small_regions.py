"""Small images and their regions."""

import numpy as np
from PIL import Image

from vlgauge.inputs.images.cells import image_cell
from vlgauge.models import detectors

SIZE = (30, 20)


def draw_image(seed=0, size=SIZE):
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def cell(seed=0, size=SIZE):
    return image_cell(draw_image(seed, size), "image")


def given(entries, cells=None, **options):
    return detectors.regions_of([cells], [entries], **options)[0]
