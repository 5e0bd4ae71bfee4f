"""Data sets made to break their reader: a child process breaks, and this one says so in a sentence."""

import ast
import time
from pathlib import Path

import datasets
import hostile_files
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hub_data_sets import TOKEN, Repository
from made_data_sets import COMMITS

import vlgauge
from vlgauge.box import Answer, Beyond, Garbled
from vlgauge.data_sets import tunnel
from vlgauge.data_sets.cells import packed, unpacked
from vlgauge.data_sets.tunnel import Pinned, Tunnel
from vlgauge.row_sources import hub as hub_rows

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
    source = hub_rows.HubRows(hub_rows.pinned(name), None, split)
    return [row for row, _ in zip(source.rows(list(source.kinds)), range(3), strict=False)]


@pytest.mark.streaming
@pytest.mark.parametrize(
    ("attack", "seconds"),
    [
        (lambda folder: {"train.jsonl": DEEP}, 10),
        (lambda folder: {"train.json": b"[" * 20_000}, 10),
        # These two take whatever time there is.
        (lambda folder: {"README.md": CARD, "x.jsonl": b'{"caption": "x"}\n'}, 0.3),
        (lambda folder: {"train.parquet": long_list(folder)}, 0.3),
        (lambda folder: {"train.parquet": long_texts(folder)}, 10),
    ],
    ids=["json", "cut", "aliases", "list", "texts"],
)
def test_a_data_set_that_breaks_its_reader_costs_one_sentence(hub, tmp_path, monkeypatch, attack, seconds):
    monkeypatch.setattr(tunnel, "_SECONDS", seconds)
    hub.repositories["org/hostile-one"] = Repository({COMMITS[0]: attack(tmp_path)})
    begun = time.monotonic()
    with pytest.raises(ValueError, match=r"^`dataset` ") as told:
        read("org/hostile-one")
    assert "\n" not in str(told.value)
    assert time.monotonic() - begun < 60  # no measure of speed: what hangs is told apart from what ends
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


def test_only_a_child_names_what_loads_data_sets():
    rooms = Path(vlgauge.__file__).parent
    found = set()
    for path in rooms.rglob("*.py"):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "load_dataset" in text else ():
            name = getattr(node, "attr", getattr(node, "id", getattr(node, "name", None)))
            if isinstance(name, str) and name.startswith("load_dataset"):
                found.add(path.relative_to(rooms).as_posix())
    assert found == {"data_sets/jobs.py"}


@pytest.mark.streaming
def test_no_token_reaches_the_child(hub, monkeypatch):
    sent = []
    run = tunnel.BOX.run

    def watched(job, settings, content=b"", *, asked, **how):
        def told(question):
            answer = asked(question)
            sent.extend((str(question), str(answer[0])))
            return answer

        sent.append(str(settings))
        return run(job, settings, content, asked=told, **how)

    monkeypatch.setattr(tunnel.BOX, "run", watched)
    source = hub_rows.HubRows(hub_rows.pinned("org/private", token=TOKEN), None, "test")
    assert next(source.rows(list(source.kinds)))
    assert len(sent) > 5
    assert not [one for one in sent if TOKEN in one]


@pytest.mark.parametrize(
    ("method", "path", "is_own"),
    [
        ("GET", "/datasets/org/x/resolve/{commit}/a/b.parquet", True),
        ("HEAD", "/datasets/org/x/resolve/{commit}/README.md", True),
        ("GET", "/api/datasets/org/x", True),
        ("GET", "/api/datasets/org/x/tree/{commit}?recursive=true", True),
        ("GET", "/api/datasets/org/x/tree/{commit}/data?expand=false", True),
        ("POST", "/api/datasets/org/x/paths-info/{commit}", True),
        ("POST", "/api/datasets/org/x/commit/{commit}", False),
        ("DELETE", "/api/datasets/org/x", False),
        ("GET", "/datasets/org/x/resolve/main/a", False),
        ("GET", "/datasets/org/y/resolve/{commit}/a", False),
        ("GET", "/datasets/org/x/resolve/{commit}/../../../../private/y", False),
        ("GET", "/datasets/org/x/resolve/{commit}/%2e%2e/%2e%2e/a", False),
        ("GET", "//elsewhere/datasets/org/x/resolve/{commit}/a", False),
        ("GET", "datasets/org/x/resolve/{commit}/a", False),
        ("GET", "/api/whoami-v2", False),
        ("GET", "/api/datasets/org/xy", False),
    ],
)
def test_a_child_may_ask_for_its_data_set_alone(method, path, is_own):
    own = Tunnel(Pinned("org/x", COMMITS[0]))
    assert own._is_own(method, path.format(commit=COMMITS[0])) is is_own


@pytest.mark.streaming
def test_what_a_child_asks_is_counted(hub, monkeypatch):
    monkeypatch.setattr(tunnel, "_MOST_ASKED", 100)
    with pytest.raises(OSError, match="asks for more than 100 bytes"):
        read("org/pictures", "test")


def test_a_row_travels_as_it_is():
    row = {"a": b"\0\xff", "b": [1, 2.5, None, True, {"c": b"d", "e": []}], "f": "\udc80", "g": (1,), "h": float("inf")}
    head, body = packed(row)
    assert unpacked(Answer({"part": head}, body)) == row | {"g": [1]}
    head, body = packed({"a": {1, 2}})
    assert str(unpacked(Answer({"part": head}, body))["a"]).endswith("an object or a file, got set")


@pytest.mark.parametrize(
    "body",
    [b"[]", b"{}x", b'{"a": ["bytes", 9]}', b'{"a": ["bytes", -1]}', b'{"a": []}', b'{"a": {}}', b'{"a": ["x", 1]}'],
)
def test_what_is_no_row_is_not_taken(body):
    with pytest.raises(Garbled):
        unpacked(Answer({"part": {"n_text": len(body)}}, body))


def test_names_that_are_none_are_not_taken(monkeypatch):
    monkeypatch.setattr(tunnel.BOX, "run", lambda *_, **__: [Answer({}, b'{"a": 1}')])
    with pytest.raises(Beyond, match="has no names"):
        hub_rows.configurations(Pinned("org/x", COMMITS[0]))
