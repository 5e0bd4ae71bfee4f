"""Rename the organization in all files of this repository: on GitHub, on its pages, and on the Hub.

The package keeps its name. Without --write, the changes are only counted.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from vlgauge.core.catalog import metric_names
from vlgauge.core.writing import write

ROOT = Path(__file__).resolve().parents[1]
OWN = "vlgauge"
_NAME = re.compile(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*")


def patterns(old: str, names: Sequence[str]) -> list[re.Pattern[str]]:
    """Return patterns for the name of an organization, with one group before and one after it."""
    # In regular expressions of tests, a backslash precedes the dot. Lookbehinds follow the name, because a search that
    # begins with letters is a hundred times faster.
    dot, own = r"\\?\.", re.escape(old)
    spaces = "|".join([*names, "workbench", r"story_demo", r"set_demo", r"\$name", r"\{[a-z.]+\}"])
    return [
        re.compile(rf"(github{dot}com/){own}(/{OWN}\b)"),
        re.compile(rf"(){own}(?<![\w-]{own})({dot}github{dot}io/{OWN}\b)"),
        re.compile(rf"(huggingface{dot}co/(?:spaces/)?){own}(?![\w-])()"),
        re.compile(rf"(){own}(?<![\w./-]{own})(/(?:{spaces})(?![\w/.-]*/|\.\w|\w))"),
        re.compile(rf"(^ORG(?:ANIZATION)? = \"){own}(\"$)", re.MULTILINE),
        re.compile(rf"(vars\.HF_ORG \|\| '){own}(')"),
    ]


def rename_in_text(text: str, old: str, new: str, names: Sequence[str]) -> tuple[str, int]:
    """Return a text with the other name, and the number of replacements."""
    n_places = 0
    for pattern in patterns(old, names):
        text, n = pattern.subn(lambda found: f"{found[1]}{new}{found[2]}", text)
        n_places += n
    return text, n_places


def main(arguments: Sequence[str] | None = None, *, root: Path = ROOT) -> int:
    """Rename or count.

    Returns:
        0, or 2 if a name is not valid.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("new", metavar="NEW", help="name of the organisation, on GitHub and on the Hub")
    parser.add_argument("--old", default=OWN, help="the name that is there now (default: %(default)s)")
    parser.add_argument("--write", action="store_true", help="change the files")
    options = parser.parse_args(arguments)
    for name in (options.new, options.old):
        if not _NAME.fullmatch(name):
            sys.stderr.write(f"rename_organisation: error: a name must be letters, digits and hyphens, got {name!r}\n")
            return 2
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True).stdout
    names = metric_names()
    n_files = n_places = 0
    for path in (root / name for name in listed.split("\0") if name):
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue  # binary file
        other, n = rename_in_text(text, options.old, options.new, names)
        n_files, n_places = n_files + bool(n), n_places + n
        if n and options.write:
            write(path, other)
    done = "changed" if options.write else "would be changed; add --write"
    print(f"{n_places} places in {n_files} files {done}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
