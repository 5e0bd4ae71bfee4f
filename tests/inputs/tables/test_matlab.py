"""Untrusted MATLAB files: data are read as scipy reads them, and no file crashes or fills the memory."""

import io
import random
import zlib

import hostile_files
import numpy as np
import protocol_files as made
import pytest
from scipy.io import loadmat, savemat

from vlgauge.core.files import limits
from vlgauge.inputs.tables.matlab import members, number_of, read_matlab, text_of


@pytest.fixture
def mat(tmp_path):
    def write(compressed=True, **variables):
        path = tmp_path / "data.mat"
        savemat(path, variables, do_compression=compressed)
        return path

    return write


def cells(values, shape):
    found = np.empty(shape, dtype=object)
    found.ravel()[:] = values
    return found


def plain(value):
    """Return data of scipy as lists, tuples, strings and numbers, column by column."""
    if isinstance(value, np.void):
        return tuple(plain(value[name]) for name in value.dtype.names)
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        return str(value[0]) if len(value) == 1 else list(map(str, value)) if len(value) else ""
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.ravel(order="F")]
    return float(value)


VALUES = {
    "numbers": np.arange(6.0).reshape(2, 3),
    "one": 2.5,
    "small": np.array([[1, 2, 200]], dtype=np.uint8),
    "signed": np.array([[-3], [4]], dtype=np.int16),
    "single": np.array([1.5], dtype=np.float32),
    "true": np.array([[True, False]]),
    "long": np.array([[2**40]], dtype=np.int64),
    "text": "a few words",
    "accents": "caffè \u4e2d",
    "nothing": "",
    "rows": np.array(["ab ", "cde"]),
    "cells": cells(["a", 1.0, "b", np.array([[1.0, 2.0]])], (2, 2)),
    "nested": cells([cells(["inner"], (1, 1)), np.zeros((0, 0))], (1, 2)),
    "structures": made.structures([("x", 1.0, cells(["y"], (1, 1)))] * 3, ("first", "second_field", "c")),
    "structure": {"a": "text", "b": np.array([[1.0, 2.0]])},
}


@pytest.mark.parametrize("compressed", [True, False])
def test_values_are_those_of_scipy(mat, compressed):
    path = mat(compressed, before=1.0, **VALUES, after="x")
    expected = {name: plain(loadmat(path)[name]) for name in VALUES}
    assert read_matlab(path, list(VALUES)) == {
        name: value if isinstance(value, list) else [value] for name, value in expected.items()
    }


def test_only_what_is_asked_for(mat):
    assert read_matlab(mat(x=1.0, y="a"), ["y"]) == {"y": ["a"]}


def big_endian(kind, data):
    return kind.to_bytes(4, "big") + len(data).to_bytes(4, "big") + data + b"\x00" * (-len(data) % 8)


def test_big_endian_files(tmp_path):
    body = big_endian(6, (6).to_bytes(4, "big") + bytes(4)) + big_endian(5, (1).to_bytes(4, "big") * 2)
    body += big_endian(1, b"x") + big_endian(9, np.array([2.5], dtype=">f8").tobytes())
    text = big_endian(6, (4).to_bytes(4, "big") + bytes(4)) + big_endian(5, b"\x00\x00\x00\x01\x00\x00\x00\x02")
    text += (
        big_endian(1, b"t") + b"\x00\x04\x00\x04" + "hi".encode("utf-16-be")
    )  # up to four bytes: length and type in one
    packed = zlib.compress(big_endian(14, text))
    path = tmp_path / "big.mat"
    parts = big_endian(14, body) + (15).to_bytes(4, "big") + len(packed).to_bytes(4, "big") + packed
    path.write_bytes(b"MATLAB 5.0".ljust(124) + b"\x01\x00MI" + parts)
    assert (
        read_matlab(path, ["x", "t"])
        == {"x": [2.5], "t": ["hi"]}
        == {k: [plain(v)] if isinstance(plain(v), str) else plain(v) for k, v in loadmat(path).items() if k in "xt"}
    )


def variable(kind, name, shape, data, data_type=9):
    """Return a variable of a big-endian file."""
    sizes = b"".join(size.to_bytes(4, "big") for size in shape)
    body = big_endian(6, kind.to_bytes(4, "big") + bytes(4)) + big_endian(5, sizes) + big_endian(1, name)
    return big_endian(14, body + big_endian(data_type, data))


