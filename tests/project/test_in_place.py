"""Metrics run in the files of the repository, so that a breakpoint in one of them is hit."""

import sys
from pathlib import Path

import pytest
from folders import METRICS

import vlgauge
import vlgauge_metrics
from vlgauge.cli import main
from vlgauge_workbench import scoring

STORIES = ["The dog ran home. The dog ran home.", "A bird sang. Two cats slept."]
FORMULA = METRICS / "rovist_nr" / "rovist_nr.py"


def by_load(tmp_path):
    vlgauge.load("rovist_nr", keep_in_memory=True).compute(predictions=STORIES)


def by_score(tmp_path):
    vlgauge.score([{"predictions": story} for story in STORIES], "rovist_nr")


def by_command(tmp_path):
    file = tmp_path / "stories.csv"
    file.write_text("predictions\n" + "\n".join(STORIES) + "\n")
    assert main(["score", "rovist_nr", str(file)]) == 0


def by_workbench(tmp_path):
    scoring.score_rows(scoring.metric_of("rovist_nr"), {"predictions": STORIES}, [0, 1])


@pytest.mark.parametrize("way", [by_load, by_score, by_command, by_workbench])
def test_formula_runs_where_it_stands(way, tmp_path):
    called = set()

    def note(frame, event, argument):
        called.add((frame.f_code.co_name, frame.f_code.co_filename))

    previous = sys.getprofile()
    sys.setprofile(note)
    try:
        way(tmp_path)
    finally:
        sys.setprofile(previous)
    assert {Path(file) for name, file in called if name == "non_redundancy"} == {FORMULA}


def test_a_loaded_metric_is_of_the_package():
    metric = vlgauge.load("rovist_nr")
    assert type(metric) is sys.modules["vlgauge_metrics.rovist_nr.rovist_nr"].RovistNr
    assert Path(vlgauge_metrics.__file__).parent == METRICS
