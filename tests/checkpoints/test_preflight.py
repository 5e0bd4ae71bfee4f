"""A call reports all missing files and packages in one error, before it parses, loads or fetches anything."""

import json
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file

import vlgauge
from vlgauge.checkpoints import torch_runtime
from vlgauge.checkpoints.detectors import DETECTORS, look_for_weights
from vlgauge.checkpoints.files import SourcesMissingError
from vlgauge.cli import main
from vlgauge.inputs.text import noun_phrases
from vlgauge.models.grounding.model import FORMAT

pytestmark = pytest.mark.usefixtures("no_sockets", "bare")

GREY = np.full((8, 8, 3), 128, dtype=np.uint8)
STORIES = {"predictions": [["A dog ran.", "It slept."]], "images": [[GREY]]}
CAPTION = {"predictions": ["a dog"], "images": [GREY]}
PIPELINE = "names the spaCy pipeline 'en_core_web_trf', which is not installed; run: python -m spacy download en_co"
CLIP = "timm/vit_base_patch32_clip_224.openai .* run on a machine with network: vlgauge prefetch clip:ViT-B/32"
DETECTOR = (
    "`regions='fasterrcnn_resnet50_fpn_v2'` requires .*: vlgauge prefetch detector:fasterrcnn_resnet50_fpn_v2, pass"
)
VG = [f"`nouns` {PIPELINE}", "`idf` is missing", "`checkpoint` is missing: .*10eudslyp", "`glove_path` is", DETECTOR]
C = "`model` is missing: the authors' checkpoint"
CALLS = {
    "groovist": (STORIES, [f"`noun_phrases` {PIPELINE}", CLIP, DETECTOR, "`theta` is missing: pass a number"]),
    "rovist_vg": (STORIES, VG),
    "rovist_c": ({"predictions": STORIES["predictions"]}, [C]),
    "rovist": (STORIES, [*(f"{source}.*passed as vg=" for source in VG), f"{C}.*passed as c="]),
    "clip_s": (CAPTION, [CLIP]),
    "pac_s": (CAPTION, [r"the weights of PAC-S .* vlgauge convert clip_ViT-B-32\.pth", CLIP]),
}

