"""pac_s and clip_s: one backbone pass for both, stores, device settings, and the embedded profile."""

import copy
import json
import math
import pickle
import re
from pathlib import Path

import evaluate
import numpy as np
import pytest
from folders import METRICS
from PIL import Image
from tiny_clip import IMAGES, TINY, rand_clip, write_tiny

import vlgauge
from vlgauge import scenes
from vlgauge.core.pool import pool
from vlgauge.core.signatures import parse_signature
from vlgauge.models.clip.demo import demo_file, read_demo_record
from vlgauge.models.clip.heads import heads_digest, read_adapter
from vlgauge.models.clip.loading import clip_encoder
from vlgauge.models.features.memory import process_memory

SPREAD = [str(IMAGES / name) for name in ("syn_224.png", "syn_rgb.png", "syn_wide.png", "syn_cmyk.jpg")]
ROWS = {
    "predictions": ["a red kite", "two boats", "a lamp", "a red kite"],
    "images": SPREAD,
    "references": [["a kite"], ["boats", "paper boats"], ["lamps", "a desk"], ["a kite", "the sky"]],
}


pytestmark = pytest.mark.usefixtures("no_sockets")


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return write_tiny(tmp_path_factory.mktemp("tiny"), 5, 0.8)


@pytest.fixture(scope="module")
def adapters(tmp_path_factory):
    """Two adapters of the base model."""
    from safetensors.numpy import save_file

    about = {"format": "vlgauge-clip-adapter-1", "kind": "pac_s", "architecture": TINY.architecture}
    about["base_projections_sha256"] = heads_digest(rand_clip().make("tiny", 5, 0.8))
    paths = [tmp_path_factory.mktemp("adapters") / f"{seed}.safetensors" for seed in (1, 2)]
    for seed, path in enumerate(paths):
        save_file(rand_clip().make_adapter("tiny", 5, 0.8, adapter_seed=seed), path, metadata=about)
    return paths


@pytest.fixture
def load(base):
    """Function `load(name, config, **settings)` that loads a metric with a random encoder and an empty cache."""
    process_memory.clear()
    clip_encoder(TINY, weights=base, device="cpu").forwards.clear()

    def load(name="pac_s", config=None, **settings):
        settings = {"backbone": TINY, "weights": base, "device": "cpu", **settings}
        return vlgauge.load(name, config, keep_in_memory=True, **settings)

    return load


@pytest.fixture
def encoder(base):
    """The encoder that the metrics of `load` share."""
    return lambda: clip_encoder(TINY, weights=base, device="cpu")


def small_images(n):
    return list(np.random.default_rng(0).integers(256, size=(n, 6, 6, 3), dtype=np.uint8))


# -- one pass for all -------------------------------------------------------------------------------------------------
def test_pac_s_after_clip_s_runs_no_tower(load, encoder, adapters):
    load("clip_s").compute(**ROWS)
    before = dict(encoder().forwards)
    assert before == {"image": 4, "text": 9}
    results = [load(checkpoint=path).compute(**ROWS) for path in adapters]
    assert dict(encoder().forwards) == before
    assert results[0]["pac_s_scores"] != results[1]["pac_s_scores"]
    signatures = [result["pac_s_signature"] for result in results]
    assert signatures[0].split("|proj:")[0] == signatures[1].split("|proj:")[0]
    assert signatures[0] != signatures[1]


def test_three_metrics_see_100_images_once():
    pool.unload()
    rows = {"predictions": ["a dog"] * 100, "images": small_images(100)}
    for name, variant in (("clip_s", "released"), ("pac_s", "released"), ("pac_s", "paper")):
        metric = vlgauge.load(name, keep_in_memory=True, profile="embedded", device="cpu", variant=variant)
        assert metric.compute(**rows)[f"{name}_undefined"] == 0
    # The paper of PAC-S has no prompt.
    assert dict(clip_encoder(profile="embedded", device="cpu").forwards) == {"image": 100, "text": 2}


def test_frames_are_shared_by_clip_s_and_pac_s(load, encoder, adapters):
    rows = {"predictions": ["a dog", "a cat"], "videos": [IMAGES / "syn_clip.mp4"] * 2}
    load("clip_s", "video").compute(**rows)
    load("pac_s", "video", checkpoint=adapters[0]).compute(**rows)
    assert encoder().forwards["image"] == 10


