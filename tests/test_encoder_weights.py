"""Where the weights of a sentence encoder come from, and what is refused."""

import json

import pytest

from vlgauge import encoders
from vlgauge.encoders import sentence
from vlgauge.encoders import weights


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
    assert weights.offline() is off


def pickled_head(folder):
    folder.mkdir()
    (folder / "pytorch_model.bin").write_bytes(b"pickle")


@pytest.mark.parametrize("device", ["cuda:99", "nowhere"])
def test_an_unknown_device_is_refused(device):
    with pytest.raises(ValueError, match=f"`device` must be 'auto' or a device of this machine, got '{device}'"):
        sentence.resolved_device(device)


def test_a_model_that_does_not_load_is_named(model_folder):
    with pytest.raises(ValueError, match=r"`encoder` must be a model that loads, got .*, which fails with:"):
        sentence.sentence_encoder(str(model_folder), device="cpu")


def test_missing_weights_are_named():
    with pytest.raises(
        encoders.WeightsNotFound, match=r"someone/model \(revision abc; files .*safetensors.*hf download"
    ):
        sentence.sentence_encoder("someone/model@abc")


def test_the_embedded_profile_fetches_nothing():
    with pytest.raises(encoders.WeightsNotFound, match="embedded profile, which fetches nothing, got 'someone/model'"):
        sentence.sentence_encoder("someone/model", profile="embedded")


def test_minilm_comes_from_the_hub_without_the_wheel(monkeypatch):
    monkeypatch.setattr(sentence, "find_spec", lambda name: None)
    with pytest.raises(encoders.WeightsNotFound, match=f"{sentence.MINILM_REVISION}.*vlgauge\\[embedded\\]"):
        sentence.find_sentence_model(sentence.MINILM)
    with pytest.raises(ImportError, match=r"pip install \"vlgauge\[embedded\]\""):
        sentence.find_sentence_model(sentence.MINILM, "embedded")


def test_the_hub_is_asked_for_the_pinned_commit(monkeypatch, model_folder):
    import huggingface_hub

    asked = {}
    monkeypatch.setattr(
        huggingface_hub, "snapshot_download", lambda repo, **options: asked.update(repo=repo, **options) or model_folder
    )
    monkeypatch.setattr(sentence, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="must have the published weights of sentence-transformers/all-MiniLM-L6-v2"):
        sentence.find_sentence_model(sentence.MINILM)
    assert (asked["repo"], asked["revision"]) == (sentence.MINILM, sentence.MINILM_REVISION)
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
        sentence.find_sentence_model(str(model_folder))


def test_the_digest_follows_the_bytes(model_folder):
    before = sentence.find_sentence_model(str(model_folder))
    (model_folder / "model.safetensors").write_bytes(b"other weights")
    assert sentence.find_sentence_model(str(model_folder)).weights_digest != before.weights_digest
