"""Untrusted pickles and MATLAB files: data is returned, nothing is executed, and memory use is limited."""

import collections
import contextlib
import io
import os
import pickle
import random
import warnings

import numpy as np
import pytest

from vlgauge.checkpoints.pickles import read_pickle
from vlgauge.core.files import limits


def written(folder, data):
    path = folder / "data.pkl"
    path.write_bytes(data)
    return path


# -- pickles ----------------------------------------------------------------------------------------------------------
DATA = [
    ["a", 1, 2.5, None, True, b"x", ("t", {"k": [1]}), -(10**30)],
    np.array(["a", "bc"]),
    np.array([["a", "bc"], ["d", "e"]], dtype=object),
    np.array([1.5, float("nan")]),
    np.arange(6).reshape(2, 3),
    np.arange(6).reshape(2, 3).T,
    np.array([[True, False]]),
    np.array([1, 2], dtype=">i2"),
    np.array(["a", "\U0001f600"], dtype=">U3"),
    np.array([]),
    [np.float64(1.5), np.int64(3), np.str_("s"), np.bool_(True)],
    {"k": (1, [{"a": 2}])},
]


@pytest.mark.parametrize("value", DATA, ids=[str(i) for i in range(len(DATA))])
def test_data_come_out_as_they_went_in(tmp_path, value):
    for protocol in range(6):
        data = pickle.dumps(value, protocol)
        found = read_pickle(written(tmp_path, data))
        if isinstance(value, np.ndarray):
            assert found.dtype == pickle.loads(data).dtype
            np.testing.assert_array_equal(found, value)
        else:
            assert found == value


def test_arrays_in_other_data(tmp_path):
    lists = np.empty(2, dtype=object)
    lists[:] = [["a", "b"], ["c", "d"]]
    lists[1].append(np.array([1.0, 2.0]))
    found = read_pickle(written(tmp_path, pickle.dumps([lists, (np.array(["x"]), {"k": np.array([3])})])))
    assert found[0][0] == ["a", "b"]
    assert found[0][1][2].tolist() == [1.0, 2.0]
    assert found[1][0].tolist() == ["x"]
    assert found[1][1]["k"].tolist() == [3]


def test_arrays_of_older_numpy(tmp_path):
    data = pickle.dumps(np.array(["a", "bc"]), 2).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    assert b"numpy.core.multiarray" in data
    assert read_pickle(written(tmp_path, data)).tolist() == ["a", "bc"]


