"""Missing files of scene graph metrics are reported before a caption is parsed or another metric computes scores."""

import pytest

import vlgauge
from vlgauge.checkpoints.files import SourcesMissingError

ROWS = [{"predictions": "a dog", "references": ["a dog runs"]}, {"predictions": "a cat", "references": ["a cat"]}]
COLUMNS = {name: [row[name] for row in ROWS] for name in ("predictions", "references")}
ENCODER = "owner/encoder"


@pytest.fixture(autouse=True)
def nothing_here(monkeypatch, tmp_path):
    """Simulate an offline machine with an empty cache, on which parsing and scoring raise an error."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("vlgauge.families.scene_graphs.rules.RuleParser.graphs", refused)


def refused(*_, **__):
    raise AssertionError("nothing is to be done before all that is missing was told")


@pytest.mark.parametrize("name", ["soft_spice", "capture", "aloha"])
def test_the_pipeline_and_the_encoder_are_told_together(name):
    metric = vlgauge.load(name, pipeline="no_such_pipeline", encoder=ENCODER)
    with pytest.raises(SourcesMissingError, match=rf"{name}.*sources") as caught:
        metric.compute(**COLUMNS)
    first, second = str(caught.value).splitlines()[1:]
    assert first.startswith("(1) `pipeline` names the spaCy pipeline 'no_such_pipeline', which is not installed")
    assert second.startswith(f"(2) {ENCODER} (")
    assert second.endswith("or pass a folder as `encoder`")


def test_capture_without_vectors_wants_no_encoder():
    metric = vlgauge.load("capture", encoder=ENCODER, soft=False)
    graphs = {"predictions": ["( dog )", "( cat )"], "references": [["( dog )"], ["( cat )"]]}
    assert metric.compute(**COLUMNS, graphs=graphs)["capture"] > 0


@pytest.mark.parametrize(
    ("encoder", "told"),
    [
        ("bow:nope.txt", r"^`encoder`.*got 'nope\.txt'"),
        ("vectors:nope.txt", r"^`encoder`.*got 'nope\.txt'"),
        ("not an id", r"^`encoder`.*got 'not an id'"),
    ],
)
def test_other_encoders_are_looked_for(encoder, told):
    metric = vlgauge.load("soft_spice", parser=Refusing(), encoder=encoder)
    with pytest.raises(SourcesMissingError, match=told):
        metric.compute(**COLUMNS)


def test_no_metric_scores_before_all_were_asked(monkeypatch):
    metrics = [vlgauge.load("bleu"), *(vlgauge.load(one, parser=Refusing(), encoder=ENCODER) for one in NEEDY)]
    monkeypatch.setattr(metrics[0], "_compute", refused)
    with pytest.raises(SourcesMissingError, match=rf"soft_spice.*{ENCODER}.*`encoder`"):
        vlgauge.score(ROWS, metrics)


NEEDY = ("soft_spice", "aloha")


class Refusing:
    """Parser that must not be called."""

    identity = "refusing"
    graphs = object_groups = refused
