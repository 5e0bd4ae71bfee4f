"""Damaged bytes of a store on disk: no altered vector is returned, intact ones stay, and one warning is given."""

import warnings

import numpy as np
import pytest
from small_stores import assert_holds, change, change_connections, key, store_at, vectors

from vlgauge.models.features import disk

WARNING = "1 of 4 embeddings"


@pytest.fixture(autouse=True)
def new_process(monkeypatch):
    """Clear the warnings before a test."""
    monkeypatch.setattr(disk, "_warned", set())


def alter(store, number, values):
    """Replace a vector as if the change had happened on the disk."""
    change(store, "UPDATE features SET vector = ? WHERE key = ?", np.float32(values).tobytes(), key(number))


def test_an_altered_vector_is_computed_again_and_the_others_stay(tmp_path):
    store = store_at(tmp_path)
    store.put(vectors(range(4)))
    alter(store, 2, [2, -3, 4, 5])
    keys = [key(number) for number in range(4)]
    with pytest.warns(UserWarning, match=WARNING) as caught:
        assert sorted(store.get(keys)) == sorted(set(keys) - {key(2)})
    assert len(caught) == 1
    assert store.absent(keys) == [key(2)]
    store.put(vectors([2]))
    assert_holds(store, range(4))
    assert_holds(store_at(tmp_path), range(4))


def test_vectors_in_each_others_place_are_noticed(tmp_path):
    store = store_at(tmp_path)
    store.put(vectors(range(4)))
    change(store, "UPDATE features SET key = zeroblob(32) WHERE key = ?", key(1))
    change(store, "UPDATE features SET key = ? WHERE key = ?", key(1), key(2))
    change(store, "UPDATE features SET key = ? WHERE key = zeroblob(32)", key(2))
    with pytest.warns(UserWarning, match="2 of 4 embeddings in"):
        assert sorted(store.get([key(number) for number in range(4)])) == sorted([key(0), key(3)])


def test_vectors_of_another_store_are_noticed(tmp_path):
    images, texts = store_at(tmp_path), store_at(tmp_path, side="text")
    images.put(vectors(range(4)))
    change(images, "UPDATE features SET store = ? WHERE key = ?", texts.name, key(1))
    with pytest.warns(UserWarning, match="1 of 1 embeddings in"):
        assert texts.get([key(1)]) == {}


@pytest.mark.parametrize("other", ["NULL", "3", "CAST(x'ff' AS TEXT)"])
def test_a_vector_of_another_type_is_noticed(tmp_path, other):
    store = store_at(tmp_path)
    store.put(vectors(range(4)))
    change(store, f"UPDATE features SET vector = {other} WHERE key = ?", key(1))
    with pytest.warns(UserWarning, match=WARNING):
        assert len(store.get([key(number) for number in range(4)])) == 3


def test_any_bit_of_the_database_may_turn_over(tmp_path):
    """Check that a store never returns another vector than the one kept, whichever byte is changed."""
    store = store_at(tmp_path)
    store.put(vectors(range(4)))
    whole = store.path.read_bytes()
    expected = vectors(range(4))
    lost = 0
    positions = [*range(100), *(i for i in range(100, len(whole)) if whole[i])]  # empty space is unused
    for position in positions:
        content = bytearray(whole)
        content[position] ^= 1 << position % 8
        store.path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = store.get(list(expected))
        for name, vector in found.items():
            np.testing.assert_array_equal(vector, expected[name])
        lost += len(found) < len(expected)
    assert lost > 4 * (32 + 4 + 8)


def test_altered_vectors_in_a_folder_that_cannot_be_written_are_not_used(tmp_path, monkeypatch):
    store = store_at(tmp_path)
    store.put(vectors(range(4)))
    alter(store, 2, [2, -3, 4, 5])
    change_connections(monkeypatch, lambda database: database.execute("PRAGMA query_only = 1"))
    keys = [key(number) for number in range(4)]
    with pytest.warns(UserWarning, match=WARNING):
        assert key(2) not in store.get(keys)
    assert key(2) not in store.get(keys)


def test_scores_do_not_move(tmp_path):
    from PIL import Image

    from vlgauge.inputs.images.cells import image_cell
    from vlgauge.inputs.images.lazy_images import WholeImage
    from vlgauge.models.clip.loading import clip_encoder
    from vlgauge.models.features.memory import process_memory

    images = [WholeImage(image_cell(Image.new("RGB", (64, 64), (20 * i, 90, 30)), "x"), "x") for i in range(6)]
    encoder = clip_encoder(profile="embedded", device="cpu", feature_cache=tmp_path)
    process_memory.clear()
    expected = encoder.image_hidden(images)
    forwards = encoder.forwards["image"]
    store = store_at(tmp_path)
    assert change(store, "SELECT count(*) FROM features") == [(6,)]
    change(store, "UPDATE features SET vector = zeroblob(length(vector)) WHERE rowid = 3")
    process_memory.clear()
    with pytest.warns(UserWarning, match="1 of 6 embeddings in"):
        found = encoder.image_hidden(images)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert encoder.forwards["image"] == forwards + 1
