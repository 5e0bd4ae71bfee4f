"""Datasets designed to crash their reader: a worker crashes, and this process reports it in one sentence."""

import ast
import gc
import time
from pathlib import Path
from types import SimpleNamespace

import datasets
import hostile_files
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from changed_files import resident
from hub_data_sets import TOKEN, Repository, commit_of
from made_data_sets import COMMITS, N_ROWS

import vlgauge
from vlgauge.api.row_sources import hub as hub_rows
from vlgauge.inputs.datasets import sandbox_tasks
from vlgauge.inputs.sandbox import workers

MOST_EXTRA = 200  # MB
DEEP = b'{"caption": "x", "a": ' + b"[" * 20_000 + b"]" * 20_000 + b"}\n"
ALIASES = "a0: &a0 x.jsonl\n" + "".join(f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 9)}]\n" for i in range(12))
CARD = f"---\n{ALIASES}configs:\n- config_name: default\n  data_files: *a12\n---\n".encode()


def long_list(folder):
    hostile_files.long_list(folder / "x.parquet", 4 * 10**7)
    return (folder / "x.parquet").read_bytes()


def long_texts(folder):
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 4000, pa.int32()), pa.array(["a" * 10**6]))
    pq.write_table(pa.table({"caption": texts}), folder / "y.parquet", compression="zstd", store_schema=False)
    return (folder / "y.parquet").read_bytes()


def read(name, split=None):
    source = hub_rows.HubRows(hub_rows.pin_dataset(name), None, split)
    return list(source.rows(list(source.kinds), 0, 3))


@pytest.mark.streaming
@pytest.mark.parametrize(
    ("attack", "seconds"),
    [
        (lambda folder: {"train.jsonl": DEEP}, 10),
        (lambda folder: {"train.json": b"[" * 20_000}, 10),
        # These two run until the time limit.
        (lambda folder: {"README.md": CARD, "x.jsonl": b'{"caption": "x"}\n'}, 0.3),
        (lambda folder: {"train.parquet": long_list(folder)}, 0.3),
        (lambda folder: {"train.parquet": long_texts(folder)}, 10),
    ],
    ids=["json", "cut", "aliases", "list", "texts"],
)
def test_a_data_set_that_breaks_its_reader_costs_one_sentence(hub, tmp_path, monkeypatch, attack, seconds):
    monkeypatch.setitem(hub_rows._LIMITS, "seconds", seconds)
    files = attack(tmp_path)
    hub.repositories["org/hostile-one"] = Repository({commit_of(files): files})
    begun, before = time.monotonic(), resident()
    with pytest.raises(ValueError, match=r"^`dataset` ") as told:
        read("org/hostile-one")
    assert resident() - before < MOST_EXTRA
    assert "\n" not in str(told.value)
    assert time.monotonic() - begun < 60  # not a measure of speed, only a check that the call ends
    monkeypatch.undo()
    assert read("org/cells")