@pytest.mark.parametrize("by_variable", [False, True], ids=["setting", "environment"])
def test_second_epoch_reads_the_features_from_the_folder(load, encoder, adapters, tmp_path, monkeypatch, by_variable):
    settings = {} if by_variable else {"feature_cache": tmp_path / "features"}
    if by_variable:
        monkeypatch.setenv("VLGAUGE_FEATURES", str(tmp_path / "features"))
    first = load(checkpoint=adapters[0], **settings).compute(**ROWS)
    assert (tmp_path / "features").is_dir()
    process_memory.clear()
    encoder().forwards.clear()
    second = load(checkpoint=adapters[0], **settings).compute(**ROWS)
    assert sum(encoder().forwards.values()) == 0
    assert second["pac_s_scores"] == pytest.approx(first["pac_s_scores"], abs=1e-6)
    process_memory.clear()
    load("clip_s", **settings).compute(**ROWS)
    assert sum(encoder().forwards.values()) == 0


# -- invariance -------------------------------------------------------------------------------------------------------
def test_batch_size_order_and_duplicates(load, adapters):
    rng = np.random.default_rng(3)
    images, captions = small_images(9), ["a dog", "two big cats on a mat", "kite", "a b c d e f g"]
    picks = rng.integers(4, size=(30, 3))
    rows = [(captions[i], images[rng.integers(9)], [captions[j], captions[k]]) for i, j, k in picks]

    def scores(rows, **settings):
        process_memory.clear()
        predictions, seen, references = zip(*rows, strict=True)
        result = load(checkpoint=adapters[0], **settings).compute(
            predictions=predictions, images=seen, references=references
        )
        return np.array([result["pac_s_scores"], result["ref_pac_s_scores"]])

    expected = scores(rows)
    order = rng.permutation(30)
    assert scores([rows[i] for i in order]) == pytest.approx(expected[:, order], abs=1e-6)
    assert scores(rows + rows) == pytest.approx(np.concatenate([expected, expected], axis=1), abs=1e-6)
    for batch_size in (1, 2, 64):
        assert scores(rows, batch_size=batch_size) == pytest.approx(expected, abs=1e-6)
    assert np.concatenate([scores([row]) for row in rows[:3]], axis=1) == pytest.approx(expected[:, :3], abs=1e-6)


def test_ways_to_pass_an_image(load, adapters, tmp_path):
    metric = load(checkpoint=adapters[0])
    with Image.open(SPREAD[1]) as image:
        forms = [SPREAD[1], image, np.asarray(image.convert("RGB")), {"bytes": Path(SPREAD[1]).read_bytes()}]
        scores = metric.compute(predictions=["a kite"] * 4, images=forms)["pac_s_scores"]
    assert scores == pytest.approx([scores[0]] * 4, abs=1e-6)
    for row in zip(*ROWS.values(), strict=True):
        metric.add(**dict(zip(("prediction", "image", "reference"), row, strict=True)))
    assert metric.compute() == metric.compute(**ROWS)


def test_rows_on_disk_give_the_same(load, adapters, base, tmp_path):
    in_memory = load(checkpoint=adapters[0]).compute(**ROWS)
    settings = {"backbone": TINY, "weights": base, "device": "cpu", "checkpoint": adapters[0]}
    metric = vlgauge.load("pac_s", cache_dir=str(tmp_path), **settings)
    assert metric.compute(**ROWS) == in_memory
    frames = {"predictions": ["a dog", "a cat"], "videos": [SPREAD[:2], {"path": IMAGES / "syn_clip.mp4", "end": 1}]}
    metric = vlgauge.load("pac_s", "video", cache_dir=str(tmp_path), **settings)
    assert metric.compute(**frames) == load("pac_s", "video", checkpoint=adapters[0]).compute(**frames)


def test_building_waits_for_the_first_compute(load, adapters):
    pool.unload()
    load(checkpoint=adapters[0])
    assert pool.encoders == {}


@pytest.mark.parametrize("config", ["image", "video"])
def test_copies_score_alike(load, adapters, config):
    metric = load(checkpoint=adapters[0], config=config)
    rows = {"predictions": ["a kite"], **({"images": SPREAD[:1]} if config == "image" else {"videos": [SPREAD[:2]]})}
    before = metric.compute(**rows)
    assert pickle.loads(pickle.dumps(metric)).compute(**rows) == before
    assert copy.deepcopy(metric).compute(**rows) == before


def test_reduced_precision_is_near_and_signed(load, adapters):
    whole, reduced = (load(checkpoint=adapters[0], dtype=dtype).compute(**ROWS) for dtype in ("float32", "bfloat16"))
    assert reduced["pac_s_scores"] == pytest.approx(whole["pac_s_scores"], abs=5e-2)
    assert reduced["pac_s_scores"] != whole["pac_s_scores"]
    assert "|dtype:bfloat16|" in reduced["pac_s_signature"]


