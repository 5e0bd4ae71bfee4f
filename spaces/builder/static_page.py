"""Page of a static Space: the first screen of the workbench without a server, and the card. It makes no requests."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from card import Card
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

import vlgauge
from vlgauge.core.results import without_nan
from vlgauge.explain import Explanation
from vlgauge.explain.examples import Example
from vlgauge.explain.pages import TEMPLATES as EXPLAINED
from vlgauge.explain.pages import fragment
from vlgauge.explain.scale import NAMES, scale, show_among
from vlgauge.inputs.images.cells import image_cell, open_image

TEMPLATES = Path(__file__).parent / "templates"
_PLAIN = ("predictions", "references", "styles")


def page(metric: Explanation, examples: Sequence[Example], card: Card, org: str) -> str:
    """Render the page."""
    metric.is_large = True
    show_among(metric, metric.scores)
    scores = [(one.shows, score) for one, score in zip(examples, metric.scores, strict=True)]
    style = (EXPLAINED / "style.css").read_text("utf-8")
    found = fragment(
        "index",
        folder=TEMPLATES,
        metric=metric,
        examples=examples,
        title=card.facts["title"],
        asks=card.facts["short_description"],
        is_demo=metric.is_demo or any(one.is_demo for one in examples),
        names=NAMES,
        digits=min(metric.digits, 2),
        scales=[scale(metric, row, scores, row) for row in range(len(scores))],
        tokens=Markup(style[: style.index("/* 2 ")]),
        card=as_html(card.body),
        org=org,
        version=vlgauge.__version__,
    )
    return f"{found}\n"


def as_html(text: str) -> Markup:
    """Convert Markdown to HTML, with headings one level below the headline of the page. HTML in the text is escaped."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1:]) + 1)}"
        _lead_out(token.children or ())
    html = str(markdown.renderer.render(tokens, markdown.options, {}))
    # Wide tables and code blocks scroll, and are focusable for keyboard users.
    html = html.replace("<table>", '<div class="scroll" tabindex="0"><table>').replace("</table>", "</table></div>")
    return Markup(html.replace("<pre>", '<pre tabindex="0">'))


def _lead_out(tokens: Sequence[Token]) -> None:
    """Make links open outside the frame of the Hub that contains the page."""
    for token in tokens:
        if token.type == "link_open" and not str(token.attrGet("href")).startswith("#"):
            token.attrSet("target", "_blank")
            token.attrSet("rel", "noopener")


def example_files(metric: Explanation, examples: Sequence[Example]) -> dict[str, bytes]:
    """Return the examples as rows that can be scored again, with their scores and images.

    Returns:
        Content by path in the Space.
    """
    lines: list[str] = []
    files: dict[str, bytes] = {}
    for number, (one, score) in enumerate(zip(examples, metric.scores, strict=True), 1):
        example: dict[str, Any] = {"id": one.id, "shows": one.title}
        example |= {column: one.cells[column] for column in _PLAIN if column in one.cells}
        if (seen := one.cells.get("images")) is not None:
            images = _images(seen, number)
            files |= images
            example["images"] = list(images) if isinstance(seen, list) else next(iter(images))
        # Round to digits that are equal on all machines.
        example |= {"score": float(f"{score:.6g}"), "signature": metric.signature}
        lines.append(json.dumps(without_nan(example), ensure_ascii=False))
    return {"examples.jsonl": "".join(f"{line}\n" for line in lines).encode("utf-8"), **files}


def _images(cell: Any, number: int) -> dict[str, bytes]:
    """Return the images of a row as files."""
    found = {}
    for i, image in enumerate(cell if isinstance(cell, list) else [cell], 1):
        stream = io.BytesIO()
        place = f"images[{number}][{i}]"
        open_image(image_cell(image, place), place).save(stream, "PNG")
        found[f"{number}-{i}.png"] = stream.getvalue()
    return found
