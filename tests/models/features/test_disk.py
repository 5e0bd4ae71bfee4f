"""Embeddings on disk: stored files, size limit, broken and foreign files, several processes at once."""

import os
import signal
import subprocess
import sys
import time
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from small_stores import DIGEST, PREPROCESS, assert_holds, files_in, key, parts_in, store_at, vectors

from vlgauge.models.features import disk
from vlgauge.models.features.disk import DiskStore, preprocess_id
from vlgauge.models.features.shards import Shard


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


def test_absent_keys_are_told_without_reading(tmp_path, monkeypatch):
    store = store_at(tmp_path)
    keys = [key(number) for number in (5, 1, 3, 2)]
    assert store.absent(keys) == keys
    store.put(vectors([1, 2]))
    store.put(vectors([3]))
    monkeypatch.setattr(Shard, "read", None)
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
        {"weights_digest": "ab" * 8 + "cd" * 24},  # the folder is the same
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


def test_layout_is_as_documented(tmp_path):
    store = store_at(tmp_path / "new" / "features")
    store.put(vectors([1, 2]))
    assert store.folder == tmp_path / f"new/features/v1/clip-{'ab' * 8}/image-{PREPROCESS}-float32"
    (path,) = files_in(store)
    stamp, process, random = path.stem.split("-")
    assert abs(int(stamp) - time.time_ns()) < 60e9
    assert (int(process), len(random)) == (os.getpid(), 32)
    content = load_file(path)
    assert (content["keys"].dtype, content["keys"].shape) == (np.uint8, (2, 32))
    assert (content["checks"].dtype, content["checks"].shape) == (np.uint32, (2,))
    assert content["checks"][0] == zlib.crc32(content["values"][0].tobytes(), zlib.crc32(content["keys"][0].tobytes()))
    assert (content["values"].dtype, content["values"].shape) == (np.float32, (2, 4))
    assert [path.stat().st_mode & 0o777, store.folder.stat().st_mode & 0o777] == [0o600, 0o700]
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert [file.name for file in store.folder.iterdir()] == [path.name]


def test_preprocess_id_does_not_depend_on_the_order_of_the_settings():
    assert preprocess_id({"size": 224, "mean": [0.5]}) == preprocess_id({"mean": [0.5], "size": 224})
    assert preprocess_id({"size": 224}) != preprocess_id({"size": 225})
    assert len(PREPROCESS) == 16


def test_vectors_that_are_not_finite_are_not_kept(tmp_path):
    store = store_at(tmp_path)
    store.put({key(0): np.array([np.nan, 1]), key(1): np.array([1.0, np.inf]), key(2): np.array([1.0, 2.0])})
    assert list(store.get([key(0), key(1), key(2)])) == [key(2)]
    store.put({key(0): np.array([np.nan])})
    assert len(files_in(store)) == 1


# -- broken, foreign and missing files --------------------------------------------------------------------------------
def of_another_schema(path):
    save_file(load_file(path), path, metadata={**metadata_of(path), "schema": "vlgauge-features-0"})


def of_another_type(path):
    content = load_file(path)
    save_file({**content, "values": content["values"].astype(np.float64)}, path, metadata=metadata_of(path))


def metadata_of(path):
    with safe_open(path, framework="numpy") as opened:
        return opened.metadata()


DAMAGES = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-5]),
    "cut in the header": lambda path: path.write_bytes(path.read_bytes()[:20]),
    "empty": lambda path: path.write_bytes(b""),
    "foreign": lambda path: save_file({"weight": np.ones(3, np.float32)}, path),
    "of another schema": of_another_schema,
    "of another type": of_another_type,
}


@pytest.mark.parametrize(
    ("damage", "opened"),
    [*((name, False) for name in DAMAGES), ("cut", True), ("cut in the header", True), ("empty", True)],
)
def test_a_broken_shard_is_a_miss_and_goes_with_one_warning(tmp_path, damage, opened):
    store = store_at(tmp_path)
    store.put(vectors([0, 1]))
    if opened:
        assert_holds(store, [0])
    (path,) = files_in(store)
    DAMAGES[damage](path)
    store.put(vectors([2]))
    with pytest.warns(UserWarning, match="features are computed") as caught:
        assert list(store.get([key(0), key(2)])) == [key(2)]
    assert store.get([key(1)]) == {}
    assert len(caught) == 1
    assert not path.exists()
    store.put(vectors([0]))
    assert_holds(store, [0, 2])


@pytest.mark.parametrize("comes_back", [False, True], ids=["vanishes", "is merged into another one"])
def test_a_shard_that_goes_while_it_is_looked_up(tmp_path, monkeypatch, comes_back):
    store = store_at(tmp_path)
    store.put(vectors([0]))
    assert_holds(store, [0])
    (old,) = files_in(store)
    whole = Shard.read

    def gone_before(shard, index):
        if shard.path == old and old.exists():
            if comes_back:
                store.put(vectors([0, 1]))
            old.unlink()
        return whole(shard, index)

    monkeypatch.setattr(Shard, "read", gone_before)
    assert sorted(store.get([key(0)])) == [key(0)] * comes_back
    assert sorted(store.get([key(0)])) == [key(0)] * comes_back


def test_files_of_others_stay(tmp_path):
    store = store_at(tmp_path)
    store.put(vectors([0]))
    strangers = [store.folder / name for name in ("notes.txt", "model.safetensors", ".hidden.part")]
    for path in strangers:
        path.write_text("mine")
        os.utime(path, (0, 0))
    store.max_bytes = 500
    store.put(vectors([1]))
    assert disk.clear(tmp_path) > 0
    assert all(path.read_text() == "mine" for path in strangers)
    assert files_in(store) == []


