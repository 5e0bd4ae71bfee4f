"""Small files that would fill the memory: each raises an error with one sentence, in a measured process."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import hostile_files as made
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import vlgauge
from vlgauge.families.style import StyleTable

# Maximum memory of a reader in addition to its imports.
MOST_EXTRA = 500  # MB

# The high-water mark of this process alone. The one of getrusage begins with the mark of the parent.
MEASURED = """
import json, os, sys
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) // 1024
{imports}
result = {{}}
for name, path in json.loads(sys.argv[1]).items():
    before = peak()
    try:
        {call}
        said = "nothing"
    except ValueError as error:
        said = str(error)
    result[name] = said, peak() - before
print(json.dumps(result), flush=True)
os._exit(0)  # an orderly end takes half a second where torch is
"""

measured = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc to measure with")


def results(imports, call, paths):
    """Return the answer for each file, and the memory in MB."""
    code = MEASURED.format(imports=imports, call=call)
    environment = {**os.environ, "PYTHONPATH": str(Path(vlgauge.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code, json.dumps({name: str(path) for name, path in paths.items()})]
    finished = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=300)
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def check(found, expected):
    for name, message in expected.items():
        said, extra = found[name]
        assert message in said, name
        assert extra < MOST_EXTRA, name


# -- torch ------------------------------------------------------------------------------------------------------------
FLOATS = 64 * 2**18  # 64 MB


@measured
def test_weights(tmp_path):
    # The first one only triggers the import of torch, and its result is not used.
    names = ("first", "packed", "wide", "overlap", "fine")
    paths = {name: tmp_path / f"{name}.pt" for name in names}
    made.torch_file(paths["first"], 2**18, (2**9, 2**9), (2**9, 1))
    made.torch_file(paths["packed"], FLOATS, (FLOATS,), (1,), zipfile.ZIP_DEFLATED)
    made.torch_file(paths["wide"], 2**18, (2**15, 2**15), (0, 0))
    made.torch_file(paths["overlap"], 2**18, (2**18,), (1,), repeated=True)
    made.torch_file(paths["fine"], 2**18, (2**9, 2**9), (2**9, 1))
    assert paths["packed"].stat().st_size < 2**20
    found = results(
        "from vlgauge.checkpoints.reading import read_tensors",
        "[tensor.numpy().copy() for tensor in read_tensors(path).values()]",
        paths,
    )
    expected = {
        "packed": "fails with: the member 'archive/data.pkl', which is compressed or shares bytes with another",
        "wide": "must store each number of its tensors, got 'w' of shape (32768, 32768) from fewer numbers in",
        "overlap": "fails with: the member 'archive/data/1', which is compressed or shares bytes with another",
        "fine": "nothing",
    }
    check(found, expected)


# -- tables -----------------------------------------------------------------------------------------------------------
@measured
def test_tables(tmp_path):
    paths = {
        name: tmp_path / f"{name}.parquet" for name in ("rows", "texts", "list", "understated", "start", "objects")
    }
    made.many_rows(paths["rows"], 2 * 10**6)
    made.long_text_often(paths["texts"], 10**6, 10**4)
    made.long_list(paths["list"], 6 * 10**7)
    made.long_beginning(paths["start"], 10**6, 500)
    made.deep_objects(paths["objects"], 20, 2 * 10**5)
    paths["understated"].write_bytes(paths["list"].read_bytes())
    made.understate(paths["understated"])
    assert max(path.stat().st_size for path in paths.values()) < 2**20
    paths |= {name: tmp_path / f"{name}.jsonl" for name in ("keys", "deep")}
    paths["keys"].write_text(made.many_keys(100_000))
    paths["deep"].write_text("[" * 100_000 + "]" * 100_000)
    found = results(
        "from vlgauge.inputs.tables.files import read_rows\nimport pyarrow.parquet", "read_rows(path)", paths
    )
    expected = {
        "rows": "FILE must have at most 1,000,000 rows, got more",
        "texts": "texts.parquet', cannot be read within 512 MB and 10 s",
        "list": "list.parquet', cannot be read within 512 MB and 10 s",
        "understated": "understated.parquet', cannot be read within 512 MB and 10 s",
        "start": "start.parquet', cannot be read within 512 MB and 10 s",
        "objects": "FILE must have at most 268,435,456 bytes when it is decompressed, got more",
        "keys": "nothing",
        "deep": "FILE must nest lists and objects at most 64 deep",
    }
    check(found, expected)


@measured
def test_style_tables(tmp_path):
    paths = {name: tmp_path / f"{name}.parquet" for name in ("fine", "text", "list", "understated", "unlisted")}
    StyleTable.fit(["a b", "c"], ["x", "y"]).save(paths["fine"])
    metadata = pq.read_schema(paths["fine"]).metadata
    made.style_table(paths["text"], metadata, made.one_text(10**6, 10**4))
    made.style_table(paths["list"], metadata, pa.array(["a"]), 2 * 10**7)
    for name, told in (("understated", "text"), ("unlisted", "list")):
        paths[name].write_bytes(paths[told].read_bytes())
        made.understate(paths[name])
    assert max(path.stat().st_size for path in paths.values()) < 10_000
    found = results("from vlgauge.families.style import StyleTable", "StyleTable.load(path)", paths)
    message = "decompresses to far more than"
    check(found, {"fine": "nothing"} | dict.fromkeys(("text", "list", "understated", "unlisted"), message))
