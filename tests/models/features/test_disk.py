"""Embeddings on disk: stored features, size limit, broken and foreign files, several processes at once."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from small_stores import DIGEST, PREPROCESS, assert_holds, change, change_connections, key, store_at, vectors

from vlgauge.models.features import disk
from vlgauge.models.features.disk import DiskStore, preprocess_id


@pytest.fixture(autouse=True)
def new_process(monkeypatch):
    """Clear the warnings before a test."""
    monkeypatch.setattr(disk, "_warned", set())


# -- stored embeddings ------------------------------------------------------------------------------------------------
def test_what_one_store_puts_another_gets_also_one_opened_before(tmp_path):
    reader = store_at(tmp_path)
    assert reader.get([key(0)]) == reader.get([]) == {}
    store_at(tmp_path).put(vectors(range(5)))
    store_at(tmp_path).put(vectors(range(5, 8)))
    for store in (reader, store_at(tmp_path)):
        assert_holds(store, [6, 0, 3])
        assert store.get([key(99)]) == {}
        assert sorted(store.get([key(1), key(99), key(1)])) == [key(1)]
    value = reader.get([key(2)])[key(2)]
    assert (value.dtype, value.flags.owndata) == (np.float32, True)


def test_absent_keys_are_told(tmp_path):
    store = store_at(tmp_path)
    keys = [key(number) for number in (5, 1, 3, 2)]
    assert store.absent(keys) == keys
    store.put(vectors([1, 2]))
    store.put(vectors([3]))
    assert store.absent(keys) == [key(5)]
    assert store.absent([]) == []


def test_keys_may_have_zeros_anywhere(tmp_path):
    keys = [bytes(32), b"\1" + bytes(31), bytes(31) + b"\1", b"\xff" * 31 + b"\0", b"\xff" * 32, bytes(16) + b"\7" * 16]
    store = store_at(tmp_path)
    store.put({key: np.full(3, i, np.float32) for i, key in enumerate(keys[:-1])})
    found = store.get(keys)
    assert sorted(found) == sorted(keys[:-1])
    assert [float(found[key][0]) for key in keys[:-1]] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "changed",
    [
        {"weights_digest": "cd" * 32},
        {"weights_digest": "ab" * 8 + "cd" * 24},
        {"side": "text"},
        {"preprocess_id": preprocess_id({"size": 288})},
        {"dtype": "bfloat16"},
    ],
)
def test_other_weights_sides_and_preprocessing_share_nothing(tmp_path, changed):
    store_at(tmp_path).put(vectors([1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert store_at(tmp_path, **changed).get([key(1)]) == {}


def test_database_is_readable_by_this_user_only(tmp_path):
    store = store_at(tmp_path / "new" / "features")
    store.put(vectors([1, 2]))
    assert store.path == tmp_path / "new/features/features.sqlite"
    assert [path.stat().st_mode & 0o777 for path in (store.path, store.path.parent)] == [0o600, 0o700]
    assert [file.name for file in store.path.parent.iterdir()] == [store.path.name]
    assert (
        change(store, "SELECT store, length(vector) FROM features")
        == [(f"clip-{'ab' * 16}/image-{PREPROCESS}-float32", 16)] * 2
    )


def test_preprocess_id_does_not_depend_on_the_order_of_the_settings():
    assert preprocess_id({"size": 224, "mean": [0.5]}) == preprocess_id({"mean": [0.5], "size": 224})
    assert preprocess_id({"size": 224}) != preprocess_id({"size": 225})
    assert len(PREPROCESS) == 16


def test_vectors_that_are_not_finite_are_not_kept(tmp_path):
    store = store_at(tmp_path)
    store.put({key(0): np.array([np.nan, 1]), key(1): np.array([1.0, np.inf]), key(2): np.array([1.0, 2.0])})
    assert list(store.get([key(0), key(1), key(2)])) == [key(2)]
    store.put({key(0): np.array([np.nan])})
    assert change(store, "SELECT count(*) FROM features") == [(1,)]


# -- broken and foreign files -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("content", [b"x" * 100_000, b"SQLite format 3\0" + bytes(50_000)], ids=["foreign", "zeros"])
def test_a_broken_database_is_removed_with_one_warning(tmp_path, content):
    store = store_at(tmp_path)
    store.put(vectors([0, 1]))
    store.path.write_bytes(content)
    with pytest.warns(UserWarning, match="features are computed again") as caught:
        assert store.get([key(0)]) == {}
    assert len(caught) == 1
    assert not store.path.exists()
    store.put(vectors([0]))
    assert_holds(store, [0])


def test_a_broken_database_that_cannot_be_removed_costs_one_warning(tmp_path, monkeypatch):
    store = store_at(tmp_path)
    store.path.write_bytes(b"x" * 100_000)

    def refuse(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.warns(UserWarning, match=r"it cannot be removed \(Permission denied\), so scoring continues") as caught:
        assert store.get([key(0)]) == {}
    store.put(vectors([0]))
    assert len(caught) == 1


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_truncated_database_returns_no_wrong_vector(tmp_path, share):
    store = store_at(tmp_path)
    store.put(vectors(range(2000)))
    content = store.path.read_bytes()
    store.path.write_bytes(content[: int(share * len(content))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = store.get([key(number) for number in range(2000)])
        expected = vectors(range(2000))
        assert all((vector == expected[name]).all() for name, vector in found.items())
        for _ in range(2):  # the first call may remove the database
            store.put(vectors([3000]))
    assert_holds(store, [3000])


def test_a_database_with_another_table_is_replaced(tmp_path):
    store = store_at(tmp_path)
    store.put(vectors([0]))
    change(store, "ALTER TABLE features RENAME COLUMN vector TO other")
    with pytest.warns(UserWarning, match="features are computed again"):
        assert store.get([key(0)]) == {}
    store.put(vectors([0]))
    assert_holds(store, [0])


def limit_variables(monkeypatch, number):
    change_connections(monkeypatch, lambda database: database.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, number))


def test_999_variables_suffice(tmp_path, monkeypatch):
    limit_variables(monkeypatch, 999)
    store = store_at(tmp_path)
    store.put(vectors(range(2000)))
    assert_holds(store, range(2000))
    assert store.absent([key(number) for number in range(2001)]) == [key(2000)]


def test_an_error_without_damage_removes_nothing(tmp_path, monkeypatch):
    store = store_at(tmp_path)
    store.put(vectors(range(9)))
    with monkeypatch.context() as old:
        limit_variables(old, 5)
        with pytest.warns(UserWarning, match="features cannot be read from .*too many SQL variables"):
            assert store.get([key(number) for number in range(9)]) == {}
    with pytest.raises(TypeError):
        store.put({"no bytes": np.ones(4)})
    assert_holds(store, range(9))


def test_an_empty_database_has_no_features(tmp_path):
    store = store_at(tmp_path)
    store.path.touch()
    assert store.get([key(0)]) == {}
    store.put(vectors([0]))
    assert_holds(store, [0])


# -- the bound --------------------------------------------------------------------------------------------------------
def test_the_features_that_were_unused_longest_go(tmp_path):
    store = store_at(tmp_path)
    store.put(vectors(range(1000)))
    size = store.path.stat().st_size
    change(store, "UPDATE features SET used = used - 1 - rowid")
    assert_holds(store, [0, 999])  # a hit makes them young
    store.max_bytes = size
    store_at(tmp_path, side="text")  # has no effect on its own
    for number in range(1000, 1300, 10):
        store.put(vectors(range(number, number + 10)))
    assert_holds(store, [0, 999, *range(1000, 1300)])
    assert store.path.stat().st_size <= size + 2**15
    assert 700 < change(store, "SELECT count(*) FROM features")[0][0] < 1200


def test_removals_between_features_in_use_leave_no_half_empty_pages(tmp_path):
    store = store_at(tmp_path)
    store.put(vectors(range(2000)))
    change(store, "UPDATE features SET used = used - rowid % 2")
    store.max_bytes = store.path.stat().st_size
    for number in range(2000, 2200, 10):
        store.put(vectors(range(number, number + 10)))
    assert change(store, "SELECT count(*) FROM features")[0][0] > 1600
    assert store.path.stat().st_size <= store.max_bytes


def test_the_bound_is_on_all_stores_together(tmp_path):
    images, texts = store_at(tmp_path), store_at(tmp_path, side="text")
    images.put(vectors(range(2000)))
    change(images, "UPDATE features SET used = used - 1")
    texts.max_bytes = images.path.stat().st_size
    texts.put(vectors(range(1000)))
    counts = dict(change(images, "SELECT store, count(*) FROM features GROUP BY store"))
    assert counts[texts.name] == 1000
    assert 0 < counts[images.name] < 2000


def test_what_is_larger_than_the_bound_is_not_kept(tmp_path):
    store = store_at(tmp_path)
    store.put(vectors([0]))
    store.max_bytes = 500
    with pytest.warns(UserWarning, match="limit of 500 bytes") as caught:
        store.put(vectors(range(100)))
    store.put(vectors(range(100)))
    assert len(caught) == 1
    assert_holds(store, [0])


# -- disks that cannot be written -------------------------------------------------------------------------------------
def test_a_read_only_database_is_read(tmp_path, monkeypatch):
    store = store_at(tmp_path)
    store.put(vectors([0]))
    change(store, "UPDATE features SET used = 0")
    change_connections(monkeypatch, lambda database: database.execute("PRAGMA query_only = 1"))
    assert_holds(store, [0])
    with pytest.warns(UserWarning, match="features cannot be stored") as caught:
        store.put(vectors([1]))
    store.put(vectors([2]))
    assert len(caught) == 1
    assert_holds(store, [0])


def test_a_full_disk_costs_one_warning(tmp_path, monkeypatch):
    store = store_at(tmp_path)
    store.put(vectors([0]))
    change_connections(monkeypatch, lambda database: database.execute("PRAGMA max_page_count = 1"))
    with pytest.warns(UserWarning, match=" scoring continues without: database or disk is full") as caught:
        store.put(vectors(range(1, 2000)))
    store.put(vectors(range(1, 2000)))
    assert len(caught) == 1
    assert_holds(store, [0])
    assert [path.name for path in tmp_path.iterdir()] == [store.path.name]


def test_a_file_where_the_folder_should_be_costs_one_warning(tmp_path):
    (tmp_path / "features").write_text("x")
    store = store_at(tmp_path / "features")
    assert store.get([key(0)]) == {}
    with pytest.warns(UserWarning, match="features cannot be stored"):
        store.put(vectors([0]))


# -- several processes ------------------------------------------------------------------------------------------------
WORKER = """
import os, sys, hashlib, random, time, warnings
import numpy as np
from vlgauge.models.features.disk import DiskStore

