"""Remaining parts of the skeleton that `scripts/new_metric.py` writes."""

import re

from folders import METRICS, ROOT


def left_in(name, *files):
    """Return the lines with TODO in files of a metric, each with its position."""
    paths = [METRICS / name / file for file in files]
    return [
        f"metrics/{name}/{path.name}:{number}: {line.strip()[:100]}"
        for path in paths
        if path.is_file()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if "TODO" in line
    ]


def listed_in(name):
    """Return the files at the root that list a metric."""
    extra = re.escape(name)
    wanted = {
        "setup.cfg": rf"^{extra} =",
        "CHANGELOG.md": rf"`{extra}`",
        "README.md (make format)": rf"^\| \[{extra}\]\((?!.*TODO)",
    }
    texts = {file: (ROOT / file.split()[0]).read_text("utf-8") for file in wanted}
    return [file for file, pattern in wanted.items() if re.search(pattern, texts[file], re.MULTILINE)]