# -- the bound --------------------------------------------------------------------------------------------------------
def make_older(path, seconds):
    os.utime(path, (time.time() - seconds, time.time() - seconds))


def test_the_shards_that_were_unused_longest_go(tmp_path):
    store = store_at(tmp_path)
    for number in range(10):
        store.put(vectors([number]))
    paths = files_in(store)
    size = paths[0].stat().st_size
    for age, path in enumerate(reversed(paths)):
        make_older(path, 100 * (age + 1))
    assert_holds(store, [0])  # a hit makes it young
    store.max_bytes = 10 * size
    store_at(tmp_path, side="text")  # has no effect on its own
    store.put(vectors([10]))
    # At most nine tenths of the bound remain: 1 and 2 go, and no more.
    assert_holds(store, [0, *range(3, 11)])
    assert store.get([key(1), key(2)]) == {}
    assert sum(path.stat().st_size for path in files_in(store)) <= 9 * size


def test_the_bound_is_on_all_stores_together(tmp_path):
    images, texts = store_at(tmp_path), store_at(tmp_path, side="text")
    images.put(vectors(range(100)))
    make_older(files_in(images)[0], 10)
    texts.max_bytes = files_in(images)[0].stat().st_size + 100
    texts.put(vectors(range(100)))
    assert (len(files_in(images)), len(files_in(texts))) == (0, 1)


def test_what_is_larger_than_the_bound_is_not_kept(tmp_path):
    store = store_at(tmp_path, max_bytes=2000)
    store.put(vectors([0]))
    with pytest.warns(UserWarning, match="2000") as caught:
        store.put(vectors(range(100)))
    store.put(vectors(range(100)))
    assert len(caught) == 1
    assert_holds(store, [0])


def test_many_small_shards_of_one_width_are_merged(tmp_path, monkeypatch):
    store, reader = store_at(tmp_path), store_at(tmp_path)
    store.put(vectors([1000], width=3))
    store.put(vectors(range(100, 110)))
    assert_holds(reader, [100])
    sizes = [path.stat().st_size for path in files_in(store)]
    monkeypatch.setattr(disk, "_SMALL_BYTES", max(sizes))  # the second is not small
    for number in range(63):
        store.put(vectors([number, number + 1]))
    assert len(files_in(store)) == 65
    store.put(vectors([64]))
    assert len(files_in(store)) == 3
    for one in (store, reader):
        assert_holds(one, [*range(65), *range(100, 110)])
        assert one.get([key(1000)])[key(1000)].tolist() == [1000, 1001, 1002]


def test_parts_of_dead_processes_go_after_a_day(tmp_path):
    store = store_at(tmp_path)
    store.put(vectors([0]))
    old, young = (store.folder / f".1-2-{letter * 32}.{letter * 8}.{letter * 16}.part" for letter in "ab")
    for path in (old, young):
        path.write_bytes(b"half a sh")
    make_older(old, 25 * 3600)
    store.put(vectors([1]))
    assert parts_in(store) == [young]
    assert_holds(store, [0, 1])


# -- disks that cannot be written -------------------------------------------------------------------------------------
def test_a_read_only_folder_is_read(tmp_path, monkeypatch):
    store_at(tmp_path).put(vectors([0]))
    store = store_at(tmp_path)
    store.folder.chmod(0o500)
    if os.geteuid() == 0:  # who may write anywhere
        monkeypatch.setattr(os, "access", lambda *_: False)
    try:
        assert_holds(store, [0])
        with pytest.warns(UserWarning, match="features cannot be stored"):
            store.put(vectors([1]))
        assert len(files_in(store)) == 1
    finally:
        store.folder.chmod(0o700)


@pytest.mark.parametrize("number", [28, 30])  # disk full, read-only file system
def test_a_disk_that_takes_nothing_costs_one_warning(tmp_path, monkeypatch, number):
    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    store = store_at(tmp_path)
    store.put(vectors([0]))
    monkeypatch.setattr(os, "fsync", refuse)
    monkeypatch.setattr(os, "utime", refuse)
    with pytest.warns(UserWarning, match=" scoring continues") as caught:
        store.put(vectors([1]))
    store.put(vectors([2]))
    assert len(caught) == 1
    assert_holds(store, [0])
    assert [path.suffix for path in store.folder.iterdir()] == [".safetensors"]


@pytest.mark.parametrize("name", ["features", "features/v1/clip-abababababababab"])
def test_a_file_where_the_folder_should_be_costs_one_warning(tmp_path, name):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("x")
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
store = DiskStore(root, weights_digest="ab" * 32, side="image", preprocess_id="p", dtype="float32", max_bytes=60_000)
choose = random.Random(name)
key = lambda number: hashlib.sha256(str(number).encode()).digest()
if dies:
    def die(descriptor):
        print("writing", flush=True)
        time.sleep(60)
    os.fsync = die
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
    workers = [start(name, "lives") for name in (1, 2)]
    assert victim.stdout.readline() == "writing\n"
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    for worker in workers:
        out, err = worker.communicate(timeout=60)
        assert worker.returncode == 0, err
        hits, writes = map(int, out.split())
        assert hits > 0
        assert writes >= 20
    store = DiskStore(tmp_path, weights_digest=DIGEST, side="image", preprocess_id="p", dtype="float32")
    assert len(parts_in(store)) == 1  # the victim's
    sizes = [path.stat().st_size for path in files_in(store)]
    assert 0 < sum(sizes) <= 60_000 + 3 * max(sizes)
    found = store.get([key(number) for number in range(200)])
    for number in range(200):
        if key(number) in found:
            np.testing.assert_array_equal(found[key(number)], np.arange(64, dtype=np.float32) + number)
