"""Hub datasets whose files are changed at random with a fixed seed. Errors are one sentence."""

import io
import json
import zipfile

import pytest
from changed_files import check, read_changed, tar
from hub_data_sets import Repository, commit_of
from made_data_sets import coloured

from vlgauge.api.row_sources import RowReader
from vlgauge.api.row_sources import hub as hub_rows
from vlgauge.families.base.columns import Text
from vlgauge.families.base.video_columns import OneImage

pytestmark = pytest.mark.streaming

LINES = [{"id": f"s{i}", "caption": f"A dog {i}.", "refs": ["a", "b"]} for i in range(9)]
CONFIG = {"config_name": "default", "data_files": [{"split": "test", "path": "rows.jsonl"}]}
CARD = f"""---
license: mit
configs:
- config_name: default
  data_files:
  - split: test
    path: rows.jsonl
dataset_info:
  features:
  - name: caption
    dtype: string
  splits:
  - name: test
    num_examples: 9
---
# {"Words. " * 9}
"""


ROWS = "".join(json.dumps({"caption": row["caption"]}) + "\n" for row in LINES).encode()


def zipped():
    """Return rows in an archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("rows.jsonl", ROWS)
    return stream.getvalue()


FILES = {
    "parquet": ("data/test-0.parquet", coloured(9), {}),
    "jsonl": ("test.jsonl", "".join(json.dumps(row) + "\n" for row in LINES).encode(), {}),
    "csv": ("test.csv", b"id,caption\n" + b's,"a ""b"" c"\n' * 40, {}),
    "zip": ("test.zip", zipped(), {}),
    "tar": ("test.tar", tar(), {}),
    "card": ("README.md", CARD.encode(), {"rows.jsonl": ROWS}),
    "hidden card": (".huggingface.yaml", json.dumps({"configs": [CONFIG]}).encode(), {"rows.jsonl": ROWS}),
}


def fuzz(hub, name, rounds, folder):
    """Read changed datasets of one format, and return the observations."""
    path, data, others = FILES[name]

    def read(content):
        files = {path: content, **others}
        hub.repositories["org/changed"] = Repository({commit_of(files): files})
        try:
            source = hub_rows.HubRows(hub_rows.pin_dataset("org/changed"), None, "test")
            texts = [title for title, kind in source.kinds.items() if kind == "text"]
            images = [title for title, kind in source.kinds.items() if kind == "image"]
            titles = {"predictions": texts[:1], "images": images[:1]}
            reader = RowReader(source, [Text("predictions", optional=True), OneImage("images", optional=True)], titles)
            reader.read(100)  # all rows, because a worker ends with a stream that is left early
            if reader.left_out:
                raise ValueError(reader.left_out[0].reason)
        finally:
            hub.asked.clear()

    read(data)
    found = read_changed(data, rounds, name, read)
    check(found, folder)
    return found


@pytest.mark.parametrize("name", FILES)
def test_some_changed_data_sets(hub, name, tmp_path):
    fuzz(hub, name, 2, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_two_hundred_changed_data_sets(hub, name, tmp_path):
    assert len(fuzz(hub, name, 200, tmp_path).refused) > 10
