"""Scene graphs of captions (objects, attributes, relations): parsers, and the base class of metrics that compare them.

Scripts of metrics import ``from vlgauge.families import scene_graphs`` and use ``scene_graphs.SceneGraphMetric`` as
base class, because `evaluate` loads the first concrete metric class in the namespace of a script.
"""

from vlgauge.families.base.encoding import EncoderSettings
from vlgauge.families.scene_graphs.factual import FactualParser
from vlgauge.families.scene_graphs.graph import Graph
from vlgauge.families.scene_graphs.metric import GIVEN, NO_OBJECTS, ObjectMetric, SceneGraphMetric
from vlgauge.families.scene_graphs.phrases import phrases_of
from vlgauge.families.scene_graphs.rules import RuleParser
from vlgauge.families.scene_graphs.spice_program import SPICE, SpiceProgram, check_path, look_for_program
from vlgauge.families.scene_graphs.strange_captions import warn_of_strange
from vlgauge.families.scene_graphs.synsets import singular, synonyms, synsets
from vlgauge.families.scene_graphs.tagged import NltkLemmas

__all__ = [
    "GIVEN",
    "NO_OBJECTS",
    "SPICE",
    "EncoderSettings",
    "FactualParser",
    "Graph",
    "NltkLemmas",
    "ObjectMetric",
    "RuleParser",
    "SceneGraphMetric",
    "SpiceProgram",
    "check_path",
    "look_for_program",
    "phrases_of",
    "singular",
    "synonyms",
    "synsets",
    "warn_of_strange",
]
