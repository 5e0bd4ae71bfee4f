"""Write the scores of the examples of metrics, which a test compares with the current ones.

They are computed under the embedded profile. Stored scores that agree with the new ones are left unchanged.
"""

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from vlgauge.core.catalog import metric_names
from vlgauge.core.writing import write
from vlgauge.explain.examples import examples_of, explain_examples

STORED = Path(__file__).resolve().parents[2] / "tests" / "metrics"
# Encoders in float32 differ between machines by rounding, which is less than the effect of a changed formula.
_RELATIVE, _ABSOLUTE = 1e-4, 1e-6

Scores = dict[str, dict[str, float]]


def stored_path(name: str, root: Path = STORED) -> Path:
    """Return the file with the stored scores of a metric."""
    return root / name / "example_scores.json"


def read_scores(name: str, root: Path = STORED) -> Scores:
    """Return the stored scores of a metric by configuration and example. Empty if there are none."""
    path = stored_path(name, root)
    found: Scores = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return found


def compute_scores(name: str) -> Scores:
    """Compute the scores of the examples of a metric, by configuration and example."""
    found: Scores = {}
    for config in sorted({one.config for one in examples_of(name)}):
        explained = explain_examples(name, config)
        found[config] = {explained.title(row): score for row, score in enumerate(explained.scores)}
    return found


def keep_close(old: Mapping[str, dict[str, float] | None], new: Scores) -> Scores:
    """Return the new scores, but the old score of each example whose scores agree up to rounding."""
    return {
        config: {key: _keep((old.get(config) or {}).get(key), one) for key, one in scores.items()}
        for config, scores in new.items()
    }


def _keep(old: float | None, new: float) -> float:
    return old if old is not None and math.isclose(old, new, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE) else new


def main(arguments: Sequence[str] | None = None, *, root: Path = STORED) -> int:
    """Score, write, and print each file that changes. Return 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help="metrics to score; all by default")
    options = parser.parse_args(arguments)
    known = metric_names()
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"`NAME` must be one of {', '.join(known)}, got {unknown[0]!r}")
    for name in options.names or known:
        old = read_scores(name, root)
        new = keep_close(old, compute_scores(name))
        if json.dumps(old) != json.dumps(new):
            write(stored_path(name, root), json.dumps(new, indent=1, ensure_ascii=False) + "\n")
            print(stored_path(name, root))
    return 0


if __name__ == "__main__":
    sys.exit(main())
