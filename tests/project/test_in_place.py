"""Metrics run in the files of the repository, so that a breakpoint in one of them is hit."""

import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from folders import METRICS, ROOT

import vlgauge
import vlgauge_metrics
from vlgauge.cli import main
from vlgauge.families.ngram.cider import cider_d_scores
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


@contextmanager
def profiled(note):
    previous = sys.getprofile()
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(previous)


@pytest.mark.parametrize("way", [by_load, by_score, by_command, by_workbench])
def test_formula_runs_where_it_stands(way, tmp_path):
    called = set()

    def note(frame, event, argument):
        called.add((frame.f_code.co_name, frame.f_code.co_filename))

    with profiled(note):
        way(tmp_path)
    assert {Path(file) for name, file in called if name == "non_redundancy"} == {FORMULA}


def test_a_loaded_metric_is_of_the_package():
    metric = vlgauge.load("rovist_nr")
    assert type(metric) is sys.modules["vlgauge_metrics.rovist_nr.rovist_nr"].RovistNr
    assert Path(vlgauge_metrics.__file__).parent == METRICS


@pytest.mark.filterwarnings("ignore:CIDEr-D takes document frequencies")
def test_few_frames_are_between_the_command_and_the_formula(tmp_path):
    file = tmp_path / "captions.csv"
    file.write_text("predictions,references\na dog runs,a dog ran\na cat,two cats\na bird sings,a bird sang\n")
    stacks = []

    def note(frame, event, argument):
        if event == "call" and frame.f_code is cider_d_scores.__code__:
            frames = [frame]
            while frames[-1].f_back is not None:
                frames.append(frames[-1].f_back)
            files = [(one, Path(one.f_code.co_filename)) for one in reversed(frames)]
            own = [one for one, file in files if any(map(file.is_relative_to, (METRICS, ROOT / "shared")))]
            stacks.append([one.f_code.co_qualname for one in own])

    with profiled(note):
        assert main(["score", "cider", str(file)]) == 0
    (stack,) = stacks
    assert (stack[0], stack[-1]) == ("main", "cider_d_scores")
    assert len(stack) <= 7, stack
