"""Scores and analyses of groovist compared with sums term by term, on random phrases, regions, scores and settings."""

import csv
import math
import warnings

import numpy as np
import pytest
from groovist_parts import STANDIN, load, phrases

from vlgauge.research.studies.groovist_analyses import analyze_stories

with open(STANDIN, encoding="utf-8-sig", newline="") as table:
    RATINGS = {row["Word"]: float(row["Conc.M"]) for row in csv.DictReader(table, delimiter=";")}
TEXTS = ["a red circle", "the dog", "it", "they", "a small dog", "two dogs", "the truth", "zzz", "the park", "he", ""]


def weight(phrase):
    rated = [RATINGS.get(word, RATINGS.get(word.removesuffix("s"))) for word in phrase.split(" ")]
    known = [rating for rating in rated if rating is not None]
    return sum(known) / len(known) if known else 1.0


def cosine(a, b):
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


class Story:
    """A random story: phrases per sentence, sentence lengths, vectors, and scores of regions."""

    def __init__(self, rng):
        width = int(rng.integers(2, 6))
        n_sentences = int(rng.integers(1, 5))
        n_images = n_sentences if rng.random() < 0.7 else int(rng.integers(1, 6))
        self.phrases = [list(rng.choice(TEXTS, size=int(rng.integers(0, 5)))) for _ in range(n_sentences)]
        self.phrases = [[str(phrase) for phrase in of] for of in self.phrases]
        self.n_words = [int(n) for n in rng.integers(1, 6, n_sentences)]
        self.text = {text: rng.normal(size=width) for text in TEXTS}
        sizes = rng.integers(0, 6, n_images)
        self.images = [rng.normal(size=(size, width)) for size in sizes]
        self.scores = [rng.uniform(size=size) for size in sizes]

    @property
    def sentences(self):
        return [" ".join(["word"] * n) + " -- !" for n in self.n_words]

    @property
    def features(self):
        return {"text": self.text, "images": self.images, "scores": self.scores}

    def regions(self, top_k, min_score):
        """Return the regions of each image that count, as pairs (vector, score)."""
        found = []
        for vectors, scores in zip(self.images, self.scores, strict=True):
            order = sorted((i for i in range(len(scores)) if scores[i] >= min_score), key=lambda i: -scores[i])
            found.append([(vectors[i], scores[i]) for i in order[:top_k]])
        return found


def expected(story, s):
    """Score, coverage, f, P and T of a story with the settings s."""

    def scaled(value):
        return 2.5 * value if s["variant"] == "released" else max(0.0, value)

    def penalized(value):
        return value if value >= s["theta"] or not s["penalize"] else value - s["theta"]

    def never(phrase):
        return phrase in phrases.NEVER_SCORED

    regions = story.regions(s["top_k"], s["min_score"])
    every = [region for image in regions for region, _ in image]
    kept = []
    for phrase in (phrase for of in story.phrases for phrase in of):
        if not (s["drop_pronouns"] and never(phrase)) and not (s["deduplicate"] and phrase in kept):
            kept.append(phrase)
    score = covered = f = math.nan
    if kept and every:
        best = [max(cosine(story.text[phrase], region) for region in every) for phrase in kept]
        score = sum(weight(phrase) * penalized(scaled(c)) for phrase, c in zip(kept, best, strict=True)) / len(kept)
        sure = [r for image in regions for r, v in image if v > 0.5 or not any(other > 0.5 for _, other in image)]
        found = [penalized(scaled(max(cosine(story.text[phrase], region) for phrase in kept))) for region in sure]
        covered = sum(found) / len(found)
        g, r = math.tanh(score), math.tanh(covered)
        f = 2 * g * r / (g + r) if g > 0 and r > 0 else 0.0
    shares = []
    for own, sentence in enumerate(story.phrases):
        matches, unique = 0, [phrase for phrase in dict.fromkeys(sentence) if not never(phrase)]
        for phrase in unique:
            a = [max((scaled(cosine(story.text[phrase], r)) for r, _ in image), default=-math.inf) for image in regions]
            others = [j for j in range(len(a)) if j != own and a[j] >= s["theta"]]
            matches += len(others) if s["matching"] == "each" else a.index(max(a)) in others
        shares.append(matches / len(unique) if unique else 0.0)
    told = any(not never(phrase) for of in story.phrases for phrase in of) and len(regions) == len(story.phrases)
    p = sum(map(len, story.phrases)) / sum(story.n_words)
    return score, covered, f, p, sum(shares) / len(shares) if told else math.nan


@pytest.mark.parametrize("seed", range(16))
def test_every_number_of_a_call(seed):
    rng = np.random.default_rng(seed)
    settings = {
        "variant": ("released", "paper")[seed % 2],
        "penalize": bool(seed // 2 % 2),
        "deduplicate": bool(rng.integers(2)),
        "drop_pronouns": bool(rng.integers(2)),
        "theta": float(rng.uniform(-0.3, 1.5)),
        "top_k": int(rng.integers(1, 5)),
        "min_score": float(rng.uniform(0, 0.6)),
    }
    stories = [Story(rng) for _ in range(5)]
    metric, matching = load(**settings), ("each", "best")[seed // 4 % 2]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "images without a region", UserWarning)
        result = metric.compute(
            predictions=[story.sentences for story in stories],
            noun_phrases=[story.phrases for story in stories],
            features=[story.features for story in stories],
            return_details=True,
        )
    found = {"score": result["groovist_scores"], **vars(analyze_stories(metric, result, matching=matching))}
    names = ("score", "coverage", "f", "proportion", "misalignment")
    columns = zip(*(expected(story, settings | {"matching": matching}) for story in stories), strict=True)
    for name, values in zip(names, columns, strict=True):
        assert found[name] == pytest.approx(values, rel=1e-12, abs=1e-12, nan_ok=True), name
    defined = [score for score in result["groovist_scores"] if not math.isnan(score)]
    assert result["groovist"] == pytest.approx(sum(defined) / len(defined))
