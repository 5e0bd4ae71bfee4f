"""Files of word vectors: requested rows only, read once, and the vector of a noun that they lack."""

import gzip
import threading

import numpy as np
import pytest

from vlgauge.core.errors import WeightsNotFoundError
from vlgauge.inputs.text import word_vectors
from vlgauge.inputs.text.word_lookup import look_up, mean_vectors, write_vectors
from vlgauge.inputs.text.word_vectors import read_rows, word_vector_file

TEXT = "dog 1 0\ncat 0 2\n. . 7 7\nunk 3 3\ndog 9 9\n"


@pytest.fixture
def glove(tmp_path):
    """`glove(text)`: the opened file with that text."""

    def make(text=TEXT, name="glove.txt"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
        return word_vector_file(path)

    return make


def test_wanted_rows_and_width(glove):
    vectors = glove()
    found = vectors.rows(["cat", "dog", "bird", ".", "\ud800"])
    assert {word: row.tolist() for word, row in found.items()} == {"cat": [0.0, 2.0], "dog": [1.0, 0.0]}
    assert found["cat"].dtype == np.float32
    assert vectors.width == 2


@pytest.mark.parametrize("name", ["v.txt", "v.txt.gz"])
def test_header_packing_and_line_ends(glove, name):
    vectors = glove("3 2\r\ndog 1 0 \r\nnaïve 5 6\r\n", name)
    assert {word: row.tolist() for word, row in vectors.rows(["dog", "naïve"]).items()} == {
        "dog": [1.0, 0.0],
        "naïve": [5.0, 6.0],
    }


def test_a_word_is_looked_for_once(glove, monkeypatch):
    calls = []
    real = word_vectors.read_rows
    monkeypatch.setattr(word_vectors, "read_rows", lambda f, w, **k: calls.append(sorted(w)) or real(f, w, **k))
    vectors = glove("dog 1 0\ncat 0 2\nunk 1 1\n", "once.txt")
    vectors.rows(["dog", "bird"])
    vectors.rows(["bird", "dog"])
    vectors.rows(["cat", "dog"])
    assert calls == [["bird", "dog"], ["cat"]]


def test_a_copy_that_went_or_another_folder_costs_no_words(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "v.txt").write_text("dog 1 2\ncat 3 4\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "one")
    relative = word_vector_file("v.txt")
    monkeypatch.chdir(tmp_path)
    assert relative.rows(["dog"])["dog"].tolist() == [1.0, 2.0]
    (tmp_path / "one" / "v.txt").unlink()
    assert word_vector_file(tmp_path / "two" / "v.txt").rows(["cat"])["cat"].tolist() == [3.0, 4.0]


def test_one_file_is_opened_once_also_by_threads(glove):
    # The file is written before the threads start, so that no thread reads an incomplete file.
    path, found = glove().path, []
    threads = [threading.Thread(target=lambda: found.append(word_vector_file(path))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1
    assert found[0].identity.startswith("glove.txt@")
    assert len(found[0].sha256) == 64


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dog 1 2\ncat 1\n", r"got 1 values.*line 2.*glove\.txt"),
        ("dog 1 2\ncat 1 2 3\n", r"got 3 values.*line 2"),
        ("dog 1 2\n\ncat 1 2\n", r"got 0 values.*line 2"),
        ("dog 1 x\n", "line 1"),
        ("dog 1 nan\n", "line 1"),
        ("cat 1 2\ndog 1 1e99\n", r"invalid.*line 2"),
        ("", "got none in glove.txt"),
        ("\n\na 1 2\n", "got none in glove.txt"),
        ("4 2\n", "got none in glove.txt"),
    ],
)
def test_broken_files(glove, text, message):
    with pytest.raises(ValueError, match=rf"^`glove_path`.*{message}"):
        glove(text).rows(["dog"])


def test_rows_that_nobody_wants_may_hold_anything(tmp_path):
    (tmp_path / "v.txt").write_text("dog 1 2\ncat x y\n")
    assert list(read_rows(tmp_path / "v.txt", {"dog"})[0]) == ["dog"]


def test_a_missing_file():
    with pytest.raises(WeightsNotFoundError, match=r"^`glove_path`.*got 'no/file'.*glove\.6B\.zip"):
        word_vector_file("no/file")


@pytest.mark.parametrize(
    ("oov", "words", "oov_flags", "values", "skipped"),
    [
        ("unk", ["dog", "Dog", "cat", "dog"], [False, True, False, False], [1, 3, 0, 1], []),
        ("lower", ["dog", "Dog", "Bird", "cat"], [False, True, True, False], [1, 1, 3, 0], []),
        ("skip", ["Dog", "dog", "bird", "dog"], [False, False], [1, 1], ["Dog", "bird"]),
    ],
)
def test_words_that_the_file_lacks(glove, oov, words, oov_flags, values, skipped):
    found = look_up(words, glove(), oov)
    assert found.oov == oov_flags
    assert found.vectors[found.rows, 0].tolist() == values
    assert found.skipped == skipped
    assert len(found.vectors) == len(set(found.rows))


def test_no_words_and_none_left(glove):
    for words in ([], ["bird"]):
        found = look_up(words, glove(), "skip")
        assert (found.words, found.vectors.shape) == ([], (0, 2))


def test_the_word_unk_is_needed(glove):
    vectors = glove("dog 1 2\n", "no_unk.txt")
    for oov in ("unk", "lower"):
        with pytest.raises(ValueError, match=rf'^`oov="{oov}"`.*got none'):
            look_up(["dog"], vectors, oov)
    assert look_up(["dog"], vectors, "skip").words == ["dog"]


def test_phrases_are_means_of_their_known_words(glove):
    vectors, kept = mean_vectors(["a dog cat", "bird", "dog dog cat"], glove())
    assert kept == [0, 2]
    assert vectors.tolist() == [[0.5, 1.0], [pytest.approx(2 / 3), pytest.approx(2 / 3)]]
    assert mean_vectors(["bird"], glove())[0].shape == (0, 2)


def test_written_files_are_read_again(tmp_path):
    rng = np.random.default_rng(0)
    table = {word: rng.normal(size=3) for word in ("dog", "unk")}
    write_vectors(tmp_path / "mine.txt", iter(table.items()))
    found = word_vector_file(tmp_path / "mine.txt").rows(["dog", "unk"])
    for word, row in table.items():
        assert found[word] == pytest.approx(row, abs=5.1e-5)


def test_against_plain_reading_of_a_larger_file(tmp_path):
    rng = np.random.default_rng(1)
    words = [f"w{i}" for i in range(2000)]
    write_vectors(tmp_path / "large.txt", zip(words, rng.normal(size=(2000, 20)), strict=True))
    wanted = set(words[::7])
    plain = {}
    for line in (tmp_path / "large.txt").read_text().splitlines():
        word, *values = line.split(" ")
        plain[word] = [float(value) for value in values]
    found, width = read_rows(tmp_path / "large.txt", wanted)
    assert width == 20
    assert found.keys() == wanted
    for word in wanted:
        assert found[word].tolist() == np.float32(plain[word]).tolist()


def test_first_line(tmp_path):
    file = tmp_path / "small.txt"
    file.write_bytes(b"\xef\xbb\xbfdog 5\ncat 1\n")
    rows, width = word_vectors.read_rows(file, ["dog", "cat"])
    assert ({word: row.tolist() for word, row in rows.items()}, width) == ({"dog": [5.0], "cat": [1.0]}, 1)


def test_endless_line(tmp_path):
    file = tmp_path / "long.txt"
    file.write_bytes(b"x" * (word_vectors.LONGEST_LINE + 1))
    with pytest.raises(ValueError, match=r"over 1048576 bytes.*long\.txt"):
        word_vectors.read_rows(file, ["dog"])
