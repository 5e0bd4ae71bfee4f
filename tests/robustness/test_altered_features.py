"""Damaged bytes of a store on disk: no altered vector is returned, intact ones stay, and one warning is given."""

import os
import warnings

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from small_stores import assert_holds, files_in, key, parts_in, store_at, vectors

from vlgauge.models.features import disk

WARNING = "1 of 4 embeddings"


@pytest.fixture(autouse=True)
def new_process(monkeypatch):
    """Clear the warnings and the open shards before a test."""
    monkeypatch.setattr(disk, "_warned", set())
    disk._open_store.cache_clear()


def as_in_a_new_process(store, root):
    disk._open_store.cache_clear()
    return store_at(root)


def flip(path, position, bit=0):
    content = bytearray(path.read_bytes())
    content[position] ^= 1 << bit
    path.write_bytes(content)


def altered(path, change):
    """Write a shard again as if the change had happened on the disk."""
    with safe_open(path, framework="numpy") as opened:
        metadata = opened.metadata()
    content = {name: value.copy() for name, value in load_file(path).items()}
    change(content)
    save_file(content, path, metadata=metadata)


def turn_a_number(content):
    content["values"][2, 1] = -content["values"][2, 1]


def not_a_number(content):
    content["values"][2, 1] = np.nan


def turn_a_checksum(content):
    content["checks"][2] ^= 1


@pytest.mark.parametrize(
    ("change", "opened"),
    [(turn_a_number, False), (turn_a_number, True), (not_a_number, True), (turn_a_checksum, False)],
)
def test_an_altered_vector_is_computed_again_and_the_others_stay(tmp_path, change, opened):
    store = store_at(tmp_path)
    store.put(vectors(range(4)))
    if opened:
        assert_holds(store, [0])
    (path,) = files_in(store)
    altered(path, change)
    if not opened:
        store = as_in_a_new_process(store, tmp_path)
    keys = [key(number) for number in range(4)]
    with pytest.warns(UserWarning, match=WARNING) as caught:
        assert sorted(store.get(keys)) == sorted(set(keys) - {key(2)})
    assert len(caught) == 1
    assert not path.exists()
    assert store.absent(keys) == [key(2)]
    store.put(vectors([2]))
    assert_holds(store, range(4))
    assert_holds(as_in_a_new_process(store, tmp_path), range(4))


def test_vectors_in_each_others_place_are_noticed(tmp_path):
    store = store_at(tmp_path)
    store.put(vectors(range(4)))

    def swap(content):
        for name in ("values", "checks"):
            content[name][[1, 2]] = content[name][[2, 1]]

    altered(files_in(store)[0], swap)
    store = as_in_a_new_process(store, tmp_path)
    with pytest.warns(UserWarning, match="2 of 4 embeddings in"):
        assert sorted(store.get([key(number) for number in range(4)])) == sorted([key(0), key(3)])


def test_any_bit_of_a_shard_may_turn_over(tmp_path):
    """Check that a shard never returns another vector than the one kept, whichever byte is changed."""
    store = store_at(tmp_path)
    store.put(vectors(range(4)))
    (path,) = files_in(store)
    whole = path.read_bytes()
    expected = vectors(range(4))
    lost = 0
    for position in range(len(whole)):
        for entry in files_in(store):
            entry.unlink()
        path.write_bytes(whole)
        flip(path, position, position % 8)
        store = as_in_a_new_process(store, tmp_path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = store.get(list(expected))
        for name, vector in found.items():
            np.testing.assert_array_equal(vector, expected[name])
        lost += len(found) < len(expected)
    assert lost > 4 * (32 + 4 + 16)  # each bit of keys, checksums and values costs a vector


def test_a_shard_of_altered_vectors_only_goes(tmp_path):
    store = store_at(tmp_path)
    store.put(vectors([0]))
    altered(files_in(store)[0], lambda content: content["values"].fill(7))
    with pytest.warns(UserWarning, match="1 of 1 embeddings"):
        assert store.get([key(0)]) == {}
    assert files_in(store) == []


def test_altered_vectors_in_a_folder_that_cannot_be_written_are_not_used(tmp_path, monkeypatch):
    store = store_at(tmp_path)
    store.put(vectors(range(4)))
    altered(files_in(store)[0], turn_a_number)

    def refuse(*_, **__):
        raise OSError(30, os.strerror(30))

    monkeypatch.setattr(os, "fsync", refuse)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            assert key(2) not in store.get([key(number) for number in range(4)])
    assert len(caught) == 2  # altered vectors, and a store that cannot be written
    assert len(files_in(store)) == 1


def test_altered_vectors_are_not_merged(tmp_path):
    store = store_at(tmp_path)
    store.put(vectors(range(4)))
    altered(files_in(store)[0], turn_a_number)
    for number in range(100, 163):
        store.put(vectors([number]))
    with pytest.warns(UserWarning, match=WARNING) as caught:
        store.put(vectors([163]))
    assert (len(caught), len(files_in(store))) == (1, 1)
    for _ in range(2):
        assert sorted(store.get([key(number) for number in range(4)])) == sorted(key(number) for number in (0, 1, 3))
    assert_holds(store, range(100, 164))
    assert parts_in(store) == []


def test_scores_do_not_move(tmp_path):
    from PIL import Image

    from vlgauge.inputs.media.images import image_cell
    from vlgauge.inputs.media.pictures import WholeImage
    from vlgauge.models.clip.loading import clip_encoder
    from vlgauge.models.features.memory import process_memory

    pictures = [WholeImage(image_cell(Image.new("RGB", (64, 64), (20 * i, 90, 30)), "x"), "x") for i in range(6)]
    encoder = clip_encoder(profile="embedded", device="cpu", feature_cache=tmp_path)
    process_memory.clear()
    expected = encoder.image_hidden(pictures)
    forwards = encoder.forwards["image"]
    (path,) = tmp_path.rglob("*.safetensors")
    altered(path, lambda content: content["values"].__setitem__((3, slice(0, 64)), -content["values"][3, :64]))
    process_memory.clear()
    with pytest.warns(UserWarning, match="1 of 6 embeddings in"):
        found = encoder.image_hidden(pictures)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert encoder.forwards["image"] == forwards + 1