root, name, seconds, dies = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4] == "dies"
warnings.simplefilter("error")
store = DiskStore(root, weights_digest="ab" * 32, side="image", preprocess_id="p", dtype="float32", max_bytes=200_000)
choose = random.Random(name)
key = lambda number: hashlib.sha256(str(number).encode()).digest()
if dies:
    def die(*_):
        print("writing", flush=True)
        time.sleep(60)
    store._make_room = die  # in the middle of a transaction
end = time.monotonic() + seconds
hits = writes = 0
while time.monotonic() < end or writes < 20:
    numbers = choose.sample(range(200), 12)
    found = store.get([key(number) for number in numbers])
    for number in numbers:
        if key(number) in found:
            assert (found[key(number)] == np.arange(64, dtype=np.float32) + number).all(), number
    hits += len(found)
    new = {key(number): np.arange(64, dtype=np.float32) + number for number in numbers if key(number) not in found}
    store.put(new)
    writes += bool(new)
print(hits, writes)
"""


def test_three_processes_at_once_one_killed_while_it_writes(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(Path(disk.__file__).parents[3])}

    def start(name, fate):
        command = [sys.executable, "-c", WORKER, str(tmp_path), str(name), "0.3", fate]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    victim = start(0, "dies")
    assert victim.stdout.readline() == "writing\n"
    workers = [start(name, "lives") for name in (1, 2)]  # wait for the lock of the victim
    time.sleep(1)
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    for worker in workers:
        out, err = worker.communicate(timeout=60)
        assert worker.returncode == 0, err
        hits, writes = map(int, out.split())
        assert hits > 0
        assert writes >= 20
    store = DiskStore(tmp_path, weights_digest=DIGEST, side="image", preprocess_id="p", dtype="float32")
    assert 0 < store.path.stat().st_size <= 400_000
    found = store.get([key(number) for number in range(200)])
    for number in range(200):
        if key(number) in found:
            np.testing.assert_array_equal(found[key(number)], np.arange(64, dtype=np.float32) + number)


THREADS = """
import sys, hashlib, threading, warnings
import numpy as np
from vlgauge.models.features.disk import DiskStore

