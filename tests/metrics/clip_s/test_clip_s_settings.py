"""Settings of clip_s and pac_s: their signature fields and their validation, with a fake encoder."""

import math

import pytest
from chosen_clip import ChosenAdapter, ChosenClip, grey

import vlgauge
from vlgauge.core.signatures import parse_signature
from vlgauge.families.clip_score.backbone_metric import Backbone
from vlgauge.models.clip.architectures import TABLE

EAST = [1, 0, 0]
ROWS = {"predictions": ["east"], "images": [grey(1)]}


@pytest.fixture
def encoder():
    return ChosenClip({1: EAST}, {"east": EAST})


@pytest.fixture
def load(encoder, monkeypatch):
    """Function `load(name, config, **settings)` that loads a metric with the fake encoder."""

    def load(name="clip_s", config=None, adapter=None, **settings):
        metric = vlgauge.load(name, config, keep_in_memory=True, **settings)
        monkeypatch.setattr(Backbone, "encoder_and_adapter", lambda self: (encoder, adapter))
        return metric

    return load


# -- signature --------------------------------------------------------------------------------------------------------
def test_signature(load):
    rows = {**ROWS, "references": [["east"]]}
    version, weights = vlgauge.__version__, "timm/vit_base_patch32_clip_224.openai@a6f597a3"
    result = load("pac_s", adapter=ChosenAdapter((1, 1, 1))).compute(**rows)
    assert result["pac_s_signature"] == (
        f"pac_s|v:{version}|profile:paper|enc:{weights}|dtype:float32|prep:pillow|config:image|variant:released|w:2|"
        "arch:fake|proj:fafafafa|prompt:A%20photo%20depicts|long:truncate|on_error:raise"
    )
    assert result["ref_pac_s_signature"] == "ref_" + result["pac_s_signature"]


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"w": 0.5}, "w:0.5"),
        ({"variant": "paper"}, "variant:paper"),
        ({"long_text": "split"}, "long:split"),
        ({"on_error": "nan"}, "on_error:nan"),
        ({"dtype": "bfloat16"}, "dtype:bfloat16"),
        ({"w": 2.5000001}, "w:2.5000001"),
        ({"weights": "file"}, "enc:local@sha256-000000000000|"),
        ({"checkpoint": "file"}, "enc:local@sha256-000000000000|"),
        ({"checkpoint": "file", "profile": "embedded"}, "enc:local@sha256-000000000000|"),
        ({"profile": "embedded"}, "profile:embedded"),
    ],
)
def test_settings_that_change_a_number_are_in_the_signature(load, settings, field):
    signature = load(**settings).compute(**ROWS)["clip_s_signature"]
    assert f"|{field}" in signature
    assert signature != load().compute(**ROWS)["clip_s_signature"]


def test_origin_of_the_weights(load, encoder, monkeypatch):
    def signed(**settings):
        return parse_signature(load(**settings).compute(**ROWS)["clip_s_signature"])[1]

    row = TABLE["laion/ViT-B-32"]
    monkeypatch.setattr(encoder, "row", row)
    published = "laion/CLIP-ViT-B-32-laion2B-s34B-b79K@1a25a446"
    assert (signed()["enc"], signed()["proj"]) == (published, "own")
    # A copy of the published file has its identity. Without a pinned commit, the digest identifies a repository.
    monkeypatch.setattr(encoder, "digest", row.sha256)
    assert signed(weights="copy")["enc"] == published
    monkeypatch.setattr(encoder, "row", TABLE["RN101"])
    assert signed()["enc"] == "timm/resnet101_clip.openai@sha256-ac4f8c4b88af"
    monkeypatch.setattr(encoder, "verified", False)
    unverified = signed(checkpoint="file")
    assert (unverified["enc"], unverified["proj"]) == ("local@sha256-ac4f8c4b88af", "unverified")


def test_settings_that_change_no_number_are_not_in_the_signature(load, tmp_path):
    same = load(batch_size=3, device="cpu", feature_cache=tmp_path, progress=False, details=True).compute(**ROWS)
    assert same["clip_s_signature"] == load().compute(**ROWS)["clip_s_signature"]


# -- refusals ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variant": "paprika"}, r"^`variant`.*got 'paprika'"),
        ({"variant": "emscore"}, r"^`variant='emscore'`.*config_name='video', got images"),
        ({"w": 0}, r"^`w`.*got 0"),
        ({"w": True}, r"^`w`.*got True"),
        ({"w": math.inf}, r"^`w`.*got inf"),
        ({"long_text": "cut"}, r"^`long_text`.*got 'cut'"),
        ({"on_error": "skip"}, r"^`on_error`.*got 'skip'"),
        ({"idf": "auto"}, r"^`idf`.*images"),
        ({"n_frames": 3}, r"^`n_frames`.*images, got 3"),
        ({"batch_size": 0}, r"^`batch_size`.*at least 1, got 0"),
        ({"dtype": "int8"}, r"^`dtype`.*got 'int8'"),
        ({"details": 1}, r"^`details`.*got 1"),
        ({"config_name": "audio"}, r"^`config_name`.*clip_s, got 'audio'"),
    ],
)
@pytest.mark.parametrize("name", ["clip_s", "pac_s"])
def test_bad_settings_are_refused(name, settings, message):
    with pytest.raises(ValueError, match=message.replace("clip_s", name)):
        vlgauge.load(name, **settings)


@pytest.mark.parametrize(("config", "given", "own"), [("image", "videos", "images"), ("video", "images", "videos")])
def test_rows_of_the_other_configuration_say_how_to_load_it(load, config, given, own):
    other = given.removesuffix("s")
    message = rf'^`{own}`.*got `{given}`.*"{other}"'
    with pytest.raises(ValueError, match=message):
        load(config=config).compute(predictions=["a dog"], **{given: [["x"]]})
