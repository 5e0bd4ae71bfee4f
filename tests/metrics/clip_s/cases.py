"""Cases of this metric for the tests of all metrics."""

from apart_cases import clips, drawn
from signature_cases import clip_changes, each_of
from tiny_clip import TINY

from vlgauge.checkpoints.files import sha256_of
from vlgauge.families.clip_score.calibration import Calibration
from vlgauge.models.clip.demo import DEMO_NAME, demo_file

APART = {"": ({}, drawn), "-video": ({"config_name": "video", "idf": "auto"}, clips)}


def scale(files, w):
    """Write a score calibration of the demo model to a file."""
    path = files.folder / f"scale_{w}.json"
    ends, how = ((w - 1, w + 1), (0.1, 0.3)), (20, 12, 0.95, 100, 0)
    Calibration(DEMO_NAME, DEMO_NAME, sha256_of(demo_file()), "A photo depicts ", w, 0.2, *ends, *how).save(path)
    return str(path)


def changes(files):
    return {
        **clip_changes(files),
        **each_of({"profile": "embedded"}, calibration=(scale(files, 2.0), scale(files, 3.0))),
    }


def named(files):
    return {"backbone": TINY, "weights": files.clip(0)}
