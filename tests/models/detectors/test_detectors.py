"""Detectors of torchvision: names, weights from a file and errors, with random weights and without downloads."""

import hashlib
import warnings

import numpy as np
import pytest
from PIL import Image

from vlgauge.core.errors import WeightsNotFoundError
from vlgauge.core.pool import pool
from vlgauge.inputs.images.cells import image_cell
from vlgauge.models import detectors as regions
from vlgauge.models.detectors import torchvision_models

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


def image():
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8))


def test_names_are_those_of_torchvision():
    from torchvision.models import detection, list_models

    assert sorted(torchvision_models.DETECTORS) == list_models(module=detection)


def test_faster_rcnn_from_local_weights(tmp_path):
    from torchvision.models import get_model

    name = "fasterrcnn_mobilenet_v3_large_320_fpn"
    torch.manual_seed(0)
    path = tmp_path / "detector.pth"
    state = get_model(name, weights=None, weights_backbone=None).state_dict()
    state["roi_heads.box_predictor.cls_score.bias"][3] = 5.0  # it detects bicycles everywhere
    torch.save(state, path)
    source = regions.region_source(name, weights=path, device="cpu")
    assert source.identity == f"{name}@{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # warnings about torchvision's anchors
        found = [regions.regions_of([[image_cell(image(), "x")]], source, top_k=4)[0][0] for _ in range(2)]
    assert found[0]
    assert len(found[0]) <= 4
    assert [(region.box, region.score) for region in found[0]] == [(r.box, r.score) for r in found[1]]
    scores = [region.score for region in found[0]]
    assert scores == sorted(scores, reverse=True)
    for region in found[0]:
        x1, y1, x2, y2 = region.box
        assert 0 <= x1 < x2 <= 64
        assert 0 <= y1 < y2 <= 48
        assert region.image.open().size == (x2 - x1, y2 - y1)
    pool.unload()


def test_detector_is_built_once(weights):
    one = torchvision_models.detector(SMALL, weights=weights, device="cpu")
    assert torchvision_models.detector(SMALL, weights=str(weights), device="cpu") is one
    boxes, scores = one(image())
    assert boxes.shape == (len(scores), 4)


def test_convolutions_of_a_detector_keep_their_precision(weights):
    detector, allowed = torchvision_models.detector(SMALL, weights=weights, device="cpu"), []
    hook = detector._model.register_forward_hook(lambda *_: allowed.append(torch.backends.cudnn.allow_tf32))
    detector(image())
    hook.remove()
    assert allowed == [False]


def test_published_weights_must_have_the_digest_of_their_name(monkeypatch, tmp_path):
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(WeightsNotFoundError, match=rf"^`regions='{SMALL}'`.*{SMALL}_coco-"):
        torchvision_models.detector(SMALL)
    with pytest.raises(WeightsNotFoundError, match='"whole"'):
        torchvision_models.detector(SMALL)
    from torchvision.models import get_model_weights

    file = tmp_path / "checkpoints" / get_model_weights(SMALL).COCO_V1.url.rpartition("/")[2]
    file.write_bytes(b"something else")
    with pytest.raises(ValueError, match=rf"SHA-256.*{file.stem[-8:]}"):
        torchvision_models.detector(SMALL)


