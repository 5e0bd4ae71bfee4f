"""Table of all metrics, generated from their cards. As a program, it updates README.md.

It also updates the section of each card that lists the required external files.
"""

import re
import sys
from pathlib import Path

from asset_tables import with_section

from vlgauge.core.catalog import card_fact, metric_facts, metrics_by_group
from vlgauge.core.writing import write

README = Path(__file__).resolve().parents[1] / "README.md"
CARD = "https://github.com/vlgauge/vlgauge/blob/main/metrics/{}/README.md"
HEAD = "| metric | question | input | better | paper |\n|---|---|---|---|---|\n"
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


def main(path: Path = README) -> int:
    """Update the table of README.md and the section of each card.

    Returns:
        0, or 2 if README.md has no table.
    """
    text = path.read_text("utf-8")
    if len(_TABLE.findall(text)) != 1:
        sys.stderr.write(f"metric_table: error: {path} must have one table that begins with | metric |\n")
        return 2
    write(path, _TABLE.sub(lambda _: table(), text))
    for card in path.parent.glob("metrics/*/README.md"):
        write(card, with_section(card.read_text("utf-8"), card.parent.name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
