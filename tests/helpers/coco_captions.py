"""Captions with references: random examples, and the COCO reference material next to the checkout."""

import gzip
import itertools
import json

import numpy as np
import pytest
from folders import ROOT

import vlgauge
from vlgauge.inputs.text.ngrams import token_ids

COCO = ROOT.parent / "shared" / "oracles" / "coco_fakecap.json.gz"  # next to the checkout, not part of it
needs_coco = pytest.mark.skipif(not COCO.exists(), reason="needs the reference material next to the checkout")

WORDS = ["a", "dog", "runs", "the", "on", "grass", "red"]


def coco():
    return json.loads(gzip.decompress(COCO.read_bytes()))


def random_examples(n_examples, seed):
    """Return captions of 0 to 9 words and 1 to 4 references each, with many words in common."""
    rng = np.random.default_rng(seed)

    def caption(shortest):
        return " ".join(rng.choice(WORDS, rng.integers(shortest, 10)))

    references = [[caption(1) for _ in range(rng.integers(1, 5))] for _ in range(n_examples)]
    return [caption(0) for _ in range(n_examples)], references


def by_example(candidates, references):
    """Return the token ids of candidates and references in turn, and the example index of each."""
    rows = [(own, *theirs) for own, theirs in zip(candidates, references, strict=True)]
    return token_ids(itertools.chain.from_iterable(rows)), np.repeat(np.arange(len(rows)), list(map(len, rows)))


def scores(name, predictions, references, **settings):
    metric = vlgauge.load(name, keep_in_memory=True, progress=False, **settings)
    return metric.compute(predictions=predictions, references=references, return_details=True)
