"""Pin backbones without a commit: query the Hub for the newest commits, and write commits and digests to the table.

It reads file lists only and downloads no weights.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from vlgauge.checkpoints.hub import hub_listing
from vlgauge.core.errors import NetworkError
from vlgauge.core.writing import write
from vlgauge.models.clip.architectures import BACKBONES, TABLE


def main(arguments: Sequence[str] | None = None) -> int:
    """Pin the backbones.

    Returns:
        0, or 1 if a request failed.
    """
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", metavar="NAME", nargs="*", help="backbones (default: all that have no commit)")
    parser.add_argument("--output", metavar="FILE", type=Path, default=BACKBONES, help="file to write")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in TABLE]:
        parser.error(f"NAME must be one that `vlgauge backbones` lists, got {', '.join(unknown)}")
    stored = json.loads(BACKBONES.read_text("utf-8"))
    failed = 0
    for name in options.names or [row.name for row in TABLE.values() if row.revision is None]:
        row = TABLE[name]
        try:
            commit, files = hub_listing(str(row.repository), None, row.files)
        except NetworkError as error:
            failed = 1
            print(f"{name}: {error}", file=sys.stderr)
            continue
        file = next(file for file in row.files if file in files)
        stored["backbones"][name] |= {"revision": commit, "files": [file], "sha256": files[file].sha256}
        print(f"{name}: {commit}, {file}, sha256 {files[file].sha256}")
    write(options.output, json.dumps(stored, indent=1) + "\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
