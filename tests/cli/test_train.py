"""`vlgauge train`: the recipes, their help, early checks, and the commands in the documentation."""

import os
import re
import shlex
import sys

import pytest
from folders import METRICS, ROOT

from vlgauge.cli import build_parser, main, train
from vlgauge.core.run_locks import exclusive_run
from vlgauge.models.clip.heads import read_adapter

DATA = ROOT / "shared" / "vlgauge" / "data"
WRITTEN = [DATA / "SOURCES.md", DATA / "demo_clip" / "demo_pac_s.md", METRICS / "pac_s" / "README.md"]
SHORTEST = {
    "pac_s": ["--out", "x.safetensors", "--scenes", "9"],
    "polos": ["out", "--scenes", "9"],
    "rovist_c": ["out"],
    "rovist_vg": ["out"],
}


def test_help_lists_the_recipes_and_imports_nothing_heavy(run_python, tmp_path):
    code = (
        "import sys; from vlgauge.cli import main\n"
        "try: main(['train', '--help'])\n"
        "except SystemExit as end: print(end.code, [m for m in HEAVY if m in sys.modules])"
    )
    heavy = "HEAVY = ['torch', 'transformers', 'evaluate', 'datasets', 'matplotlib']\n"
    out = run_python(heavy + code, cwd=tmp_path)
    assert out.endswith("0 []\n")
    for name in SHORTEST:
        assert re.search(rf"^    {name}\b", out, re.MULTILINE)


@pytest.mark.parametrize("name", SHORTEST)
def test_every_recipe_has_a_help_of_its_own(name, capsys):
    with pytest.raises(SystemExit) as end:
        main(["train", name, "--help"])
    assert end.value.code == 0
    assert f"usage: vlgauge train {name}" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["clip_s"], ["rovist_c"], ["pac_s", "--scenes", "x", "--out", "y"]])
def test_usage_errors_are_one_line(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(["train", *arguments])
    assert end.value.code == 2
    assert re.fullmatch(r"vlgauge train.*: error: .*\n", capsys.readouterr().err)


@pytest.mark.parametrize("name", SHORTEST)
def test_missing_packages_are_told_before_the_work(name, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    for module in ("matplotlib", "safetensors"):
        monkeypatch.setitem(sys.modules, module, None)
    told = (
        f"vlgauge train: error: vlgauge train {name} requires packages that are not installed: "
        "safetensors%s; run: pip install"
    )
    for plot, missing, end in ((True, ", matplotlib", ", or pass --no-plot"), (False, "", "")):
        assert main(["train", name, *SHORTEST[name], *([] if plot else ["--no-plot"])]) == 2
        assert capsys.readouterr().err == f'{told % missing} "vlgauge[train]"{end}\n'
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", SHORTEST)
def test_the_second_of_two_trainings_is_refused(name, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    words = SHORTEST[name]
    option, output = words[:2] if name == "pac_s" else ("OUT", words[0])
    with exclusive_run(tmp_path / output, "this", folder=name != "pac_s"):
        assert main(["train", name, *words, "--no-plot"]) == 2
    told = f"vlgauge train: error: {option} must not be in use by another run, got '{output}'; wait"
    assert capsys.readouterr().err.startswith(told)
    assert not list(tmp_path.iterdir())


def test_a_training_goes_on_without_a_reader(monkeypatch):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        train.say("epoch 1")
        train.say("epoch 2")


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_commands_that_are_written_down_can_be_read(path):
    text = path.read_text("utf-8").replace("\\\n", " ")
    found = re.findall(r"^ *vlgauge (train .+)$|`vlgauge (train [^`]+ [^`]+)`", text, re.MULTILINE)
    assert found
    for words in found:
        options = build_parser().parse_args(shlex.split("".join(words)))
        assert options.recipe in SHORTEST


def test_the_command_of_the_shipped_adapter_is_that_of_its_card():
    command = read_adapter(DATA / "demo_clip" / "demo_pac_s.safetensors").metadata["command"]
    assert command in (DATA / "demo_clip" / "demo_pac_s.md").read_text("utf-8")
    assert build_parser().parse_args(shlex.split(command)[1:]).scenes == 12_000


@pytest.mark.parametrize("option", ["--batch-size", "--epochs", "--patience"])
@pytest.mark.parametrize("name", ["polos", "rovist_c", "rovist_vg"])
def test_settings_of_a_recipe_are_at_least_one(name, option, tmp_path, capsys):
    assert main(["train", name, str(tmp_path / "out"), "--scenes", "10", "--no-plot", option, "0"]) == 2
    assert re.search(r"must be .*at least 1, got 0\n$", capsys.readouterr().err)


def test_a_seed_that_torch_does_not_take_is_refused(tmp_path, capsys):
    assert main(["train", "rovist_c", str(tmp_path / "out"), "--scenes", "10", "--seed", "9" * 20]) == 2
    assert "at most 9,223,372,036,854,775,807, got 9999" in capsys.readouterr().err
