"""Stores of small vectors on disk."""

import hashlib
import sqlite3
from contextlib import closing

import numpy as np

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


def change(store, statement, *values):
    """Run an SQL statement on the database of a store, and return the rows it yields."""
    with closing(sqlite3.connect(store.path)) as database, database:
        return database.execute(statement, values).fetchall()


def change_connections(monkeypatch, change):
    """Call a function with each database that a store opens from now on, before the store uses it."""
    connect = disk.connect

    def connect_and_change(path):
        database = connect(path)
        change(database)
        return database

    monkeypatch.setattr(disk, "connect", connect_and_change)


def assert_holds(store, numbers):
    found = store.get([key(number) for number in numbers])
    assert sorted(found) == sorted(key(number) for number in numbers)
    for number in numbers:
        np.testing.assert_array_equal(found[key(number)], np.arange(4, dtype=np.float32) + number)
