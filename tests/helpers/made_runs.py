"""Scores of made-up systems, as `vlgauge score --output` writes them."""

import math

import numpy as np

import vlgauge

# What follows version and profile in the signature.
SETTINGS = {
    "rovist_nr": "variant:released|n:4|sentences:rules|lowercase:False",
    "trm": "distance:meteor-2007+wn3.0|ties:fractional|tie_tol:1e-12|force_zero_self:False",
    "meteor": "version:2007|tokenizer:ptb-3.4.1|variant:meteor-2007+wn3.0",
    "groovist": "enc:mine@00000000|variant:released|penalize:True|sentences:rules|deduplicate:True|drop_pronouns:True|"
    "normalize:None|regions:given|phrases:given|concreteness:none|theta:1",
}


def made_signature(metric="rovist_nr", profile="paper"):
    """Return a valid signature of a metric, with the settings of `SETTINGS`."""
    return "|".join([metric, "v:0.1.0", f"profile:{profile}", *filter(None, [SETTINGS.get(metric)])])


def made_run(scores, metric="rovist_nr", ids=None, profile="paper", **more):
    """Return the scores of one system for one metric."""
    return {
        "ids": list(range(len(scores))) if ids is None else list(ids),
        f"{metric}_scores": [float(score) for score in scores],
        f"{metric}_signature": made_signature(metric, profile),
        **more,
    }


def run_of_record(record):
    """Return equal scores that match a record."""
    scores = [record.value] * record.n + [math.nan] * record.undefined
    return made_run(scores, record.metric) | {f"{record.metric}_signature": record.signature}


def three_systems(metric="rovist_nr", rows=40, seed=0, middle=0.0, scale=1.0):
    """Return one system with clearly higher scores, and two that are nearly equal, centered at `middle`."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=rows)
    shifts = {"high": 1.0, "low": 0.0, "low too": 0.01}
    scores = {name: base + shift + 0.3 * rng.normal(size=rows) for name, shift in shifts.items()}
    return {name: made_run(middle + scale * own, metric) for name, own in scores.items()}


def bleu_run(captions, references, ids=None):
    """Return the BLEU scores of captions, with the counts that they are computed from."""
    result = vlgauge.load("bleu", keep_in_memory=True).compute(predictions=captions, references=references)
    return {"ids": list(range(len(captions))) if ids is None else list(ids), **result}
