"""OnlyStyle and StyleCIDEr by their definitions in exact fractions, and the corpora of several test files."""

import json
import warnings
from functools import cache

import folders
from hypothesis import settings
from hypothesis import strategies as st

from vlgauge.core.catalog import folder_module
from vlgauge.families.style import StyleTable
from vlgauge.research.studies.style_corpora import read_goemotions

ONLYSTYLE, STYLECIDER = (folder_module(name, "reference") for name in ("onlystyle", "stylecider"))
ngrams = ONLYSTYLE.ngrams
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


class Definition(ONLYSTYLE.StyleCorpus):
    """OnlyStyle and StyleCIDEr by their definitions, with the weight of an n-gram computed once."""

    def __init__(self, rows, styles):
        super().__init__(rows, styles)
        self.rows = [(tuple(tokens), style) for tokens, style in rows]
        self.cng = cache(super().cng)

    def stylecider(self, tokens, references, style, variant="paper"):
        def weight(ngram):
            return self.cng(ngram, style, variant)

        return STYLECIDER.stylecider(tokens, references, weight, variant)

    def without(self, tokens, style):
        """Return the definition without one copy of the caption in the style. The style remains, even if empty."""
        rows = list(self.rows)
        if (tuple(tokens), style) in rows:
            rows.remove((tuple(tokens), style))
        return Definition(rows, self.styles)


def table_of(rows):
    """Return a table of pairs (tokens, style), without the warning about captions that have no tokens."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return StyleTable.fit([caption for caption, _ in rows], [style for _, style in rows])


def definition_of(rows):
    """Return the definition on the same rows."""
    return Definition(rows, {style for _, style in rows})


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
