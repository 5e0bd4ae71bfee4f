"""The experiments of GROOViST: random pairs, ablations, agreement with ratings, and their commands."""

import json
import math
import re

import numpy as np
import pytest
from fake_clip import FakeClip
from PIL import Image

import vlgauge
from vlgauge import cli
from vlgauge import grounding_study as study
from vlgauge.cli import grounding
from vlgauge.idf import fit_idf
from vlgauge.rating_agreement import agreement

COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255), "yellow": (255, 255, 0)}
NAMES = list(COLOURS)


def loader(**common):
    """Loads groovist with an encoder of colours, as the command does."""
    settings = {"theta": 0.3, "regions": "whole", "concreteness": "standin", "noun_phrases": "embedded"}
    metric = settings | {"backbone": FakeClip()} | common

    def load(**more):
        return vlgauge.load("groovist", keep_in_memory=True, **metric | more)

    return load


@pytest.fixture
def data():
    stories = [[f"A {name} dog ran.", f"He saw the {name} tree."] for name in NAMES]
    images = [[Image.new("RGB", (6, 6), COLOURS[name])] * 2 for name in NAMES]
    return study.Stories(stories, images)


# -- random pairs -----------------------------------------------------------------------------------------------------
def test_random_stories_are_others_and_differ():
    drawn = study.random_stories(7, 5, seed=1)
    for i, others in enumerate(drawn):
        assert i not in others
        assert len(set(others)) == 5
        assert set(others) <= set(range(7))
    assert drawn == study.random_stories(7, 5, seed=1) != study.random_stories(7, 5, seed=2)
    counts = np.bincount(np.ravel([study.random_stories(5, 2, seed=seed) for seed in range(300)]))
    assert counts.min() > 500


@pytest.mark.parametrize("n_random", [0, 4, -1])
def test_number_of_random_stories(n_random):
    with pytest.raises(
        ValueError, match=f"`n_random` must be from 1 to 3, the number of other stories, got {n_random}"
    ):
        study.random_stories(4, n_random, 0)


def test_best_of_the_random_ones_counts():
    found = study.random_pairs([1.0, 0.2, math.nan, 0.5], [[0.1, 0.4], [0.3, math.nan], [0.9], [math.nan]])
    assert (found.n, found.wins) == (2, 0.5)
    assert (found.own, found.random) == (pytest.approx(0.6), pytest.approx(0.35))
    assert found.difference == pytest.approx(0.25)
    assert found.test.n_items == 2
    nothing = study.random_pairs([math.nan], [[1.0]])
    assert (nothing.n, math.isnan(nothing.own)) == (0, True)


def test_pairs_are_scored_as_the_metric_scores_them(data):
    load, seen = loader(), []
    pairs = study.compared_pairs(load, data, n_random=2, seed=3, advance=seen.append)
    assert sum(seen) == len(data.stories)
    assert "|theta:0.3@given" in pairs.signature
    others = study.random_stories(4, 2, seed=3)
    for i in range(4):
        for j, one in zip([i, *others[i]], [pairs.own[i], *pairs.random[i]], strict=True):
            for settings in ({}, {"penalize": False}, {"concreteness": None}):
                metric = load(**settings)
                expected = metric.compute(predictions=[data.stories[j]], images=[data.images[i]])["groovist"]
                weights = None if "concreteness" in settings else "own"
                found = one.score(0.3, weights=weights, penalize=settings.get("penalize", True))
                assert found == pytest.approx(expected, rel=1e-12)


def test_given_regions_stay_with_their_images(data):
    boxes = [[{"boxes": [[0, 0, 3, 3]]}] * 2 for _ in NAMES]
    with_regions = study.Stories(data.stories, data.images, boxes)
    pairs = study.compared_pairs(loader(), with_regions, n_random=1)
    assert "|regions:given|" in pairs.signature
    assert all(one.scaled for row in pairs.random for one in row)