def test_combination_with_clip_s_and_another_image_metric(load, adapters, load_demo):
    members = [load("clip_s"), load(checkpoint=adapters[0]), load_demo("image_demo", keep_in_memory=True)]
    combined = evaluate.combine(members)
    result = combined.compute(**ROWS)
    assert {"clip_s", "pac_s", "ref_clip_s", "ref_pac_s", "image_demo"} <= set(result)
    assert result["clip_s_scores"] == pytest.approx(load("clip_s").compute(**ROWS)["clip_s_scores"], abs=1e-6)
    combined.add_batch(**ROWS)
    assert combined.compute() == result
    for prediction, image, reference in zip(*ROWS.values(), strict=True):
        combined.add(prediction=prediction, images=image, reference=reference)
    assert combined.compute() == result


def test_result_is_plain(load, adapters):
    result = load(checkpoint=adapters[0]).compute(**ROWS, return_details=True)
    assert json.loads(json.dumps(result)) == result
    assert all(math.isfinite(score) for score in result["pac_s_scores"])


# -- the embedded profile ---------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def drawn():
    """Scenes outside the training data of the demo model: images, captions, and captions with a wrong color."""
    chosen = scenes.scenes(40, seed=5, split="test")
    images = [scenes.draw_scene(scene).image for scene in chosen]
    right = [scenes.captions(scene, seed=1)[0] for scene in chosen]
    wrong = [scenes.captions(scenes.change_fact(scene, "colour", seed=1), seed=1)[0] for scene in chosen]
    return images, right, wrong


@pytest.mark.parametrize("name", ["clip_s", "pac_s"])
def test_demo_model_tells_right_captions_from_wrong_ones(drawn, name):
    images, right, wrong = drawn
    metric = vlgauge.load(name, keep_in_memory=True, profile="embedded", device="cpu")
    of_right, of_wrong, of_others = (
        np.array(metric.compute(predictions=texts, images=images)[f"{name}_scores"])
        for texts in (right, wrong, right[1:] + right[:1])
    )
    assert (of_right > of_wrong).mean() >= 0.9
    assert (of_right > of_others).mean() >= 0.95


def test_demo_model_has_projections_of_its_own(drawn):
    images, right, _ = drawn
    rows = {"predictions": right, "images": images}
    pac_s, clip_s = (
        vlgauge.load(name, keep_in_memory=True, profile="embedded", device="cpu").compute(**rows)
        for name in ("pac_s", "clip_s")
    )
    # Without the adapter PAC-S would be exactly 0.8 times CLIP-S.
    assert pac_s["pac_s_scores"] != pytest.approx([0.8 * score for score in clip_s["clip_s_scores"]], abs=1e-4)
    fields = parse_signature(pac_s["pac_s_signature"])[1]
    assert (fields["arch"], fields["profile"]) == ("vlgauge-toy-clip", "embedded")
    assert fields["enc"].startswith("vlgauge-toy-clip@")
    assert fields["proj"] == read_adapter(demo_file("demo_pac_s.safetensors")).digest[:8]
    assert "|proj:own|" in clip_s["clip_s_signature"]


def test_demo_model_needs_no_setting_and_takes_no_real_backbone(monkeypatch):
    monkeypatch.setenv("VLGAUGE_PROFILE", "embedded")
    metric = vlgauge.load("pac_s", keep_in_memory=True)
    assert metric.profile == "embedded"
    with pytest.raises(ValueError, match=r"^`backbone`"):
        vlgauge.load("pac_s", keep_in_memory=True, backbone="ViT-B/32").compute(**ROWS)


def test_card_of_clip_s_says_what_the_demo_model_can_do():
    figures = read_demo_record()["held out"]
    shares = {what: figures[f"right above wrong {what}"] for what in ("colour", "size", "shape", "background")}
    swapped = [figures[f"right above {pair} swapped"] for pair in ("left and right", "above and below")]
    card = " ".join((METRICS / "clip_s" / "README.md").read_text("utf-8").split())
    shown = ", ".join(f"{what} {share:.0%}" for what, share in shares.items()).replace("colour", "color")
    assert shown in card.replace(" in ", " ")
    assert f"swapped places in {sum(swapped) / 2:.0%}" in card


def test_card_of_pac_s_has_the_figures_of_the_training():
    record = demo_file("demo_pac_s.md").read_text("utf-8")
    rows = re.findall(r"^\| (\w+) \| (\d+) \| \d+ \| (.*%) \| (.*%) \| (.*) \| (.*) \|$", record, re.MULTILINE)
    card = (METRICS / "pac_s" / "README.md").read_text("utf-8")
    shares = {what: (before, after) for what, _, before, after, *_ in rows}
    assert len(shares) == 6
    told = " ".join(card.split())
    for what, words in (("all", "{after} of pairs, demo CLIP-S in {before}"), ("shape", "{after} against {before}")):
        before, after = shares[what]
        assert words.format(before=before, after=after) in told
