"""What a signature of a metric may hold, and the range of its scores with the settings in it."""

import re

import numpy as np
import pytest

from vlgauge.catalog import MetricFacts, score_facts
from vlgauge.clip_score.formula import clip_scores, reference_scores
from vlgauge.signature_checks import bounds_of, signature_fault
from vlgauge.signatures import parse_signature


def facts(**more):
    return MetricFacts("toy", "?", "[0, 1]", True, **more)


@pytest.mark.parametrize(
    ("signature", "fault"),
    [
        ("toy|v:0.1.0|profile:paper|n:4|mode:one", ""),
        ("toy|v:0.2.dev3|profile:embedded|n:-1e-12|mode:two|df:x", ""),
        ("toy|v:0.1.0|profile:paper", "lacks n, mode"),
        ("toy|n:4|mode:one", "lacks v, profile"),
        ("toy|v:1|profile:toy|n:4|mode:one", "has 'profile:toy', where paper or embedded is possible"),
        ("toy|v:1|profile:paper|n:four|mode:one", "has 'n:four', where a number is possible"),
        (
            "toy|v:1|profile:paper|n:inf|mode:one/two",
            "has 'n:inf', .* and has 'mode:one/two', where one or two is possible",
        ),
        ("toy|v:1|profile:paper|n:4|mode:one|df?:x|y:", "has 'df\\?', 'y', which no signature of toy has"),
        ("toy|v:one|profile:paper|n:4|mode:one", "has 'one' as its version, which is none"),
    ],
)
def test_fields_of_a_signature(signature, fault):
    found = signature_fault(facts(signed="n:number mode:one/two df?"), parse_signature(signature)[1])
    assert re.fullmatch(fault, found), found


def test_a_metric_that_may_do_without_a_model_is_of_the_paper_profile_then():
    own = facts(signed="enc?")
    assert signature_fault(own, {"v": "1", "profile": "embedded"}) == "has 'profile:embedded' without a model, `enc`"
    assert signature_fault(own, {"v": "1", "profile": "embedded", "enc": "x"}) == ""
    assert signature_fault(own, {"v": "1", "profile": "paper"}) == ""


@pytest.mark.parametrize(
    ("fields", "bounds"),
    [
        ({}, (-1.0, None)),
        ({"kind": "half"}, (-1.0, 0.5)),
        ({"kind": "half", "scale": "True"}, (0.0, 0.5)),
        ({"scale": "True"}, (0.0, None)),
        ({"kind": "styles", "S": "4"}, (-0.25, 0.75)),
        ({"kind": "styles", "S": "0"}, (-1.0, None)),
        ({"kind": "w", "w": "2.5"}, (-1.0, 2.5)),
    ],
)
def test_ends_of_a_range_by_the_settings(fields, bounds):
    ends = (
        ("kind:half", -7.0, 0.5),
        ("scale:True", 0, None),
        ("kind:styles", "-1/S", "1-1/S"),
        ("kind:w", None, "w"),
        ("kind:half scale:False", 0.25, 0.25),
    )
    assert bounds_of(facts(bounds=(-1.0, None), bounds_with=ends), fields) == pytest.approx(bounds)


@pytest.mark.parametrize("formula", ["1*1", "f(1)", "1.5", "a.b"])
def test_a_formula_is_a_sum_a_difference_or_a_quotient(formula):
    with pytest.raises(ValueError, match="must have numbers, names, \\+, - and / in its formulas, got"):
        bounds_of(facts(bounds_with=(("", formula, None),)), {})


@pytest.mark.parametrize(
    ("signature", "bounds"),
    [
        ("mmd_bert|estimator:unbiased", (-1.0, 2.0)),
        ("mmd_bert|estimator:biased", (0.0, 2.0)),
        ("mmd_bert|variant:released", (0.0, 4.00002)),
        ("onlystyle|variant:paper|styles:4", (-0.25, 0.75)),
        ("onlystyle|variant:released|styles:4", (-0.25, 1.0)),
        ("stylecider|variant:paper", (0.0, 1.0)),
        ("stylecider|variant:released", (0.0, 10.0)),
        ("clip_s|config:image|w:2.5", (0.0, 2.5)),
        ("clip_s|config:video", (None, None)),
        ("ref_clip_s|config:image|w:2.5|variant:paper", (0.0, 10 / 7)),
        ("ref_clip_s|config:image|w:0.5|variant:paper", (0.0, 2 / 3)),
        ("ref_clip_s|config:image|w:0.5|variant:released", (None, None)),
        ("ref_clip_s|config:image|calibration:c|w:0.5|variant:paper", (None, None)),
        ("ref_pac_s|config:image|w:0.25|variant:paper", (0.0, 0.4)),
        ("ref_pac_s|config:video|w:0.25|variant:paper", (None, None)),
        ("ref_fleur|variant:released", (0.0, 1.0)),
        ("pac_s|config:image|w:1.5", (0.0, 1.5)),
        ("rovist_nr|variant:paper", (0.0, 1.0)),
        ("rovist_nr|variant:released", (None, 1.0)),
        ("rovist|scale_vg:True", (None, 3.0)),
        ("rovist_vg|scale:True", (-1.0, 1.0)),
        ("groovist|normalize:tanh", (-1.0, 1.0)),
    ],
)
def test_ranges_of_the_metrics(signature, bounds):
    name, fields = parse_signature(signature)
    assert bounds_of(score_facts(name), fields) == bounds


@pytest.mark.parametrize("w", [0.01, 0.3, 1.0, 2.5])
def test_scores_with_references_reach_their_end_and_no_further(w):
    cosines = np.linspace(-1.0, 1.0, 41)
    found = reference_scores(clip_scores(cosines, w)[:, None], cosines, clamp=True)
    low, high = bounds_of(score_facts("ref_clip_s"), {"config": "image", "variant": "paper", "w": str(w)})
    assert (found.min(), found.max()) == (low, pytest.approx(high, rel=1e-12))
    assert reference_scores(clip_scores(0.1, w), -0.11 * w, clamp=False) > 2 * w
