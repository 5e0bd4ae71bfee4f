"""The command `vlgauge study`."""

import json
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from folders import EXAMPLES

from vlgauge.cli import main

TRM = ["--metrics", "trm:distance=rouge_l", "--no-progress"]


@pytest.fixture
def file(tmp_path):
    """Three images with 8 human captions, and samples of a system at two temperatures."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(3):
        words = [f"w{i}{j}" for j in range(6)]
        texts = [" ".join(rng.choice(words, 4)) for _ in range(12)]
        sampled = {"0.5": texts[:1] * 4, "1": texts[8:]}
        rows.append({"references": texts[:8], "ours": sampled, "odd": {"1": texts[:4]} if i else sampled})
        rows[-1] |= {"words": {"hot": texts[:2]}, "plain": texts[:4], "id": i}
    path = tmp_path / "sets.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


@pytest.mark.parametrize(
    ("study", "options", "titles", "n_rows", "drawn"),
    [
        ("curve", ["--predictions", "ours"], ["candidates from", "temperature", "sizes"], 6, "temperature"),
        ("unique-versus-correct", ["--per-side", "3"], ["unique", "correct", "metric"], 36, "correct candidates"),
        ("splits", ["--size", "2"], ["metric", "sizes", "splits"], 3, "equal distributions"),
        (
            "central",
            ["--show", "1"],
            ["central captions", "distance", "the others'"],
            3,
            "words of the central caption",
        ),
    ],
)
def test_studies_print_write_and_draw(file, tmp_path, capsys, study, options, titles, n_rows, drawn):
    out, plot = tmp_path / "rows.json", tmp_path / "picture.svg"
    command = ["study", study, str(file), *TRM, *options, "--output", str(out), "--plot", str(plot)]
    assert main(command) == 0
    table = capsys.readouterr().out
    assert [title.strip() for title in table.splitlines()[0].split("  ") if title.strip()][:3] == titles
    assert len(json.loads(out.read_text())["rows"]) == n_rows
    assert drawn in plot.read_text()
    if study == "central":
        assert "words more than the others of the image: 0.00 [0.00, 0.00]†, 3 images" in table
        assert "of captions assigned to the images at random: 0.00 [0.00, 0.00]†, 3 images" in table
        assert "more than by chance: 0.00 [0.00, 0.00]†, 3 images" in table
        assert len(json.loads(out.read_text())["by_chance"]) == n_rows
        assert "captions assigned at random 0.00" in plot.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["curve", "--predictions", "plain"], "--predictions must be columns of captions by temperature"),
        (["curve", "--predictions", "words"], "--predictions must have temperatures of at least 0, got 'hot' in row 0"),
        (
            ["curve", "--predictions", "odd"],
            "--predictions must have the same temperatures in every row, got different ones in",
        ),
        (["curve"], "must have the column 'predictions'"),
        (["splits", "--references", "id"], "`references[0]` must be a list of captions, got int"),
        (["splits", "--size", "5"], "`references` must have 10 captions of an image for two groups, got 8"),
        (["unique-versus-correct"], "`references` must have 20 captions of an image, 10 per side, got 8"),
        (["central", "--metrics", "trm,mmd_bert"], "--metrics must be trm, with one distance, for central captions"),
        (["central", "--plot", "picture.gif"], "--plot must end in one of .png, .svg, .pdf, got 'picture.gif'"),
        (["splits", "--output", "nowhere/rows.json"], "--output must be a file in an existing folder"),
    ],
)
def test_errors_are_one_line(file, capsys, arguments, message):
    assert main(["study", arguments[0], str(file), *TRM, *arguments[1:]]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_central_captions_need_three(tmp_path, capsys):
    file = tmp_path / "two.jsonl"
    file.write_text(json.dumps({"references": ["a", "b"]}))
    assert main(["study", "central", str(file), *TRM]) == 2
    assert "at least three captions of an image" in capsys.readouterr().err


@pytest.fixture
def mauve(file, tmp_path, monkeypatch):
    """The command for the file, with a package that has the signature of mauve-text and returns the passed curve."""
    words = tmp_path / "words.txt"
    words.write_text("\n".join(f"w{i}{j}" for i in range(3) for j in range(6)), "utf-8")

    def run(curve, *options):
        def compute_mauve(p_features, q_features, seed, verbose):
            made = {} if curve is None else {"divergence_curve": np.array(curve)}
            return SimpleNamespace(mauve=len(q_features) / 100, **made)

        module = ModuleType("mauve")
        module.compute_mauve = compute_mauve
        monkeypatch.setitem(sys.modules, "mauve", module)
        command = ["study", "mauve", str(file), "--predictions", "plain", "--encoder", f"bow:{words}"]
        return main([*command, "--no-progress", *options])

    return run


@pytest.mark.filterwarnings("always:MAUVE")
@pytest.mark.parametrize(
    ("curve", "drawn"), [([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], "exp(-c KL)"), (None, "people, 12 v 12: 0.120")]
)
def test_mauve_prints_writes_and_draws(mauve, tmp_path, capsys, curve, drawn):
    out, plot = tmp_path / "rows.json", tmp_path / "picture.svg"
    assert mauve(curve, "--output", str(out), "--plot", str(plot)) == 0
    printed = capsys.readouterr()
    assert [line.split()[-4:] for line in printed.out.splitlines()[2:5]] == [
        ["3", "12", "24", "0.1200"],
        *[["3", "12", "12", "0.1200"]] * 2,
    ]
    assert "encoder: bow:local@sha256-" in printed.out
    assert "fewer than 100" in printed.err
    rows = json.loads(out.read_text())["rows"]
    assert [row["candidates from"] for row in rows] == ["model", "people", "model, human set sizes"]
    assert [row["curve"] for row in rows] == [curve] * 3
    assert drawn in plot.read_text()


def test_mauve_names_its_package_before_it_encodes(file, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "mauve", None)
    assert main(["study", "mauve", str(file), "--predictions", "plain", "--encoder", "bow:nowhere"]) == 2
    error = capsys.readouterr().err
    assert "MAUVE requires the package mauve-text; run: pip install mauve-text" in error
    assert error.count("\n") == 1


def test_mauve_compares_lists_of_captions(mauve, capsys):
    assert mauve(None, "--references", "id") == 2
    assert "`references[0]`" in capsys.readouterr().err


def test_splits_without_end_are_refused(capsys):
    assert main(["study", "splits", str(EXAMPLES / "caption_sets.jsonl"), "--draws", "9" * 30]) == 2
    assert "at most 10,000, got 9999" in capsys.readouterr().err
