"""The files of groovist by themselves, and its scores of the cases that its authors' code was run on."""

import importlib.util
import json
import sys
import warnings
from functools import cache

import folders
from folders import TESTS

import vlgauge

GOLDEN = folders.GOLDEN / "groovist"
ORACLES = json.loads((GOLDEN / "groovist.json").read_text("utf-8"))
STANDIN = str(GOLDEN / "concreteness_standin.csv")
VIST = 0.6159241924121119


def sibling(name):
    """A file of the metric, which is no package."""
    path = TESTS.parent / "metrics" / "groovist" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"groovist_{name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


phrases = sibling("phrases")
formula = sibling("formula")
analyses = sibling("analyses")


@cache
def loaded(settings):
    return vlgauge.load("groovist", keep_in_memory=True, **dict(settings))


def load(**settings):
    """A metric that reads no model; one per settings, because a load takes a tenth of a second."""
    settings = {"theta": VIST, "concreteness_path": STANDIN} | settings
    return loaded(tuple(sorted(settings.items())))


def features_of(case):
    usable = [j for j in range(len(case["region_features"])) if j not in case["unusable_images"]]
    images = [rows if j in usable else [] for j, rows in enumerate(case["region_features"])]
    return {"text": dict(zip(case["filtered"], case["text_features"], strict=True)), "images": images}


def scored(case, **settings):
    metric = load(**{"theta": case["theta"], "top_k": case["B"]} | settings)
    data = {"noun_phrases": [case["nphrases"]], "features": [features_of(case)]}
    with warnings.catch_warnings():
        if case["unusable_images"]:
            warnings.filterwarnings("ignore", "images without a region", UserWarning)
        result = metric.compute(predictions=["a story"], **data, return_details=True)
    return result, result["groovist_details"][0]
