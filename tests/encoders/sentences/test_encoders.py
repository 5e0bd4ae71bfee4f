import json
import threading
import time

import numpy as np
import pytest

from vlgauge import encoders
from vlgauge.encoders.features import memory
from vlgauge.encoders.sentences import given
from vlgauge.encoders.sentences import model as sentence
from vlgauge.encoders.sentences.loading import load_sentence_model
from vlgauge.pool import EncoderPool
from vlgauge.signatures import local_name

CAPTIONS = ["A dog runs.", "", "Two cats sleep on a very long and narrow sofa in the sun.", "A dog runs.", "Birds."]


@pytest.fixture(scope="module")
def minilm():
    return sentence.sentence_encoder(profile="embedded", device="cpu")


# ----------------------------------------------------------------------------------------------------------------------
# The pool
# ----------------------------------------------------------------------------------------------------------------------
def test_two_threads_build_once():
    pool, built = EncoderPool(), []

    def build():
        time.sleep(0.05)
        built.append(1)
        return object()

    found = []
    threads = [threading.Thread(target=lambda: found.append(pool.get(("a",), build))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1
    assert len(set(map(id, found))) == 1
    assert pool.info() == [{"key": ("a",), "hits": 3, "bytes": None}]


def test_a_failed_build_is_tried_again():
    pool = EncoderPool()
    with pytest.raises(OSError, match="no disk"):
        pool.get(("a",), lambda: (_ for _ in ()).throw(OSError("no disk")))
    assert pool.get(("a",), lambda: 7) == 7


def test_unload_forgets_one_or_all():
    pool = EncoderPool()
    for key in ("a", "b", "c"):
        pool.get((key,), object)
    pool.unload(("a",))
    assert [entry["key"] for entry in pool.info()] == [("b",), ("c",)]
    pool.unload()
    assert pool.info() == []


def test_the_pool_is_empty_after_a_fork():
    pool = EncoderPool()
    pool.get(("a",), object)
    pool._after_fork()
    assert pool.info() == []


def test_equal_settings_share_one_encoder(minilm):
    assert sentence.sentence_encoder("all-MiniLM-L6-v2", device="cpu") is minilm
    assert sentence.sentence_encoder(pooling="cls", device="cpu") is not minilm
    assert minilm.identity == "sentence-transformers/all-MiniLM-L6-v2@c9745ed1"


def test_a_folder_is_known_by_its_content(minilm):
    by_folder = sentence.sentence_encoder(str(sentence.find_sentence_model(sentence.MINILM).folder), device="cpu")
    assert by_folder.identity == local_name(sentence.find_sentence_model(sentence.MINILM).digest)
    assert by_folder.encode(["a dog"]) == pytest.approx(minilm.encode(["a dog"]), abs=1e-6)


# ----------------------------------------------------------------------------------------------------------------------
# MiniLM
# ----------------------------------------------------------------------------------------------------------------------
def test_vectors_follow_the_texts(minilm):
    vectors = minilm.encode(CAPTIONS)
    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors[0], vectors[3])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)


def test_no_texts_give_no_vectors(minilm):
    assert minilm.encode([]).shape == (0, 384)


def test_each_distinct_text_is_encoded_once(minilm, monkeypatch):
    seen = []
    monkeypatch.setattr(minilm, "_model", Recorder(minilm._model, seen))
    minilm.store.clear()
    minilm.encode(CAPTIONS)
    minilm.encode(CAPTIONS[:2])
    assert sorted(seen) == sorted(set(CAPTIONS))


def test_order_and_batch_size_do_not_matter(minilm):
    minilm.store.clear()
    forward = minilm.encode(CAPTIONS)
    minilm.store.clear()
    backward = minilm.encode(CAPTIONS[::-1])[::-1]
    minilm.store.clear()
    one_by_one = minilm.encode(CAPTIONS, batch_size=1)
    assert np.array_equal(forward, backward)
    np.testing.assert_allclose(forward, one_by_one, atol=1e-6)


