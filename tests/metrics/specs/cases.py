"""Cases of this metric for the tests of all metrics."""

from signature_cases import backbone_changes
from tiny_clip import TINY

changes = backbone_changes


def named(files):
    return {"backbone": TINY, "weights": files.clip(0)}
