"""Table of all metrics, generated from their cards. As a program, it updates README.md.

It also updates the list of metrics without a model in docs/start.md, and the section of each card that lists the
required external files.
"""

import re
import sys
import textwrap
from pathlib import Path

from asset_tables import with_section

from vlgauge.core.catalog import card_fact, metric_facts, metric_names, metrics_by_group
from vlgauge.core.writing import write

README = Path(__file__).resolve().parents[1] / "README.md"
CARD = "https://github.com/vlgauge/vlgauge/blob/main/metrics/{}/README.md"
HEAD = "| metric | question | input | better | paper |\n|---|---|---|---|---|\n"
WIDTH = 120
_WITHOUT_MODEL = re.compile(r"^.*(?<=These metrics need no model: )[^.]*\.\n", re.MULTILINE)
_TABLE = re.compile(r"^\| metric \|.*\n(?:\|.*\n)+", re.MULTILINE)


def table(card: str = CARD) -> str:
    """Return the table as Markdown, with the metrics of each group below the name of the group."""
    lines = [HEAD]
    for group, names in metrics_by_group().items():
        lines.append(f"| **{group}** | | | | |\n")
        for name in names:
            question, takes, paper = (card_fact(name, key) for key in ("short_description", "input", "paper"))
            link = f"[{name}]({card.format(name)})"
            lines.append(f"| {link} | {question} | {takes} | {metric_facts(name).better} | {paper} |\n")
    return "".join(lines)


def with_list(text: str) -> str:
    """Return the text of docs/start.md with the current metrics that require no extra."""
    names = ", ".join(f"`{name}`" for name in metric_names() if not metric_facts(name).needs)

    def fill(found: re.Match[str]) -> str:
        first = found[0].partition(": ")[0]
        return textwrap.fill(f"{first}: {names}.", WIDTH, break_long_words=False) + "\n"

    return _WITHOUT_MODEL.sub(fill, text)


def main(path: Path = README) -> int:
    """Update the table of README.md, the list of docs/start.md and the section of each card.

    Returns:
        0, or 2 if README.md has no table.
    """
    text = path.read_text("utf-8")
    if len(_TABLE.findall(text)) != 1:
        sys.stderr.write(f"metric_table: error: {path} must have one table that begins with | metric |\n")
        return 2
    write(path, _TABLE.sub(lambda _: table(), text))
    start = path.parent / "docs" / "start.md"
    write(start, with_list(start.read_text("utf-8")))
    for card in path.parent.glob("metrics/*/README.md"):
        write(card, with_section(card.read_text("utf-8"), card.parent.name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
