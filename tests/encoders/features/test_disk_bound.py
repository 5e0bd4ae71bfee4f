"""Vectors on disk: the bound, disks that take nothing, and processes that write, read, evict and die at once."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from small_stores import DIGEST, assert_holds, files_in, key, store_at, vectors

from vlgauge.encoders.features import disk, shards
from vlgauge.encoders.features.disk import DiskStore


# -- the bound --------------------------------------------------------------------------------------------------------
def aged(store, path, seconds):
    os.utime(path, (time.time() - seconds, time.time() - seconds))


def test_the_shards_that_were_unused_longest_go(tmp_path):
    store = store_at(tmp_path)
    for number in range(10):
        store.put(vectors([number]))
    paths = files_in(store)
    size = paths[0].stat().st_size
    for age, path in enumerate(reversed(paths)):
        aged(store, path, 100 * (age + 1))
    assert_holds(store, [0])  # a hit makes it young
    store.max_bytes = 10 * size
    store_at(tmp_path, side="text")  # does nothing by itself
    store.put(vectors([10]))
    # At most nine tenths of the bound remain: 1 and 2 go, and no more.
    assert_holds(store, [0, *range(3, 11)])
    assert store.get([key(1), key(2)]) == {}
    assert sum(path.stat().st_size for path in files_in(store)) <= 9 * size


def test_the_bound_is_on_all_stores_together(tmp_path):
    images, texts = store_at(tmp_path), store_at(tmp_path, side="text")
    images.put(vectors(range(100)))
    aged(images, files_in(images)[0], 10)
    texts.max_bytes = files_in(images)[0].stat().st_size + 100
    texts.put(vectors(range(100)))
    assert (len(files_in(images)), len(files_in(texts))) == (0, 1)


def test_what_is_larger_than_the_bound_is_not_kept(tmp_path):
    store = store_at(tmp_path, max_bytes=2000)
    store.put(vectors([0]))
    with pytest.warns(
        UserWarning, match=r"features of 5\d\d\d bytes are over the bound of 2000, and are not kept"
    ) as caught:
        store.put(vectors(range(100)))
    store.put(vectors(range(100)))
    assert len(caught) == 1
    assert_holds(store, [0])


def test_many_small_shards_are_merged(tmp_path):
    store = store_at(tmp_path)
    for number in range(64):
        store.put(vectors([number, number + 1]))
    assert len(files_in(store)) == 64
    reader = store_at(tmp_path)
    assert_holds(reader, [0])
    store.put(vectors([64]))
    assert len(files_in(store)) == 1
    assert_holds(store, range(65))
    assert_holds(reader, range(65))


def test_large_shards_are_not_merged(tmp_path, monkeypatch):
    store = store_at(tmp_path)
    store.put(vectors(range(10)))
    monkeypatch.setattr(disk, "_SMALL_BYTES", files_in(store)[0].stat().st_size)
    for number in range(64):
        store.put(vectors([number]))
    assert len(files_in(store)) == 65
    store.put(vectors([64]))
    assert len(files_in(store)) == 2


def test_parts_of_dead_processes_go_after_a_day(tmp_path):
    store = store_at(tmp_path)
    store.put(vectors([0]))
    old, young = (store.folder / f".1-2-{letter * 32}.part" for letter in "ab")
    for path in (old, young):
        path.write_bytes(b"half a sh")
    aged(store, old, 25 * 3600)
    store.put(vectors([1]))
    assert (old.exists(), young.exists()) == (False, True)
    assert_holds(store, [0, 1])


# -- disks that cannot be written -------------------------------------------------------------------------------------
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_read(tmp_path):
    store_at(tmp_path).put(vectors([0]))
    store = store_at(tmp_path)
    store.folder.chmod(0o500)
    try:
        assert_holds(store, [0])
        with pytest.warns(UserWarning, match="features cannot be kept"):
            store.put(vectors([1]))
    finally:
        store.folder.chmod(0o700)


def refusing(number):
    def fail(*arguments, **named):
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("number", [28, 30])  # disk full, read-only file system
def test_a_disk_that_takes_nothing_costs_one_warning(tmp_path, monkeypatch, number):
    store = store_at(tmp_path)
    store.put(vectors([0]))
    monkeypatch.setattr(os, "fsync", refusing(number))
    monkeypatch.setattr(os, "utime", refusing(number))
    with pytest.warns(UserWarning, match="features cannot be kept in .*, scoring goes on without") as caught:
        store.put(vectors([1]))
    store.put(vectors([2]))
    assert len(caught) == 1
    assert_holds(store, [0])
    assert [path.suffix for path in store.folder.iterdir()] == [".safetensors"]


def test_a_file_where_the_folder_should_be_costs_one_warning(tmp_path):
    (tmp_path / "features").write_text("x")
    store = store_at(tmp_path / "features")
    assert store.get([key(0)]) == {}
    with pytest.warns(UserWarning, match="features cannot be kept"):
        store.put(vectors([0]))


# -- several processes ------------------------------------------------------------------------------------------------
WORKER = """
import os, sys, hashlib, random, time, warnings
import numpy as np
from vlgauge.encoders.features import shards
from vlgauge.encoders.features.disk import DiskStore

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


def test_four_processes_at_once_one_killed_while_it_writes(tmp_path):
    package = str(Path(disk.__file__).parents[3])
    environment = {**os.environ, "PYTHONPATH": package}

    def start(name, fate):
        command = [sys.executable, "-c", WORKER, str(tmp_path), str(name), "1.0", fate]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    victim = start(0, "dies")
    workers = [start(name, "lives") for name in (1, 2, 3)]
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
    assert len(shards.list_parts(store.folder)) == 1  # the victim's
    sizes = [entry.n_bytes for entry in shards.list_shards(store.folder)]
    assert 0 < sum(sizes) <= 60_000 + 3 * max(sizes)
    found = store.get([key(number) for number in range(200)])
    for number in range(200):
        if key(number) in found:
            np.testing.assert_array_equal(found[key(number)], np.arange(64, dtype=np.float32) + number)