def test_ablations_are_the_settings_of_the_metric(data):
    load, idf = loader(), fit_idf(data.stories, lowercase=True)
    found = study.ablations(load, data, idf, n_random=1)
    assert list(found) == [name for name, *_ in study.ABLATIONS]
    for name, units, weights, penalize in study.ABLATIONS:
        settings = {"units": units, "penalize": penalize}
        settings |= {"concreteness": "idf", "idf": data.stories} if weights == "idf" else {}
        settings |= {"concreteness": None} if weights is None else {}
        expected = load(**settings).compute(predictions=data.stories, images=data.images)["groovist_scores"]
        assert found[name].own == pytest.approx(expected, rel=1e-12), name
    full = study.random_pairs(found["GROOViST"].own, found["GROOViST"].random)
    assert full.wins == 1.0


# -- agreement --------------------------------------------------------------------------------------------------------
def test_agreement_by_hand():
    # tau-c = 2 (concordant - discordant) / (n^2 (m - 1) / m), m = 2 different ratings
    found = agreement([0.1, 0.2, 0.3, 0.4], [1, 1, 2, 2], resamples=200)
    assert found.tau_c == pytest.approx(2 * 4 / (16 * (1 / 2)))
    assert -1 <= found.low <= found.tau_c <= found.high <= 1
    assert agreement([0.4, 0.3, 0.2, 0.1], [1, 1, 2, 2], resamples=0).tau_c == pytest.approx(-1.0)
    assert math.isnan(agreement([0.4, 0.3], [1, 2], resamples=0).low)


def test_agreement_is_that_of_scipy_and_seeded():
    from scipy.stats import kendalltau

    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 5, 60).astype(float)
    scores = ratings + rng.normal(0, 2, 60)
    expected = kendalltau(scores, ratings, variant="c")
    found = agreement(scores, ratings, resamples=300, seed=1)
    assert (found.tau_c, found.pvalue) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue))
    assert found == agreement(scores, ratings, resamples=300, seed=1)
    assert found.low < found.tau_c < found.high
    assert found.high - found.low < 0.5


def test_what_has_no_agreement():
    nothing = agreement([0.1, math.nan, 0.3], [1, 2, math.nan])
    assert (math.isnan(nothing.tau_c), nothing.n, nothing.n_dropped) == (True, 1, 2)
    assert math.isnan(agreement([0.1, 0.2], [3, 3]).tau_c)
    with pytest.raises(ValueError, match="`ratings` must have one rating per score"):
        agreement([0.1, 0.2], [3])


