"""The evaluation protocols by which metrics of captions are judged, on data that the user brings.

A reader turns the published files of a data set into a `Task`: ``columns`` for ``metric.compute(**columns)``, and
``evaluate(scores)``, which follows the rules of the data set and gives the figures of the papers' tables with intervals
that resample images.
"""

from collections.abc import Callable

from vlgauge.statistics import grouped_intervals
from vlgauge.studies.protocols.abstract50s import read_abstract50s
from vlgauge.studies.protocols.activitynet_foil import read_activitynet_foil
from vlgauge.studies.protocols.composite import read_composite
from vlgauge.studies.protocols.corpora import read_corpus
from vlgauge.studies.protocols.evaluation import Evaluation, Figure, Task
from vlgauge.studies.protocols.flickr8k import read_flickr8k_cf, read_flickr8k_expert
from vlgauge.studies.protocols.foil import read_foil
from vlgauge.studies.protocols.pairs import CaptionPairs
from vlgauge.studies.protocols.pascal50s import read_pascal50s
from vlgauge.studies.protocols.ratings import RatedCaptions, kendall, spearman
from vlgauge.studies.protocols.scoring import Scores, metric_scores, read_scores
from vlgauge.studies.protocols.vatex_eval import read_vatex_eval

PROTOCOLS: dict[str, Callable[..., Task]] = {
    "flickr8k_expert": read_flickr8k_expert,
    "flickr8k_cf": read_flickr8k_cf,
    "composite": read_composite,
    "pascal50s": read_pascal50s,
    "abstract50s": read_abstract50s,
    "foil": read_foil,
    "vatex_eval": read_vatex_eval,
    "activitynet_foil": read_activitynet_foil,
}
"""Readers by name; what follows the files are the rules of a protocol, as keywords."""

__all__ = [
    "PROTOCOLS",
    "CaptionPairs",
    "Evaluation",
    "Figure",
    "RatedCaptions",
    "Scores",
    "Task",
    "grouped_intervals",
    "kendall",
    "metric_scores",
    "read_abstract50s",
    "read_activitynet_foil",
    "read_composite",
    "read_corpus",
    "read_flickr8k_cf",
    "read_flickr8k_expert",
    "read_foil",
    "read_pascal50s",
    "read_scores",
    "read_vatex_eval",
    "spearman",
]
