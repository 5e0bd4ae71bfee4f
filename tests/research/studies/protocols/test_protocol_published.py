"""The published numbers of section "FLEUR" from its public annotations and scores, if they are installed.

Expected is a copy of https://github.com/Yebin46/FLEUR (commit b9cd6c9) as `data/fleur` in the folder of reference
material. Without it the tests are skipped.
"""

import json
import re

import folders
import pytest
from protocol_tasks import evaluated

from vlgauge.research.protocols import read_flickr8k_expert, read_pascal50s

GOLDEN = folders.GOLDEN / "pac_s"
PUBLISHED = json.loads((GOLDEN / "protocol_published.json").read_text("utf-8"))
KINDS = ("HC", "HI", "HM", "MM")


@pytest.fixture
def fleur(shared_folder):
    folder = shared_folder / "data" / "fleur"
    if not (folder / "annotations" / "flickr8k.json").is_file():
        pytest.skip(f"FLEUR's annotations and scores are not in {folder}")
    return folder


def numbers(path, label):
    return [float(text) for text in re.findall(rf"^{label} score : (\S+)", path.read_text("utf-8"), re.MULTILINE)]


@pytest.mark.parametrize(("key", "label"), [("fleur", "our"), ("fleur_raw", "model")])
def test_expert(fleur, key, label):
    task = read_flickr8k_expert([fleur / "annotations" / "flickr8k.json"])
    assert (len(task.ratings), len(set(task.groups))) == (PUBLISHED["n_judgements"], PUBLISHED["n_images"])
    scores = numbers(fleur / "results" / "fleur_flickr8k_expert.txt", label)
    assert len(scores) == PUBLISHED["n_unique_pairs"]
    found = evaluated(task, [score for score in scores for _ in range(3)], resamples=0)
    assert {k: v.value for k, v in found.figures.items()} == pytest.approx(PUBLISHED[key], abs=5e-4)


def test_expert_averaged(fleur):
    task = read_flickr8k_expert([fleur / "annotations" / "flickr8k.json"], average=True)
    found = evaluated(task, numbers(fleur / "results" / "fleur_flickr8k_expert.txt", "our"), resamples=0)
    expected = PUBLISHED["averaging_the_three_ratings_first_moves_fleur_to"]
    for name, figure in found.figures.items():
        assert figure.value == pytest.approx(expected[name], abs=0.05)


def test_pascal(fleur):
    task = read_pascal50s([fleur / "annotations" / "pascal_50s.json"])
    scores = [score for kind in KINDS for score in numbers(fleur / "results" / f"fleur_pascal_{kind}.txt", "our")]
    found = {name: figure.value for name, figure in evaluated(task, scores, resamples=0).figures.items()}
    expected = PUBLISHED["pascal50s_fleur"]
    assert found == pytest.approx({name: expected[name] for name in (*KINDS, "mean")}, abs=0.05)
