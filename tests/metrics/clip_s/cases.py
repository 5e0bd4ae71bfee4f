"""What the tests of all metrics want of this one."""

from apart_cases import clips, drawn
from signature_cases import clip_changes
from tiny_clip import TINY

APART = {"": ({}, drawn), "-video": ({"config_name": "video", "idf": "auto"}, clips)}

changes = clip_changes


def named(files):
    return {"backbone": TINY, "weights": files.clip(0)}
