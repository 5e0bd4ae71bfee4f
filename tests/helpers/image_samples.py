"""Images of every mode, and their bytes in every format."""

import io

import numpy as np
from PIL import Image

RNG = np.random.default_rng(7)
RGB = Image.fromarray(RNG.integers(0, 256, (7, 5, 3), dtype=np.uint8))
RGBA = Image.fromarray(RNG.integers(0, 256, (7, 5, 4), dtype=np.uint8))


def encoded(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def pixels(image):
    return image.mode, image.size, image.tobytes()


def in_mode(mode):
    if mode == "PA":
        return RGBA.convert("LA").convert("PA")
    return (RGBA if mode in ("LA", "RGBA", "RGBa") else RGB).convert(mode)
