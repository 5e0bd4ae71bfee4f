"""A metric with the interface of torchmetrics: rows until `compute`, then one tensor."""

import copy
import io
import pickle

import numpy as np
import pytest
import torch
import torchmetrics
from apart_cases import CASES
from torchmetrics.text import BLEUScore
from torchmetrics.wrappers import MetricTracker, MinMaxMetric, Running

import vlgauge
from vlgauge import scenes
from vlgauge.integrations.torchmetrics import VlgaugeMetric

SCENES = scenes.scenes(4, seed=0, split="test")
IMAGES = [scenes.draw_scene(scene, size=48).image for scene in SCENES]
CAPTIONS = [scenes.captions(scene, seed=0)[0] for scene in SCENES]
EXPECTED = {"predictions": CAPTIONS, "images": IMAGES}

# Two batches of two rows, as in the tests of text metrics in torchmetrics.
PREDS = [["a dog runs", "a cat sleeps on a mat"], ["two red birds", "a man rides a horse"]]
TARGET = [
    [["a dog runs fast", "the dog is running"], ["a cat is on the mat"]],
    [["two birds sit on a wire"], ["a man on a horse", "the man rides"]],
]
ROWS = (PREDS[0] + PREDS[1], TARGET[0] + TARGET[1])
CLASSES = ["rouge_l", "bleu", "cider", "meteor", "chrf"]

pytestmark = pytest.mark.filterwarnings("ignore:CIDEr-D (takes|counts)")


def clip_s(**settings):
    return VlgaugeMetric("clip_s", profile="embedded", **settings)


def value(name, predictions, references, **settings):
    return vlgauge.load(name, keep_in_memory=True, **settings).compute(predictions=predictions, references=references)[
        name
    ]


