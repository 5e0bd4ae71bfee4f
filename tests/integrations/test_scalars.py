"""Finite numbers for logs, and the direction of a metric."""

import json
import math
import re

import numpy as np
import pytest
from folders import ROOT

import vlgauge
from vlgauge.core.catalog import metric_names
from vlgauge.integrations.scalars import greater_is_better, scalars


def test_finite_numbers_of_a_result_by_hand():
    result = {
        "trm": 0.5,
        "trm_scores": [0.5, math.nan],
        "trm_undefined": 1,
        "trm_signature": "trm|v:0",
        "trm_pvalue": math.nan,
        "trm_z": -math.inf,
        "trm_excess": np.float32(0.25),
        "trm_n": np.int64(3),
        "trm_interval": (0.1, 0.2),
        "trm_exact": True,
        "trm_flag": np.bool_(True),
        "trm_extra": None,
    }
    found = scalars(result, "eval_")
    assert found == {"eval_trm": 0.5, "eval_trm_undefined": 1, "eval_trm_excess": 0.25, "eval_trm_n": 3}
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_number_of_a_corpus_is_not_the_mean_of_its_scores():
    captions, references = ["a dog runs on the grass", "two"], [["a dog runs on the lawn"], ["two red balls"]]
    result = vlgauge.load("bleu", keep_in_memory=True).compute(predictions=captions, references=references)
    assert scalars(result)["bleu"] == result["bleu"] != pytest.approx(np.mean(result["bleu_scores"]))


def test_undefined_metric_has_no_number():
    trm = vlgauge.load("trm", keep_in_memory=True)
    with pytest.warns(UserWarning, match="`trm` is undefined"):
        result = trm.compute(predictions=[["a dog"]], references=[["a dog", "a cat"]])
    assert scalars(result)["trm_undefined"] == 1
    assert "trm" not in scalars(result)


@pytest.mark.parametrize(
    ("name", "higher"),
    [("pac_s", True), ("ref_pac_s", True), ("cider", True), ("trm", False), ("mmd_bert", False), ("d_hm", False)],
)
def test_direction_of_a_metric(name, higher):
    assert greater_is_better(name) is higher


def test_direction_of_every_metric_is_that_of_its_class_and_of_the_readme():
    told = re.findall(r"^\| \[(\w+)\]\(.*\| (higher|lower) \|", (ROOT / "README.md").read_text("utf-8"), re.M)
    assert sorted(name for name, _ in told) == metric_names()
    for name, direction in told:
        assert greater_is_better(name) is vlgauge.load(name).higher_is_better is (direction == "higher"), name


def test_direction_of_an_unknown_metric_is_refused():
    with pytest.raises(ValueError, match=r"^`name`.*got 'loss'"):
        greater_is_better("loss")


def test_import_of_the_package_brings_no_integration_and_no_library(run_python, tmp_path):
    code = """
import vlgauge
from vlgauge.integrations import scalars
found = ("accelerate", "datasets", "evaluate", "numpy", "torch", "torchmetrics", "transformers", "trl")
print([name for name in found if name in sys.modules])
"""
    assert run_python(code, cwd=tmp_path) == "[]\n"
