"""HTML by Jinja: every text is escaped, and shows what it holds, unless it is markup of our own."""

import math
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import vlgauge
from vlgauge.catalog import metrics_root
from vlgauge.installed import importing
from vlgauge.results import visible
from vlgauge.signatures import TOY_NUMBERS

with importing('`vlgauge.explain` needs Jinja2; run: pip install "vlgauge[explain]"'):
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup, escape

TEMPLATES = Path(__file__).parent / "templates"
MINUS = "\N{MINUS SIGN}"
_LONGEST_WORD = 32
_MOST_TOLD = 10  # warnings on a page


def shown(value: Any) -> Any:
    """A text without anything that a page would obey: marks of direction, control characters, halves of letters."""
    return visible(re.sub(r"\s", " ", value)) if isinstance(value, str) and not isinstance(value, Markup) else value


def safe(text: str) -> Markup:
    """A text as markup that shows it."""
    return escape(shown(text))


def number(value: float | None, digits: int = 2) -> str:
    """A number as a reader sees it; NaN is a word, and so is what details leave out."""
    if value is None or math.isnan(value):
        return "undefined"
    return f"{value:z.{digits}f}".replace("-", MINUS)


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign, such as "+0.71"."""
    return f"{value:+.{digits}f}".replace("-", MINUS)


def signs(text: str) -> str:
    """A range such as "(-inf, 1]" with the signs of print."""
    return text.replace("-", MINUS).replace("infinity", "∞").replace("inf", "∞")


def cut(text: str, longest: int = _LONGEST_WORD) -> str:
    """The start of a text that is too long to be named."""
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def quoted(text: str) -> str:
    """A word or its start in quotation marks."""
    return f"“{cut(text)}”"


def in_words(numbers: Sequence[int]) -> str:
    """Numbers as a list, such as "1, 2 and 5"."""
    texts = [str(one) for one in numbers]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


@cache
def environment(folder: Path = TEMPLATES) -> Environment:
    """The templates of a folder, behind them those that every page shares, and those of metrics as "<name>/key"."""
    found = Environment(
        loader=FileSystemLoader([folder, TEMPLATES, metrics_root()]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(number=number, signed=signed, signs=signs, cut=cut, quoted=quoted)
    found.globals.update(style=Markup((TEMPLATES / "style.css").read_text("utf-8")), toy_numbers=TOY_NUMBERS)
    return found


def fragment(template: str, /, *, folder: Path = TEMPLATES, **values: Any) -> Markup:
    """A part of a page from the template of that name."""
    return Markup(environment(folder).get_template(f"{template}.html.jinja").render(values).strip())


def beside_notices(told: Sequence[str], is_toy: bool) -> list[str]:
    """Warnings of a run without those of toys, where a page has notices of them."""
    return [text for text in told if not (is_toy and TOY_NUMBERS in text)]


def whole_page(
    sections: Sequence[Markup],
    *,
    names: Sequence[str],
    title: str,
    table: str,
    told: Sequence[str] = (),
    end: str = "",
) -> str:
    """A page of its own."""
    page = fragment(
        "page",
        sections=sections,
        names=names,
        title=title,
        table=table,
        told=told[:_MOST_TOLD],
        n_more=max(0, len(told) - _MOST_TOLD),
        end=end,
        version=vlgauge.__version__,
    )
    return f"{page}\n"
