"""Style tables, OnlyStyle and StyleCIDEr by their definitions, without code of the package.

They use exact fractions and literal sums. The module also contains the corpora of several test files.
"""

import json
import math
import warnings
from fractions import Fraction
from functools import cache

import folders
from hypothesis import settings
from hypothesis import strategies as st

from vlgauge.families.style import StyleTable
from vlgauge.research.studies.style_corpora import read_goemotions

ORDERS = (1, 2, 3, 4)
GOLDEN = json.loads((folders.GOLDEN / "stylem.json").read_text("utf-8"))
TOY, ASYMMETRIC = GOLDEN["toy"], GOLDEN["asymmetric"]
GOLDEN_CORPORA = {name: GOLDEN[name]["corpus"] for name in ("toy", "asymmetric", "even_spread")}
GOLDEN_CORPORA |= GOLDEN["exclude_self"]["corpora"]

# Few words and short captions, so that n-grams repeat within captions, between them and between styles.
CAPTIONS = st.lists(st.sampled_from("abcde"), max_size=7)
CORPORA = st.lists(st.tuples(CAPTIONS, st.sampled_from(["x", "x", "y", "zz"])), min_size=2, max_size=12).filter(
    lambda rows: len({style for _, style in rows}) > 1
)
# 15 examples are enough, because a wrong formula fails within the first ten.
FEW = settings(deadline=None, max_examples=15)
# Captions with references.
EXAMPLES = st.lists(st.tuples(CAPTIONS, st.lists(CAPTIONS, max_size=3)), min_size=1, max_size=4)


def ngrams_of(tokens, n):
    return {tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)}


class Definition:
    """Li and Harrison (2022), Eqs. 1 to 8, on lists of tokens with one style each."""

    def __init__(self, captions, styles, all_styles=None):
        self.captions = [tuple(caption) for caption in captions]
        self.labels = list(styles)
        self.styles = sorted(set(all_styles or styles))
        self.cache = {}

    def df(self, ngram, style):
        if (ngram, style) not in self.cache:
            own = [c for c, label in zip(self.captions, self.labels, strict=True) if label == style]
            self.cache[ngram, style] = sum(ngram in ngrams_of(c, len(ngram)) for c in own)
        return self.cache[ngram, style]

    def frequencies(self, style, n):
        if (n, style) not in self.cache:
            own = [c for c, label in zip(self.captions, self.labels, strict=True) if label == style]
            self.cache[n, style] = [self.df(u, style) for u in set().union(*(ngrams_of(c, n) for c in own), ())]
        return self.cache[n, style]

    def ecdf(self, ngram, style):
        values, df = self.frequencies(style, len(ngram)), self.df(ngram, style)
        return Fraction(sum(x <= df for x in values), len(values)) if df else Fraction(0)

    def occurrences(self, ngram):
        return sum(self.df(ngram, style) >= 1 for style in self.styles)

    def cng(self, ngram, style, variant="paper"):
        if not self.occurrences(ngram) or (variant == "released" and not self.df(ngram, style)):
            return Fraction(0)
        if (ngram, style, variant) not in self.cache:
            others = [other for other in self.styles if other != style]
            total = sum(self.ecdf(ngram, style) - self.ecdf(ngram, other) for other in others)
            weight = total / self.occurrences(ngram) / (len(others) + (variant == "paper"))
            self.cache[ngram, style, variant] = weight
        return self.cache[ngram, style, variant]

    def onlystyle(self, tokens, style, variant="paper", orders="available"):
        means = []
        for n in ORDERS:
            found = ngrams_of(tokens, n)
            if found:
                means.append(sum(self.cng(ngram, style, variant) for ngram in found) / len(found))
        return sum(means, Fraction(0)) / ((len(means) or 1) if orders == "available" else 4)

    def vector(self, tokens, n, style, variant):
        key = ("vector", tuple(tokens), n, style, variant)
        if key not in self.cache:
            weights = {t: self.cng(t, style, variant) for t in ngrams_of(tokens, n)}
            self.cache[key] = weights, sum(w * w for w in weights.values())
        return self.cache[key]

    def cosine(self, a, b, n, style, variant="paper"):
        (g, g_squared), (h, h_squared) = (self.vector(tokens, n, style, variant) for tokens in (a, b))
        dot = sum(weight * h[ngram] for ngram, weight in g.items() if ngram in h)
        squares = g_squared * h_squared
        return float(dot) / math.sqrt(squares) if squares else 0.0

    def pair(self, a, b, style, variant="paper"):
        score = sum(self.cosine(a, b, n, style, variant) for n in ORDERS) / 4
        if variant == "paper":
            return score
        return 10 * score * math.exp(-((max(len(a) - 1, 0) - max(len(b) - 1, 0)) ** 2) / 72)

    def stylecider(self, tokens, references, style, variant="paper"):
        if not references:
            return math.nan
        return sum(self.pair(tokens, reference, style, variant) for reference in references) / len(references)

    def without(self, tokens, style):
        """Return the definition without one copy of the caption in the style. The style remains, even if empty."""
        rows = list(zip(self.captions, self.labels, strict=True))
        if (tuple(tokens), style) in rows:
            rows.remove((tuple(tokens), style))
        return Definition([c for c, _ in rows], [label for _, label in rows], self.styles)


def table_of(rows):
    """Return a table of pairs (tokens, style), without the warning about captions that have no tokens."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return StyleTable.fit([caption for caption, _ in rows], [style for _, style in rows])


def definition_of(rows):
    """Return the definition on the same rows."""
    return Definition([caption for caption, _ in rows], [style for _, style in rows])


def columns_of(corpus):
    """Return the captions and styles of a corpus in the golden file."""
    rows = [(caption, style) for style, captions in corpus.items() for caption in captions]
    return [list(column) for column in zip(*rows, strict=True)]


@cache
def golden_tables():
    """Return the tables of the golden corpora, keyed by name."""
    return {name: StyleTable.fit(*columns_of(corpus)) for name, corpus in GOLDEN_CORPORA.items()}


@cache
def goemotions(shared_folder):
    """Train and test part of GoEmotions, and the table of the first."""
    parts = [read_goemotions(shared_folder / "data" / "goemotions" / f"{name}.tsv.gz") for name in ("train", "test")]
    return *parts, StyleTable.fit(parts[0].captions, parts[0].styles)
