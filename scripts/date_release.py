"""Date the release in CHANGELOG.md, CITATION.cff and the install lines, which then use the package index.

The version is the version of the package. `docs/publishing.md` lists all steps, such as commit and tag.
"""

import argparse
import datetime
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import vlgauge
from vlgauge.core.writing import write
from vlgauge.families.base.metric import REPOSITORY

ROOT = Path(__file__).resolve().parents[1]
# Pages whose install lines use the repository until the package is on the package index.
PAGES = ("README.md", "docs/start.md")
_UNRELEASED = re.compile(r"## \[Unreleased\]\n+Becomes [^\n]+\n")
_INSTALL = re.compile(rf'"vlgauge(\[[\w,-]+\])? @ git\+{re.escape(REPOSITORY)}"')


def date_changelog(text: str, version: str, date: str) -> str:
    """Convert the unreleased part of the changelog to a release.

    Raises:
        ValueError: If there is no unreleased part, or the version was released before.
    """
    if f"## [{version}]" in text or len(_UNRELEASED.findall(text)) != 1:
        raise ValueError(f"CHANGELOG.md must have one part [Unreleased] that becomes {version}, got another")
    text = _UNRELEASED.sub(f"## [Unreleased]\n\n## [{version}] - {date}\n", text)
    link = f"[Unreleased]: {REPOSITORY}/compare/v{version}...main\n[{version}]: {REPOSITORY}/releases/tag/v{version}\n"
    return re.sub(r"^\[Unreleased\]: .*\n", link, text, flags=re.MULTILINE)


def date_citation(text: str, version: str, date: str) -> str:
    """Return the citation with version and date."""
    text = re.sub(r"^date-released: .*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^version: .*$", f"version: {version}\ndate-released: {date}", text, count=1, flags=re.MULTILINE)


def from_the_index(text: str) -> str:
    """Return a page whose install lines use the package index."""
    return _INSTALL.sub(lambda found: f'"vlgauge{found[1]}"' if found[1] else "vlgauge", text)


def main(arguments: Sequence[str] | None = None, *, root: Path = ROOT) -> int:
    """Write the files.

    Returns:
        0, or 2 if there is nothing to release.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="date of the release (default: today)")
    options = parser.parse_args(arguments)
    try:
        day = datetime.date.fromisoformat(options.date) if options.date else datetime.datetime.now(datetime.UTC).date()
        date, version = day.isoformat(), vlgauge.__version__
        changelog = date_changelog((root / "CHANGELOG.md").read_text("utf-8"), version, date)
    except ValueError as error:
        sys.stderr.write(f"date_release: error: {error}\n")
        return 2
    write(root / "CHANGELOG.md", changelog)
    citation = (root / "CITATION.cff").read_text("utf-8")
    write(root / "CITATION.cff", date_citation(citation, version, date))
    for page in PAGES:
        write(root / page, from_the_index((root / page).read_text("utf-8")))
    print(f"CHANGELOG.md, CITATION.cff, {', '.join(PAGES)}: {version} of {date}; commit them, then tag v{version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
