"""The page of a static Space: the first screen of the workbench without a server, and the card. It asks for nothing."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from demo.section import Section
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

import vlgauge
from vlgauge.explain.pages import TEMPLATES as EXPLAINED
from vlgauge.explain.pages import fragment
from vlgauge.explain.scale import NAMES, scale, show_among
from vlgauge.media.images import image_cell, open_image
from vlgauge.results import without_nan

TEMPLATES = Path(__file__).parent / "templates"
_PLAIN = ("predictions", "references", "styles")


def page(section: Section, title: str, body: str, org: str) -> str:
    """The page."""
    metric = section.explained
    metric.is_large = True
    show_among(metric, metric.scores)
    examples = [(one.shows, score) for one, score in zip(section.examples, metric.scores, strict=True)]
    style = (EXPLAINED / "style.css").read_text("utf-8")
    found = fragment(
        "index",
        folder=TEMPLATES,
        section=section,
        title=title,
        names=NAMES,
        digits=min(metric.digits, 2),
        scales=[scale(metric, row, examples, row) for row in range(len(examples))],
        tokens=Markup(style[: style.index("/* 2 ")]),
        style=Markup(style),
        hero=Markup((EXPLAINED / "hero.css").read_text("utf-8")),
        own=Markup((TEMPLATES / "space.css").read_text("utf-8")),
        card=as_html(body),
        org=org,
        version=vlgauge.__version__,
    )
    return f"{found}\n"


def as_html(text: str) -> Markup:
    """Markdown as HTML, a level below the headline of the page; markup in it is shown and not obeyed."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1:]) + 1)}"
        _lead_out(token.children or ())
    html = str(markdown.renderer.render(tokens, markdown.options, {}))
    # A table is as wide as it is, and scrolls by itself; keyboards reach what scrolls.
    html = html.replace("<table>", '<div class="scroll" tabindex="0"><table>').replace("</table>", "</table></div>")
    return Markup(html.replace("<pre>", '<pre tabindex="0">'))


def _lead_out(tokens: Sequence[Token]) -> None:
    """Let links open beside the Hub's frame, in which the page is shown."""
    for token in tokens:
        if token.type == "link_open" and not str(token.attrGet("href")).startswith("#"):
            token.attrSet("target", "_blank")
            token.attrSet("rel", "noopener")


def example_files(section: Section) -> dict[str, bytes]:
    """The examples as rows that can be scored again, with their scores, and the pictures that they name."""
    lines: list[str] = []
    files: dict[str, bytes] = {}
    for number, (one, score) in enumerate(zip(section.examples, section.explained.scores, strict=True), 1):
        example: dict[str, Any] = {"id": one.id, "shows": one.title}
        example |= {column: one.cells[column] for column in _PLAIN if column in one.cells}
        if (seen := one.cells.get("images")) is not None:
            pictures = _pictures(seen, number)
            files |= pictures
            example["images"] = list(pictures) if isinstance(seen, list) else next(iter(pictures))
        # To the digits that every machine has.
        example |= {"score": float(f"{score:.6g}"), "signature": section.explained.signature}
        lines.append(json.dumps(without_nan(example), ensure_ascii=False))
    return {"examples.jsonl": "".join(f"{line}\n" for line in lines).encode("utf-8"), **files}


def _pictures(cell: Any, number: int) -> dict[str, bytes]:
    """The pictures of a row as files."""
    found = {}
    for i, picture in enumerate(cell if isinstance(cell, list) else [cell], 1):
        stream = io.BytesIO()
        place = f"images[{number}][{i}]"
        open_image(image_cell(picture, place), place).save(stream, "PNG")
        found[f"{number}-{i}.png"] = stream.getvalue()
    return found
