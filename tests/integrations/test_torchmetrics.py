"""A metric as torchmetrics has them: rows until `compute`, scalars then."""

import pickle

import numpy as np
import pytest
import torch

import vlgauge
from vlgauge import scenes
from vlgauge.integrations.torchmetrics import VlgaugeMetric

SCENES = scenes.scenes(4, seed=0, split="test")
PICTURES = [scenes.draw_scene(scene, size=48).image for scene in SCENES]
CAPTIONS = [scenes.captions(scene, seed=0)[0] for scene in SCENES]
EXPECTED = {"predictions": CAPTIONS, "images": PICTURES}


def clip_s(**settings):
    return VlgaugeMetric("clip_s", profile="embedded", **settings)


def test_batches_are_scored_together_as_by_hand():
    metric = clip_s(prefix="val_")
    metric.update(predictions=CAPTIONS[:3], images=PICTURES[:3])
    metric.update(predictions=CAPTIONS[3:], images=[np.asarray(PICTURES[3])])
    expected = vlgauge.load("clip_s", profile="embedded", keep_in_memory=True).compute(**EXPECTED)
    assert metric.compute() == {"val_clip_s": expected["clip_s"], "val_clip_s_undefined": 0}
    assert metric.higher_is_better
    metric.reset()
    metric.update(predictions=CAPTIONS[:1], images=PICTURES[:1])
    assert metric.compute()["val_clip_s"] == pytest.approx(expected["clip_s_scores"][0], rel=1e-6)


def test_number_of_a_batch_leaves_the_rows_of_the_epoch():
    metric, whole = clip_s(), clip_s()
    for row in range(4):
        one = metric(predictions=CAPTIONS[row : row + 1], images=PICTURES[row : row + 1])
        assert one["clip_s_undefined"] == 0
    whole.update(**EXPECTED)
    assert metric.compute() == whole.compute()


def test_rows_with_one_id_count_once():
    metric, whole = clip_s(), clip_s()
    order = [2, 0, 3, 1, 2]
    rows = {name: [values[row] for row in order] for name, values in EXPECTED.items()}
    metric.update(ids=torch.tensor(order), **rows)
    whole.update(**EXPECTED)
    assert metric.compute() == whole.compute()
    metric.update(ids=[0], predictions=["a lie"], images=PICTURES[:1])
    with pytest.raises(ValueError, match="two different rows of the id 0"):
        metric.compute()


def test_metric_that_was_loaded_is_taken_and_travels():
    metric = VlgaugeMetric(vlgauge.load("rouge_l", keep_in_memory=True))
    metric.update(predictions=["a dog"], references=[["a dog"]])
    copied = pickle.loads(pickle.dumps(metric))
    assert copied.compute() == metric.compute() == {"rouge_l": 1.0, "rouge_l_undefined": 0}
    assert not VlgaugeMetric("trm").higher_is_better


def test_columns_of_two_lengths_are_refused():
    with pytest.raises(
        ValueError, match=r"`update` must get columns of one length, got \{'predictions': 1, 'images': 2"
    ):
        clip_s().update(predictions=CAPTIONS[:1], images=PICTURES[:2])
    with pytest.raises(ValueError, match="`update` must get columns of one length, got none"):
        clip_s().update()
