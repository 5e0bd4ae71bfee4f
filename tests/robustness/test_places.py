"""Invalid values: the message is short and contains their position."""

from contextlib import suppress

import numpy as np
import pytest

import vlgauge
from vlgauge.cli import main
from vlgauge.core.results import printable, to_table
from vlgauge.core.validation import LONGEST_SHOWN, check_bool, check_choice, check_float, check_int, short_repr


class Unshown:
    def __repr__(self):
        raise RuntimeError("no")


def deep_list():
    value = []
    for _ in range(10_000):
        value = [value]
    return value


# -- settings ---------------------------------------------------------------------------------------------------------
VALUES = {
    "deep": (deep_list(), "a list that cannot be shown"),
    "huge": (-(10**5000), "a int that cannot be shown"),
    "long": ("x" * 1000, "'xxxx"),
    "unshown": (Unshown(), "a Unshown that cannot be shown"),
    "masked": (np.ma.masked, "masked"),
    "array": (np.array([1, 2]), r"array\(\[1, 2\]\)"),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize(
    "check",
    [
        lambda value: check_int("it", value, 1),
        lambda value: check_float("it", value),
        lambda value: check_choice("it", value, ("a", "b")),
        lambda value: check_bool("it", value),
    ],
    ids=["check_int", "check_float", "check_choice", "check_bool"],
)
def test_every_check_shows_any_value(check, name):
    value, text = VALUES[name]
    with pytest.raises(ValueError, match=rf"^`it`.*got {text}") as caught:
        check(value)
    assert len(str(caught.value)) < LONGEST_SHOWN + 80


def test_a_value_is_shown_as_it_is():
    assert short_repr([1, "a"]) == "[1, 'a']"
    assert short_repr("x" * 118) == repr("x" * 118)
    assert short_repr(np.eye(2, dtype=int)) == "array([[1, 0], [0, 1]])"


@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_a_whole_number_that_is_no_float(value):
    with pytest.raises(ValueError, match=r"^`it`.*1000"):
        check_float("it", value)


@pytest.mark.parametrize(
    "value",
    ["-" * 100_000 + "1", "(" * 5000 + "1" + ")" * 5000, "9" * 5000, "[" * 300, "1e999", "\0"],
    ids=["signs", "brackets", "digits", "lists", "infinite", "zero byte"],
)
def test_settings_of_the_command(capsys, value):
    assert main(["score", "rovist_nr", "/dev/null", "--set", f"n={value}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("vlgauge score: error: ")
    assert len(line) < 300


# -- columns and per-call inputs --------------------------------------------------------------------------------------
def test_numbers_that_d_hm_cannot_hold():
    fine = {"groovist": 0.5, "rovist_c": 0.5, "rovist_nr": 0.5}
    with pytest.raises(ValueError, match=r"^`predictions\[0\]\['groovist'\]`.*got 1000"):
        vlgauge.load("d_hm").compute(predictions=[fine | {"groovist": 10**400}], references=[fine])


def test_details_that_are_no_truth_value():
    with pytest.raises(ValueError, match=r"^`return_details`.*\[1"):
        vlgauge.load("rovist_nr").compute(predictions=["A. B."], return_details=np.array([1, 2]))
    result = vlgauge.load("rovist_nr").compute(predictions=["A. B."], return_details=np.bool_(True))
    assert "rovist_nr_details" in result


@pytest.mark.parametrize(
    ("image", "message"),
    [
        ({"path": 3}, r"^`images\[0\]\[0\]`.*`path`.*got int"),
        ({"bytes": 10**10}, r"^`images\[0\]\[0\]`.*`bytes`.*got int"),
        ({"bytes": [300]}, r"^`images\[0\]\[0\]`.*`bytes`.*got list"),
    ],
)
def test_images_by_keys(load_demo, image, message):
    with pytest.raises(TypeError, match=message):
        load_demo("image_demo", keep_in_memory=True).compute(predictions=["a"], images=[[image]])


@pytest.mark.parametrize("name", ["rovist_vg", "rovist"])
def test_half_a_character_in_a_story(name):
    metric = vlgauge.load(name, profile="embedded", keep_in_memory=True)
    crops = np.zeros((8, 8, 3), np.uint8)
    with pytest.raises(ValueError, match=r"^`predictions\[0\], sentence 1`"):
        metric.compute(predictions=[["It sat.", "A dog \ud800 ran."]], images=[[crops]])


# -- printed text -----------------------------------------------------------------------------------------------------
def test_what_a_terminal_would_obey_is_shown():
    assert printable("a\x1b[2Jb\x07 \x7f\x9b \u202e\ud800 ok é 日 😀\u200d") == (
        "a\\x1b[2Jb\\x07 \\x7f\\x9b \\u202e\\ud800 ok é 日 😀\u200d"
    )
    assert "\\x1b[31m" in to_table(["\x1b[31m", "b"], [["\x1b[0m", 1]])


CODE = "\x1b]0;title\x07\x9b2J"


@pytest.mark.parametrize(
    ("table", "arguments"),
    [
        (f"id,predictions\nr{CODE},A. B.", ["rows.csv"]),
        (f"id,predictions\nr,A. B.{CODE}", ["rows.csv"]),
        (f"id,p{CODE}\nr,A. B.", ["rows.csv"]),
        ("", [f"{CODE}.csv"]),
        ("predictions\nA. B.", ["rows.csv", "--set", f"variant={CODE}"]),
        ("predictions\nA. B.", ["rows.csv", "--output", f"{CODE}.json"]),
        ("", ["rows.csv", f"--{CODE}"]),
    ],
    ids=["id", "cell", "title", "file", "setting", "output", "option"],
)
def test_no_escape_code_is_printed(tmp_path, monkeypatch, capsys, table, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(table, "utf-8")
    with suppress(SystemExit):  # raised by argparse
        main(["score", "rovist_nr", *arguments])
    out, err = capsys.readouterr()
    assert not {"\x1b", "\x07", "\x9b"} & {*out, *err}
    assert "\\x1b]0;title" in out + err


def test_a_message_has_an_end(tmp_path, capsys):
    title = "x" * 100_000
    (tmp_path / "rows.jsonl").write_text(f'{{"{title}": 1}}')
    assert main(["score", "rovist_nr", str(tmp_path / "rows.jsonl")]) == 2
    assert f"row 0 with: {title[:60]}; choose" in capsys.readouterr().err
    assert main(["score", title, "rows.jsonl"]) == 2
    assert capsys.readouterr().err.endswith("xxx...\n")