def test_weights_that_are_refused(tmp_path, weights):
    with pytest.raises(WeightsNotFoundError, match=r"^`detector_weights`.*existing"):
        torchvision_models.detector(SMALL, weights=tmp_path / "none.pth")
    with pytest.raises(ValueError, match=r"^`detector_weights`.*fasterrcnn_mobilenet") as caught:
        torchvision_models.detector("fasterrcnn_mobilenet_v3_large_320_fpn", weights=weights, device="cpu")
    for part in (f"got others in '{weights}': missing: backbone.body.0.0.weight, ", "; not known: backbone.extra.0.0"):
        assert part in str(caught.value)
    torch.save({"a": [1]}, tmp_path / "list.pth")
    with pytest.raises(ValueError, match=r"^`detector_weights`.*keys"):
        torchvision_models.detector(SMALL, weights=tmp_path / "list.pth")
    torch.save(Image.new("RGB", (1, 1)), tmp_path / "code.pth")
    with pytest.raises(ValueError, match=r"^`detector_weights`.*nothing"):
        torchvision_models.detector(SMALL, weights=tmp_path / "code.pth")
    (tmp_path / "text.pth").write_text("no weights")
    with pytest.raises(ValueError, match=r"^`detector_weights`.*safetensors.*torch\.save"):
        torchvision_models.detector(SMALL, weights=tmp_path / "text.pth")
    (tmp_path / "page.pth").write_text("<!DOCTYPE html>")
    with pytest.raises(ValueError, match=r"^`detector_weights`.*web"):
        torchvision_models.detector(SMALL, weights=tmp_path / "page.pth")
    broken = state_of(weights)
    broken["backbone.features.0.0.0.weight"][0, 0, 0, 0] = torch.nan
    torch.save(broken, tmp_path / "nan.pth")
    with pytest.raises(ValueError, match=r"^`detector_weights`.*got NaN"):
        torchvision_models.detector(SMALL, weights=tmp_path / "nan.pth")
    partial = state_of(weights)
    del partial["backbone.features.0.0.1.num_batches_tracked"]
    torch.save(partial, tmp_path / "partial.pth")
    with pytest.raises(ValueError, match=r"in .*partial.pth.: missing: backbone.features.0.0.1.num_batches_tracked$"):
        torchvision_models.detector(SMALL, weights=tmp_path / "partial.pth")


def state_of(path):
    from safetensors.torch import load_file

    return load_file(path)


def test_a_checkpoint_of_torchvisions_training_and_files_without_an_ending(weights, tmp_path):
    torch.save({"model": state_of(weights), "epoch": 3}, tmp_path / "checkpoint")
    (tmp_path / "plain").write_bytes(weights.read_bytes())
    expected = torchvision_models.detector(SMALL, weights=weights, device="cpu")(image())
    for name in ("checkpoint", "plain"):
        found = torchvision_models.detector(SMALL, weights=tmp_path / name, device="cpu")(image())
        assert np.array_equal(found[0], expected[0])
        assert np.array_equal(found[1], expected[1])


def test_building_draws_nothing_from_the_global_generator(weights):
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    pool.unload()
    torchvision_models.detector(SMALL, weights=weights, device="cpu")
    assert torch.equal(torch.rand(1), expected)


def published_model(name, monkeypatch):
    """Build a detector as torchvision does for its published weights, here without weights."""
    from torchvision.models import get_model, get_model_weights

    with monkeypatch.context() as patched, torch.device("meta"):
        patched.setattr("torchvision.models._api.load_state_dict_from_url", lambda *arguments, **named: {})
        patched.setattr(torch.nn.Module, "load_state_dict", lambda *arguments, **named: None)
        return get_model(name, weights=get_model_weights(name).COCO_V1)


def ones(model):
    """Return tensors for a model on torch's meta device."""
    return {key: torch.ones(value.shape, dtype=value.dtype) for key, value in model.state_dict().items()}


def norms(model):
    from torchvision.ops.misc import FrozenBatchNorm2d

    kinds = (FrozenBatchNorm2d, torch.nn.BatchNorm2d)
    return {name: module.eps for name, module in model.named_modules() if isinstance(module, kinds)}


# Frozen norms without an epsilon, norms that learn, and frozen norms with one.
@pytest.mark.parametrize("name", ["retinanet_resnet50_fpn", SMALL, "fasterrcnn_mobilenet_v3_large_320_fpn"])
def test_published_weights_meet_the_model_that_torchvision_builds_for_them(name, monkeypatch, tmp_path):
    published = published_model(name, monkeypatch)
    monkeypatch.setattr(torchvision_models, "read_tensors", lambda path: ones(published))
    ours = torchvision_models._build_module(name, tmp_path / "published.pth")
    assert norms(ours) == norms(published)
    state = ours.state_dict()
    assert all(torch.equal(state[key], torch.ones_like(state[key])) for key in published.state_dict())


def test_a_detector_of_other_classes(monkeypatch, tmp_path):
    from torchvision.models import get_model

    name = "fasterrcnn_mobilenet_v3_large_320_fpn"
    with torch.device("meta"):
        mine = get_model(name, weights=None, weights_backbone=None, num_classes=5)
    monkeypatch.setattr(torchvision_models, "read_tensors", lambda path: ones(mine))
    model = torchvision_models._build_module(name, tmp_path / "mine.pth")
    assert model.roi_heads.box_predictor.cls_score.out_features == 5
