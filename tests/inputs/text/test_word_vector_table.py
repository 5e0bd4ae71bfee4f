"""Large files of word vectors, converted to a memory-mapped table once, also by several processes at a time."""

import gzip
import os
import stat
import subprocess
import sys

import numpy as np
import pytest

from vlgauge.inputs.text import word_vector_table, word_vectors
from vlgauge.inputs.text.word_lookup import look_up, write_vectors
from vlgauge.inputs.text.word_vector_table import BrokenTableError, WordTable
from vlgauge.inputs.text.word_vectors import WordVectorFile, read_rows

N_WORDS, WIDTH = 300, 7


@pytest.fixture(autouse=True)
def tables(tmp_path, monkeypatch):
    """Folder of tables. Every file counts as a large one."""
    monkeypatch.setenv("VLGAUGE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(word_vectors, "LARGE", 0)
    return tmp_path / "home" / "word_vectors"


@pytest.fixture
def text(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "glove.txt"
    write_vectors(path, ((f"w{i}", row) for i, row in enumerate(rng.normal(size=(N_WORDS, WIDTH)))))
    return path


def opened(path):
    return WordVectorFile(path, "glove_path")


def names(folder):
    return [path.name for path in folder.iterdir()]


def test_the_table_has_the_rows_of_the_text(text, tables, monkeypatch):
    wanted = ["w0", "w299", "w17", "none", "W17", "", "\ud800"]
    expected, width = read_rows(text, wanted)
    vectors = opened(text)
    found = vectors.rows(wanted)
    assert list(found) == ["w0", "w299", "w17"]
    assert all(np.array_equal(found[word], expected[word]) for word in found)
    assert (vectors.width, width) == (WIDTH, WIDTH)
    assert names(tables) == [f"glove.txt-{vectors.sha256[:16]}.vectors"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in (tables, vectors.table_path)] == [0o700, 0o600]
    monkeypatch.setattr(word_vectors, "_lines", None)  # from here on the text may not be read
    again = opened(text)
    everything = again.rows(f"w{i}" for i in range(N_WORDS))
    assert len(everything) == N_WORDS
    assert np.array_equal(everything["w17"], expected["w17"])
    assert opened(text).rows(["none"]) == {}


def test_words_are_looked_up_as_in_a_small_file_which_leaves_nothing_behind(text, tables, monkeypatch):
    text.write_text("3 2\ndog 1 0\n. . 7 7\nnaïve 2 2\nunk 3 3\ndog 9 9\n")
    words = ["dog", "Dog", "naïve", "."]
    monkeypatch.setattr(word_vectors, "LARGE", text.stat().st_size + 1)
    plain = look_up(words, opened(text))
    assert not tables.parent.exists()
    monkeypatch.setattr(word_vectors, "LARGE", text.stat().st_size)
    mapped = look_up(words, opened(text))
    assert np.array_equal(mapped.vectors[mapped.rows], plain.vectors[plain.rows])
    assert mapped.vectors[mapped.rows].tolist() == [[1, 0], [3, 3], [2, 2], [3, 3]]
    assert mapped.oov == plain.oov == [False, True, False, True]


def test_a_word_whose_key_ends_in_zero_bytes(text, monkeypatch):
    digests = {b"dog": b"\1" * 15 + b"\0", b"cat": b"\1" * 14 + b"\0\0", b"cow": b"\0" * 16}
    monkeypatch.setattr(word_vector_table, "_key", digests.__getitem__)
    text.write_text("dog 1 0\ncat 0 2\n")
    found = opened(text).rows(["cat", "cow", "dog"])
    assert {word: row.tolist() for word, row in found.items()} == {"cat": [0.0, 2.0], "dog": [1.0, 0.0]}


def test_another_text_has_another_table(text, tables):
    vectors = opened(text)
    vectors.rows(["w1"])
    assert WordTable(vectors.table_path, vectors.sha256).shape == (N_WORDS, WIDTH)
    with pytest.raises(BrokenTableError, match=r"other.*word vectors"):
        WordTable(vectors.table_path, "0" * 64)
    text.write_text("w1 1 2\n")
    assert opened(text).rows(["w1"])["w1"].tolist() == [1.0, 2.0]
    assert len(names(tables)) == 2


def flipped(place):
    return lambda content: content[:place] + bytes([content[place] ^ 1]) + content[place:][1:]


DAMAGES = {
    "cut": lambda content: content[:-1],
    "without rows": lambda content: content[64:],
    "empty": lambda content: b"",
    "bit in a row": flipped(0),
    "bit in an entry": flipped(N_WORDS * WIDTH * 4 + 5),
    "other schema": lambda content: content.replace(word_vector_table.SCHEMA, b"vlgauge-word-table-0"),
    "other source": lambda content: content.replace(content[-152:-88], b"0" * 64),
    "no words": lambda content: content[:-8] + bytes(8),
}


@pytest.mark.parametrize("damage", [*DAMAGES, "gone"])
def test_a_damaged_table_is_made_again(text, recwarn, damage):
    first = opened(text)
    expected = first.rows(["w0"])["w0"]
    whole = first.table_path.read_bytes()
    if damage == "gone":
        first.table_path.unlink()
    else:
        first.table_path.write_bytes(DAMAGES[damage](whole))
        assert first.table_path.read_bytes() != whole
    assert np.array_equal(opened(text).rows(["w0"])["w0"], expected)
    assert [str(warning.message).endswith("; it is created again") for warning in recwarn] == [True] * (
        damage != "gone"
    )
    assert first.table_path.read_bytes() == whole
    assert np.array_equal(first.rows(["w1"])["w1"], opened(text).rows(["w1"])["w1"])


def test_a_table_appears_whole_or_not_at_all(text, tables, monkeypatch):
    def refuse(*_):
        raise OSError("no such luck")

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(word_vector_table.zlib, "crc32", interrupt)
        with pytest.raises(KeyboardInterrupt):
            opened(text).rows(["w0"])
    assert names(tables) == []
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.warns(UserWarning, match=r"word_vectors.*luck"):
        assert list(opened(text).rows(["w0"])) == ["w0"]
    assert names(tables) == []


@pytest.mark.parametrize("name", ["home", "home/word_vectors"])
def test_a_folder_that_cannot_be_written(text, tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("a file stands where the folder should be")
    vectors = opened(text)
    with pytest.warns(UserWarning, match=r"glove\.txt.*stored"):
        assert list(vectors.rows(["w0", "none"])) == ["w0"]
    assert list(vectors.rows(["w1"])) == ["w1"]


def test_a_folder_in_which_nothing_may_be_written(text, tables):
    tables.mkdir(parents=True)
    vectors = opened(text)
    vectors.table_path.symlink_to("no/where")  # not writable, even for root
    with pytest.warns(UserWarning, match=r"glove\.txt.*stored"):
        assert list(vectors.rows(["w0", "none"])) == ["w0"]


def test_rows_that_are_no_numbers_are_told_when_they_are_wanted(text):
    text.write_text("dog 1 2\ncat 1 x\nbird 3 inf\n")
    vectors = opened(text)
    assert vectors.rows(["dog", "cow"])["dog"].tolist() == [1.0, 2.0]
    for word, line in (("cat", 2), ("bird", 3)):
        with pytest.raises(ValueError, match=rf"^`glove_path`.*invalid.*line {line}"):
            vectors.rows([word])


@pytest.mark.parametrize(("content", "message"), [("dog 1 2\ncat 1\n", r"got 1 values.*line 2"), ("", "got none in")])
def test_broken_texts(text, tables, content, message):
    text.write_text(content)
    for _ in range(2):
        with pytest.raises(ValueError, match=rf"^`glove_path`.*{message}"):
            opened(text).rows(["dog"])
    assert names(tables) == []


@pytest.mark.parametrize("large", [0, 2**30])
def test_a_packed_file_that_is_cut(text, monkeypatch, large):
    monkeypatch.setattr(word_vectors, "LARGE", large)
    packed = text.with_name("glove.txt.gz")
    whole = gzip.compress(text.read_bytes())
    for content in (whole[:-50], b"no gzip at all"):
        packed.write_bytes(content)
        with pytest.raises(ValueError, match=r"^`glove_path`.*glove\.txt\.gz"):
            opened(packed).rows(["w0"])
    packed.write_bytes(whole)
    assert list(opened(packed).rows(["w0"])) == ["w0"]


SCRIPT = """
import sys
from pathlib import Path
from vlgauge.inputs.text import word_vectors
word_vectors.LARGE = 0
vectors = word_vectors.WordVectorFile(Path(sys.argv[1]), "glove_path")
print(len(vectors.rows(f"w{i}" for i in range(300))), vectors.rows(["w7"])["w7"].tolist())
"""


def test_processes_that_start_at_the_same_time(text, tables):
    command = [sys.executable, "-W", "error", "-c", SCRIPT, str(text)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) for _ in range(2)]
    told = [process.communicate(timeout=60)[0] for process in running]
    assert told == [f"{N_WORDS} {read_rows(text, ['w7'])[0]['w7'].tolist()}\n"] * 2
    assert len(names(tables)) == 1
