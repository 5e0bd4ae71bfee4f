"""Sources of CLIP weights, errors, one build per process, and other users."""

import shutil
import threading
import time

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tiny_clip import TINY, lazy_images_of, rand_clip, write_tiny

from vlgauge.checkpoints.files import sha256_of
from vlgauge.core.errors import WeightsNotFoundError
from vlgauge.core.pool import pool
from vlgauge.models.clip import demo, loading
from vlgauge.models.clip import model as clip_model
from vlgauge.models.clip.loading import clip_encoder
from vlgauge.models.sentences.given import text_encoder


@pytest.fixture(autouse=True)
def empty_pool():
    pool.unload()
    yield
    pool.unload()


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    return write_tiny(tmp_path_factory.mktemp("weights"))


@pytest.fixture
def demo_files(tmp_path, monkeypatch):
    """The tiny CLIP replaces the demo model, so that these tests do not depend on its training."""
    state = clip_model.empty_model(demo.DEMO_ROW, "cpu").state_dict()
    (tmp_path / "demo_clip.safetensors").write_bytes(b"demo")
    monkeypatch.setattr(demo, "demo_file", lambda name="demo_clip.safetensors": tmp_path / name)
    monkeypatch.setattr(demo, "demo_state", lambda: state)
    return tmp_path, state


# ----------------------------------------------------------------------------------------------------------------------
# Files
# ----------------------------------------------------------------------------------------------------------------------
def test_a_given_file_must_be_there(tmp_path):
    with pytest.raises(WeightsNotFoundError, match=r"^`weights`.*none\.pth"):
        clip_encoder(weights=tmp_path / "none.pth")
    with pytest.raises(WeightsNotFoundError, match=r"^`weights`.*'tiny'"):
        clip_encoder(TINY)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"just words", r"^`weights`.*torch\.save"),
        (b"<html>", r"^`weights`.*web"),
        (None, r"^`weights`.*quickgelu"),
    ],
)
def test_a_bad_file_is_named_as_the_setting_that_it_was_given_as(tmp_path, content, message):
    file = tmp_path / "x.safetensors"
    if content is None:
        save_file({"visual.proj": torch.zeros(2, 2)}, file)
    else:
        file.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        clip_encoder(TINY, weights=file)


@pytest.mark.parametrize("name", ["weights", "checkpoint", "feature_cache"])
def test_what_is_no_path_is_refused(weights, name):
    settings = {"weights": weights, name: 5}
    with pytest.raises(TypeError, match=rf"^`{name}`.*got int"):
        loading.clip_with_checkpoint(TINY, kind="clip_s", **settings)


def test_names_that_files_carry_are_understood(tmp_path, weights):
    extra = {name: rand_clip().to_torch({name: np.array(7)})[name] for name in ("input_resolution", "vocab_size")}
    plain = clip_encoder(TINY, weights=weights, device="cpu")
    torch_file = clip_encoder(TINY, weights=write_tiny(tmp_path, suffix=".pth", extra=extra), device="cpu")
    assert torch_file is not plain
    texts = ["a dog", "a cat"]
    np.testing.assert_array_equal(torch_file.text_hidden(texts).end, plain.text_hidden(texts).end)


def test_a_missing_package_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "open_clip.factory", None)
    with pytest.raises(ImportError, match=r'--upgrade.*"vlgauge\[clip\]"'):
        clip_model.empty_model(TINY)


# ----------------------------------------------------------------------------------------------------------------------
# One build
# ----------------------------------------------------------------------------------------------------------------------
def test_names_and_copies_of_one_file_meet_in_one_encoder(weights, tmp_path):
    copy = tmp_path / "other.safetensors"
    shutil.copy(weights, copy)
    encoder = clip_encoder(TINY, weights=weights, device="cpu")
    assert clip_encoder(TINY, weights=str(copy), device="cpu") is encoder
    assert encoder.identity == f"tiny-quickgelu@{sha256_of(weights)[:8]}"
    assert len(pool.encoders) == 1
    assert clip_encoder(TINY, weights=weights, device="cpu", dtype="bfloat16") is not encoder