def test_remembered_vectors_cannot_be_changed_by_the_caller(minilm):
    first = minilm.encode(["A dog runs."])
    first[:] = 0.0
    assert np.linalg.norm(minilm.encode(["A dog runs."])) == pytest.approx(1.0)


def test_global_random_states_stay(minilm):
    import torch

    before = global_state(), torch.get_rng_state().clone()
    load_sentence_model(sentence.find_sentence_model(sentence.MINILM).folder, "model", "cpu")
    minilm.encode(["Something new under the sun."])
    assert np.array_equal(before[0], global_state())
    assert torch.equal(before[1], torch.get_rng_state())


def test_four_threads_get_the_same_vectors(minilm):
    texts = [f"caption number {i} of a long list" for i in range(40)]
    wanted = minilm.encode(texts)
    minilm.store.clear()
    found = [None] * 4

    def encode(k):
        found[k] = minilm.encode(texts[k:] + texts[:k])

    threads = [threading.Thread(target=encode, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        np.testing.assert_allclose(found[k], np.roll(wanted, -k, axis=0), atol=1e-6)


def test_published_vectors(minilm, shared_folder):
    import gzip

    cases = json.loads(gzip.decompress((shared_folder / "oracles" / "trm_kbm.json.gz").read_bytes()))["cases"]
    cls = sentence.sentence_encoder(pooling="cls", device="cpu")
    for case in cases:
        texts = case["predictions"] + case["references"]
        np.testing.assert_allclose(minilm.encode(texts)[:, :4], case["embedding_first4"]["mean"], atol=1e-5)
        np.testing.assert_allclose(cls.encode(texts)[:, :4], case["embedding_first4"]["cls"], atol=1e-5)


def global_state():
    return np.random.get_state()[1].copy()  # noqa: NPY002  # the old generator is what is looked at


class Recorder:
    """A model that notes what it is asked to encode."""

    def __init__(self, model, seen):
        self.model = model
        self.seen = seen

    def encode(self, texts, **options):
        self.seen += texts
        return self.model.encode(texts, **options)

    def get_embedding_dimension(self):
        return self.model.get_embedding_dimension()


# ----------------------------------------------------------------------------------------------------------------------
# The store, and encoders of the user
# ----------------------------------------------------------------------------------------------------------------------
def test_the_store_forgets_the_least_recently_used():
    store = memory.MemoryStore(max_bytes=2 * 8)
    store.put({"a": np.zeros(1), "b": np.ones(1)})
    store.get(["a"])
    store.put({"c": np.full(1, 2.0)})
    assert set(store.get(["a", "b", "c"])) == {"a", "c"}
    assert (len(store), store.n_bytes) == (2, 16)


def test_a_function_can_be_the_encoder():
    seen = []

    def lengths(texts):
        seen.extend(texts)
        return np.array([[len(text), 1.0] for text in texts])

    encoder = given.text_encoder(lengths, profile="paper", pooling="model", device="cpu")
    assert encoder.encode(["bbb", "a", "bbb"], batch_size=1).tolist() == [[3.0, 1.0], [1.0, 1.0], [3.0, 1.0]]
    assert sorted(seen) == ["a", "bbb"]
    assert encoder.identity.startswith("custom(")


@pytest.mark.parametrize("output", [np.zeros(2), np.zeros((3, 2)), np.zeros((2, 2), dtype=int)])
def test_a_wrong_shape_of_the_users_encoder_is_refused(output):
    encoder = given.GivenEncoder(lambda texts: output)
    with pytest.raises(ValueError, match="`encoder` must return one row of floats per text, got"):
        encoder.encode(["a", "b"])


def test_no_encoder_at_all_is_refused():
    with pytest.raises(ValueError, match="`encoder` must be a name, a folder, a function or an object with `encode`"):
        given.checked_encoder(3)


def test_our_encoders_fulfil_the_protocol(minilm):
    assert isinstance(minilm, encoders.TextEncoder)
    assert isinstance(given.GivenEncoder(len), encoders.TextEncoder)
