"""The score calibration of a backbone: means of 1 and 0, as plain loops, its file, and input errors."""

import json
from dataclasses import replace

import numpy as np
import pytest
from chosen_clip import ChosenClip, grey

import vlgauge
from vlgauge import scenes
from vlgauge.cli import main
from vlgauge.core.signatures import parse_signature
from vlgauge.families.clip_score.backbone_metric import Backbone
from vlgauge.families.clip_score.calibration import fit_scale, mean_cosines, read_calibration

ABOUT = {"backbone": "x", "architecture": "fake", "weights": "0" * 64, "prompt": "A photo depicts "}
HOW = {"level": 0.95, "resamples": 200, "seed": 0}


def drawn(n=30, m=12, d=6, seed=0):
    """Return unit vectors of captions and images, with captions near their images."""
    rng = np.random.default_rng(seed)
    seen = rng.normal(size=(m, d))
    image_of = np.concatenate([np.arange(m), rng.integers(0, m, n - m)])
    read = seen[image_of] + 0.8 * rng.normal(size=(n, d)) + 0.5
    return [array / np.linalg.norm(array, axis=1, keepdims=True) for array in (read, seen)] + [image_of]


def test_means_as_plain_loops():
    read, seen, image_of = drawn()
    right = np.sum(read * seen[image_of], axis=1)
    counts = np.random.default_rng(1).integers(0, 4, len(seen)).astype(float)
    one = [right[i] for i, g in enumerate(image_of) for _ in range(int(counts[g]))]
    zero = [
        read[i] @ seen[h]
        for i, g in enumerate(image_of)
        for _ in range(int(counts[g]))
        for h in range(len(seen))
        for _ in range(int(counts[h]))
        if h != g
    ]
    assert mean_cosines(right, read, seen, image_of, counts) == pytest.approx((np.mean(one), np.mean(zero)), rel=1e-12)


def test_right_pairs_have_mean_1_and_shuffled_ones_mean_0():
    read, seen, image_of = drawn(seed=2)
    found = fit_scale(read, seen, image_of, **HOW, **ABOUT)
    scores = found.scores(read @ seen.T)
    own = image_of[:, None] == np.arange(len(seen))
    assert scores[own].mean() == pytest.approx(1, abs=1e-12)
    assert scores[~own].mean() == pytest.approx(0, abs=1e-12)
    assert (scores < 0).any()
    assert found.w_interval[0] < found.w < found.w_interval[1]
    assert found.offset_interval[0] < found.offset < found.offset_interval[1]
    assert found == fit_scale(read, seen, image_of, **HOW, **ABOUT)
    assert found != fit_scale(read, seen, image_of, **{**HOW, "seed": 1}, **ABOUT)


def test_the_intervals_hold_what_other_draws_give():
    fits = [fit_scale(*drawn(300, 100, seed=seed), **HOW, **ABOUT) for seed in range(10, 30)]
    offset = np.mean([fit.offset for fit in fits])
    assert 15 <= sum(low <= offset <= high for low, high in (fit.offset_interval for fit in fits)) <= 20


def test_what_cannot_be_fitted():
    read, seen, image_of = drawn()
    with pytest.raises(ValueError, match=r"FILE.*at least 10 different.*got 9"):
        fit_scale(read[:9], seen[:9], image_of[:9], **HOW, **ABOUT)
    with pytest.raises(ValueError, match=r"FILE.*match"):
        fit_scale(-read, seen, image_of, **HOW, **ABOUT)


def test_a_file_comes_back_and_no_other_is_taken(tmp_path):
    found = fit_scale(*drawn(), **HOW, **ABOUT)
    found.save(tmp_path / "scale.json")
    assert read_calibration(tmp_path / "scale.json") == found
    record = json.loads((tmp_path / "scale.json").read_text())
    for changed in (record | {"w": 3.0}, {"w": 1}, [1], record | {"more": 1}):
        (tmp_path / "other.json").write_text(json.dumps(changed))
        with pytest.raises(ValueError, match=r"^`calibration`.*`vlgauge calibrate`"):
            read_calibration(tmp_path / "other.json")


# -- clip_s -----------------------------------------------------------------------------------------------------------
EAST, WEST, NORTH = [1, 0, 0], [-1, 0, 0], [0, 1, 0]


@pytest.fixture
def load(monkeypatch, tmp_path):
    """`load(**changes)`: clip_s with a fake encoder and a scale with changes."""

    def load(**changes):
        scale = replace(fit_scale(*drawn(), **HOW, **ABOUT), w=4.0, offset=0.25, **changes)
        scale.save(tmp_path / "scale.json")
        metric = vlgauge.load("clip_s", calibration=tmp_path / "scale.json", keep_in_memory=True)
        encoder = ChosenClip({1: EAST}, {"east": EAST, "west": WEST, "north": NORTH})
        monkeypatch.setattr(Backbone, "encoder_and_adapter", lambda self: (encoder, None))
        return metric, scale, encoder

    return load


