"""Values of groovist that its authors' code, or their formulas in float64, gave."""

import json
import math
import warnings

import numpy as np
import pytest
from groovist_parts import ORACLES, features_of, formula, load, phrases, scored

from vlgauge.families.grounding.evidence import read_evidence
from vlgauge.research.studies.groovist_analyses import coverage, harmonic_mean


@pytest.mark.parametrize("case", ORACLES["concreteness_standin"])
def test_authors_phrases_and_weights(case):
    expected = ORACLES["concreteness_standin"][case]
    vectors = {"text": {text: [1.0, 0.0] for text in expected["input"]}, "images": [[[1.0, 0.0]]]}
    result = load().compute(
        predictions=["x"], noun_phrases=[expected["input"]], features=[vectors], return_details=True
    )
    rows = result["groovist_details"][0]["noun_phrases"]
    assert [row["text"] for row in rows] == expected["filtered"]
    assert [row["weight"] for row in rows] == pytest.approx(expected["weights"], abs=1e-9)


@pytest.mark.parametrize("case", ORACLES["penalize_concretize_normalize"])
def test_authors_penalty_and_mean(case):
    penalized = formula.penalize_scores(formula.SCALE * np.array(case["alignments"]), case["theta"])
    score = formula.groovist_score(penalized, case["weights"])
    if case["groovist"] == "nan":
        assert math.isnan(score)
        return
    assert score == pytest.approx(case["groovist"], abs=1e-5)
    assert math.tanh(score) == pytest.approx(case["tanh"], abs=1e-5)
    assert penalized * case["weights"] == pytest.approx(case["NP_scores"], abs=1e-5)


WHOLE = [case for case in ORACLES["full_scoring_given_features"] if "by_formula" in case]
VARIED = {
    "released": {},
    "paper": {"variant": "paper"},
    "no_concreteness": {"concreteness": None, "concreteness_path": None},
    "no_penalty": {"penalize": False},
    "neither": {"penalize": False, "concreteness": None, "concreteness_path": None},
    "tanh": {"normalize": "tanh"},
}


@pytest.mark.parametrize("case", WHOLE, ids=lambda case: case["name"])
def test_authors_scores_from_given_features(case):
    expected = case["by_formula"]
    for name, settings in VARIED.items():
        theta = case["theta"] / (2.5 if name == "paper" else 1)
        result, _ = scored(case, **settings, theta=theta)
        assert result["groovist"] == pytest.approx(expected[name], abs=1e-6), name
    result, details = scored(case)
    assert result["groovist"] == pytest.approx(case["groovist"], abs=1e-5)
    covered = coverage(details)
    assert covered == pytest.approx(expected["reverse"], abs=1e-6)
    assert harmonic_mean(result["groovist"], covered) == pytest.approx(expected["harmonic"], abs=1e-6)
    rows = details["noun_phrases"]
    assert [row["cosine"] for row in rows] == pytest.approx(expected["max_cosine"], abs=1e-6)
    assert [row["cosine"] for row in rows] == pytest.approx(case["max_alignments"], abs=1e-5)
    assert [row["image"] for row in rows] == expected["best_image"]
    each = {row["text"]: row["contribution"] * len(rows) for row in rows}
    assert each == pytest.approx(case["NP_scores"], abs=1e-5)
    assert sum(row["contribution"] for row in rows) == pytest.approx(result["groovist"], abs=1e-12)
    assert details["images_without_regions"] == case["unusable_images"]


@pytest.mark.parametrize("case", WHOLE, ids=lambda case: case["name"])
def test_theta_fitted_on_the_story(case):
    data = {"noun_phrases": [case["nphrases"]], "features": [features_of(case)]}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "images without a region", UserWarning)
        fitted = load(theta=None).fit_theta(predictions=["a story"], **data)
    assert fitted["theta"] == pytest.approx(case["by_formula"]["theta_fitted_on_this_story"], abs=1e-6)
    assert (fitted["n_phrases"], fitted["n_stories"]) == (len(case["filtered"]), 1)


@pytest.mark.parametrize("name", ["no_noun_phrases", "only_pronouns", "all_images_missing"])
def test_undefined_where_the_authors_have_nan_or_zeros(name):
    case = next(case for case in ORACLES["full_scoring_given_features"] if case["name"] == name)
    result, _ = scored(case)
    assert math.isnan(result["groovist"])
    assert result["groovist_undefined"] == 1


def test_story_without_images_is_refused():
    case = next(case for case in ORACLES["full_scoring_given_features"] if case["name"] == "no_images")
    with pytest.raises(ValueError, match=r"^`features\[0\]`.*got none"):
        scored(case)


def test_paper_is_released_divided_by_the_scale_where_no_maximum_is_negative():
    for case in WHOLE:
        if min(case["by_formula"]["max_cosine"]) >= 0:
            released, _ = scored(case)
            paper, _ = scored(case, variant="paper", theta=case["theta"] / 2.5)
            assert paper["groovist"] == pytest.approx(released["groovist"] / 2.5, rel=1e-12)


def test_authors_scores_of_the_published_sample(shared_folder):
    path = shared_folder / "oracles" / "groovist_rovist" / "shared_only" / "groovist_published.json"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    cases = json.loads(path.read_text("utf-8"))["full_scoring_given_features"]
    cases = [case for case in cases if "raises" not in case]
    assert len(cases) == 14
    for case in cases:
        assert phrases.story_phrases([case["nphrases"]]).kept == case["filtered"]
        compared = read_evidence(
            features_of(case), case["filtered"], "f", unit="phrase", top_k=case["B"], min_score=0.0
        )
        story = formula.story_score(compared, case["weights"], case["theta"])
        if len(case["unusable_images"]) == len(case["region_features"]):
            assert math.isnan(story.score)  # the authors' code scores rows of zeros
            continue
        assert story.cosine == pytest.approx(case["max_alignments"], abs=1e-5)
        assert story.score == pytest.approx(float(case["groovist"]), abs=1e-5, nan_ok=True)
