"""Generated pages: the cards of the metrics, their table, how to read them, and their deviations."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import metric_reference
from asset_tables import table as table_of_files
from metric_table import table as metric_table

from vlgauge.core.catalog import (
    alternatives_in_words,
    languages_in_words,
    metric_facts,
    metric_folder,
    metric_names,
    metric_reading,
    metric_title,
)
from vlgauge.research.studies.published import list_papers, list_published_tables

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n+", re.DOTALL)
OTHER_CARD = re.compile(r"\]\(\.\./(\w+)/README\.md\)")
DEVIATIONS = re.compile(r"(?:^\| topic \|.*\n)(?:^\|.*\n)+", re.MULTILINE)


def card(name: str) -> str:
    """Return the card of a metric as a page."""
    text = FRONT_MATTER.sub("", (metric_folder(name) / "README.md").read_text("utf-8"))
    text = text.replace("# Metric Card for ", "# ", 1)
    return OTHER_CARD.sub(r"](\1.md)", text)


def table() -> str:
    """Return the table of the README with links to the pages."""
    return metric_table("/metrics/{}.md")


def reading() -> str:
    """Return how to read each metric: question, range, direction and the three sentences of its explanations."""
    parts = []
    for name in metric_names():
        facts = metric_facts(name)
        sentences = "\n".join(f"* {sentence}" for sentence in metric_reading(name))
        heading = f"### [{name}](/metrics/{name}.md)"
        question = f"**{facts.measures}** Range {facts.score_range}; {facts.better} is better."
        parts.append(f"{heading}\n\n{question}\n\n{sentences}\n")
    return "\n".join(parts)


def languages() -> str:
    """Return the table of the languages of each metric, and of the settings for other languages."""
    lines = ["| metric | languages | for other languages |", "|---|---|---|"]
    for name in metric_names():
        facts = metric_facts(name)
        others = alternatives_in_words(facts.other_languages)
        if "tokenizer" in metric_reference.defaults(metric_reference.metric_class(name)) and not others:
            others = "`tokenizer` for languages without spaces between words"
        lines.append(f"| [{name}](/metrics/{name}.md) | {languages_in_words(facts.languages)} | {others} |")
    return "\n".join(lines) + "\n"


def deviations() -> str:
    """Return the tables of deviations of all cards in one page."""
    parts = [
        "# Deviations from the papers\n\nCollected from the cards: what vlgauge does if a paper leaves something open, "
        "or if the authors' code differs from the paper.\n"
    ]
    for name in metric_names():
        found = DEVIATIONS.findall(card(name))
        if found:
            parts.append(f"## [{metric_title(name)}](/metrics/{name}.md)\n\n" + "\n".join(found))
    return "\n".join(parts)


CHECKED = {"yes": "recomputed", "with data": "recomputed if you have the data", "no": "not recomputed"}


def published() -> str:
    """Return every table and figure of the papers with its command, its requirements and whether it was done."""
    parts = [
        "# Tables and figures of the papers\n\n`vlgauge verify` recomputes what can be recomputed, and `vlgauge verify "
        "--list` prints this list with the published values.\n"
    ]
    for paper, title in list_papers().items():
        parts.append(f"## {title}\n")
        for one in (each for each in list_published_tables() if each.paper == paper):
            lines = [f"**{one.table}**: {one.about}. *{CHECKED[one.checked]}*: {one.why}."]
            lines += [f"  Command: `{one.command}`."] if one.command else []
            lines += [f"  Needs {one.needs}."] if one.needs else []
            parts.append("* " + "\n".join(lines))
        parts.append("")
    return "\n".join(parts)


def index() -> str:
    """Return the list of the metrics."""
    names = "\n".join(metric_names())
    head = "# Metrics\n\nEach name leads to the card of the metric.\n\n```{include} table.md\n```\n\n"
    return f"{head}```{{toctree}}\n:hidden:\n\n{names}\n```\n"


def write_pages(app: Sphinx) -> None:
    """Write the pages into `metrics/`, each only if it changed, so that an unchanged page is not built again."""
    folder = Path(app.srcdir) / "metrics"
    pages = {f"{name}.md": card(name) for name in metric_names()}
    pages |= {"index.md": index(), "table.md": table(), "reading.md": reading(), "deviations.md": deviations()}
    pages |= {"published.md": published(), "files.md": table_of_files(), "languages.md": languages()}
    pages["settings.md"] = metric_reference.shared_settings()
    pages |= {f"constants_{name}.md": metric_reference.constants(name) for name in metric_reference.CONSTANTS}
    # The notebook runs in the folder of the site here, not in that of the checkout.
    notebook = (ROOT / "examples" / "why.ipynb").read_text("utf-8").replace('\\"examples/', '\\"../examples/')
    pages["../why.ipynb"] = notebook
    _update(folder, pages)
    _update(Path(app.srcdir) / "api" / "metrics", metric_reference.pages())


def _update(folder: Path, pages: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in pages.items():
        path = folder / name
        if not path.is_file() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
    for path in folder.glob("*.md"):
        if path.name not in pages:
            path.unlink()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
