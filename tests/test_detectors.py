"""Detectors of torchvision: names, weights from a file, what is refused; random weights, nothing is downloaded."""

import hashlib
import warnings

import numpy as np
import pytest
from PIL import Image

from vlgauge import regions
from vlgauge.encoders.pool import pool
from vlgauge.encoders.weights import WeightsNotFound
from vlgauge.images import image_cell
from vlgauge.regions import detectors

torch = pytest.importorskip("torch")
SMALL = "ssdlite320_mobilenet_v3_large"


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Random weights of the smallest detector, as safetensors."""
    from safetensors.torch import save_file
    from torchvision.models import get_model

    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("detector") / "small.safetensors"
    save_file(get_model(SMALL, weights=None, weights_backbone=None).state_dict(), path)
    yield path
    pool.unload()


def picture():
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8))


def test_names_are_those_of_torchvision():
    from torchvision.models import detection
    from torchvision.models import list_models

    assert sorted(detectors.DETECTORS) == list_models(module=detection)


def test_faster_rcnn_from_local_weights(tmp_path):
    from torchvision.models import get_model

    name = "fasterrcnn_mobilenet_v3_large_320_fpn"
    torch.manual_seed(0)
    path = tmp_path / "detector.pth"
    state = get_model(name, weights=None, weights_backbone=None).state_dict()
    state["roi_heads.box_predictor.cls_score.bias"][3] = 5.0  # it sees bicycles everywhere
    torch.save(state, path)
    source = regions.region_source(name, weights=path, device="cpu")
    assert source.identity == f"{name}@{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of torchvision's own anchors
        found = [regions.regions_of([[image_cell(picture(), "x")]], source, top_k=4)[0][0] for _ in range(2)]
    assert found[0]
    assert len(found[0]) <= 4
    assert [(region.box, region.score) for region in found[0]] == [(r.box, r.score) for r in found[1]]
    scores = [region.score for region in found[0]]
    assert scores == sorted(scores, reverse=True)
    for region in found[0]:
        x1, y1, x2, y2 = region.box
        assert 0 <= x1 < x2 <= 64
        assert 0 <= y1 < y2 <= 48
        assert region.picture.open().size == (x2 - x1, y2 - y1)
    pool.unload()


def test_detector_is_built_once(weights):
    one = detectors.detector(SMALL, weights=weights, device="cpu")
    assert detectors.detector(SMALL, weights=str(weights), device="cpu") is one
    boxes, scores = one(picture())
    assert boxes.shape == (len(scores), 4)


def test_published_weights_must_have_the_digest_of_their_name(monkeypatch, tmp_path):
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(WeightsNotFound, match=f"`regions='{SMALL}'` needs the file {SMALL}_coco-.*get_state_dict"):
        detectors.detector(SMALL)
    with pytest.raises(WeightsNotFound, match=r"or \"whole\", a function of an image, or boxes or crops"):
        detectors.detector(SMALL)
    from torchvision.models import get_model_weights

    file = tmp_path / "checkpoints" / get_model_weights(SMALL).COCO_V1.url.rpartition("/")[2]
    file.write_bytes(b"something else")
    with pytest.raises(ValueError, match=f"a SHA-256 that starts with {file.stem[-8:]}, got .*fetch it again"):
        detectors.detector(SMALL)


def test_weights_that_are_refused(tmp_path, weights):
    with pytest.raises(WeightsNotFound, match="`detector_weights` must be an existing file"):
        detectors.detector(SMALL, weights=tmp_path / "none.pth")
    with pytest.raises(
        ValueError,
        match=f"`detector_weights` must be weights of fasterrcnn_mobilenet_v3_large_320_fpn, got '{weights}'",
    ):
        detectors.detector("fasterrcnn_mobilenet_v3_large_320_fpn", weights=weights, device="cpu")
    torch.save({"a": [1]}, tmp_path / "list.pth")
    with pytest.raises(ValueError, match=f"must hold the state_dict of {SMALL}, got something else"):
        detectors.detector(SMALL, weights=tmp_path / "list.pth")
    torch.save(Image.new("RGB", (1, 1)), tmp_path / "code.pth")
    with pytest.raises(ValueError, match=r"must be a file of tensors only, .* save the state_dict"):
        detectors.detector(SMALL, weights=tmp_path / "code.pth")
    (tmp_path / "text.pth").write_text("no weights")
    with pytest.raises(ValueError, match="must be a file of tensors only"):
        detectors.detector(SMALL, weights=tmp_path / "text.pth")