class Captioner(torch.nn.Module):
    """A module that contains a metric, like a LightningModule."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.rouge_l = VlgaugeMetric("rouge_l")


def test_batches_are_scored_together_as_by_hand():
    metric = clip_s()
    metric.update(predictions=CAPTIONS[:3], images=IMAGES[:3])
    metric.update(predictions=CAPTIONS[3:], images=[np.asarray(IMAGES[3])])
    expected = vlgauge.load("clip_s", profile="embedded", keep_in_memory=True).compute(**EXPECTED)
    assert metric.compute().item() == expected["clip_s"]
    assert metric.scalars("val_") == {"val_clip_s": expected["clip_s"], "val_clip_s_undefined": 0}
    assert metric.result == expected
    assert metric.higher_is_better
    metric.reset()
    assert metric.result is None
    metric.update(predictions=CAPTIONS[:1], images=IMAGES[:1])
    assert metric.compute().item() == pytest.approx(expected["clip_s_scores"][0], rel=1e-6)


def test_number_of_a_batch_leaves_the_rows_of_the_epoch():
    metric, whole = clip_s(), clip_s()
    for row in range(4):
        one = metric(predictions=CAPTIONS[row : row + 1], images=IMAGES[row : row + 1])
        assert one.item() == metric.result["clip_s_scores"][0]
    whole.update(**EXPECTED)
    assert metric.compute() == whole.compute()


def test_rows_with_one_id_count_once():
    metric, whole = clip_s(), clip_s()
    order = [2, 0, 3, 1, 2]
    rows = {name: [values[row] for row in order] for name, values in EXPECTED.items()}
    metric.update(ids=torch.tensor(order), **rows)
    whole.update(**EXPECTED)
    assert metric.compute() == whole.compute()
    assert metric.result == whole.result
    metric.update(ids=[0], predictions=["a lie"], images=IMAGES[:1])
    with pytest.raises(ValueError, match="id 0"):
        metric.compute()


def test_metric_that_was_loaded_is_taken_and_travels():
    metric = VlgaugeMetric(vlgauge.load("rouge_l", keep_in_memory=True))
    metric.update(predictions=["a dog"], references=[["a dog"]])
    copied = pickle.loads(pickle.dumps(metric))
    assert copied.scalars() == metric.scalars() == {"rouge_l": 1.0, "rouge_l_undefined": 0}
    assert not VlgaugeMetric("trm").higher_is_better


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("case", CASES)
def test_rows_of_every_metric_are_those_of_compute(case):
    settings, rows = CASES[case]
    name, columns = case.partition("-")[0], rows()
    loaded = vlgauge.load(name, keep_in_memory=True, progress=False, **settings)
    metric = VlgaugeMetric(loaded)
    for batch in (slice(0, 1), slice(1, None)):
        metric.update(**{column: cells[batch] for column, cells in columns.items()})
    found, expected = metric.compute().item(), loaded.compute(**columns)
    assert repr(metric.result) == repr(expected)  # NaN is not equal to itself
    assert repr(found) == repr(expected[name])
    assert metric.higher_is_better == loaded.higher_is_better


@pytest.mark.parametrize("name", CLASSES)
def test_what_torchmetrics_asks_of_every_metric(name):
    metric = VlgaugeMetric(metric=name, dist_sync_on_step=False)
    with pytest.raises(RuntimeError):
        metric.is_differentiable = True
    with pytest.raises(RuntimeError):
        metric.higher_is_better = False
    clone = metric.clone()
    assert clone is not metric
    assert type(clone) is type(metric)
    assert clone.metric is metric.metric  # a copy of its models would fill the memory
    metric = metric.to("cpu")
    metric = pickle.loads(pickle.dumps(metric))
    other = copy.deepcopy(metric)
    for preds, target in zip(PREDS, TARGET, strict=True):
        of_batch = metric(preds, target)
        other.reset()
        other.update(preds, target)
        assert of_batch == other.compute() == value(name, preds, target)
    assert hash(metric)
    assert hash(metric) != hash(metric.clone())
    assert metric.state_dict() == {}
    found = metric.compute()
    assert isinstance(found, torch.Tensor)
    assert found.shape == ()
    assert found.requires_grad == metric.is_differentiable
    assert found == value(name, *ROWS)
    assert metric.half().double().float().compute() == found
    assert metric.to(torch.float16).compute() == found
    metric.set_dtype(torch.float16)
    metric.update(["a dog"], [["a cat"]])
    assert metric.compute().dtype == torch.float64
    metric.reset()
    assert metric.metric_state == {"rows": []}


def test_module_that_holds_a_metric_is_trained():
    model = Captioner()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for preds, target in zip(PREDS, TARGET, strict=True):
        model.train()
        optimizer.zero_grad()
        model.layer(torch.ones(1, 1)).sum().backward()
        optimizer.step()
        model.rouge_l.update(preds, target)
        assert len(list(model.parameters())) == 2
        assert [name for name, _ in model.named_modules()] == ["", "layer", "rouge_l"]
    assert model.eval().to("cpu").half().float().rouge_l.compute() == value("rouge_l", *ROWS)
    assert set(model.state_dict()) == {"layer.weight", "layer.bias"}
    assert "rouge_l" in repr(model)


def test_rows_stay_on_the_cpu_and_the_value_moves():
    model = Captioner()
    model.rouge_l.update(PREDS[0], TARGET[0])
    model.to("meta")
    assert model.rouge_l.device.type == model.rouge_l.compute().device.type == "meta"
    assert model.rouge_l.rows[0].device.type == "cpu"


def test_rows_are_saved_where_they_are_asked_for():
    metric, other = VlgaugeMetric("rouge_l"), VlgaugeMetric("rouge_l")
    metric.persistent(True)
    metric.update(PREDS[0], TARGET[0])
    file = io.BytesIO()
    torch.save(metric.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    other.update(PREDS[1], TARGET[1])
    assert other.compute() == value("rouge_l", *ROWS)


def test_states_are_merged():
    first, second = VlgaugeMetric("cider"), VlgaugeMetric("cider", compute_on_cpu=True)
    first.update(PREDS[0], TARGET[0])
    second.update(PREDS[1], TARGET[1])
    second.merge_state(first)
    assert second.compute() == value("cider", *ROWS)


def test_rows_of_other_processes_come_by_the_function_of_the_user():
    asked = []
    other = VlgaugeMetric("cider")
    other.update(PREDS[1], TARGET[1])

    def gathered(own, group=None):
        asked.append(own)
        return [own, torch.cat(other.rows), torch.empty(0, dtype=torch.uint8)]

    metric = VlgaugeMetric("cider", dist_sync_fn=gathered, distributed_available_fn=lambda: True)
    metric.update(PREDS[0][:1], TARGET[0][:1])
    metric.update(PREDS[0][1:], TARGET[0][1:])
    assert metric.compute() == value("cider", *ROWS)
    assert len(asked) == 1
    assert metric.rows != []
    alone = VlgaugeMetric("cider", dist_sync_fn=gathered, distributed_available_fn=lambda: True, sync_on_compute=False)
    alone.update(PREDS[0], TARGET[0])
    assert alone.compute() == value("cider", PREDS[0], TARGET[0])


@pytest.mark.parametrize("forward", [False, True], ids=["update", "forward"])
def test_metrics_of_a_collection_share_rows_that_are_equal(forward):
    own = {name: VlgaugeMetric(name) for name in ("rouge_l", "cider")}
    by_image = {"clip_s": clip_s(), "own_clip_s": clip_s()}
    collection = torchmetrics.MetricCollection(own | by_image, prefix="val_")
    references = [[caption, "a scene"] for caption in CAPTIONS]
    for rows in (slice(0, 0), slice(0, 1), slice(1, 3), slice(3, 4)):
        if forward and rows == slice(0, 0):
            continue
        batch = {"predictions": CAPTIONS[rows], "images": IMAGES[rows], "references": references[rows]}
        (collection if forward else collection.update)(**batch)
    if not forward:
        groups = sorted(map(sorted, collection.compute_groups.values()))
        assert groups == [["cider", "rouge_l"], ["clip_s", "own_clip_s"]]
    clip = vlgauge.load("clip_s", profile="embedded", keep_in_memory=True)
    of_clip = clip.compute(**EXPECTED, references=references)["clip_s"]
    expected = {f"val_{name}": value(name, CAPTIONS, references) for name in own}
    expected |= {"val_clip_s": of_clip, "val_own_clip_s": of_clip}
    assert {name: found.item() for name, found in collection.compute().items()} == expected
    copied = collection.clone(prefix="test_")
    collection.reset()
    assert set(copied.compute()) == {name.replace("val_", "test_") for name in expected}
    collection.update(predictions=CAPTIONS[:1], images=IMAGES[:1], references=references[:1])
    assert collection.compute()["val_rouge_l"] == 1


def test_collection_names_metrics_by_their_classes_and_takes_others():
    collection = torchmetrics.MetricCollection([VlgaugeMetric("rouge_l"), VlgaugeMetric("bleu"), BLEUScore()])
    said = ["a brown dog runs on the grass today", "two red birds sit on a wire"]
    target = [["a dog runs on the grass", "a brown dog runs on the grass"], ["two birds sit on a wire"]]
    collection.update(said[:1], target[:1])
    collection.update(preds=said[1:], target=target[1:])
    found = collection.compute()
    assert list(found) == ["RougeL", "Bleu", "BLEUScore"]
    assert found["RougeL"] == value("rouge_l", said, target)
    assert found["Bleu"].item() == pytest.approx(found["BLEUScore"].item(), abs=1e-6)


def test_tracker_finds_the_best_step():
    for name, best in (("rouge_l", max), ("chair", min)):
        tracker = MetricTracker(VlgaugeMetric(name))
        for said in ("a red dog and a cat", "a dog"):
            tracker.increment()
            tracker.update([said], [["a dog runs"]])
        values = tracker.compute_all().tolist()
        assert len(set(values)) == 2
        assert tracker.best_metric(return_step=True) == (best(values), values.index(best(values)))
    several = MetricTracker(torchmetrics.MetricCollection([VlgaugeMetric("rouge_l"), VlgaugeMetric("chair")]))
    for said in ("a red dog and a cat", "a dog"):
        several.increment()
        several.update([said], [["a dog runs"]])
    assert several.best_metric(return_step=True)[1] == {"RougeL": 1, "Chair": 1}


def test_wrappers_and_arithmetic_take_the_value():
    mixed = 0.5 * VlgaugeMetric("rouge_l") + VlgaugeMetric("chrf")
    extremes = MinMaxMetric(VlgaugeMetric("rouge_l"))
    recent = Running(VlgaugeMetric("rouge_l"), window=1)
    for preds, target in zip(PREDS, TARGET, strict=True):
        mixed.update(preds, target)
        extremes.update(preds, target)
        recent.update(preds, target)
        extremes.compute()
    assert mixed.compute() == 0.5 * value("rouge_l", *ROWS) + value("chrf", *ROWS)
    assert extremes.compute()["max"] == pytest.approx(value("rouge_l", PREDS[0], TARGET[0]))
    assert recent.compute() == value("rouge_l", PREDS[1], TARGET[1])


def test_value_is_plotted():
    axes = pytest.importorskip("matplotlib.pyplot")
    metric = VlgaugeMetric("rouge_l")
    values = [metric(preds, target) for preds, target in zip(PREDS, TARGET, strict=True)]
    figure, drawn = metric.plot()
    assert drawn.get_ylabel() == "RougeL"
    axes.close(figure)
    figure, drawn = metric.plot(values)
    assert list(drawn.lines[0].get_ydata()) == [float(one) for one in values]
    axes.close(figure)


WRONG = [
    ((), ValueError, r"^`predictions`.*`predictions`.*`images`"),
    ((CAPTIONS[:1],), ValueError, r"^`images`.*clip_s"),
    ((CAPTIONS[:1], IMAGES[:2]), ValueError, r"^`images`.*`predictions`.*got 2"),
    (([None], IMAGES[:1]), ValueError, r"^`predictions\[0\]`.*got NoneType"),
    ((["a dog"], [None]), ValueError, r"`images\[0\]` must be"),
    ((["a dog"], ["/no/such.png"]), ValueError, r"^`images\[0\]`.*existing"),
    ((["a dog"], IMAGES[:1], None, ["x"]), TypeError, "got 4"),
]


@pytest.mark.parametrize("forward", [False, True], ids=["update", "forward"])
@pytest.mark.parametrize(("rows", "error", "message"), WRONG)
def test_wrong_rows_are_refused_when_they_come_and_not_kept(rows, error, message, forward):
    metric = clip_s()
    metric.update(CAPTIONS[:2], IMAGES[:2])
    before = metric.compute()
    with pytest.raises(error, match=message):
        (metric if forward else metric.update)(*rows)
    assert metric.compute() == before
    metric.update(CAPTIONS[2:], IMAGES[2:])
    assert metric.compute() == vlgauge.load("clip_s", profile="embedded").compute(**EXPECTED)["clip_s"]


def test_columns_by_name_are_checked():
    metric = VlgaugeMetric("rouge_l")
    with pytest.raises(TypeError, match=r"^rouge_l.*'captions'"):
        metric.update(predictions=["a"], references=["a"], captions=["a"])
    with pytest.raises(TypeError, match=r"^`return_details`.*rouge_l"):
        metric.update(predictions=["a"], references=["a"], return_details=True)
    with pytest.raises(TypeError, match=r"^`predictions`.*once"):
        metric.update(["a"], ["a"], preds=["a"])
    metric.update(predictions=["a"], references=["a"], images=[None])  # a column of another metric
    assert metric.compute() == 1


def test_rows_that_cannot_stand_next_to_earlier_ones_are_refused():
    metric = VlgaugeMetric("rovist_nr")
    metric.update(["One. Two."])
    with pytest.raises(ValueError, match=r"^`predictions`.*form"):
        metric.update([["One.", "Two."]])
    with pytest.raises(ValueError, match=r"^`ids`.*`update`"):
        metric.update(["One. Three."], ids=[1])
    named = VlgaugeMetric("rouge_l")
    named.update(["a"], ["a"], ids=[1])
    for ids, message in (
        (["b"], "one type"),
        ([None], "an integer or a string"),
        ([1, 2], r"got 2.*1 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            named.update(["b"], ["b"], ids=ids)
    assert named.compute() == 1


def test_score_with_references_is_a_value_of_its_own():
    both = {"clip_s": clip_s(), "ref_clip_s": clip_s(score="ref_clip_s")}
    references = [[caption] for caption in CAPTIONS]
    collection = torchmetrics.MetricCollection(list(both.values()))
    collection.update(CAPTIONS, IMAGES, references)
    found = vlgauge.load("clip_s", profile="embedded").compute(**EXPECTED, references=references)
    assert collection.compute() == {"ClipS": found["clip_s"], "RefClipS": found["ref_clip_s"]}
    with pytest.raises(ValueError, match=r"^`references`.*got None"):
        both["ref_clip_s"].update(CAPTIONS, IMAGES)


def test_other_scores_have_directions_of_their_own():
    metrics = [VlgaugeMetric("chair"), VlgaugeMetric("chair", score="chair_recall")]
    assert [metric.higher_is_better for metric in metrics] == [False, True]
    collection = torchmetrics.MetricCollection(metrics)
    collection.update(["a dog and a cat"], [["a dog"]])
    assert collection.compute() == {"Chair": 0.5, "ChairRecall": 1.0}
    missing = VlgaugeMetric("mmd_bert", profile="embedded", score="mmd_bert_excess")
    missing.update([["a dog", "a cat"]], [["a dog", "a bird"]])
    with pytest.raises(ValueError, match=r"^`score`.*got 'mmd_bert_excess'"):
        missing.compute()


def test_undefined_value_is_nan():
    metric = VlgaugeMetric("rouge_l")
    metric.update(["a"], [[]])
    assert metric.compute().isnan()
    assert metric.scalars() == {"rouge_l_undefined": 1}


def test_what_is_no_metric_score_or_setting_is_refused():
    with pytest.raises(ValueError, match=r"^`metric`.*metrics"):
        VlgaugeMetric("rogue")
    with pytest.raises(TypeError, match=r"^`metric`.*got 3"):
        VlgaugeMetric(3)
    with pytest.raises(ValueError, match=r"^`score`.*got 'rouge'.*`rouge_l`"):
        VlgaugeMetric("rouge_l", score="rouge")
    with pytest.raises(ValueError, match=r"^`score`.*got 'ref_rouge_l'"):
        VlgaugeMetric("rouge_l", score="ref_rouge_l")
    with pytest.raises(TypeError, match=r"^`tokenizer`.*from vlgauge\.load"):
        VlgaugeMetric(vlgauge.load("rouge_l"), tokenizer=str.split)
    with pytest.raises(TypeError, match=r"^`prefix`.*rouge_l"):
        VlgaugeMetric("rouge_l", prefix="val_")
    with pytest.raises(ValueError, match="got none"), pytest.warns(match="before the"):
        VlgaugeMetric("rouge_l").compute()