def test_eight_threads_build_once(weights, monkeypatch):
    built = []

    def slow(row, state):
        built.append(row)
        time.sleep(0.05)
        return clip_model.build_model(row, state)

    monkeypatch.setattr(loading, "build_model", slow)
    found = []
    load = lambda: found.append(clip_encoder(TINY, weights=weights, device="cpu"))  # noqa: E731
    threads = [threading.Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1
    assert len(found) == 8
    assert len(set(map(id, found))) == 1


def test_importing_the_encoder_loads_no_torch(run_python, tmp_path):
    code = "import sys, vlgauge.models.clip.loading, vlgauge.inputs.images.lazy_images\n"
    code += "print('torch' in sys.modules, 'open_clip' in sys.modules)"
    assert run_python(code, cwd=tmp_path).split() == ["False", "False"]


# ----------------------------------------------------------------------------------------------------------------------
# The demo model
# ----------------------------------------------------------------------------------------------------------------------
def test_the_embedded_profile_has_the_demo_model_only(demo_files, no_sockets):
    encoder = clip_encoder(profile="embedded", device="cpu")
    assert encoder.architecture == "vlgauge-toy-clip"
    assert encoder is clip_encoder("vlgauge-toy-clip", profile="embedded", device="cpu")
    assert encoder.image_hidden(lazy_images_of("edge")[:2]).shape == (2, 128)
    assert encoder.project(encoder.text_hidden(["a dog"]).end, "text").shape == (1, 64)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"backbone": "ViT-B/32", "profile": "embedded"},
            r"^`backbone`.*got 'ViT-B/32'",
        ),
        ({"backbone": TINY, "profile": "embedded"}, r"^`backbone`.*'tiny'"),
        ({"weights": "a.pth", "profile": "embedded"}, r"^`weights`.*'a\.pth'"),
        ({"backbone": "vlgauge-toy-clip"}, r"^`backbone`.*'vlgauge-toy-clip'.*profile="),
        ({"profile": "demo"}, r"^`profile`.*got 'demo'"),
    ],
)
def test_profiles_do_not_mix(settings, message):
    with pytest.raises(ValueError, match=message):
        clip_encoder(**settings)


def test_a_demo_model_that_is_not_there_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "demo_file", lambda name="demo_clip.safetensors": tmp_path / name)
    with pytest.raises(WeightsNotFoundError, match=r"CLIP.*again"):
        clip_encoder(profile="embedded")


# ----------------------------------------------------------------------------------------------------------------------
# Other users
# ----------------------------------------------------------------------------------------------------------------------
def test_clip_is_an_encoder_of_texts(demo_files):
    encoder = text_encoder("clip:vlgauge-toy-clip", profile="embedded", pooling="model", device="cpu")
    plain = clip_encoder(profile="embedded", device="cpu")
    texts = ["a dog", "a cat", "a dog"]
    vectors = encoder.encode(texts)
    np.testing.assert_array_equal(vectors, plain.project(plain.text_hidden(texts).end, "text"))
    assert encoder.identity == f"clip:{plain.identity}"
    assert plain.forwards["text"] == 2
    with pytest.warns(UserWarning, match=r"2 of 3 texts.*CLIP"):
        seen = encoder.encode(["a dog<|endoftext|> cat", "a dog<|endoftext|>", "a dog"])
    np.testing.assert_allclose(seen, np.broadcast_to(seen[2], seen.shape), atol=1e-5)
    with pytest.warns(UserWarning, match=r"1 of 2 texts.*over 77 tokens.*CLIP"):
        encoder.encode(["a dog", "dog " * 90])


def test_vectors_of_before_the_folder_was_named_are_kept_too(weights, tmp_path):
    texts = ["a dog", "a cat"]
    before = clip_encoder(TINY, weights=weights, device="cpu")
    seen = lazy_images_of("edge")
    before.image_hidden(seen)
    before.text_hidden(texts)
    named = clip_encoder(TINY, weights=weights, device="cpu", feature_cache=tmp_path)
    named.image_hidden(seen)
    named.text_hidden(texts)
    del before, named
    pool.unload()
    later = clip_encoder(TINY, weights=weights, device="cpu", feature_cache=tmp_path)
    later.image_hidden(seen)
    later.text_hidden(texts)
    assert later.forwards == {}


def test_vectors_are_kept_between_processes(weights, tmp_path, monkeypatch):
    folder = tmp_path / "features"
    first = clip_encoder(TINY, weights=weights, device="cpu", feature_cache=folder)
    seen, texts = lazy_images_of("edge"), ["a dog", "a cat"]
    hidden, read = first.image_hidden(seen), first.text_hidden(texts).end
    assert first.forwards == {"image": 8, "text": 2}
    del first
    pool.unload()
    monkeypatch.setenv("VLGAUGE_FEATURES", str(folder))
    second = clip_encoder(TINY, weights=weights, device="cpu")
    np.testing.assert_array_equal(second.image_hidden(seen), hidden)
    np.testing.assert_array_equal(second.text_hidden(texts).end, read)
    assert second.forwards == {}
    monkeypatch.delenv("VLGAUGE_FEATURES")
    plain = clip_encoder(TINY, weights=weights, device="cpu")
    assert plain is not second
    assert plain.model is second.model


@pytest.mark.parametrize("folder", ["a\ud800", "a\0b"])
def test_a_feature_cache_that_no_system_names_is_refused(folder):
    with pytest.raises(ValueError, match=r"^`feature_cache`.*got 'a"):
        clip_encoder(profile="embedded", feature_cache=folder)
