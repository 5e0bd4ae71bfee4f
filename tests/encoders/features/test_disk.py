"""Vectors on disk: what is kept, and what becomes of files that are broken, foreign or gone."""

import os
import time
import warnings
import zlib

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from small_stores import PREPROCESS, assert_holds, files_in, key, store_at, vectors

from vlgauge.encoders.features import disk, shards
from vlgauge.encoders.features.disk import preprocess_id


# -- what is kept -----------------------------------------------------------------------------------------------------
def test_what_one_store_puts_another_gets(tmp_path):
    store_at(tmp_path).put(vectors(range(5)))
    store_at(tmp_path).put(vectors(range(5, 8)))
    other = store_at(tmp_path)
    assert_holds(other, [6, 0, 3])
    assert other.get([key(99)]) == {}
    assert sorted(other.get([key(1), key(99), key(1)])) == [key(1)]
    assert other.get([]) == {}
    value = other.get([key(2)])[key(2)]
    assert (value.dtype, value.flags.owndata) == (np.float32, True)


def test_a_store_sees_what_is_written_after_it_was_opened(tmp_path):
    reader, writer = store_at(tmp_path), store_at(tmp_path)
    assert reader.get([key(0)]) == {}
    writer.put(vectors([0]))
    assert_holds(reader, [0])


def test_absent_keys_are_told_without_reading(tmp_path, monkeypatch):
    store = store_at(tmp_path)
    keys = [key(number) for number in (5, 1, 3, 2)]
    assert store.absent(keys) == keys
    store.put(vectors([1, 2]))
    store.put(vectors([3]))
    monkeypatch.setattr(shards.Shard, "read", None)
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
        {"family": "toy"},
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


def test_wrong_keys_and_widths_are_refused(tmp_path):
    store = store_at(tmp_path)
    with pytest.raises(ValueError, match="`keys` must be digests of 32 bytes"):
        store.get([b"short"])
    with pytest.raises(ValueError, match="`keys` must be digests of 32 bytes"):
        store.put({b"short": np.ones(2)})
    with pytest.raises(ValueError, match="`vectors` must all be of one width"):
        store.put({key(0): np.ones(2), key(1): np.ones(3)})


# -- files that are broken, foreign or gone ---------------------------------------------------------------------------
def cut(path):
    path.write_bytes(path.read_bytes()[:-5])


def cut_in_header(path):
    path.write_bytes(path.read_bytes()[:20])


def empty(path):
    path.write_bytes(b"")


def foreign(path):
    save_file({"weight": np.ones(3, np.float32)}, path)


def of_another_schema(path):
    save_file(load_file(path), path, metadata={**metadata_of(path), "schema": "vlgauge-features-0"})


def of_another_type(path):
    content = load_file(path)
    save_file({**content, "values": content["values"].astype(np.float64)}, path, metadata=metadata_of(path))


def metadata_of(path):
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as opened:
        return opened.metadata()


def check_broken(store, damage):
    (path,) = files_in(store)
    damage(path)
    store.put(vectors([2]))
    with pytest.warns(UserWarning, match="it was removed, and what it held is computed again") as caught:
        assert list(store.get([key(0), key(2)])) == [key(2)]
    assert store.get([key(1)]) == {}
    assert len(caught) == 1
    assert not path.exists()
    store.put(vectors([0]))
    assert_holds(store, [0, 2])


@pytest.mark.parametrize("damage", [cut, cut_in_header, empty, foreign, of_another_schema, of_another_type])
def test_a_broken_shard_is_a_miss_and_goes_with_one_warning(tmp_path, damage):
    store = store_at(tmp_path)
    store.put(vectors([0, 1]))
    check_broken(store, damage)


@pytest.mark.parametrize("damage", [cut, cut_in_header, empty])
def test_a_shard_that_breaks_after_it_was_read_is_a_miss(tmp_path, damage):
    store = store_at(tmp_path)
    store.put(vectors([0, 1]))
    assert_holds(store, [0])
    check_broken(store, damage)


def test_a_shard_that_vanishes_is_a_miss(tmp_path):
    store = store_at(tmp_path)
    store.put(vectors([0]))
    assert_holds(store, [0])
    files_in(store)[0].unlink()
    assert store.get([key(0)]) == {}


def test_a_shard_that_vanishes_while_it_is_looked_up_is_a_miss(tmp_path, monkeypatch):
    store = store_at(tmp_path)
    store.put(vectors([0]))
    assert_holds(store, [0])
    whole = shards.Shard.read
    monkeypatch.setattr(shards.Shard, "read", lambda shard, places: shard.path.unlink() or whole(shard, places))
    assert store.get([key(0)]) == {}


def test_a_shard_that_another_process_merges_meanwhile_is_found_again(tmp_path, monkeypatch):
    store = store_at(tmp_path)
    store.put(vectors([0]))
    (old,) = files_in(store)
    whole = shards.Shard.read

    def merged_before(shard, places):
        if shard.path == old and old.exists():
            store.put(vectors([0, 1]))
            old.unlink()
        return whole(shard, places)

    monkeypatch.setattr(shards.Shard, "read", merged_before)
    assert_holds(store, [0])


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