root, name = sys.argv[1], int(sys.argv[2])
warnings.simplefilter("error")

def fill(first):
    store = DiskStore(root, weights_digest="ab" * 32, side="image", preprocess_id="p", dtype="float32")
    for number in range(first, first + 100):
        store.put({hashlib.sha256(str(number).encode()).digest(): np.full(512, number, np.float32)})

threads = [threading.Thread(target=fill, args=(200 * name + 100 * i,)) for i in range(2)]
for thread in threads:
    thread.start()
"""


def test_three_processes_of_two_threads_write_all_rows(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(Path(disk.__file__).parents[3])}
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", THREADS, str(tmp_path), str(name)], env=environment, stderr=subprocess.PIPE
        )
        for name in range(3)
    ]
    assert [worker.communicate(timeout=60)[1].decode() for worker in workers] == [""] * 3
    store = DiskStore(tmp_path, weights_digest=DIGEST, side="image", preprocess_id="p", dtype="float32")
    assert change(store, "PRAGMA integrity_check") == [("ok",)]
    found = store.get([key(number) for number in range(600)])
    assert [found[key(number)][0] for number in range(600)] == list(range(600))


FORK = """
import os, sys, threading, time
import numpy as np
from vlgauge.models.features.disk import DiskStore

inside, left = threading.Event(), threading.Event()
store, other = (
    DiskStore(sys.argv[1], weights_digest="ab" * 32, side=side, preprocess_id="p", dtype="float32")
    for side in ("image", "text")
)

def make_room(*_):  # in the middle of a transaction
    inside.set()
    time.sleep(0.5)
    left.set()

store._make_room = make_room
thread = threading.Thread(target=store.put, args=({b"a": np.ones(4)},))
thread.start()
inside.wait()
if not os.fork():
    other.put({b"b": np.ones(4)})
    os._exit(0 if left.is_set() and list(other.get([b"b"])) == [b"b"] else 1)
thread.join()
assert os.wait()[1] == 0
assert list(store.get([b"a"])) == [b"a"]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_forks_between_two_transactions(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(Path(disk.__file__).parents[3])}
    command = [sys.executable, "-W", "ignore", "-c", FORK, str(tmp_path)]
    subprocess.run(command, env=environment, check=True, timeout=60)
