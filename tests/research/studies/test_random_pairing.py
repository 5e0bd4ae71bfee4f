"""Random pairs by rovist_vg and clip_s, per sentence: the metrics' own scores, with each image encoded once."""

import json
import math

import pytest

import vlgauge
from vlgauge import cli, scenes
from vlgauge.core.results import mean_of_defined
from vlgauge.models.clip.loading import clip_encoder
from vlgauge.models.features import memory
from vlgauge.research.studies.groovist import Stories, random_stories
from vlgauge.research.studies.random_pairing import noun_pairs, sentence_pairs

SETTINGS = {"profile": "embedded", "device": "cpu", "keep_in_memory": True, "progress": False}


@pytest.fixture(scope="module")
def data():
    """Return four synthetic stories with the boxes of their images. The last has one more sentence than images."""
    told = scenes.stories(4, seed=21, split="test")
    stories = [story.sentences for story in told]
    boxes = [[{"boxes": [list(box) for box in drawing.boxes]} for drawing in story.drawings()] for story in told]
    stories[3] = [*stories[3], "The box and the box left."]
    return Stories(stories, [list(story.images()) for story in told], boxes)


def test_nouns_are_scored_as_the_metric_scores_them(data):
    metric, seen = vlgauge.load("rovist_vg", **SETTINGS), []
    found = noun_pairs(metric, data, n_random=1, seed=3, advance=seen.append)
    assert sum(seen) == 4
    for i, others in enumerate(random_stories(4, 1, seed=3)):
        for j, score in zip([i, *others], [found.own[i], *found.random[i]], strict=True):
            cells = {"predictions": [data.stories[j]], "images": [data.images[i]], "regions": [data.regions[i]]}
            expected = metric.compute(**cells)
            assert score == pytest.approx(expected["rovist_vg"], rel=1e-6)
            assert found.signature == expected["rovist_vg_signature"]


def test_sentences_are_scored_next_to_the_image_at_their_place(data):
    metric = vlgauge.load("clip_s", **SETTINGS)
    with pytest.warns(UserWarning, match="1"):
        found = sentence_pairs(metric, data, n_random=2, seed=3)
    for i, others in enumerate(random_stories(4, 2, seed=3)):
        for j, score in zip([i, *others], [found.own[i], *found.random[i]], strict=True):
            texts, images = zip(*zip(data.stories[j], data.images[i], strict=False), strict=True)
            expected = metric.compute(predictions=list(texts), images=list(images))
            assert score == pytest.approx(mean_of_defined(expected["clip_s_scores"]), rel=1e-6)
            assert found.signature == expected["clip_s_signature"]


@pytest.mark.filterwarnings("ignore:stories without exactly one sentence")
def test_a_story_without_a_sentence_has_no_score(data):
    metric = vlgauge.load("clip_s", **SETTINGS)
    found = sentence_pairs(metric, Stories([[], data.stories[1]], data.images[:2]), n_random=1)
    assert math.isnan(found.own[0])
    assert found.random[0] == pytest.approx([found.random[0][0]])
    with pytest.raises(ValueError, match=r"^`stories`.*at least one sentence"):
        sentence_pairs(metric, Stories([[], []], data.images[:2]), n_random=1)


@pytest.fixture
def file(data, tmp_path):
    """The first three stories as a file next to their images."""
    rows = []
    for i in range(3):
        names = [f"{i}-{k}.png" for k in range(len(data.images[i]))]
        for name, image in zip(names, data.images[i], strict=True):
            image.save(tmp_path / name)
        rows.append({"predictions": data.stories[i], "images": names, "regions": data.regions[i]})
    (tmp_path / "stories.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(tmp_path / "stories.jsonl")


def test_the_command_looks_at_each_image_once_per_encoder(data, file, tmp_path, capsys):
    encoder = clip_encoder(profile="embedded")  # shared by all three metrics under this profile
    memory.process_memory.forget(encoder._scope)
    before = encoder.forwards["image"]
    out = tmp_path / "out.json"
    options = ["--random", "2", "--profile", "embedded", "--regions", "regions", "--output", str(out)]
    options += ["--metrics", "groovist,rovist_vg,clip_s", "--no-progress"]
    assert cli.main(["grounding", "random-pairs", file, *options]) == 0
    shown = capsys.readouterr().out
    assert all(f"{name} (higher is better), 3" in shown for name in ("groovist", "rovist_vg", "clip_s"))
    assert "a demo model" in shown
    found = json.loads(out.read_text())["metrics"]
    assert list(found) == ["groovist", "rovist_vg", "clip_s"]
    assert found["clip_s"]["summary"]["n"] == 3
    crops = sum(len(image["boxes"]) for row in data.regions[:3] for image in row)
    whole = sum(map(len, data.images[:3]))
    assert encoder.forwards["image"] - before <= crops + whole


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ("", "be one or more names, separated by commas, got ''"),
        ("groovist,groovist", "have each name once, got 'groovist' more than once"),
        ("groovist,pac_s", "be one or several of groovist, rovist_vg, clip_s, got 'groovist,pac_s'"),
    ],
)
def test_metrics_that_are_refused(file, capsys, names, problem):
    assert cli.main(["grounding", "random-pairs", file, "--metrics", names]) == 2
    assert f"--metrics must {problem}" in capsys.readouterr().err