class Hostile:
    """Object that writes a file when it is unpickled."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def hostile_calls(mark):
    return [
        (os.system, f"touch {mark}"),
        (exec, f"open({str(mark)!r}, 'w')"),
        (eval, f"open({str(mark)!r}, 'w')"),
        (getattr, os, "system"),
        (np.load, str(mark)),
        (np.fromfile, str(mark)),
        (open, str(mark), "w"),
        (__import__, "os"),
    ]


@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_code_is_refused_by_name_and_not_run(tmp_path, number, protocol):
    mark = tmp_path / "mark"
    function, *arguments = hostile_calls(mark)[number]
    if function is getattr:
        arguments = ["", "upper"]
    path = written(tmp_path, pickle.dumps(["harmless", Hostile(function, *arguments)], protocol))
    name = {"system": "posix", "load": "numpy", "fromfile": "numpy", "open": open.__module__}
    module = name.get(function.__name__, "builtins" if protocol > 2 else "__builtin__")
    with pytest.raises(ValueError, match="executed") as caught:
        read_pickle(path)
    assert f"refers to {module}.{function.__name__};" in str(caught.value)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (collections.OrderedDict(a=1), "collections.OrderedDict"),
        ({1, 2}, "builtins.set"),
        (1 + 2j, "builtins.complex"),
        (np.random.default_rng(0), "numpy.random._pickle"),
        (Hostile(os.getcwd), "posix.getcwd"),
    ],
)
def test_anything_else_is_named(tmp_path, value, name):
    data = pickle.dumps(value, 2).replace(b"__builtin__", b"builtins")
    with pytest.raises(ValueError, match=name.replace(".", r"\.")):
        read_pickle(written(tmp_path, data))


def test_attributes_of_what_is_known_are_not_reached(tmp_path):
    # protocol 4 may request a dotted name: numpy.ndarray.tofile
    data = b"\x80\x04\x8c\x05numpy\x8c\x0endarray.tofile\x93."
    with pytest.raises(ValueError, match=r"numpy\.ndarray\.tofile"):
        read_pickle(written(tmp_path, data))


class Elements:
    """Element type that claims to contain objects and to be equivalent to bytes, which numpy uses as addresses."""

    def __reduce__(self):
        return np.dtype, ("O", False, True), (3, "|", None, None, None, -1, -1, 0)


class Addresses:
    def __init__(self, data=b"\x41" * 8, shape=(1,), elements=None):
        self.state = (1, shape, Elements() if elements is None else elements, False, data)

    def __reduce__(self):
        return np.array([None]).__reduce__()[0], (np.ndarray, (0,), b"b"), self.state


@pytest.mark.parametrize(
    ("made_up", "message"),
    [
        (Addresses(), "made of bytes"),
        (Addresses(10**12, elements=np.dtype("u1")), "made of int"),
        (Addresses(elements=np.dtype("f8"), shape=(2,)), "size 1"),
        (Addresses(elements=np.dtype([("a", "f8")])), "'V8'"),
        (Addresses(elements=np.dtype("M8[s]")), "'M8'"),
        (Addresses(elements=np.dtype("U2")), "strings with numbers"),
    ],
)
def test_made_up_arrays_are_refused(tmp_path, made_up, message):
    with pytest.raises(ValueError, match=rf"complete pickle.*({message})"):
        read_pickle(written(tmp_path, pickle.dumps(made_up, 2)))


def test_what_a_pickle_sets_does_not_outlive_it(tmp_path):
    # BUILD with (None, {"code": ...}) sets attributes of the object below it.
    for function in (b"cnumpy\ndtype\n", b"cnumpy.core.multiarray\n_reconstruct\n", b"c_codecs\nencode\n"):
        with pytest.raises(ValueError, match="complete pickle"):
            read_pickle(written(tmp_path, function + b"(N(dVarray\nI1\nstb."))
    assert read_pickle(written(tmp_path, pickle.dumps(np.array(["a"]), 2))).tolist() == ["a"]


def test_objects_outside_the_file_are_refused(tmp_path):
    class Outside(pickle.Pickler):
        def persistent_id(self, value):
            return "elsewhere" if value == "x" else None

    stream = io.BytesIO()
    Outside(stream).dump(["x"])
    with pytest.raises(ValueError, match="object outside"):
        read_pickle(written(tmp_path, stream.getvalue()))


@pytest.mark.parametrize(
    "data", [b"", b"hello", b"PK\x03\x04", pickle.dumps(list("abcdef"), 4)[:-3], pickle.dumps(np.arange(9.0))[:-20]]
)
def test_broken_pickles(tmp_path, data):
    with pytest.raises(ValueError, match="file that fails"):
        read_pickle(written(tmp_path, data))


def test_altered_pickles_are_data_or_refused(tmp_path):
    choose, n_read = random.Random(7), 0
    for _ in range(1_000):
        data = bytearray(pickle.dumps(choose.choice(DATA), choose.randrange(6)))
        for _ in range(choose.randrange(1, 4)):
            at = choose.randrange(len(data))
            data[at : at + choose.randrange(3)] = choose.randbytes(choose.randrange(3))
        path = written(tmp_path, data)
        with warnings.catch_warnings(), contextlib.suppress(ValueError):
            warnings.simplefilter("ignore")  # warnings about escapes in texts of protocol 0
            read_pickle(path)
            n_read += 1
    assert n_read > 10


def test_encoding_is_that_of_arrays_only(tmp_path):
    data = pickle.dumps(b"\xff\x00", 2).replace(b"latin1", b"rot_13")
    assert b"rot_13" in data
    with pytest.raises(ValueError, match="'rot_13'"):
        read_pickle(written(tmp_path, data))


def test_positions_beyond_the_file_are_refused(tmp_path):
    # The unpickler would allocate 1 GB for it.
    with pytest.raises(ValueError, match="position 134,217,728"):
        read_pickle(written(tmp_path, b"\x80\x02}r\x00\x00\x00\x08."))


def repeated_tuples(n_levels, width=2):
    data = b"\x80\x02K\x00q\x000"
    for level in range(n_levels):
        data += b"(" + bytes([ord("h"), level]) * width + b"tq" + bytes([level + 1]) + b"0"
    return data + b"}h" + bytes([n_levels]) + b"K\x01s."


def test_tuples_that_repeat_within_each_other_are_refused(tmp_path):
    # Each level doubles the time of the hash of the key.
    assert len(read_pickle(written(tmp_path, repeated_tuples(10)))) == 1
    for n_levels, width in ((60, 2), (6, 100)):
        with pytest.raises(ValueError, match="tuples that repeat"):
            read_pickle(written(tmp_path, repeated_tuples(n_levels, width)))


def test_a_long_tuple_as_the_key_of_many_dictionaries_is_refused(tmp_path):
    data = b"\x80\x02](" + b"N" * 2_000 + b"tq\x000" + b"}h\x00Nsa" * 2_000 + b"."
    with pytest.raises(ValueError, match="tuples that repeat"):
        read_pickle(written(tmp_path, data))


def test_tuples_as_keys(tmp_path):
    words = [("a", "b"), ("a", ("b", "c")), ()]
    value = [{key: number for number, key in enumerate(words)} for _ in range(5_000)]
    for protocol in range(6):
        assert read_pickle(written(tmp_path, pickle.dumps(value, protocol))) == value


def test_tuples_are_not_hidden_in_a_number_of_numpy(tmp_path):
    data = pickle.dumps(np.float64(1), 2).replace(b"f8", b"O8")
    with pytest.raises(ValueError, match="type object"):
        read_pickle(written(tmp_path, data))


def test_sets_of_protocol_4_are_refused(tmp_path):
    for value in ({1}, frozenset([1])):
        with pytest.raises(ValueError, match="fails with: a set"):
            read_pickle(written(tmp_path, pickle.dumps(value, 4)))


def test_a_reason_without_words_is_named(tmp_path, monkeypatch):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr("pickletools.genops", full)
    with pytest.raises(ValueError, match="MemoryError"):
        read_pickle(written(tmp_path, pickle.dumps([1])))


def test_a_pickle_that_is_too_large(tmp_path):
    with limits(max_bytes=1000), pytest.raises(ValueError, match="at most 1,000 bytes"):
        read_pickle(written(tmp_path, pickle.dumps("x" * 1100)))
