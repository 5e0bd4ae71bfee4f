"""Embeddings in memory and on disk: lookups, writes, and evictions."""

import threading

import numpy as np

from vlgauge.models.features import memory as features
from vlgauge.models.features.memory import LayeredStore, MemoryStore


class Disk:
    def __init__(self):
        self.kept, self.asked, self.writes = {}, [], 0

    def get(self, keys):
        self.asked.append(list(keys))
        return {key: self.kept[key] for key in keys if key in self.kept}

    def put(self, values):
        self.writes += 1
        self.kept.update(values)

    def absent(self, keys):
        return [key for key in keys if key not in self.kept]


def vector(value):
    return np.full(4, value, dtype=np.float32)


def test_memory_is_asked_first_and_learns_from_the_disk():
    disk, memory = Disk(), MemoryStore()
    disk.kept[b"b"] = vector(2)
    store = LayeredStore(memory, ("e", "image"), disk)
    store.put({b"a": vector(1)})
    found = store.get([b"a", b"b", b"c"])
    assert {key: value[0] for key, value in found.items()} == {b"a": 1, b"b": 2}
    assert disk.asked == [[b"b", b"c"]]
    assert sorted(store.get([b"a", b"b"])) == [b"a", b"b"]
    assert len(disk.asked) == 1


def test_a_call_is_one_write():
    disk = Disk()
    store = LayeredStore(MemoryStore(), ("e",), disk)
    store.put({b"a": vector(1)})
    store.put({b"b": vector(2)})
    assert disk.writes == 0
    store.flush()
    store.flush()
    assert disk.writes == 1
    assert sorted(disk.kept) == [b"a", b"b"]


def test_what_was_computed_before_the_folder_was_named_is_written_too():
    disk, memory = Disk(), MemoryStore()
    LayeredStore(memory, ("e",), None).put({b"a": vector(1), b"b": vector(2)})
    disk.kept[b"b"] = vector(2)
    store = LayeredStore(memory, ("e",), disk)
    store.get([b"a", b"b"])
    store.flush()
    assert (sorted(disk.kept), disk.writes, disk.asked) == ([b"a", b"b"], 1, [])
    store.get([b"a", b"b"])
    store.flush()
    assert disk.writes == 1


def test_a_very_large_call_writes_in_between(monkeypatch):
    monkeypatch.setattr(features, "_PENDING_BYTES", 20)
    disk = Disk()
    store = LayeredStore(MemoryStore(), ("e",), disk)
    for key in (b"a", b"b", b"c"):
        store.put({key: vector(1)})
    store.flush()
    assert disk.writes == 2
    assert sorted(disk.kept) == [b"a", b"b", b"c"]


def test_kinds_and_encoders_are_apart():
    memory = MemoryStore()
    stores = [LayeredStore(memory, scope, None) for scope in (("e", "image"), ("e", "text"), ("f", "image"))]
    for i, store in enumerate(stores):
        store.put({b"a": vector(i)})
    assert [store.get([b"a"])[b"a"][0] for store in stores] == [0, 1, 2]
    assert memory.total == 48
    memory.forget("e")
    assert [len(store.get([b"a"])) for store in stores] == [0, 0, 1]
    assert memory.total == 16


def test_what_is_kept_does_not_hold_its_batch():
    memory = MemoryStore()
    batch = np.ones((100, 4), dtype=np.float32)
    LayeredStore(memory, ("e",), None).put({b"a": batch[3]})
    (kept,) = memory.get_all([("e", b"a")]).values()
    assert kept.base is None


def test_the_memory_of_the_process_is_bounded():
    assert features.process_memory.most == 2**30
    memory = MemoryStore(40)
    store = LayeredStore(memory, ("e",), None)
    for key in (b"a", b"b", b"c"):
        store.put({key: vector(1)})
    assert sorted(store.get([b"a", b"b", b"c"])) == [b"b", b"c"]


def test_a_lock_that_another_thread_held_does_not_survive_a_fork():
    memory = MemoryStore()
    memory.put_all({("e", b"a"): vector(1)})
    held, done = threading.Event(), threading.Event()

    def hold():
        with memory._lock:
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    memory.clear_after_fork()
    assert len(memory) == 0
    done.set()
    thread.join()
