"""Damaged files, sampled from a seed: each gives a result or one sentence, and no other output."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import vlgauge
from vlgauge.cli import main

MOST_SECONDS = 10  # not a speed test: separates commands that hang from commands that end
MOST_EXTRA = 500  # MB
# A warning is one more line, as for a user.
pytestmark = pytest.mark.filterwarnings("always::UserWarning")

STORIES = [{"id": f"s{i}", "predictions": f"A dog ran {i} times. The dog, a brown one, sat."} for i in range(6)]
STYLED = [{"caption": f"a {word} dog", "style": style} for word in "abcdef" for style in ("joy", "fear")]
SCORES = [{"id": i, "groovist": 0.5 + i / 100, "rovist_c": 0.5, "rovist_nr": 0.9} for i in range(6)]


# -- files ------------------------------------------------------------------------------------------------------------
def as_jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_json(rows):
    return json.dumps(rows, indent=1).encode()


def as_csv(rows, delimiter=","):
    lines = [rows[0], *(row.values() for row in rows)]
    return "".join(delimiter.join(f'"{cell}"' for cell in line) + "\n" for line in lines).encode()


def as_tsv(rows):
    return as_csv(rows, "\t")


def as_parquet(rows):
    file = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file.getvalue().to_pybytes()


FORMATS = {"jsonl": as_jsonl, "json": as_json, "csv": as_csv, "tsv": as_tsv, "parquet": as_parquet}
COMMANDS = (
    (STORIES, ["score", "rovist_nr", "{file}", "--format", "json"]),
    (STORIES, ["score", "rovist_nr", "{file}", "--rows", "0", "--details", "--output", "{target}"]),
    (STYLED, ["style-fit", "{file}", "-o", "{target}", "--no-progress"]),
    (STYLED, ["style-report", "{file}", "--held-out", "0", "--no-progress"]),
    (SCORES, ["d-hm", "{file}", "{fine}"]),
)
SNIPPETS = (
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\n", b"\r", b'"', b",", b"\t", b"[", b"{", b"}", b"]"),
    *(b"[" * 500, b'{"a":' * 500, b"9" * 5000, b"-1e999", b"NaN", b"null", b"true", b"\\ud800", b"\\u0000", b"\\"),
    *(b"\x1b[2J", b"\xc2\x9b31m", "\u202e\u2028".encode(), b"PAR1", b"x" * 200_000, b'"id": 1, ' * 3, b"''"),
)


CHANGES = (
    lambda data, place, end, draw: data[:place] + draw.choice(SNIPPETS) + data[place:],
    lambda data, place, end, draw: data[:place] + draw.choice(SNIPPETS) + data[place + 3 :],
    lambda data, place, end, draw: data[:place] + bytes([draw.randrange(256)]) + data[place + 1 :],
    lambda data, place, end, draw: data[:place],
    lambda data, place, end, draw: data[:place] + data[end:],
    lambda data, place, end, draw: data[:end] + data[place:end] + data[end:],
)


def damaged(data, draw):
    """Return the bytes after one to four changes."""
    for _ in range(draw.randint(1, 4)):
        place, end = sorted(draw.randint(0, len(data)) for _ in range(2))
        data = draw.choice(CHANGES)(data, place, end, draw)
    return data


def damaged_command(seed, folder):
    """Return a command and the damaged file that it reads, in a separate folder."""
    draw = random.Random(seed)
    rows, words = draw.choice(COMMANDS)
    ending = draw.choice(list(FORMATS))
    file = folder / f"rows.{ending}"
    file.write_bytes(damaged(FORMATS[ending](rows), draw))
    (folder / "fine.csv").write_bytes(as_csv(rows))
    target = "table.parquet" if words[0] == "style-fit" else "result.json"
    names = {"file": str(file), "fine": str(folder / "fine.csv"), "target": str(folder / target)}
    return [word.format(**names) for word in words], file, target


def check_said(code, out, err):
    """Check that the output is a result, or one sentence on standard error."""
    assert code in (0, 2)
    assert "Traceback" not in err
    assert not {"\x1b", "\x9b", "\u202e", "\x00"} & {*out, *err}
    lines = err.splitlines()
    if code == 2:
        assert out == ""
        assert [": error: " in line for line in lines].count(True) == 1
        assert ": error: " in lines[-1]
        assert len(lines[-1]) < 1500
    assert all(line.startswith(("vlgauge ", "wrote ")) for line in lines)


def run_damaged(seed, folder, capsys):
    folder.mkdir()
    arguments, file, target = damaged_command(seed, folder)
    before = file.read_bytes()
    start = time.monotonic()
    code = main(arguments)
    assert time.monotonic() - start < MOST_SECONDS
    check_said(code, *capsys.readouterr())
    assert file.read_bytes() == before
    made = {path.name for path in folder.iterdir()} - {file.name, "fine.csv"}
    assert made == ({target} if code == 0 and str(folder / target) in arguments else set())


@pytest.mark.parametrize("part", range(10))
def test_damaged_files(tmp_path, capsys, part):
    for seed in range(30 * part, 30 * part + 30):
        run_damaged(seed, tmp_path / str(seed), capsys)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(40))
def test_more_damaged_files(tmp_path, capsys, part):
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        run_damaged(seed, tmp_path / str(seed), capsys)


# Imported once. Each command is a separate process that ends as usual. The high-water mark is its own, while in
# getrusage it begins with the mark of the parent.
MEASURED = """
import gc
import json
import os
import sys
import pyarrow.parquet
import vlgauge
from vlgauge.cli import distance, main, score, style
for name in ("rovist_nr", "d_hm"):
    vlgauge.load(name)
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) // 1024
def run(arguments):
    for stream, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    before = peak()
    code = main(arguments)
    open("extra", "w").write(str(peak() - before))
    sys.exit(code)
gc.freeze()  # else every process goes through all of it at its end
for folder, arguments in json.loads(sys.argv[1]):
    os.chdir(folder)
    child = os.fork()
    if not child:
        run(arguments)
    open("code", "w").write(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc to measure with")
def test_damaged_files_in_processes(tmp_path):
    jobs = []
    for seed in range(500, 508):
        folder = tmp_path / str(seed)
        folder.mkdir()
        jobs.append((str(folder), damaged_command(seed, folder)[0]))
    environment = {**os.environ, "PYTHONPATH": str(Path(vlgauge.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", MEASURED, json.dumps(jobs)]
    subprocess.run(command, check=True, env=environment, timeout=240)
    for folder, _ in jobs:
        code, out, err, extra = (Path(folder, name).read_text("utf-8") for name in ("code", "out", "err", "extra"))
        check_said(int(code), out, err)
        assert int(extra) < MOST_EXTRA
