"""Invalid options, rows and files of the training of PAC-S."""

# ruff: noqa: F811  # a fixture that is imported and an argument have one name

import json

import pytest
from micro_clip import (
    drawings,  # noqa: F401  # a fixture
    micro_backbone,  # noqa: F401  # a fixture
    train,  # noqa: F401  # a fixture
    weights,  # noqa: F401  # a fixture
)

from vlgauge.models.clip.heads import read_adapter
from vlgauge.research.training.pac_s import data


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scenes", 1], "`--scenes` must be at least 2, got 1"),
        (["--scenes", 9, "--batch-size", 1], "`--batch-size` must be at least 2, got 1"),
        (["--scenes", 9, "--lora", 0], "`--lora` must be at least 1, got 0"),
        (["--scenes", 9, "--learning-rate", -1], "`--learning-rate` must be a non-negative number, got -1"),
        (["--scenes", 9, "--text-weight", "nan"], "`--text-weight` must be a non-negative number, got nan"),
        (["--scenes", 9, "--test", "a.jsonl"], "`--test` cannot be combined with --scenes"),
        (["--scenes", 9, "--out", "a.pt"], "`--out` must end in .safetensors, got 'a.pt'"),
        (
            ["--scenes", 9, "--out", "no/a.safetensors"],
            "`--out` must be in an existing folder, got 'no/",
        ),
        (["--scenes", 9, "--resume"], "`--resume` requires a checkpoint and is required by one, but '"),
        (
            ["--scenes", 9, "--attention-pool"],
            "`--attention-pool` is required for a ResNet",
        ),
        (["--scenes", 9, "--backbone", "mikro"], "`backbone` must be a name that"),
        (
            ["--scenes", 9, "--learning-rate", 0],
            "`--learning-rate` must reduce the validation loss below the loss of",
        ),
        (["--scenes", 9, "--learning-rate", 1e30], "`--learning-rate` must keep the loss finite, got nan at"),
        (["--train", "gone.jsonl"], "gone.jsonl: No such file"),
    ],
)
def test_options_are_refused(options, message, train):
    status, printed, path = train("--test-scenes", 2, "--max-iterations", 5, *options)
    assert status == 2
    assert f"vlgauge train: error: {message}" in printed
    assert not path.exists()


def test_a_training_without_a_fall_can_be_repeated_at_once(train):
    scenes = ("--scenes", 24, "--test-scenes", 2, "--max-iterations", 10)
    status, printed, path = train(*scenes, "--learning-rate", 0)
    assert (status, path.exists()) == (2, False)
    assert "no fall in 10 iterations; no weights are written" in printed
    assert train(*scenes)[0] == 0


def test_finished_weights_are_replaced_only_when_asked(train):
    scenes = ("--scenes", 24, "--test-scenes", 2, "--max-iterations", 5)
    status, printed, path = train(*scenes)
    assert status == 0, printed
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    status, printed, _ = train(*scenes, "--seed", 1)
    assert (status, printed) == (
        2,
        f"vlgauge train: error: `--out` must be a new path, got {str(path)!r}, which exists; choose "
        "another name, or pass --overwrite to replace it\n",
    )
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before
    status, printed, _ = train(*scenes, "--seed", 1, "--overwrite")
    assert status == 0, printed
    assert path.read_bytes() != before[path.name]
    metadata = read_adapter(path).metadata
    assert "overwrite" not in metadata["command"] + metadata["recipe"]
    path.unlink()
    assert "trained.md', which exists" in train(*scenes)[1]


GOOD = {"image": "0.png", "caption": "a circle"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "must contain JSON, got Expecting property name enclosed in double quotes in line 3"),
        ("[1]", "must contain one JSON object per row, got list in line 3"),
        (
            json.dumps({"caption": "x"}),
            "`bad.jsonl, row 2` must have the columns image, caption, got the columns ['caption']",
        ),
        (
            json.dumps({"image": "0.png"}),
            "`bad.jsonl, row 2` must have the columns image, caption, got the columns ['image']",
        ),
        (json.dumps({**GOOD, "caption": " "}), "`bad.jsonl, row 2` must have text in the column 'caption', got ' '"),
        (json.dumps({**GOOD, "image": 3}), "`bad.jsonl, row 2` must have text in the column 'image', got 3"),
        (json.dumps({**GOOD, "image": "no.png"}), "`bad.jsonl, row 2 image` must be an existing image file, got "),
        (
            json.dumps({**GOOD, "generated_image": "no.png"}),
            "`bad.jsonl, row 2 generated_image` must be an existing image",
        ),
        (
            json.dumps({**GOOD, "generated_image": "rows.jsonl"}),
            "`bad.jsonl, row 2 generated_image` must be a readable",
        ),
        (
            json.dumps({**GOOD, "image": "https://a.b/c.png"}),
            "`bad.jsonl, row 2 image` must be a local file, got the",
        ),
        ("", "`validation` rows must have separate images, got 1 training images"),
    ],
)
def test_rows_are_refused_by_file_and_row(line, message, train, drawings):
    bad = drawings.parent / "bad.jsonl"
    first = {"image": "1.png", "caption": "a star"}
    bad.write_text("\n".join([json.dumps(first), json.dumps(GOOD), line]), "utf-8")
    validation = drawings.parent / "validation.jsonl"
    others = [{"image": f"{i}.png", "caption": "a ring"} for i in ((2, 3) if line else (1, 3))]
    validation.write_text("\n".join(map(json.dumps, others)), "utf-8")
    status, printed, _ = train("--train", bad, "--validation", validation)
    assert status == 2
    assert message in printed


def test_other_files_are_refused(tmp_path, drawings):
    path = tmp_path / "rows.csv"
    for text, message in (
        ("image,caption\na.png\n", r"rows\.csv` must have as many cells as column names, got 1 for 2 in row 0, line 2"),
        ("image,caption\na.png,b,c\n", r"rows\.csv` must have as many cells as column names, got 3 for 2"),
        ('image,caption\n"a,b\n', r"rows\.csv` must be CSV"),
    ):
        path.write_text(text, "utf-8")
        with pytest.raises(ValueError, match=message):
            data.read_rows(path, data.Columns())
    path.write_text("image,caption,foil\n", "utf-8")
    with pytest.raises(ValueError, match=r"^`.*rows\.csv`.*got none"):
        data.read_foils(path, data.Columns())
    path.write_text("image,caption,foil\n0.png,a,\n", "utf-8")
    with pytest.raises(ValueError, match=r"^`rows\.csv, row 0 \(line 2\)`.*foil"):
        data.read_foils(path, data.Columns(), drawings.parent)
    path.write_text("image,caption\n0.png,a\n0.png,b\n", "utf-8")
    with pytest.raises(ValueError, match=r"^`.*rows\.csv`.*at least 2 images"):
        data.read_rows(path, data.Columns(), drawings.parent)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="UTF-8"):
        data.read_rows(path, data.Columns())
