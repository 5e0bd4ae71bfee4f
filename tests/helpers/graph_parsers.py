"""Artificial parsers of scene graphs, and pipelines with different names."""

from functools import cache

from vlgauge.families.scene_graphs import Graph
from vlgauge.inputs.text.english import find_folder, import_spacy


class WordParser:
    """Every word is an object."""

    def __init__(self, identity="words-1"):
        self.identity = identity

    def graphs(self, captions, *, progress=None):
        return [Graph.of((word,) for word in caption.split()) for caption in captions]

    def object_groups(self, captions, *, progress=None):
        return [[[word] for word in caption.lower().split()] for caption in captions]


@cache
def renamed_pipeline(name):
    """Return the small English pipeline under another name. Tests must not modify it."""
    pipeline = import_spacy().load(find_folder())
    pipeline.meta["name"] = name
    return pipeline
