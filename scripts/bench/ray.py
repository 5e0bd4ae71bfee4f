"""Time the stages of a row on a Ray worker, and extrapolate to 1e6, 1e8 and 1e9 rows.

The embedded profile is used: its CLIP is a demo model of 2 MB, and a published model changes only the scoring stage.
"""

# Reading Parquet, decoding images, scoring, writing and combining run one after another on one thread, without Ray.
# Times are CPU times, which other programs affect less than elapsed times.

import argparse
import io
import random
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from vlgauge.integrations.batches import COUNTS, RowScorer
from vlgauge.integrations.scored_batches import ScoredBatches
from vlgauge.models.features.memory import process_memory

N_WORDS = 2_000
BATCH = 256
WORKERS = 16
CORPORA = (10**6, 10**8, 10**9)


def photograph(rng: np.random.Generator) -> bytes:
    """Generate a JPEG file of about 60 kB with the approximate size of an image of COCO."""
    coarse = Image.fromarray(rng.integers(0, 256, (24, 32, 3), dtype=np.uint8)).resize((500, 375))
    noisy = np.asarray(coarse) + rng.normal(scale=12, size=(375, 500, 3))
    stream = io.BytesIO()
    Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(stream, "JPEG", quality=88)
    return stream.getvalue()


def caption(rng: random.Random) -> str:
    """Generate a caption with the length of a COCO caption, with frequent and rare words."""
    return " ".join(f"word{int(rng.paretovariate(0.6)) % N_WORDS}" for _ in range(rng.randint(8, 13)))


class Stages:
    """CPU time by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def run(self, stage: str, work: Callable[..., Any], *given: Any) -> Any:
        """Call a function, add its time to the stage, and return its result."""
        start = time.process_time()
        found = work(*given)
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.process_time() - start
        return found


def decode(cells: list[bytes]) -> None:
    """Decode images, which is the first step of an encoder."""
    for data in cells:
        Image.open(io.BytesIO(data)).convert("RGB").load()


def read(file: Path) -> list[Any]:
    """Read the rows of a file in batches."""
    return list(pq.ParquetFile(file).iter_batches(batch_size=BATCH))


def measure(name: str, file: Path, folder: Path) -> Stages:
    """Measure the times of all rows of a file."""
    stages = Stages()
    profile: dict[str, Any] = {"profile": "embedded"} if name == "clip_s" else {}
    scorer = RowScorer(name, **profile)
    first = next(pq.ParquetFile(file).iter_batches(batch_size=2))
    warm = scorer.with_counts([scorer.count_rows(first)]) if scorer.needs_counts else scorer
    warm.score_rows(first)  # loads the model
    process_memory.clear()
    batches = stages.run("reading", read, file)
    if scorer.needs_counts:
        counted = [stages.run("counting", scorer.count_rows, batch) for batch in batches]
        tables = [{COUNTS: one[COUNTS].to_pylist()} for one in counted]
        scorer = stages.run("counting", scorer.with_counts, tables)
    kept = ScoredBatches(folder, {"metric": name})
    for batch in batches:
        if name == "clip_s":
            stages.run("decoding", decode, batch["images"].to_pylist())
        scored = stages.run("scoring", scorer.score_rows, batch)
        stages.run("writing", kept.add, scored["id"].to_pylist(), pa.table(scored.to_pydict()))
    if name == "clip_s":
        stages.seconds["scoring"] -= stages.seconds["decoding"]  # scoring decodes again
    stages.run("combining (once)", scorer.combine, kept.batches())
    return stages


def report(title: str, stages: Stages, n_rows: int) -> None:
    """Print milliseconds and shares of the stages, and the hours of large corpora."""
    own = {stage: seconds for stage, seconds in stages.seconds.items() if not stage.startswith("combining")}
    total = sum(own.values())
    print(f"\n{title}: {n_rows / total:,.0f} rows/s per processor")
    for stage, seconds in stages.seconds.items():
        share = f"{seconds / total:4.0%}" if stage in own else "     on one processor, at the end"
        print(f"  {stage:18} {1e3 * seconds / n_rows:8.3f} ms per row {share}")
    hours = [f"{n:.0e}: {n * total / n_rows / WORKERS / 3600:,.2f} h" for n in CORPORA]
    print(f"  with {WORKERS} processors  {', '.join(hours)}")


def main() -> None:
    """Generate rows, time them, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=256)
    options = parser.parse_args()
    rng = random.Random(0)
    captions = [caption(rng) for _ in range(options.rows)]
    references = [[caption(rng) for _ in range(5)] for _ in range(options.rows)]
    drawn = [photograph(np.random.default_rng(i)) for i in range(options.rows)]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ids = [f"row-{i:09}" for i in range(options.rows)]
        pd.DataFrame({"id": ids, "predictions": captions, "images": drawn}).to_parquet(f"{folder}/clip_s.parquet")
        pd.DataFrame({"id": ids, "predictions": captions, "references": references}).to_parquet(
            f"{folder}/cider.parquet"
        )
        for name in ("clip_s", "cider"):
            report(name, measure(name, Path(folder, f"{name}.parquet"), Path(folder, name)), options.rows)


if __name__ == "__main__":
    main()