@pytest.mark.streaming
def test_no_data_set_is_loaded_here(hub, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a data set of a stranger was loaded here")

    for name in dir(datasets):
        if name.startswith(("load_dataset", "get_dataset")):
            monkeypatch.setattr(datasets, name, refuse)
    monkeypatch.setattr(pq, "ParquetFile", refuse)
    assert read("org/pictures", "test")


def test_only_a_worker_names_what_loads_data_sets():
    rooms = Path(vlgauge.__file__).parent
    found = set()
    for path in rooms.rglob("*.py"):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "load_dataset" in text else ():
            name = getattr(node, "attr", getattr(node, "id", getattr(node, "name", None)))
            if isinstance(name, str) and name.startswith("load_dataset"):
                found.add(path.relative_to(rooms).as_posix())
    assert found == {"inputs/datasets/sandbox_tasks.py"}


def test_garbage_is_collected_after_requests_and_not_during_them(monkeypatch):
    events = []

    class Stream:
        def __init__(self):
            self.own = self  # a cycle

        def __del__(self):
            events.append("collected")

    class Api:
        def __init__(self, token):
            pass

        def dataset_info(self, identity, revision):
            events.append(gc.isenabled())

    monkeypatch.setattr(sandbox_tasks, "HfApi", Api)
    monkeypatch.setattr(sandbox_tasks, "shutil", SimpleNamespace(rmtree=lambda *_, **__: None))
    monkeypatch.setattr(sandbox_tasks.fsspec, "register_implementation", lambda *_, **__: None)
    Stream()
    try:
        sandbox_tasks._begin.__wrapped__("org/pictures", COMMITS[0], token=False)
    finally:
        gc.enable()
    assert events == [False, "collected"]


@pytest.mark.streaming
@pytest.mark.parametrize("token", [TOKEN, None, False])
def test_a_worker_has_the_token_of_its_task_alone(hub, monkeypatch, token):
    monkeypatch.setattr("huggingface_hub.get_token", lambda: "hf_of_the_host")
    sent = []
    send = workers.send

    def watched(stream, head, *body):
        sent.append(head["settings"]["token"])
        return send(stream, head, *body)

    monkeypatch.setattr(workers, "send", watched)
    source = hub_rows.HubRows(hub_rows.pin_dataset("org/pictures", token=token), None, "test")
    assert list(source.rows(list(source.kinds), 0, 1))
    assert sent == ["hf_of_the_host" if token is None else token] * 2


@pytest.mark.streaming
def test_a_reader_goes_on_where_its_stream_gave_way_to_others(hub, monkeypatch):
    monkeypatch.setattr(workers, "_MOST_STREAMS", 1)  # each stream takes a worker, which imports for a second
    sources = [hub_rows.HubRows(hub_rows.pin_dataset("org/pictures"), None, "test") for _ in range(2)]
    rows = [source.rows(["caption"]) for source in (sources[0], *sources)]
    first = [[next(one)["caption"] for _ in range(20)] for one in rows]
    # The last stream first, so that the others are opened again in its worker.
    last = [[row["caption"] for row in one] for one in reversed(rows)][::-1]
    assert len(workers._waiting) <= workers._MOST_STREAMS
    assert {len(one) + len(two) for one, two in zip(first, last, strict=True)} == {N_ROWS}
    assert [one + two for one, two in zip(first, last, strict=True)] == [first[0] + last[0]] * 3


@pytest.mark.streaming
@pytest.mark.parametrize(
    ("path", "name", "card"),
    [
        ("{}/rows.jsonl", "README.md", "---\n{}---\n"),
        ("{}/rows.jsonl", "README.md", "---\r{}---\n"),
        ("{}/rows.jsonl", "README.md", "---\nx: |\n  ---x\n---foo: 1\n{}---\n"),
        ("{}/rows.jsonl", "README.md", "\n" * 5_100_000 + "---\n{}---\n"),
        ("{}/rows.jsonl", ".huggingface.yaml", "#\n" * 9 + "{}"),
        ("zip://rows.jsonl::{}/rows.zip", "README.md", "---\n{}---\n"),
        ("/etc/*.txt", "README.md", "---\n{}---\n"),
        ("ftp{}/rows.jsonl", "README.md", "---\n{}---\n"),
    ],
    ids=["plain", "start", "within", "blank lines", "hidden", "zip", "local", "ftp"],
)
def test_no_card_makes_a_worker_send_a_request_to_another_server(hub, within, path, name, card):
    address, asked = within
    path = path.replace("ftp{}", address.replace("http", "ftp")).replace("{}", address)
    block = f"configs:\n- config_name: default\n  data_files:\n  - split: test\n    path: '{path}'\n"
    files = {name: card.format(block).encode(), "rows.jsonl": b'{"caption": "x"}\n'}
    hub.repositories["org/elsewhere"] = Repository({commit_of(files): files})
    with pytest.raises(ValueError, match=r"^`dataset` must have its data files in its repository, got "):
        read("org/elsewhere")
    assert asked == []


@pytest.mark.parametrize(
    "file",
    [
        "/etc/hostname",
        "https://example.org/rows.json",
        f"hf://datasets/org/other@{COMMITS[0]}/a.json",
        f"hf://datasets/org/x@{COMMITS[1]}/a.json",
        f"hf://datasets/org/x@{COMMITS[0]}/../other@main/a.json",
    ],
)
def test_every_data_file_is_one_of_the_commit_whatever_the_card_says(monkeypatch, file):
    class Builder:
        __module__ = "datasets.packaged_modules.json"
        config = SimpleNamespace(
            name="default", data_files={"train": [f"hf://datasets/org/x@{COMMITS[0]}/a.json", file]}
        )

    monkeypatch.setattr(sandbox_tasks, "_begin", lambda *_: None)
    monkeypatch.setattr(datasets, "load_dataset_builder", lambda *_, **__: Builder())
    with pytest.raises(ValueError, match=r"^`dataset` must have its data files in its repository"):
        sandbox_tasks._open_split.__wrapped__("org/x", COMMITS[0], False, None)


@pytest.mark.parametrize("files", [sandbox_tasks._ClosedFiles, sandbox_tasks._ClosedLocalFiles])
def test_files_elsewhere_are_refused_with_any_arguments(files):
    # `datasets` passes the mode by position.
    with pytest.raises(ValueError, match=r"^`dataset` must have its data files in its repository"):
        files().open("x/a.json", "rb")
