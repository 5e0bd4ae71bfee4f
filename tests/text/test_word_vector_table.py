"""Large files of word vectors: made into a table once, memory-mapped from then on, by several processes at a time."""

import gzip
import os
import stat

import numpy as np
import pytest

from vlgauge.text import word_vector_table, word_vectors
from vlgauge.text.word_lookup import look_up, write_vectors
from vlgauge.text.word_vector_table import BrokenTable, open_table
from vlgauge.text.word_vectors import WordVectorFile, read_rows

N_WORDS, WIDTH = 300, 7


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Where tables are kept; every file counts as a large one."""
    monkeypatch.setenv("VLGAUGE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(word_vectors, "LARGE", 0)
    return tmp_path / "home"


@pytest.fixture
def text(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "glove.txt"
    write_vectors(path, ((f"w{i}", row) for i, row in enumerate(rng.normal(size=(N_WORDS, WIDTH)))))
    return path


def opened(path):
    return WordVectorFile(path, "glove_path")


def forbid_reading(monkeypatch):
    """From here on the text may not be read."""

    def refuse(*_):
        raise AssertionError("the text was read again")

    monkeypatch.setattr(word_vectors, "_lines", refuse)


def test_the_table_has_the_rows_of_the_text(text, home, monkeypatch):
    wanted = ["w0", "w299", "w17", "none", "W17", "", "\ud800"]
    expected, width = read_rows(text, wanted)
    vectors = opened(text)
    found = vectors.rows(wanted)
    assert list(found) == ["w0", "w299", "w17"]
    assert all(np.array_equal(found[word], expected[word]) for word in found)
    assert (vectors.width, width) == (WIDTH, WIDTH)
    assert [path.name for path in (home / "word_vectors").iterdir()] == [f"glove.txt-{vectors.sha256[:16]}.vectors"]
    assert stat.S_IMODE((home / "word_vectors").stat().st_mode) == 0o700
    forbid_reading(monkeypatch)
    again = opened(text)
    everything = again.rows(f"w{i}" for i in range(N_WORDS))
    assert len(everything) == N_WORDS
    assert np.array_equal(everything["w17"], expected["w17"])
    assert opened(text).rows(["none"]) == {}
    assert again.n_bytes == N_WORDS * (WIDTH * 4 + 24)  # rows that were asked for, and the index


def test_words_are_looked_up_as_in_a_small_file(text, monkeypatch):
    text.write_text("3 2\ndog 1 0\n. . 7 7\nnaïve 2 2\nunk 3 3\ndog 9 9\n")
    words = ["dog", "Dog", "naïve", "."]
    mapped = look_up(words, opened(text))
    monkeypatch.setattr(word_vectors, "LARGE", 2**30)
    plain = look_up(words, opened(text))
    assert np.array_equal(mapped.vectors[mapped.rows], plain.vectors[plain.rows])
    assert mapped.vectors[mapped.rows].tolist() == [[1, 0], [3, 3], [2, 2], [3, 3]]
    assert mapped.oov == plain.oov == [False, True, False, True]


def test_a_word_whose_key_ends_in_zero_bytes(text, monkeypatch):
    digests = {b"dog": b"\1" * 15 + b"\0", b"cat": b"\1" * 14 + b"\0\0", b"cow": b"\0" * 16}
    monkeypatch.setattr(word_vector_table, "_key", digests.__getitem__)
    text.write_text("dog 1 0\ncat 0 2\n")
    found = opened(text).rows(["cat", "cow", "dog"])
    assert {word: row.tolist() for word, row in found.items()} == {"cat": [0.0, 2.0], "dog": [1.0, 0.0]}


def test_small_files_leave_nothing_behind(text, home, monkeypatch):
    monkeypatch.setattr(word_vectors, "LARGE", text.stat().st_size + 1)
    assert list(opened(text).rows(["w3"])) == ["w3"]
    assert not home.exists()


def test_another_text_has_another_table(text, home):
    opened(text).rows(["w1"])
    text.write_text("w1 1 2\n")
    assert opened(text).rows(["w1"])["w1"].tolist() == [1.0, 2.0]
    assert len(list((home / "word_vectors").iterdir())) == 2


def cut(content):
    return content[:-1]


def without_rows(content):
    return content[64:]


def emptied(content):
    return b""


def bit_in_a_row(content):
    return bytes([content[0] ^ 1]) + content[1:]


def bit_in_the_index(content):
    place = N_WORDS * WIDTH * 4 + 5
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def other_source(content):
    return content.replace(b'"source": "', b'"source": "0', 1).replace(b'", "rows"', b'", "row"', 1)


@pytest.mark.parametrize("damage", [cut, without_rows, emptied, bit_in_a_row, bit_in_the_index, other_source])
def test_a_damaged_table_is_made_again(text, damage):
    first = opened(text)
    expected = first.rows(["w0"])["w0"]
    first.table_path.write_bytes(damage(first.table_path.read_bytes()))
    with pytest.warns(UserWarning, match=r"glove\.txt-.*\.vectors .*; it is made again"):
        found = opened(text).rows(["w0"])["w0"]
    assert np.array_equal(found, expected)
    assert np.array_equal(opened(text).rows(["w0"])["w0"], expected)


def test_a_table_of_another_text_is_refused(text):
    vectors = opened(text)
    vectors.rows([])
    assert open_table(vectors.table_path, vectors.sha256).shape == (N_WORDS, WIDTH)
    with pytest.raises(BrokenTable, match="was made of other word vectors"):
        open_table(vectors.table_path, "0" * 64)


def test_a_table_that_vanishes_is_made_again(text):
    vectors = opened(text)
    vectors.rows(["w0"])
    vectors.table_path.unlink()
    assert list(vectors.rows(["w1"])) == ["w1"]
    assert vectors.table_path.is_file()


def test_an_interrupted_conversion_leaves_no_part(text, home, monkeypatch):
    real = word_vector_table.zlib.crc32
    calls = []

    def interrupt(content):
        calls.append(content)
        if len(calls) == 50:
            raise KeyboardInterrupt
        return real(content)

    with monkeypatch.context() as patch:
        patch.setattr(word_vector_table.zlib, "crc32", interrupt)
        with pytest.raises(KeyboardInterrupt):
            opened(text).rows(["w0"])
    assert list((home / "word_vectors").iterdir()) == []
    assert list(opened(text).rows(["w0"])) == ["w0"]


def test_a_table_appears_whole_or_not_at_all(text, home, monkeypatch):
    def refuse(*_):
        raise OSError("no such luck")

    monkeypatch.setattr(word_vector_table.os, "replace", refuse)
    with pytest.warns(UserWarning, match=r"cannot be kept in .*word_vectors, the text is read each time: no such luck"):
        assert list(opened(text).rows(["w0"])) == ["w0"]
    assert list((home / "word_vectors").iterdir()) == []


def test_a_folder_that_cannot_be_written(text, home):
    home.write_text("a file stands where the folder should be")
    vectors = opened(text)
    with pytest.warns(UserWarning, match=r"the table of glove\.txt cannot be kept in .*, the text is read each time"):
        assert list(vectors.rows(["w0", "none"])) == ["w0"]
    assert list(vectors.rows(["w1"])) == ["w1"]


def test_rows_that_are_no_numbers_are_told_when_they_are_wanted(text):
    text.write_text("dog 1 2\ncat 1 x\nbird 3 inf\n")
    vectors = opened(text)
    assert vectors.rows(["dog", "cow"])["dog"].tolist() == [1.0, 2.0]
    for word, line in (("cat", 2), ("bird", 3)):
        with pytest.raises(ValueError, match=f"`glove_path` must .*finite numbers, got others in line {line} of glove"):
            vectors.rows([word])


@pytest.mark.parametrize(
    ("content", "message"), [("dog 1 2\ncat 1\n", "of one width, got 1 values after 2 in line 2"), ("", "got none in")]
)
def test_broken_texts(text, home, content, message):
    text.write_text(content)
    with pytest.raises(ValueError, match=f"`glove_path` must name a file of word vectors.*{message}"):
        opened(text).rows(["dog"])
    assert list((home / "word_vectors").iterdir()) == []


@pytest.mark.parametrize("large", [0, 2**30])
def test_a_packed_file_that_is_cut(text, monkeypatch, large):
    monkeypatch.setattr(word_vectors, "LARGE", large)
    packed = text.with_name("glove.txt.gz")
    packed.write_bytes(gzip.compress(text.read_bytes())[:-50])
    with pytest.raises(ValueError, match=r"`glove_path` must be a whole gzip file, got '.*glove\.txt\.gz'"):
        opened(packed).rows(["w0"])
    packed.write_bytes(b"no gzip at all")
    with pytest.raises(ValueError, match=r"`glove_path` must be a whole gzip file, got '.*glove\.txt\.gz'"):
        opened(packed).rows(["w0"])
    packed.write_bytes(gzip.compress(text.read_bytes()))
    assert list(opened(packed).rows(["w0"])) == ["w0"]


SCRIPT = """
import sys
from pathlib import Path
from vlgauge.text import word_vectors
word_vectors.LARGE = 0
vectors = word_vectors.WordVectorFile(Path(sys.argv[1]), "glove_path")
print(len(vectors.rows(f"w{i}" for i in range(300))), vectors.rows(["w7"])["w7"].tolist())
"""


def test_processes_that_start_at_the_same_time(text, home, tmp_path):
    import subprocess
    import sys

    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-W", "error", str(tmp_path / "script.py"), str(text)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) for _ in range(4)]
    told = [process.communicate(timeout=60)[0] for process in running]
    expected = read_rows(text, ["w7"])[0]["w7"].tolist()
    assert told == [f"{N_WORDS} {expected}\n"] * 4
    assert len(list((home / "word_vectors").iterdir())) == 1
