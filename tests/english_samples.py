"""Small trees written for these tests, and the scripts that rebuild them."""

from contextlib import contextmanager

import pytest
from script_modules import scripts_on_path

spacy = pytest.importorskip("spacy")
BLANK = spacy.blank("en")
# Written for these tests: word, tag, part, head, label.
IN_THE_HOUSE = """
The DT DET 2 det
dog NN NOUN 3 nsubj
slept VBD VERB 0 root
right RB ADV 7 advmod
in IN ADP 7 case
the DT DET 7 det
house NN NOUN 3 obl
. . PUNCT 3 punct
"""
IS_A_TEACHER = """
But CC CCONJ 7 cc
she PRP PRON 7 nsubj
is VBZ AUX 7 cop
now RB ADV 7 advmod
a DT DET 7 det
good JJ ADJ 7 amod
teacher NN NOUN 0 root
of IN ADP 9 case
music NN NOUN 7 nmod
. . PUNCT 7 punct
"""
APPLES = """
We PRP PRON 2 nsubj
ate VBD VERB 0 root
apples NNS NOUN 2 obj
, , PUNCT 5 punct
pears NNS NOUN 3 conj
and CC CCONJ 8 cc
two CD NUM 8 nummod
eggs NNS NOUN 3 conj
"""
NAMES = """
Dear JJ ADJ 2 amod
Ann NNP PROPN 5 nsubj
B. NNP PROPN 2 flat
Smith NNP PROPN 2 flat
saw VBD VERB 0 root
Lee NNP PROPN 5 obj
"""
OUT_OF = """
It PRP PRON 2 nsubj
ran VBD VERB 0 root
out IN ADP 6 case
of IN ADP 6 case
my PRP$ PRON 6 nmod:poss
garden NN NOUN 2 obl
"""
IS_IN = """
She PRP PRON 5 nsubj
is VBZ AUX 5 cop
in IN ADP 5 case
the DT DET 5 det
garden NN NOUN 0 root
"""
BECAME = """
She PRP PRON 2 nsubj
became VBD VERB 0 root
a DT DET 4 det
doctor NN NOUN 2 xcomp
last JJ ADJ 6 amod
year NN NOUN 2 obl:unmarked
"""


@contextmanager
def training_scripts():
    """The modules of the training."""
    with scripts_on_path("english_scenes", "english_stories", "english_trees", "train_english"):
        import english_scenes
        import english_stories
        import english_trees
        import train_english

        yield {"trees": english_trees, "scenes": english_scenes, "stories": english_stories, "train": train_english}


def rebuilt(scripts, rows):
    """The rebuilt tree, and its document."""
    words, tags, parts, heads, labels = zip(*(line.split() for line in rows.strip().splitlines()), strict=True)
    above = [int(head) - 1 if head != "0" else i for i, head in enumerate(heads)]
    given = scripts["trees"].Tree(list(words), [True] * len(words), list(tags), list(parts), above, list(labels))
    tree = scripts["trees"].rebuilt(given)
    assert given.heads == above
    return tree, scripts["train"].gold_doc(BLANK, tree)


def chunks(doc):
    return [chunk.text for chunk in doc.noun_chunks]
