"""The commands of examples/leaderboard/README.md, in the same order."""

import re
import shlex

import pytest
from folders import EXAMPLES

from vlgauge.cli import main

README = EXAMPLES / "leaderboard" / "README.md"


@pytest.mark.sending
def test_every_command_runs_and_the_table_of_the_readme_is_true(tmp_path, monkeypatch, capsys):
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    text = README.read_text("utf-8")
    lines = [
        line
        for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    ]
    assert len(lines) == 13
    printed = {}
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "vlgauge"
        assert main(words) == 0, line
        printed[line] = capsys.readouterr().out
    assert printed[lines[-1]] == text
    # Groups of the systems in the text, by both metrics.
    first = printed[lines[0]].splitlines()[2:5]
    groups = {cells[0]: (cells[4], cells[8]) for cells in (line.replace("* ", "").split() for line in first)}
    assert groups == {"sampler": ("1", "1"), "wanderer": ("1", "1"), "greedy": ("2", "2")}
    below = sorted(
        str(path.relative_to(tmp_path / "exports")) for path in (tmp_path / "exports").rglob("*.*") if path.is_file()
    )
    assert below == [
        *(f"demo/{name}/.eval_results/vlgauge-Ten-scenes.yaml" for name in ("greedy",)),
        "demo/results/README.md",
        "demo/results/data/rovist_nr/demo--scenes--default--test/demo--sampler.parquet",
        "demo/results/data/trm/demo--scenes--default--test/demo--sampler.parquet",
        "demo/results/results.jsonl",
        *(f"demo/{name}/.eval_results/vlgauge-Ten-scenes.yaml" for name in ("sampler", "wanderer")),
    ]
