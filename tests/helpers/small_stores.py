"""Stores of small vectors on disk."""

import hashlib

import numpy as np

from vlgauge.core.writing import PART
from vlgauge.models.features import disk
from vlgauge.models.features.disk import DiskStore, preprocess_id

DIGEST = "ab" * 32
PREPROCESS = preprocess_id({"size": 224})


def key(number):
    return hashlib.sha256(str(number).encode()).digest()


def vectors(numbers, width=4):
    return {key(number): np.arange(width, dtype=np.float32) + number for number in numbers}


def store_at(root, **changed):
    settings = {"weights_digest": DIGEST, "side": "image", "preprocess_id": PREPROCESS, "dtype": "float32"}
    return DiskStore(root, **{**settings, **changed})


def files_in(store):
    return list(disk.files_in([store.folder], disk.SHARD))


def parts_in(store):
    return list(disk.files_in([store.folder], PART))


def assert_holds(store, numbers):
    found = store.get([key(number) for number in numbers])
    assert sorted(found) == sorted(key(number) for number in numbers)
    for number in numbers:
        np.testing.assert_array_equal(found[key(number)], np.arange(4, dtype=np.float32) + number)
