"""Time rows of a dataset on the Hub: the first task of a new worker, and 1,000 images in the sandbox and here.

The exit status is 1 if the sandbox takes over 10% longer by the clock, including opening, or the first task over a
second.
"""

# The Hub is simulated by a separate process on this machine. "sandbox": `hub:` reads card, rows and images in a worker
# process, because they are untrusted. "here": `datasets` streams the same rows in this process and Pillow decodes the
# images, with the same checks. Every figure is the median of alternating rounds, each in a new process. Total times are
# CPU times, which other processes affect less than elapsed times.

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

HELPERS = Path(__file__).resolve().parents[2] / "tests" / "helpers"
NAME = "org/photographs"
REQUIRED_RATIO, REQUIRED_SECONDS = 1.1, 1.0
SIZE = (500, 375)  # approximate size of an image of COCO
GROUP = 100  # rows per row group of images, as in `push_to_hub`


# -- The Hub ----------------------------------------------------------------------------------------------------------
def photograph(rng: Any) -> bytes:
    """Generate a JPEG file of about 60 kB."""
    import numpy as np
    from PIL import Image

    coarse = Image.fromarray(rng.integers(0, 256, (24, 32, 3), dtype=np.uint8)).resize(SIZE)
    noisy = np.asarray(coarse) + rng.normal(scale=12, size=(SIZE[1], SIZE[0], 3))
    stream = io.BytesIO()
    Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(stream, "JPEG", quality=88)
    return stream.getvalue()


def photographs(n: int) -> dict[str, bytes]:
    """Generate the files of a dataset of images."""
    import datasets
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    cells = [{"bytes": photograph(rng), "path": f"{number}.jpg"} for number in range(n)]
    features = datasets.Features({"image": datasets.Image(), "caption": datasets.Value("string")})
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    table = pa.table({"image": pa.array(cells, kind), "caption": [f"Picture {number}." for number in range(n)]})
    file = io.BytesIO()
    pq.write_table(
        table.replace_schema_metadata(features.arrow_schema.metadata), file, row_group_size=GROUP, compression="snappy"
    )
    return {"data/test-00000-of-00001.parquet": file.getvalue()}


def serve(n: int) -> None:
    """Serve the dataset until standard input ends."""
    sys.path.insert(0, str(HELPERS))
    from hub_data_sets import Repository, hub_of_data_sets  # type: ignore[import-not-found]  # of the tests

    with tempfile.TemporaryDirectory() as folder:
        files = photographs(n)
        with hub_of_data_sets(Path(folder), **{NAME: Repository({f"{1:040x}": files})}) as hub:
            print(hub.address, flush=True)
            sys.stdin.read()


# -- One round, in a separate process ---------------------------------------------------------------------------------
class _Here:
    """Rows streamed by `datasets` in this process."""

    origin, n_rows = None, None
    kinds: Mapping[str, str] = {"image": "image", "caption": "text"}

    def rows(self, titles: Sequence[str], start: int = 0) -> Iterator[dict[str, Any]]:
        """Yield all rows."""
        import datasets

        split = datasets.load_dataset(f"hf://datasets/{NAME}", split="test", streaming=True)
        yield from split.decode(False).select_columns(list(titles))

    def file(self, path: str, most_bytes: int) -> bytes:
        """Raise ValueError, because every image is stored in its row."""
        raise ValueError(path)


def one_round(how: str, n: int) -> None:
    """Print seconds until the first row, for all rows, and of the processor."""
    from vlgauge.api.row_sources import RowReader
    from vlgauge.api.row_sources import hub as hub_rows
    from vlgauge.api.row_sources import reading as rows_reading
    from vlgauge.families.base.columns import Text
    from vlgauge.families.base.video_columns import OneImage

    columns = [Text("predictions"), OneImage("images")]
    titles = {"predictions": ["caption"], "images": ["image"]}
    source: Any
    begun = time.monotonic()
    if how == "here":
        import datasets

        datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False
        rows_reading.use_sandbox = nullcontext  # type: ignore[assignment]
        source = _Here()
        begun = time.monotonic()  # excludes the import, which happens once per process
        reader = RowReader(source, columns, titles)
        reader.read(1)
        opened = time.monotonic() - begun
    else:
        data_set = hub_rows.pin_dataset(NAME)
        begun = time.monotonic()
        source = hub_rows.HubRows(data_set, None, "test")
        opened = time.monotonic() - begun
        reader = RowReader(source, columns, titles)
        reader.read(1)
    first = time.monotonic() - begun
    begun = time.monotonic()
    reader.read(n)
    every = time.monotonic() - begun
    if len(reader.ids) != n:
        raise RuntimeError(f"{len(reader.ids)} rows of {n}: {reader.left_out[:1]}")
    if how == "sandbox":
        from vlgauge.inputs.sandbox import stop_idle

        del reader
        stop_idle()  # Times of child processes are counted after they end.
    used = os.times()
    taken = used.user + used.system + used.children_user + used.children_system
    print(json.dumps({"opened": opened, "first": first, "rows": every, "processor": taken}))


def main() -> int:
    """Print the table.

    Returns:
        0, or 1 if a limit is exceeded.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--round", choices=("here", "sandbox"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.rows)
        return 0
    if options.round:
        one_round(options.round, options.rows)
        return 0
    own = [sys.executable, __file__, "--rows", str(options.rows)]
    server = subprocess.Popen([*own, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None
    assert server.stdout is not None
    figures: dict[str, list[dict[str, float]]] = {"here": [], "sandbox": []}
    try:
        address = server.stdout.readline().strip()
        for _ in range(options.rounds):
            for how, found in figures.items():
                with tempfile.TemporaryDirectory() as home:
                    there = {"HF_ENDPOINT": address, "HF_HOME": home, "NO_PROXY": "127.0.0.1"}
                    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
                    told = subprocess.run(
                        [*own, "--round", how], env=environment | there, capture_output=True, text=True, check=True
                    )
                    found.append(json.loads(told.stdout.splitlines()[-1]))
    finally:
        server.stdin.close()
        server.wait()
    median = {
        how: {key: statistics.median(one[key] for one in found) for key in found[0]} for how, found in figures.items()
    }
    for how, seconds in median.items():
        print(f"{how:7}", "  ".join(f"{key} {value:6.2f} s" for key, value in seconds.items()))
    whole = {how: seconds["first"] + seconds["rows"] for how, seconds in median.items()}
    ratio = whole["sandbox"] / whole["here"]
    opened = median["sandbox"]["opened"]
    print(
        f"{options.rows:,} pictures, opening included, in the sandbox / here: {ratio:.2f}, "
        f"without that {median['sandbox']['rows'] / median['here']['rows']:.2f}; first task {opened:.2f} s"
    )
    return int(ratio > REQUIRED_RATIO or opened > REQUIRED_SECONDS)


if __name__ == "__main__":
    raise SystemExit(main())
