"""Files of groovist as separate modules, and its scores of the cases that the authors' code was run on."""

import json
import warnings
from functools import cache

import folders

import vlgauge
from vlgauge.core.catalog import folder_module

GOLDEN = folders.GOLDEN / "groovist"
ORACLES = json.loads((GOLDEN / "groovist.json").read_text("utf-8"))
STANDIN = str(GOLDEN / "concreteness_standin.csv")
VIST = 0.6159241924121119


phrases = folder_module("groovist", "phrases")
formula = folder_module("groovist", "formula")


@cache
def loaded(settings):
    return vlgauge.load("groovist", keep_in_memory=True, **dict(settings))


def load(**settings):
    """Return a metric without a model, cached by settings, because loading takes 0.1 seconds."""
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
