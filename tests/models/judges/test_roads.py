"""Judges on the common roads: as a reward, in a training loop, from the command, in parts as Ray scores them."""

import json

import numpy as np
import pytest
import tiny_judges

import vlgauge
from vlgauge import scenes
from vlgauge.cli import main
from vlgauge.families.base.parts import merge_partial_results
from vlgauge.integrations.rows import RowMetrics
from vlgauge.integrations.trl import caption_reward

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
SCENES = scenes.scenes(4, seed=3, split="test")
CAPTIONS = [scenes.captions(one, seed=0)[0] for one in SCENES]
REFERENCES = [scenes.captions(one, seed=1)[:2] for one in SCENES]


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    paths = [folder / f"{i}.png" for i in range(len(SCENES))]
    for path, one in zip(paths, SCENES, strict=True):
        scenes.draw_scene(one, size=48).image.save(path)
    return [str(path) for path in paths]


@pytest.mark.parametrize("name", ["fleur", "vqascore"])
def test_as_a_reward(name, images):
    reward = caption_reward(name, profile="embedded", device="cpu")
    assert reward.range == (0.0, 1.0)
    metric = vlgauge.load(name, profile="embedded", device="cpu")
    expected = metric.compute(predictions=CAPTIONS, images=images)[f"{name}_scores"]
    assert reward(["p"] * 4, CAPTIONS, image=images) == pytest.approx(expected)


def test_as_a_reward_with_references(images):
    reward = caption_reward("fleur", profile="embedded", device="cpu", references="refs")
    metric = vlgauge.load("fleur", profile="embedded", device="cpu")
    expected = metric.compute(predictions=CAPTIONS, images=images, references=REFERENCES)["ref_fleur_scores"]
    assert reward(["p"] * 4, CAPTIONS, image=images, refs=REFERENCES) == pytest.approx(expected)


def test_in_a_training_loop(images):
    rows = [{"image": path, "known": known} for path, known in zip(images, REFERENCES, strict=True)]
    metrics = RowMetrics(
        ["fleur"], rows=rows, columns={"images": "image", "references": "known"}, profile="embedded", device="cpu"
    )
    assert metrics.keys == ["fleur", "ref_fleur"]
    assert {"fleur", "ref_fleur"} <= metrics.score(CAPTIONS).keys()


def test_three_metrics_share_one_model(tmp_path):
    folder = str(tiny_judges.llava(tmp_path))
    metrics = [vlgauge.load(name, model=folder, device="cpu") for name in ("fleur", "vqascore", "clair")]
    judges = [metric.judge() for metric in metrics]
    assert judges[0] is judges[1] is judges[2]
    assert vlgauge.load("fleur", model=folder, device="cpu", dtype="bfloat16").judge() is not judges[0]


def test_in_parts_as_at_once(images):
    metric = vlgauge.load("fleur", profile="embedded", device="cpu")
    columns = {"predictions": CAPTIONS, "images": images, "references": [*REFERENCES[:3], None]}
    whole = metric.compute(**columns)
    rows = metric.as_computed(columns)
    parts = [metric.score_batch({name: [cell] for name, cell in row.items()}, [0]) for row in rows]
    found = metric.combine(merge_partial_results(parts))
    assert json.dumps(found, sort_keys=True) == json.dumps(whole, sort_keys=True)


def test_from_the_command(images, tmp_path, capsys):
    for name, captions in (("right", CAPTIONS), ("other", CAPTIONS[1:] + CAPTIONS[:1])):
        lines = [
            json.dumps({"id": str(i), "predictions": text, "images": path})
            for i, (text, path) in enumerate(zip(captions, images, strict=True))
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    files = [str(tmp_path / f"{name}.jsonl") for name in ("right", "other")]
    assert main(["score", "fleur", files[0], "--profile", "embedded", "--output", str(tmp_path / "scores.json")]) == 0
    scored = json.loads((tmp_path / "scores.json").read_text())
    assert np.mean(scored["fleur_scores"]) > 0.5
    assert main(["compare", "fleur", *files, "--profile", "embedded"]) == 0
    assert "fleur" in capsys.readouterr().out