PACKAGES = {
    "groovist": "spacy, torch, torchvision, open_clip, safetensors",
    "rovist_vg": "spacy, torch, transformers, safetensors, torchvision",
    "rovist_c": "torch, transformers, safetensors",
    "rovist": "spacy, torch, transformers, safetensors, torchvision",
    "clip_s": "torch, torchvision, open_clip, safetensors",
    "pac_s": "torch, torchvision, open_clip, safetensors",
}


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """Nothing is cached, and functions that parse or read weights fail."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("torch.hub.get_dir", lambda: str(tmp_path / "torch"))
    monkeypatch.setenv("VLGAUGE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(noun_phrases.SpacyPhrases, "__init__", lambda *_, **__: pytest.fail("parsed"))
    monkeypatch.setattr("torch.load", lambda *_, **__: pytest.fail("read weights"))


@pytest.mark.parametrize("name", list(CALLS))
def test_all_that_is_missing_is_said_at_once(name):
    data, sources = CALLS[name]
    with pytest.raises(SourcesMissingError) as caught:
        vlgauge.load(name).compute(**data)
    numbered = "\n".join(rf"\({i}\) {source}.*" for i, source in enumerate(sources, start=1))
    assert caught.match(
        rf"^{name} requires {len(sources)} missing sources:\n{numbered}$" if len(sources) > 1 else sources[0]
    )
    assert f"({len(sources) + 1})" not in str(caught.value)


@pytest.mark.parametrize("name", list(CALLS))
def test_packages_come_first_and_together(monkeypatch, name):
    monkeypatch.setattr(torch_runtime, "find_spec", lambda module: None)
    extra = "rovist-c" if name == "rovist_c" else name.replace("_", "-")
    with pytest.raises(ImportError) as caught:
        vlgauge.load(name).compute(**CALLS[name][0])
    told = f'{name} requires packages that are not installed: {PACKAGES[name]}; run: pip install "vlgauge[{extra}]"'
    assert str(caught.value) == told


def test_files_that_are_named_and_not_there(tmp_path):
    def nowhere(*names):
        return {name: str(tmp_path / name) for name in names}

    files = nowhere("theta", "concreteness_path", "weights", "detector_weights")
    told = r"(?s)`concreteness_path`.*`weights`.*`detector_weights`"
    with pytest.raises(SourcesMissingError, match=told):
        vlgauge.load("groovist", noun_phrases="embedded", **files).compute(**STORIES)
    told = r"(?s)`idf`.*`checkpoint`.*`glove_path`"
    files = nowhere("checkpoint", "glove_path", "idf")
    with pytest.raises(SourcesMissingError, match=told):
        vlgauge.load("rovist_vg", nouns="embedded", regions="grid", **files).compute(**STORIES)
    weighted = {"concreteness": "idf", "theta": 0.5, "noun_phrases": "embedded", "regions": "grid"}
    with pytest.raises(SourcesMissingError, match=r"(?s)`idf`.*timm/"):
        vlgauge.load("groovist", **weighted, **nowhere("idf")).compute(**STORIES)
    for name in ("clip_s", "pac_s"):
        with pytest.raises(SourcesMissingError, match=r"(?s)`checkpoint`.*`weights`"):
            vlgauge.load(name, **nowhere("checkpoint", "weights")).compute(**CAPTION)


def absent(*_):
    raise LookupError("a banner")


def test_data_of_nltk_are_looked_for_with_the_rest(monkeypatch):
    monkeypatch.setattr(pytest.importorskip("nltk.data"), "path", [])
    monkeypatch.setattr("nltk.stem.WordNetLemmatizer.lemmatize", absent)  # another test may have loaded WordNet
    split = {"sentences": "punkt"}
    punkt = '`sentences="punkt"` requires .*; run: python -m nltk.downloader punkt_tab, or .*'
    wordnet = '`lemmatizer="wordnet"` requires .*; run: python -m nltk.downloader wordnet, or .*'
    tagger = '`nouns="nltk"` requires .*; run: python -m nltk.downloader averaged_perceptron_tagger_eng, or .*'
    embedded = {"profile": "embedded", **split}
    for name, own, told in (
        ("groovist", {"lemmatizer": "wordnet"}, [punkt, wordnet]),
        ("rovist_vg", {"nouns": "nltk"}, [punkt, tagger]),
        ("rovist_c", {"model": "nowhere", "base": "nowhere either"}, [punkt, "`model` must", "`base` must"]),
        ("rovist_nr", {}, [punkt]),
    ):
        metric = vlgauge.load(name, **embedded, **own)
        data = STORIES if name in ("groovist", "rovist_vg") else {"predictions": STORIES["predictions"]}
        with pytest.raises(SourcesMissingError) as caught:
            metric.compute(**data)
        lacking = rf"^{name} requires {len(told)} missing sources:\n" * (len(told) > 1)
        numbered = "\n".join(rf"\({i}\) {each}.*" for i, each in enumerate(told, start=1))
        assert caught.match(lacking + (numbered if lacking else told[0]))
    rovist = vlgauge.load("rovist", profile="embedded", nr=split, vg=split)
    with pytest.raises(SourcesMissingError, match=rf"(?s){punkt}passed.*vg=.*{punkt}passed"):
        rovist.compute(**STORIES)


def test_nltk_itself_is_named_with_the_other_packages(monkeypatch):
    monkeypatch.setattr(torch_runtime, "find_spec", lambda module: None if module == "spacy" else module)
    pytest.importorskip("nltk")  # an import that fails in the middle leaves half of the package behind
    monkeypatch.setitem(sys.modules, "nltk.tokenize.punkt", None)
    told = r'spacy.*`sentences="punkt"`.*NLTK'
    with pytest.raises(ImportError, match=told):
        vlgauge.load("groovist", sentences="punkt").compute(**STORIES)


def test_a_checkpoint_file_needs_its_base(tmp_path):
    (tmp_path / "model.pth.tar").touch()
    for base, told in (
        (None, "`base` is missing: "),
        (str(tmp_path / "b"), "`base` must be an existing folder, or a Hub"),
    ):
        rovist_c = vlgauge.load("rovist_c", model=str(tmp_path / "model.pth.tar"), base=base)
        with pytest.raises(SourcesMissingError, match=f"^{told}"):
            rovist_c.compute(predictions=STORIES["predictions"])


def test_ratings_that_are_not_installed(monkeypatch):
    monkeypatch.setattr("vlgauge.inputs.text.concreteness.find_spec", lambda name: None)
    with pytest.raises(SourcesMissingError, match=r"(?s)`concreteness_path`.*timm/"):
        vlgauge.load("groovist", noun_phrases="embedded", regions="grid", theta=0.5).compute(**STORIES)


def test_the_image_encoder_that_a_checkpoint_names(monkeypatch, tmp_path):
    (tmp_path / "model.safetensors").touch()
    given = {"checkpoint": str(tmp_path), "glove_path": str(tmp_path / "model.safetensors"), "idf": None}
    rovist_vg = vlgauge.load("rovist_vg", nouns="embedded", regions="grid", **given)
    config = {"format": FORMAT, "image_encoder": "ViT-B/32", "word_vectors": None}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(SourcesMissingError, match=f"^{CLIP}"):
        rovist_vg.compute(**STORIES)
    monkeypatch.setattr(torch_runtime, "find_spec", lambda module: None if module == "open_clip" else module)
    (tmp_path / "config.json").write_text(json.dumps(config | {"image_encoder": "vlgauge-toy-clip"}))
    with pytest.raises(ImportError, match=r"rovist_vg.*open_clip"):
        rovist_vg.compute(**STORIES)


def test_a_whole_clip_needs_no_backbone(tmp_path):
    save_file({"text": np.zeros(2)}, tmp_path / "whole.safetensors")
    with pytest.raises(ValueError, match="`checkpoint` must") as caught:
        vlgauge.load("clip_s", checkpoint=str(tmp_path / "whole.safetensors")).compute(**CAPTION)
    assert not isinstance(caught.value, SourcesMissingError)


@pytest.mark.parametrize("name", ["groovist", "rovist_vg", "rovist"])
def test_the_embedded_profile_lacks_nothing(monkeypatch, name):
    """Check that the call reaches the first sentence, for which no parser is there."""
    monkeypatch.setattr(noun_phrases, "find_folder", lambda: None)
    monkeypatch.setattr(noun_phrases, "english_pipeline", lambda: None)
    with pytest.raises(pytest.fail.Exception, match=r"^parsed$"):
        vlgauge.load(name, profile="embedded").compute(**STORIES)


def test_the_command_tells_the_last_source_too(capsys, tmp_path):
    file = tmp_path / "stories.jsonl"
    file.write_text('{"predictions": ["A dog ran."], "images": []}\n', "utf-8")
    assert main(["score", "rovist", str(file)]) == 2
    assert capsys.readouterr().err.endswith("in rovist this is a setting of the part `c`, passed as c={...}\n")


def test_several_metrics_are_asked_before_the_first_of_them_scores(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(torch_runtime, "find_spec", lambda name: None)
    monkeypatch.setattr("evaluate.EvaluationModule.compute", lambda *_, **__: pytest.fail("scored too early"))
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"predictions": "a dog", "references": ["a dog"], "images": "a.png"}) + "\n")
    assert main(["score", "cider,clip_s,pac_s", str(file), "--profile", "embedded"]) == 2
    told = capsys.readouterr().err
    for name in ("clip_s", "pac_s"):
        assert f"{name} requires " in told


def test_what_is_given_with_the_call_is_not_asked_for():
    features = [{"text": {"dog": [1.0, 0.0]}, "images": [[[0.8, 0.6]]]}]
    data = {"predictions": STORIES["predictions"], "features": features}
    groovist = vlgauge.load("groovist", theta=0.6, concreteness=None)
    assert groovist.compute(**data, noun_phrases=[["dog"]])["groovist"] == pytest.approx(2.0)
    rovist_vg = vlgauge.load("rovist_vg", idf=None)
    assert rovist_vg.compute(**data, nouns=[["dog"]])["rovist_vg"] == pytest.approx(0.8)
    with pytest.raises(SourcesMissingError, match=r"^`theta` is missing: "):
        vlgauge.load("groovist", concreteness=None).compute(**data, noun_phrases=[["dog"]])


@pytest.mark.fetching
def test_what_the_hub_has_is_not_missing_while_it_answers(monkeypatch):
    for switch in ("HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE"):
        monkeypatch.delenv(switch)
    monkeypatch.setattr("vlgauge.checkpoints.hub.hub_answers", lambda limit: True)
    monkeypatch.setattr("vlgauge.checkpoints.hub.hub_file", lambda *_, **__: pytest.fail("fetched too early"))
    with pytest.raises(SourcesMissingError, match=r"PAC.*ViT-B/32"):
        vlgauge.load("pac_s").compute(**CAPTION)
    with pytest.raises(SourcesMissingError, match=r"(?s)regions=.*`theta`"):
        vlgauge.load("groovist").compute(**STORIES)


def test_files_of_detectors_are_found_by_their_name_alone(monkeypatch, tmp_path):
    pytest.importorskip("torchvision")
    from torchvision.models import get_model_weights

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    monkeypatch.delitem(sys.modules, "torch")
    for name in DETECTORS:
        with pytest.raises(FileNotFoundError, match=rf"^`regions='{name}'`.*{folder}"):
            look_for_weights(name, None)
        weights = getattr(get_model_weights(name), "COCO_V1", None) or get_model_weights(name).DEFAULT
        (folder / weights.url.rpartition("/")[2]).touch()
        look_for_weights(name, None)
