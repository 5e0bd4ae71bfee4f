"""Write tests/golden/examples.json, the scores of the examples of all metrics under the embedded profile.

A test compares them with the current scores. If a score is meant to change, run this script and check the difference.
"""

import json
from pathlib import Path

from vlgauge.core.catalog import metric_names
from vlgauge.explain.examples import examples_of, explain_examples

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "examples.json"


def example_scores(name: str, config: str) -> dict[str, float]:
    """Compute the scores of the examples of a metric in a configuration, by example id."""
    explained = explain_examples(name, config)
    return {explained.title(row): score for row, score in enumerate(explained.scores)}


def main() -> None:
    """Score and write."""
    scores = {
        name: {config: example_scores(name, config) for config in sorted({one.config for one in examples_of(name)})}
        for name in metric_names()
    }
    GOLDEN.write_text(json.dumps(scores, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
