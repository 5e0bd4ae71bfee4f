"""The commands of `vlgauge grounding`."""

import json
import math
import re

import pytest
from coloured_study import NAMES, coloured_stories, loader

from vlgauge import cli
from vlgauge.cli import grounding
from vlgauge.cli.inputs import ratings_of
from vlgauge.inputs.text.story_idf import fit_idf
from vlgauge.research.studies import groovist as study
from vlgauge.stats import FEW_MARK, FEW_NOTE


@pytest.fixture
def data():
    return coloured_stories()


@pytest.fixture
def run(data, monkeypatch, tmp_path, capsys):
    """`run(experiment, *options)`: its exit code, output and errors, for a file of the stories."""
    rows = []
    for i, (story, images) in enumerate(zip(data.stories, data.images, strict=True)):
        images[0].save(tmp_path / f"{i}.png")
        cells = {
            "story": story,
            "images": [str(tmp_path / f"{i}.png")] * 2,
            "ratings": [i + 1, i],
            "rating": str(i + 1),
            "some": str(i + 1) if i else "",
            "first": [0, 0],
            "good": True,
            "huge": [3, math.inf],
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
    lines = [re.split("  +", line) for line in out.splitlines()]
    assert lines[0] == ["groovist (higher is better), 4 image sequences", "value", "95% from", "to"]
    assert ["own story wins", "1.0000", "1.0000", "1.0000"] in lines
    record = json.loads((tmp_path / "out.json").read_text("utf-8"))
    interval = record["summary"]["intervals"]["difference"]
    assert [
        "difference",
        *(f"{x:.4f}" for x in (record["summary"]["difference"], interval["low"], interval["high"])),
    ] in lines
    assert interval["low"] < record["summary"]["difference"] < interval["high"]
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
    """Check that phrases are lowercase and the corpus is not: an initial "A" matches the word of "a red dog"."""
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
    assert f"all stories {FEW_MARK}" in out
    assert f"{FEW_MARK} {FEW_NOTE}.\n" in out
    record = json.loads((tmp_path / "o.json").read_text("utf-8"))
    assert record["agreement"]["all stories"]["n"] == 4
    assert len(record["T"]) == len(record["P"]) == 4
    assert run("correlation", "--ratings", "rating", "--resamples", "0")[0] == 0


def test_analyses_command(run, tmp_path):
    target = tmp_path / "out.json"
    code, out, _ = run("analyses", "--output", str(target))
    assert code == 0
    record = json.loads(target.read_text("utf-8"))
    assert run("correlation", "--ratings", "rating", "--output", str(target))[0] == 0
    correlation = json.loads(target.read_text("utf-8"))
    assert (record["misalignment"], record["proportion"]) == (correlation["T"], correlation["P"])
    rows = {line[0]: line[1:] for line in (re.split("  +", line) for line in out.splitlines()[2:6])}
    assert rows["temporal misalignment T"] == [f"{sum(record['misalignment']) / 4:.4f}", "0"]
    assert rows["coverage of the images"] == [f"{sum(record['coverage']) / 4:.4f}", "0"]
    assert run("analyses", "--sentence-image", "first", "--matching", "best", "--output", str(target))[0] == 0
    assert json.loads(target.read_text("utf-8"))["misalignment"] != record["misalignment"]


def test_what_is_left_out_is_told(run):
    for experiment, *more in (("correlation",), ("ablations", "--random", "1")):
        code, out, _ = run(experiment, "--ratings", "some", "--resamples", "5", *more)
        assert code == 0
        assert "left out for lack of a score or a rating: 1\n" in out
    assert "left out" not in run("correlation", "--ratings", "rating", "--resamples", "5")[1]
    assert "left out" not in run("random-pairs", "--random", "2")[1]


def test_stories_without_a_phrase_are_left_out_of_random_pairs(data, monkeypatch, capsys, tmp_path):
    rows = [{"predictions": story, "images": [str(tmp_path / "a.png")]} for story in [*data.stories, ["It was."]]]
    data.images[0][0].save(tmp_path / "a.png")
    (tmp_path / "five.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "one.jsonl").write_text(json.dumps(rows[0]), encoding="utf-8")
    load = loader()
    monkeypatch.setattr(grounding, "load_metric", lambda name, **more: load(**more))
    assert cli.main(["grounding", "random-pairs", str(tmp_path / "five.jsonl"), "--random", "2", "--no-progress"]) == 0
    out = capsys.readouterr().out
    assert "groovist (higher is better), 4 image sequences" in out
    assert "left out for lack of a score: 1\n" in out
    assert cli.main(["grounding", "random-pairs", str(tmp_path / "one.jsonl"), "--no-progress"]) == 2
    assert "at least 2 stories" in capsys.readouterr().err


def test_ablations_command(run, tmp_path):
    options = ("--random", "1", "--ratings", "rating", "--resamples", "5")
    code, out, _ = run("ablations", *options, "--output", str(tmp_path / "out.json"))
    assert code == 0
    assert "left out" not in out
    lines = out.splitlines()
    assert [line.split("  ")[0] for line in lines[2:9]] == [f"{name} {FEW_MARK}" for name, *_ in study.ABLATIONS]
    assert re.split("  +", lines[0])[-3:] == ["tau-c", "95% from", "to"]
    variants = json.loads((tmp_path / "out.json").read_text("utf-8"))["variants"]
    found = variants["GROOViST (-P)"]["agreement"]["correlations"]["tau_c"]
    assert re.split("  +", lines[4])[-3:] == [f"{found[name]:.4f}" for name in ("value", "low", "high")]
    assert lines[-1].startswith("groovist|")
    assert "units:noun_phrases" in lines[-1]
    fit_idf(["a dog"]).save(tmp_path / "idf.json")
    code, out, _ = run("ablations", "--random", "1", "--idf", str(tmp_path / "idf.json"))
    assert code == 0
    assert "tau-c" not in out


@pytest.mark.parametrize("options", [("random-pairs", "--seed"), ("correlation", "--ratings", "rating", "--resamples")])
def test_numbers_of_draws_are_not_negative(run, capsys, options):
    with pytest.raises(SystemExit):
        run(*options, "-1")
    assert f"argument {options[-1]}: must be an integer of at least 0, got '-1'" in capsys.readouterr().err


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
        (("ablations", "--set", "units=nouns"), "--set units is not supported for ablations"),
        (("ablations", "--set", "normalize=tanh"), "--set normalize is not supported for ablations"),
        (("ablations", "--set", "concreteness=none"), "--set concreteness is not supported for ablations"),
        (("correlation", "--ratings", "story"), "--ratings must be a column of finite numbers"),
        (("correlation", "--ratings", "good"), "--ratings must be a column of finite numbers, got True in row 0"),
        (("correlation", "--ratings", "huge"), "--ratings must be a column of finite numbers, got [3, inf] in row 0"),
        (("correlation", "--ratings", "none"), "must have the column 'none'"),
        (("ablations", "--noun-phrases", "phrases"), "--noun-phrases is not supported"),
        (("fit-theta", "--theta", "nowhere/theta.json"), "--theta must be a file in an existing folder"),
        (
            ("fit-theta", "--theta", "t.json", "--output", "./t.json"),
            "--output must be a different file from that of --t",
        ),
        (("random-pairs", "--random", "2", "--set", "thetas=1"), "thetas"),
    ],
)
def test_commands_that_are_refused(run, options, message):
    code, _, error = run(*options)
    assert (code, error.count("\n")) == (2, 1)
    assert message in error


def test_ratings_of_several_people_are_averaged():
    rows = [{"rating": cell} for cell in ([4, None, 1], [3, "3"], "2", 1.5, "", None, [])]
    assert ratings_of(rows, "rating") == pytest.approx([2.5, 3, 2, 1.5, *[math.nan] * 3], nan_ok=True)
