"""HTML rendering with Jinja. All strings are escaped and shown literally, except for markup created by this package."""

import math
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import vlgauge
from vlgauge.core.catalog import metrics_root
from vlgauge.core.optional_dependencies import importing
from vlgauge.core.results import visible
from vlgauge.core.signatures import DEMO_NUMBERS

with importing('`vlgauge.explain` needs Jinja2; run: pip install "vlgauge[explain]"'):
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup, escape

TEMPLATES = Path(__file__).parent / "templates"
MINUS = "\N{MINUS SIGN}"
_LONGEST_WORD = 32
_MOST_NOTES = 10  # maximum number of warnings on a page


def clean_text(value: Any) -> Any:
    """Return a string without characters that would affect the page, or any other value unchanged.

    These are direction marks, control characters and lone surrogates. `Markup` is unchanged too.
    """
    return visible(re.sub(r"\s", " ", value)) if isinstance(value, str) and not isinstance(value, Markup) else value


def safe(text: str) -> Markup:
    """Convert a string to escaped markup."""
    return escape(clean_text(text))


def number(value: float | None, digits: int = 2) -> str:
    """Format a number for display. NaN and None become "undefined"."""
    if value is None or math.isnan(value):
        return "undefined"
    return f"{value:z.{digits}f}".replace("-", MINUS)


def format_signed(value: float, digits: int = 2) -> str:
    """Format a number with its sign, such as "+0.71"."""
    return f"{value:+.{digits}f}".replace("-", MINUS)


def signs(text: str) -> str:
    """Format a range such as "(-inf, 1]" with typographic symbols."""
    return text.replace("-", MINUS).replace("infinity", "∞").replace("inf", "∞")


def cut(text: str, longest: int = _LONGEST_WORD) -> str:
    """Truncate a text to `longest` characters, with an ellipsis if it was longer."""
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def quote_word(text: str) -> str:
    """Return a word, shortened if necessary, in quotation marks."""
    return f"“{cut(text)}”"


def in_words(numbers: Sequence[int]) -> str:
    """Join numbers to a list such as "1, 2 and 5"."""
    texts = [str(one) for one in numbers]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


@cache
def environment(folder: Path = TEMPLATES) -> Environment:
    """Return the Jinja environment with the templates of a folder.

    The templates that all pages share follow in the search path, and after them the templates of metrics, as
    "<name>/key".
    """
    found = Environment(
        loader=FileSystemLoader([folder, TEMPLATES, metrics_root()]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=clean_text,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    found.filters.update(number=number, signed=format_signed, signs=signs, cut=cut, quoted=quote_word)
    found.globals.update(style=Markup((TEMPLATES / "style.css").read_text("utf-8")), demo_numbers=DEMO_NUMBERS)
    return found


def fragment(template: str, /, *, folder: Path = TEMPLATES, **values: Any) -> Markup:
    """Render the template of that name as a part of a page.

    Raises:
        TemplateNotFound: If there is no such template.
    """
    return Markup(environment(folder).get_template(f"{template}.html.jinja").render(values).strip())


def drop_repeated_notes(notes: Sequence[str], is_demo: bool) -> list[str]:
    """Drop the warnings of a run that a page already contains as notices.

    Args:
        notes: The warnings.
        is_demo: Whether the page has its own notices about demo models, so that the warnings about them are left out.
    """
    return [text for text in notes if not (is_demo and DEMO_NUMBERS in text)]


def whole_page(
    sections: Sequence[Markup],
    *,
    names: Sequence[str],
    title: str,
    table: str,
    notes: Sequence[str] = (),
    end: str = "",
) -> str:
    """Render a complete page.

    Args:
        sections: Sections in order.
        names: Names of the metrics.
        title: Headline.
        table: HTML above the sections.
        notes: Warnings of the run. Only the first ones are shown, with the number of the others.
        end: HTML below the sections.
    """
    page = fragment(
        "page",
        sections=sections,
        names=names,
        title=title,
        table=table,
        notes=notes[:_MOST_NOTES],
        n_more=max(0, len(notes) - _MOST_NOTES),
        end=end,
        version=vlgauge.__version__,
    )
    return f"{page}\n"