ROWS = {"predictions": ["east", "west", "north"], "images": [grey(1)] * 3}


def test_scores_are_not_clamped_and_signed(load):
    metric, scale, _ = load()
    found = metric.compute(**ROWS)
    assert found["clip_s_scores"] == pytest.approx([3.0, -5.0, -1.0], abs=1e-5)
    facts = vlgauge.core.catalog.metric_facts("clip_s")
    fields = parse_signature(found["clip_s_signature"])[1]
    assert fields["calibration"] == scale.digest[:8]
    assert "w" not in fields
    assert facts.bounds_for(fields) == (None, None)
    plain = vlgauge.load("clip_s", profile="embedded").compute(predictions=["x"], images=[grey(1)])
    plain = parse_signature(plain["clip_s_signature"])
    assert facts.bounds_for(plain[1]) == (0.0, 2.5)


@pytest.mark.parametrize(
    ("changes", "other"),
    [({"architecture": "ViT-B-16"}, "backbone"), ({"weights": "1" * 64}, "weights"), ({"prompt": ""}, "prompt")],
)
def test_a_scale_of_another_backbone_is_refused_before_an_image(load, changes, other):
    metric, _, encoder = load(**changes)
    with pytest.raises(ValueError, match=rf"^`calibration`.*got {other}"):
        metric.compute(**ROWS)
    assert not encoder.forwards


def test_what_goes_with_it(load, tmp_path):
    metric, _, _ = load()
    with pytest.warns(UserWarning, match=r"^`references`.*`calibration`"):
        found = metric.compute(**ROWS, references=[["east"]] * 3)
    assert "ref_clip_s" not in found
    with pytest.raises(ValueError, match=r"^`w`.*`calibration`"):
        vlgauge.load("clip_s", calibration=tmp_path / "scale.json", w=2.0)
    with pytest.raises(ValueError, match=r"^`calibration`.*videos"):
        vlgauge.load("clip_s", "video", calibration=tmp_path / "scale.json")


def test_many_negative_cosines_are_told(load):
    metric, _, _ = load()
    plain = vlgauge.load("clip_s", keep_in_memory=True)
    rows = {"predictions": ["east"] * 18 + ["west"] * 2, "images": [grey(1)] * 20}
    with pytest.warns(UserWarning, match=r"2 of 20 cosines.*clip_s"):
        plain.compute(**rows)
    # One of 20 is 5%, and few rows are not sufficient for a warning.
    plain.compute(predictions=["east"] * 19 + ["west"], images=[grey(1)] * 20)
    plain.compute(predictions=["west"] * 3, images=[grey(1)] * 3)
    metric.compute(**rows)


# -- the command ------------------------------------------------------------------------------------------------------
def test_command(tmp_path, capsys):
    rows = []
    for number, scene in enumerate(scenes.scenes(24, seed=3, split="test")):
        scenes.draw_scene(scene).image.save(tmp_path / f"{number}.png")
        rows += [{"predictions": text, "images": f"{number}.png"} for text in scenes.captions(scene, seed=1, n=2)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "scale.json"
    call = ["calibrate", "vlgauge-toy-clip", str(tmp_path / "rows.jsonl"), "--profile", "embedded", "--device", "cpu"]
    assert main([*call, "-o", str(out), "--no-progress"]) == 0
    told = capsys.readouterr().out
    assert "48 captions of 24 images, vlgauge-toy-clip: matching pairs have mean 1, shuffled pairs mean 0" in told
    settings = {"profile": "embedded", "device": "cpu"}
    columns = {
        "predictions": [row["predictions"] for row in rows],
        "images": [str(tmp_path / row["images"]) for row in rows],
    }
    calibrated = vlgauge.load("clip_s", calibration=out, **settings).compute(**columns)
    assert calibrated["clip_s"] == pytest.approx(1, abs=1e-5)
    plain = vlgauge.load("clip_s", **settings).compute(**columns)
    assert np.argsort(plain["clip_s_scores"]).tolist() == np.argsort(calibrated["clip_s_scores"]).tolist()
    shuffled = columns["images"][2:] + columns["images"][:2]
    off = vlgauge.load("clip_s", calibration=out, **settings).compute(
        predictions=columns["predictions"], images=shuffled
    )
    assert abs(off["clip_s"]) < 0.2
    assert main([*call, "-o", str(tmp_path / "scale.txt")]) == 2
    assert main([*call[:1], "ViT-B/33", *call[2:3], "-o", str(out)]) == 2
    assert "did you mean 'ViT-B/32'" in capsys.readouterr().err
