import gzip

import numpy as np
import pytest

import vlgauge
from vlgauge.models.sentences.given import text_encoder
from vlgauge.models.sentences.words import BagOfWords, WordVectors

VECTORS = "dog 1 0 2\nruns 0 4 0\ncat -1 0 0\ndog 9 9 9\n"


@pytest.fixture
def word_list(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("dog\n\n cat \ndog\nruns\n", "utf-8")
    return path


@pytest.fixture
def vector_file(tmp_path):
    path = tmp_path / "glove.txt"
    path.write_text(VECTORS, "utf-8")
    return path


def test_counts_and_the_bin_of_unknown_words(word_list):
    encoder = BagOfWords(str(word_list))
    counts = encoder.encode(["Dog dog\truns", "a bird", ""])
    assert counts.tolist() == [[2, 0, 1, 0], [0, 0, 0, 2], [0, 0, 0, 0]]
    assert encoder.identity.startswith("bow:local@sha256-")


def test_mean_of_the_known_words(vector_file):
    encoder = WordVectors(str(vector_file))
    assert encoder.encode(["Dog runs fast", "cat"]).tolist() == [[0.5, 2.0, 1.0], [-1.0, 0.0, 0.0]]
    assert encoder.identity.startswith("vectors:local@sha256-")


@pytest.mark.parametrize("header", ["", "4 3\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_header_and_packing_do_not_matter(tmp_path, header, packed):
    data = (header + VECTORS).encode()
    path = tmp_path / ("v.txt.gz" if packed else "v.txt")
    path.write_bytes(gzip.compress(data) if packed else data)
    assert WordVectors(str(path)).encode(["dog"]).tolist() == [[1.0, 0.0, 2.0]]


def test_texts_without_a_known_word_are_zero_and_counted(vector_file):
    with pytest.warns(UserWarning, match=r"1 of 2 texts.*glove\.txt") as caught:
        vectors = WordVectors(str(vector_file)).encode(["bird", "cat"])
    assert {warning.filename for warning in caught} == {__file__}
    assert vectors[0].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("kind", ["bow", "vectors"])
def test_a_missing_file_is_named(kind):
    with pytest.raises(FileNotFoundError, match=r"^`encoder`.*got 'no/file'"):
        text_encoder(f"{kind}:no/file", profile="paper", pooling="model", device="cpu")


@pytest.mark.parametrize(
    ("text", "message"),
    [("dog 1 2\ncat 1\n", r"got 1 values.*line 2"), ("", r"got none.*v\.txt")],
)
def test_broken_vector_files_are_refused(tmp_path, text, message):
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(ValueError, match=message):
        WordVectors(str(tmp_path / "v.txt")).encode(["dog"])


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-10], lambda data: b"dog 1", lambda data: data[:10] + b"\xff" * 9]
)
def test_vectors_that_are_packed_badly_are_refused(tmp_path, damage):
    (tmp_path / "v.txt.gz").write_bytes(damage(gzip.compress(VECTORS.encode())))
    with pytest.raises(ValueError, match=r"^`encoder`.*v\.txt\.gz"):
        WordVectors(str(tmp_path / "v.txt.gz")).encode(["dog"])


def test_only_a_line_feed_ends_a_word_of_the_list(tmp_path):
    (tmp_path / "w.txt").write_bytes("\ufeffdog\r\nhot\u2028dog\x0bcat\nCat\ncat\n".encode())
    with pytest.warns(UserWarning, match=r"2 of 4 words.*w\.txt") as caught:
        encoder = BagOfWords(str(tmp_path / "w.txt"))
    assert {warning.filename for warning in caught} == {__file__}
    assert encoder.encode(["dog Cat"]).tolist() == [[1, 0, 0, 1, 0]]


def test_a_word_list_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "w.txt").write_bytes(b"d\xffg\n")
    with pytest.raises(ValueError, match=r"^`encoder`.*UTF-8.*w\.txt"):
        BagOfWords(str(tmp_path / "w.txt"))


def test_an_empty_word_list_is_refused(tmp_path):
    (tmp_path / "w.txt").write_text("\n\n")
    with pytest.raises(ValueError, match=r"^`encoder`.*words.*got none"):
        BagOfWords(str(tmp_path / "w.txt"))


@pytest.mark.parametrize("name", ["mmd_bert", "frechet_bert"])
def test_in_a_metric(name, word_list, vector_file):
    rows = {"predictions": [["dog runs", "cat"]], "references": [["cat runs", "dog"]]}
    for encoder in (f"bow:{word_list}", f"vectors:{vector_file}"):
        metric = vlgauge.load(name, keep_in_memory=True, encoder=encoder)
        texts = [text for column in rows.values() for text in column[0]]
        made = text_encoder(encoder, profile="paper", pooling="model", device="cpu").encode(texts)
        given = metric.compute(**rows, embeddings=dict(zip(texts, np.float64(made), strict=True)))
        result = metric.compute(**rows)
        assert result[name] == pytest.approx(given[name], abs=1e-12)
        assert f"|enc:{encoder.partition(':')[0]}:local@sha256-" in result[f"{name}_signature"]
