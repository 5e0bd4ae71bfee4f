"""Evaluation protocols for caption metrics, on datasets supplied by the user.

A reader converts the published files of a dataset to a `Task`: ``columns`` for ``metric.compute(**columns)``, and the
rules by which `judge` computes the figures of the papers' tables, with intervals that resample images. All readers
accept:

- files, or folders that contain them under their published names,
- the folder of the images or videos, by default the folder of the files,
- the number of references per row, from the first one: None for all, 0 for none.

They raise ValueError if a file is missing or has another layout, and OSError if a file cannot be read.
"""

from collections.abc import Callable

from vlgauge.research.protocols.abstract50s import read_abstract50s
from vlgauge.research.protocols.activitynet_foil import read_activitynet_foil
from vlgauge.research.protocols.composite import read_composite
from vlgauge.research.protocols.dsg_tifa160 import read_dsg_tifa160
from vlgauge.research.protocols.evaluation import Task
from vlgauge.research.protocols.flickr8k import read_flickr8k_cf, read_flickr8k_expert
from vlgauge.research.protocols.foil import read_foil
from vlgauge.research.protocols.hallucination import read_hat, read_nocaps_foil
from vlgauge.research.protocols.pascal50s import read_pascal50s
from vlgauge.research.protocols.polaris import read_nebula, read_polaris
from vlgauge.research.protocols.sdci import read_sdci
from vlgauge.research.protocols.thumb import read_thumb
from vlgauge.research.protocols.vatex_eval import read_vatex_eval

PROTOCOLS: dict[str, Callable[..., Task]] = {
    "flickr8k_expert": read_flickr8k_expert,
    "flickr8k_cf": read_flickr8k_cf,
    "composite": read_composite,
    "polaris": read_polaris,
    "nebula": read_nebula,
    "pascal50s": read_pascal50s,
    "abstract50s": read_abstract50s,
    "foil": read_foil,
    "vatex_eval": read_vatex_eval,
    "activitynet_foil": read_activitynet_foil,
    "sdci": read_sdci,
    "hat": read_hat,
    "nocaps_foil": read_nocaps_foil,
    "thumb": read_thumb,
    "dsg_tifa160": read_dsg_tifa160,
}
"""Readers by name. Their keyword arguments are the rules of a protocol."""
