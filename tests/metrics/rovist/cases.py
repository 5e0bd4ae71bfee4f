"""Cases of this metric for the tests of all metrics."""

from explained import illustrate
from signature_cases import each_of

from vlgauge import scenes

EXPLAINED = ({"scale_vg": True}, lambda: illustrate(scenes.stories(2, 41, "test")))


def changes(files):
    demo = {"profile": "embedded"}
    return each_of(
        demo, vg=(None, {"oov": "skip"}), c=(None, {"context": "prefix"}), nr=(None, {"n": 2}), scale_vg=(None, True)
    )


def named(files):
    return {"profile": "embedded"}
