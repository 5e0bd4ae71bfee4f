"""Groovist with the embedded profile on synthetic stories that no model was trained on and no setting was fitted to."""

import json
from pathlib import Path

import numpy as np
import pytest
from folders import EXAMPLES
from PIL import Image
from script_modules import script_module

import vlgauge
from vlgauge import scenes
from vlgauge.core.signatures import parse_signature

DATA = Path(vlgauge.__file__).parent / "data" / "groovist" / "theta_scenes.json"
N_STORIES = 8
pytestmark = pytest.mark.usefixtures("no_sockets")


@pytest.fixture(scope="module")
def stories():
    return scenes.stories(N_STORIES, 5, "test")


@pytest.fixture(scope="module")
def fit_script():
    return script_module("make/fit_scene_theta.py")


def load(**settings):
    return vlgauge.load("groovist", keep_in_memory=True, profile="embedded", device="cpu", **settings)


def test_defaults_of_the_embedded_profile(stories):
    result = load().compute(predictions=[stories[0].sentences], images=[stories[0].images()])
    fields = parse_signature(result["groovist_signature"])[1]
    assert fields["profile"] == "embedded"
    assert fields["enc"].startswith("vlgauge-toy-clip@")
    assert fields["phrases"].startswith("en_core_web_sm-3.8.0@")
    assert fields["concreteness"] == "brysbaert@d68b5605"
    assert fields["regions"] == "grid"
    record = next(record for record in json.loads(DATA.read_text("utf-8")) if record["regions"] == "grid")
    assert fields["theta"].startswith(f"{record['theta']}@scenes-")
    assert record["n_stories"] == 300


@pytest.mark.parametrize("source", ["given", "grid"])
def test_right_stories_and_invented_objects(fit_script, source, monkeypatch):
    monkeypatch.setattr(fit_script, "CHECKED_SEED", 5)
    found = fit_script.measure(source, N_STORIES)
    assert found["right"] >= 0.9  # 0.95 on 200 stories
    assert found["lowest"] >= 0.8
    assert found["lower"] >= 0.9
    assert found["mean"] > 0 > found["mean of other"]


def test_theta_of_another_source_of_regions_is_told(stories):
    everywhere = load(regions=lambda image: ([[0, 0, *image.size]], None))
    with pytest.warns(UserWarning, match="call uses custom"):
        everywhere.compute(predictions=[stories[0].sentences], images=[stories[0].images()])


def test_scenes_theta_is_for_the_demo_model_only():
    from fake_clip import FakeClip

    metric = vlgauge.load("groovist", dataset="scenes", concreteness=None, backbone=FakeClip(), regions="whole")
    with pytest.raises(ValueError, match=r"^`dataset`"):
        metric.compute(predictions=["x"], noun_phrases=[["a"]], images=[scenes.stories(1, 0)[0].images()])


def test_scenes_theta_on_the_scale_of_the_paper(stories):
    images, sentences = [stories[0].images()], [stories[0].sentences]
    released, paper = (
        load(variant=variant).compute(predictions=sentences, images=images, return_details=True)
        for variant in ("released", "paper")
    )
    theta = [float(one["groovist_signature"].partition("|theta:")[2].partition("@")[0]) for one in (released, paper)]
    assert theta[1] == pytest.approx(theta[0] / 2.5)
    assert min(row["cosine"] for row in released["groovist_details"][0]["noun_phrases"]) > 0
    assert paper["groovist"] == pytest.approx(released["groovist"] / 2.5)


def test_fitting_script(fit_script, tmp_path, monkeypatch):
    said = []
    target = tmp_path / "groovist" / "theta.json"
    monkeypatch.setattr(fit_script, "SOURCES", ("given", "whole"))
    fit_script.main(["--stories", "3", "--checked", "3", "--output", str(target)], said.append)
    records = json.loads(target.read_text("utf-8"))
    assert [record["regions"] for record in records] == ["given", "whole"]
    assert all(record["n_stories"] == 3 and record["n_phrases"] > 15 for record in records)
    assert [line.split(":")[0] for line in said] == ["given", "whole"] * 2
    fit_script.main(["--only-check", "--checked", "2"], said.append)


def test_commands_on_drawn_stories(stories, tmp_path, capsys):
    from vlgauge.cli import main

    rows = []
    for i, story in enumerate(stories[:4]):
        for j, image in enumerate(story.images()):
            image.save(tmp_path / f"{i}-{j}.png")
        boxes = [{"boxes": [*drawing.boxes, (0, 0, 128, 128)]} for drawing in story.drawings()]
        names = [f"{i}-{j}.png" for j in range(5)]
        rows.append({"predictions": story.sentences, "images": names, "regions": boxes, "rating": i % 4})
    file = tmp_path / "stories.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    given = [str(file), "--profile", "embedded", "--regions", "regions", "--no-progress"]
    assert main(["grounding", "ablations", *given, "--random", "2", "--ratings", "rating", "--resamples", "10"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 12  # note about the small sample and signature after the seven variants
    assert float(lines[2].split()[4]) > 0  # GROOViST: own stories score higher than random ones
    assert main(["score", "groovist", str(file), "--profile", "embedded", "--no-progress"]) == 0
    assert np.isfinite(float(capsys.readouterr().out.splitlines()[2].split()[1]))


def test_example_stories_are_what_the_script_draws(tmp_path, monkeypatch):
    script_module("make/draw_stories.py").main(["--output", str(tmp_path)])
    bundled = EXAMPLES
    drawn = (tmp_path / "drawn_stories.jsonl").read_text("utf-8")
    assert drawn == (bundled / "drawn_stories.jsonl").read_text("utf-8")
    for name in json.loads(drawn.splitlines()[-1])["images"]:
        assert Image.open(tmp_path / name).tobytes() == Image.open(bundled / name).tobytes()
