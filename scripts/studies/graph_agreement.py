"""Compare the scene graphs of the rules with the graphs of the Stanford parser, caption by caption.

The file is ``tests/test_data/SPICE_parsing_outputs.txt`` of the repository zhuang-li/FactualSceneGraph.
"""

# The file is not part of this repository. Each line has a caption and its graph, separated by a tab. Tuples count as
# equal if SPICE matches them.

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import vlgauge

KINDS = ("", "_objects", "_attributes", "_relations")


def read_outputs(path: Path) -> dict[str, str]:
    """Read the graph of each caption."""
    pairs = (line.split("\t") for line in path.read_text("utf-8").splitlines() if "\t" in line)
    return {caption.strip(): graph.strip() for caption, graph in pairs}


def agreement(graphs: dict[str, str], parser: str = "rules") -> dict[str, float]:
    """Compute precision, recall and F of a parser's tuples relative to the graphs, by kind, and numbers of tuples."""
    metric: Any = vlgauge.load("spice", profile="embedded", progress=False, parser=parser)
    captions = list(graphs)
    own, _, _ = metric.graphs_of(captions, [[] for _ in captions], None)
    given = {"predictions": own, "references": [[graphs[one]] for one in captions]}
    result = metric.compute(
        predictions=captions, references=[[one] for one in captions], graphs=given, return_details=True
    )
    found = {f"F{kind}": result[f"spice{kind}"] for kind in KINDS}
    found["precision"] = float(np.nanmean(result["spice_precisions"]))
    found["recall"] = float(np.nanmean(result["spice_recalls"]))
    for name, key in (("tuples of the parser", "tuples"), ("tuples of the file", "references")):
        found[name] = float(np.mean([len(one[key]) for one in result["spice_details"]]))
    return found


def main(words: Sequence[str] | None = None) -> None:
    """Print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outputs", type=Path, help="the file of captions and graphs")
    parser.add_argument("--parser", default="rules", help="rules or factual:FOLDER (default: rules)")
    options = parser.parse_args(words)
    graphs = read_outputs(options.outputs)
    print(f"{len(graphs)} captions")
    for name, value in agreement(graphs, options.parser).items():
        print(f"{name:>20}  {value:.3f}")


if __name__ == "__main__":
    main()
