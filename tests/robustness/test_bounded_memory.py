"""Memory kept between calls is bounded: digests of files, plans of videos, words, texts."""

from types import SimpleNamespace

import numpy as np

from vlgauge.checkpoints import files
from vlgauge.core.lru_cache import LRUCache, cache_per_word
from vlgauge.inputs.text import concreteness, word_vectors
from vlgauge.inputs.text.concreteness import PhraseWeights
from vlgauge.inputs.video import frames


def test_the_least_recently_used_go():
    kept = LRUCache(2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1
    kept.put("c", 3)
    assert [kept.get(name) for name in "abc"] == [1, None, 3]
    kept.put("c", 4)
    assert (kept.get("c"), len(kept)) == (4, 2)
    kept.clear()
    assert (kept.get("c"), len(kept)) == (None, 0)


def test_values_count_as_much_as_they_are():
    kept = LRUCache(10, len)
    for name, value in (("a", "1234"), ("b", "1234"), ("a", "12"), ("c", "12345")):
        kept.put(name, value)
    assert (kept.get("b"), kept.total) == (None, 7)
    assert [kept.pop(name) for name in "aac"] == ["12", None, "12345"]
    assert (len(kept), kept.total) == (0, 0)
    kept.put("d", "x" * 11)
    assert (kept.get("d"), kept.total) == (None, 0)


def test_digests_of_files(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_DIGESTS", LRUCache(3))
    monkeypatch.setattr(files.FileState, "is_settled", True)
    paths = [tmp_path / str(number) for number in range(5)]
    for path in paths:
        path.write_text(path.name)
    first = [files.sha256_of(path) for path in paths]
    assert len(files._DIGESTS) == 3
    assert [files.sha256_of(path) for path in paths] == first


def test_plans_of_videos():
    assert isinstance(frames._PLANS, LRUCache)
    assert frames._PLANS.most <= 2**14


def test_ratings_of_words(monkeypatch):
    kept = []
    monkeypatch.setattr(concreteness, "cache_per_word", lambda call: kept.append(call) or cache_per_word(call))
    phrases = PhraseWeights(SimpleNamespace(ratings={"dog": 4.0, "idea": 1.0}))
    for number in range(10):
        assert phrases.weight(f"dog word{number}") == 4.0
    assert phrases.weight("dogs idea") == 2.5
    assert kept == [phrases._find_rating]


def test_rows_of_word_vectors(tmp_path, monkeypatch):
    path = tmp_path / "vectors.txt"
    path.write_text("".join(f"w{number} {number} 1\n" for number in range(9)) + "unk 0 0\n")
    file = word_vectors.WordVectorFile(path, "glove_path")
    monkeypatch.setattr(word_vectors, "MOST_WORDS", 4)
    asked = [["w1", "w2"], ["w2", "w3", "none"], [f"w{number}" for number in range(9)], ["w8", "other"], ["w1"]]
    for words in asked:
        found = file.rows(words)
        assert {word: row.tolist() for word, row in found.items()} == {
            word: [float(word[1:]), 1.0] for word in words if word.startswith("w")
        }
        assert len(file._known) <= 4


def test_texts_of_any_length_count_as_their_vectors():
    from vlgauge.models.sentences.model import sentence_encoder

    encoder = sentence_encoder(profile="embedded", device="cpu")
    encoder.store.clear()
    long = "dog " * 10_000
    first = encoder.encode([long, "a dog", long])
    assert all(isinstance(key, bytes) and len(key) == 32 for key in encoder.store._values)
    np.testing.assert_array_equal(encoder.encode([long, "a dog", long]), first)
    assert encoder.store.total == 2 * first[0].nbytes


def test_words_but_none_that_is_too_long():
    asked = []

    @cache_per_word
    def length(word):
        asked.append(word)
        return len(word)

    for word in ("dog", "x" * 64, "y" * 65):
        assert [length(word) for _ in range(3)] == [len(word)] * 3
    assert asked == ["dog", "x" * 64, *["y" * 65] * 3]
