"""The tiny model of sentence order and its golden stories."""

from folders import GOLDEN

import vlgauge

TINY = GOLDEN / "rovist_c_tiny"
CHECKPOINT = TINY / "sop_model_tiny.pth.tar"


def load(**settings):
    return vlgauge.load("rovist_c", keep_in_memory=True, **settings)


def tiny(**settings):
    return load(model=str(CHECKPOINT), base=str(TINY), **settings)