def test_a_message_has_some_of_very_many_names(tmp_path):
    path = tmp_path / "x.mat"
    many = b"".join(variable(6, b"v%d" % i, [0, 0], b"") for i in range(2000))
    path.write_bytes(b"MATLAB 5.0".ljust(124) + b"\x01\x00MI" + many)
    with pytest.raises(ValueError, match=r"got v0.*v1.*v10") as caught:
        read_matlab(path, ["x"])
    assert len(str(caught.value)) < 500


def test_texts_numbers_and_members():
    assert text_of([[" two  words "]], "x") == "two words"
    assert text_of([], "x") == ""
    assert number_of([[3.0]], "x") == 3.0
    assert members([("a", 2.0)]) == members(("a", 2.0)) == members(["a", 2.0]) == ["a", 2.0]
    assert members("a") == ["a"]
    for value, got in ((["a", "b"], "2 of them"), ([3.0], "a number"), (("a",), "a structure")):
        with pytest.raises(ValueError, match=rf"string.*got {got}"):
            text_of(value, "x")
    for value, got in (("3", "a string"), ([1.0, 2.0], "2 of them"), ([], "0 of them")):
        with pytest.raises(ValueError, match=rf"number.*got {got}"):
            number_of(value, "x")


def test_a_variable_that_is_missing(mat):
    with pytest.raises(ValueError, match=r"data\.mat.*'y'"):
        read_matlab(mat(x=1.0, z=2.0), ["y"])


def test_what_is_no_data_is_refused(mat):
    import scipy.sparse

    path = mat(x=scipy.sparse.eye(2).tocsc())
    with pytest.raises(ValueError, match="cells, structures"):
        read_matlab(path, ["x"])


def test_a_file_that_unpacks_to_too_much(mat):
    path = mat(x=np.zeros(200_000), y=np.ones(200_000))
    assert path.stat().st_size < 10_000
    assert len(read_matlab(path, ["y"])["y"]) == 200_000
    with limits(max_unpacked=200_000), pytest.raises(ValueError, match=r"data\.mat.*512.*MB"):
        read_matlab(path, ["y"])
    with limits(max_bytes=1000), pytest.raises(ValueError, match="at most 1,000 bytes"):
        read_matlab(path, ["y"])


def test_a_small_file_that_fills_the_memory(tmp_path):
    path = tmp_path / "x.mat"
    hostile_files.matlab_file(path, 1, 10**8)
    with pytest.raises(ValueError, match=r"x\.mat.*512.*10 s"):
        read_matlab(path, ["x"])


def changed(data, old, new):
    assert data.count(old) == 1
    return data.replace(old, new)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"", r"MATLAB.*version 5 to 7"),
        (lambda data: b"hello " * 100, r"MATLAB.*version 5 to 7"),
        (lambda data: data[:124] + b"\x00\x02IM\x89HDF", r"version 5 to 7.*got 7\.3.*-v7"),
        (lambda data: data[:-8], "valid MATLAB file, got one|cannot be read within"),
        (lambda data: data[:131], "valid MATLAB file, got one|cannot be read within"),
    ],
)
def test_broken_files(mat, change, message):
    path = mat(False, x=cells(["cat", 5.0], (1, 2)))
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ValueError, match=message) as caught:
        read_matlab(path, ["x"])
    assert "\n" not in str(caught.value)


def test_cells_within_cells_within_bounds(mat):
    inner = np.array([[1.0]])
    for _ in range(20):
        inner = cells([inner], (1, 1))
    with pytest.raises(ValueError, match="than 16 arrays"):
        read_matlab(mat(x=inner), ["x"])


def test_no_change_of_bytes_does_more_than_a_refusal(tmp_path):
    stream = io.BytesIO()
    savemat(stream, {"triplets": made.triplets()[:, :2]})
    whole = stream.getvalue()
    path, rng, refused = tmp_path / "x.mat", random.Random(0), 0
    for _ in range(20):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(128, len(data))] = rng.randrange(256)
        path.write_bytes(data)
        try:
            read_matlab(path, ["triplets"])
        except ValueError:
            refused += 1
    assert refused > 6
