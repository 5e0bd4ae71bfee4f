"""Cases of this metric for the tests of all metrics."""

import tiny_polos
from signature_cases import each_of
from tiny_clip import TINY


def changes(files):
    mine, demo = named(files), {"profile": "embedded"}
    other = TINY.__class__(**{**vars(TINY), "name": "other", "architecture": "other-gelu"})
    # The encoders of a head are checked, so that another encoder requires another head.
    apart = {
        "backbone": (mine, mine | {"backbone": other}),
        "weights": (mine, tiny_polos.settings(files.folder, files.clip(1))),
        "text_encoder": (mine, tiny_polos.settings(files.folder, files.clip(0), text_seed=1)),
        "checkpoint": (mine, tiny_polos.settings(files.folder, files.clip(0), seed=1)),
    }
    released = demo | {"variant": "released"}
    return {
        **apart,
        **each_of(demo, variant=(None, "released"), dtype=(None, "bfloat16")),
        **each_of(demo, long_text=(None, "error"), on_error=(None, "nan")),
        **each_of(released, released_batch_size=(None, 2)),
    }


def named(files):
    return tiny_polos.settings(files.folder, files.clip(0))
