"""Score Parquet files on a cluster of Ray, several workers on each graphics processor.

    python score_on_ray.py captions/*.parquet --folder scores --address auto --workers 16 --gpus 0.25

The files have the columns `id`, `predictions` and `images` (bytes). Without `--address` Ray runs on this machine alone.
"""

import argparse
import json
import sys

from vlgauge.integrations.batches import RowScorer
from vlgauge.integrations.ray import score_files
from vlgauge.integrations.scalars import scalars


def main(words: list[str] | None = None) -> None:
    """Score, and print the numbers of the corpus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="Parquet files that every machine sees")
    parser.add_argument("--metric", default="clip_s")
    parser.add_argument(
        "--profile", default="embedded", help="embedded: a demo model that fits the drawn examples only"
    )
    parser.add_argument("--folder", required=True, help="where scored batches are kept, seen by every machine")
    parser.add_argument("--address", help="of the cluster; auto on its head node")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--gpus", type=float, default=0.0, help="of a worker: 0.25 puts four on one")
    options = parser.parse_args(words)
    scorer = RowScorer(options.metric, profile=options.profile)
    how = {"workers": options.workers, "gpus": options.gpus, "address": options.address}
    record = score_files(scorer, options.files, options.folder, **how)
    sys.stdout.write(json.dumps(scalars(record), indent=1) + "\n")


if __name__ == "__main__":
    main()
