"""Cases of this metric for the tests of all metrics."""

from apart_cases import drawn, without
from explained import bundled
from signature_cases import clip_changes, each_of
from tiny_clip import TINY

APART = {"": ({}, lambda: without(drawn(), "references"))}
EXPLAINED = ({"config_name": "video"}, lambda: bundled("captioned_clips", 8))


def changes(files):
    both = [{"backbone": TINY, "weights": files.clip(of), "checkpoint": files.adapter(1, of)} for of in (0, 1)]
    other = TINY.__class__(**{**vars(TINY), "name": "other", "architecture": "other-gelu"})
    whole = {"weights": files.clip(0), "checkpoint": files.clip(1)}
    return {
        **clip_changes(files),
        **each_of(whole, backbone=(TINY, other)),
        "weights": tuple(both),
        **each_of({"backbone": TINY, "weights": files.clip(0), "checkpoint": files.clip(1)}, version=(None, "++")),
    }


def named(files):
    return {"backbone": TINY, "weights": files.clip(0), "checkpoint": files.adapter(1, 0)}