# -- commands ---------------------------------------------------------------------------------------------------------
@pytest.fixture
def run(data, monkeypatch, tmp_path, capsys):
    """`run(experiment, *options)`: its code, output and error, on a file of the stories."""
    rows = []
    for i, (story, images) in enumerate(zip(data.stories, data.images, strict=True)):
        images[0].save(tmp_path / f"{i}.png")
        cells = {
            "story": story,
            "images": [str(tmp_path / f"{i}.png")] * 2,
            "ratings": [i + 1, i],
            "rating": str(i + 1),
        }
        rows.append(cells | {"regions": [{"boxes": [[0, 0, 3, 3]]}] * 2, "phrases": [[f"a {NAMES[i]} dog"], []]})
    file = tmp_path / "stories.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    load = loader()
    monkeypatch.setattr(grounding, "load_metric", lambda name, **more: load(**more))

    def command(experiment, *options):
        code = cli.main(["grounding", experiment, str(file), "--predictions", "story", "--no-progress", *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


def test_random_pairs_command(run, tmp_path):
    code, out, _ = run("random-pairs", "--random", "2", "--output", str(tmp_path / "out.json"))
    assert code == 0
    assert "groovist, 4 image sequences" in out
    assert ["own story wins", "1.0000"] in [re.split("  +", line) for line in out.splitlines()]
    record = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert len(record["random"][0]) == 2
    assert record["summary"]["n"] == 4
    code, out, _ = run("random-pairs", "--random", "1", "--regions", "regions", "--noun-phrases", "phrases")
    assert "|regions:given|phrases:given|" in out


def test_random_pairs_command_normalizes_as_the_metric(run, data, tmp_path):
    target = tmp_path / "out.json"
    assert run("random-pairs", "--random", "1", "--set", "normalize=tanh", "--output", str(target))[0] == 0
    expected = loader(normalize="tanh")().compute(predictions=data.stories, images=data.images)
    assert json.loads(target.read_text("utf-8"))["own"] == pytest.approx(expected["groovist_scores"], rel=1e-12)


def test_idf_of_a_corpus_is_that_of_lower_case(run, data, tmp_path):
    """Phrases are in lower case, the corpus is not: "A" at the start of a sentence is the word of "a red dog"."""
    target = tmp_path / "out.json"
    assert run("ablations", "--random", "1", "--output", str(target))[0] == 0
    found = json.loads(target.read_text("utf-8"))["variants"]["GROOViST (-C +idf)"]["scores"]["own"]
    table = fit_idf(data.stories, lowercase=True)
    metric = loader(concreteness="idf", idf=data.stories)()
    rows = metric.compute(predictions=data.stories, images=data.images, return_details=True)
    assert found == pytest.approx(rows["groovist_scores"], rel=1e-12)
    first = rows["groovist_details"][0]["noun_phrases"][0]
    assert first["text"] == "a red dog"
    assert (
        first["weight"]
        == pytest.approx(table.mean("a red dog"))
        == pytest.approx((2 * math.log(4 / 5) + math.log(4 / 2)) / 3)
    )


def test_correlation_command(run, tmp_path):
    code, out, _ = run("correlation", "--ratings", "ratings", "--resamples", "20", "--output", str(tmp_path / "o.json"))
    assert code == 0
    assert "P >= 0.2325, rating >= 3.0" in out
    record = json.loads((tmp_path / "o.json").read_text("utf-8"))
    assert record["agreement"]["all stories"]["n"] == 4
    assert len(record["T"]) == len(record["P"]) == 4
    assert run("correlation", "--ratings", "rating", "--resamples", "0")[0] == 0


def test_ablations_command(run, tmp_path):
    code, out, _ = run("ablations", "--random", "1", "--ratings", "rating", "--resamples", "5")
    assert code == 0
    assert [line.split("  ")[0] for line in out.splitlines()[2:]] == [name for name, *_ in study.ABLATIONS]
    fit_idf(["a dog"]).save(tmp_path / "idf.json")
    code, out, _ = run("ablations", "--random", "1", "--idf", str(tmp_path / "idf.json"))
    assert code == 0


def test_fit_theta_command(run, tmp_path):
    path = tmp_path / "theta.json"
    code, out, _ = run("fit-theta", "--theta", str(path))
    assert code == 0
    fitted = json.loads(path.read_text("utf-8"))
    assert f"{fitted['theta']:.4f}" in out
    assert fitted["n_stories"] == 4
    code, out, _ = run("random-pairs", "--random", "1", "--set", f"theta={path}")
    assert f"theta:{fitted['theta']}@fitted-" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("random-pairs", "--random", "4"), "--random must be from 1 to 3, the number of other stories, got 4"),
        (("random-pairs", "--random", "0"), "--random must be from 1 to 3, the number of other stories, got 0"),
        (("ablations", "--random", "-1"), "--random must be from 0 to 3, the number of other stories, got -1"),
        (("ablations", "--set", "units=nouns"), "--set must leave units out for ablations"),
        (("ablations", "--set", "normalize=tanh"), "--set must leave normalize out for ablations"),
        (("ablations", "--set", "concreteness=none"), "--set must leave concreteness out for ablations"),
        (("correlation", "--ratings", "story"), "--ratings must be a column of numbers"),
        (("correlation", "--ratings", "none"), "must have the column 'none'"),
        (("ablations", "--noun-phrases", "phrases"), "--noun-phrases must be left out"),
        (("fit-theta", "--theta", "nowhere/theta.json"), "--theta must be a file in an existing folder"),
        (("fit-theta", "--theta", "t.json", "--output", "./t.json"), "--output must be another file than that of --t"),
        (("random-pairs", "--random", "2", "--set", "thetas=1"), "thetas"),
    ],
)
def test_commands_that_are_refused(run, options, message):
    code, _, error = run(*options)
    assert (code, error.count("\n")) == (2, 1)
    assert message in error
