"""Universal Dependencies rebuilt in spaCy's style, sentences from a grammar, and the training of the small pipeline."""

import numpy as np
import pytest
from english_samples import APPLES
from english_samples import BECAME
from english_samples import BLANK
from english_samples import IN_THE_HOUSE
from english_samples import IS_A_TEACHER
from english_samples import IS_IN
from english_samples import NAMES
from english_samples import OUT_OF
from english_samples import chunks
from english_samples import rebuilt
from english_samples import training_scripts

QUOTED = """
He PRP PRON 2 nsubj
read VBD VERB 0 root
`` `` PUNCT 5 punct
my PRP$ PRON 5 nmod:poss
book NN NOUN 2 obj
'' '' PUNCT 5 punct
"""
STRANDED = """
the DT DET 2 det
town NN NOUN 0 root
which WDT PRON 5 obl
we PRP PRON 5 nsubj
spoke VBD VERB 2 acl:relcl
of IN ADP 3 case
"""
WHERE = """
Where WRB ADV 0 root
is VBZ AUX 1 cop
the DT DET 4 det
map NN NOUN 1 nsubj
? . PUNCT 1 punct
"""


@pytest.fixture(scope="module")
def scripts():
    with training_scripts() as modules:
        yield modules


@pytest.fixture(scope="module")
def rebuild(scripts):
    """`rebuild(rows)`: the rebuilt tree, and its document."""
    return lambda rows: rebuilt(scripts, rows)


def arcs(tree):
    return [f"{tree.labels[i]}({tree.words[head]}, {tree.words[i]})" for i, head in enumerate(tree.heads)]


def test_prepositions_head_their_phrase(rebuild):
    tree, doc = rebuild(IN_THE_HOUSE)
    assert arcs(tree)[3:7] == ["advmod(in, right)", "prep(slept, in)", "det(house, the)", "pobj(in, house)"]
    assert chunks(doc) == ["The dog", "the house"]


def test_two_prepositions_stand_in_a_row(rebuild):
    tree, doc = rebuild(OUT_OF)
    assert arcs(tree)[2:] == ["prep(ran, out)", "prep(out, of)", "poss(garden, my)", "pobj(of, garden)"]
    assert chunks(doc) == ["It", "my garden"]


def test_a_stranded_preposition_leaves_its_noun(rebuild):
    tree, doc = rebuild(STRANDED)
    assert arcs(tree)[2] == "pobj(spoke, which)"
    assert arcs(tree)[5] == "prep(which, of)"
    assert chunks(doc) == ["the town", "which", "we"]


def test_copulas_take_the_place_of_the_predicate(rebuild):
    tree, doc = rebuild(IS_A_TEACHER)
    expected = ["cc(is, But)", "nsubj(is, she)", "ROOT(is, is)", "advmod(is, now)", "det(teacher, a)"]
    assert arcs(tree)[:5] == expected
    assert arcs(tree)[6:] == ["attr(is, teacher)", "prep(teacher, of)", "pobj(of, music)", "punct(is, .)"]
    assert chunks(doc) == ["she", "a good teacher", "music"]


def test_a_predicate_before_its_copula(rebuild):
    tree, doc = rebuild(WHERE)
    assert arcs(tree) == ["advmod(is, Where)", "ROOT(is, is)", "det(map, the)", "nsubj(is, map)", "punct(is, ?)"]
    assert chunks(doc) == ["the map"]


def test_a_predicate_with_a_preposition(rebuild):
    tree, doc = rebuild(IS_IN)
    assert arcs(tree) == ["nsubj(is, She)", "ROOT(is, is)", "prep(is, in)", "det(garden, the)", "pobj(in, garden)"]
    assert chunks(doc) == ["She", "the garden"]


def test_coordinators_go_to_the_first_conjunct(rebuild):
    tree, doc = rebuild(APPLES)
    assert arcs(tree)[3] == "punct(apples, ,)"
    assert arcs(tree)[5] == "cc(apples, and)"
    assert chunks(doc) == ["We", "apples", "pears", "two eggs"]


def test_the_last_part_of_a_name_is_its_head(rebuild):
    tree, doc = rebuild(NAMES)
    expected = ["amod(Smith, Dear)", "compound(Smith, Ann)", "compound(Smith, B.)", "nsubj(saw, Smith)"]
    assert arcs(tree)[:4] == expected
    assert chunks(doc) == ["Dear Ann B. Smith", "Lee"]


def test_opening_punctuation_is_no_part_of_a_phrase(rebuild):
    tree, doc = rebuild(QUOTED)
    assert arcs(tree)[2] == "punct(read, ``)"
    assert chunks(doc) == ["He", "my book"]


def test_nominal_predicates_are_attributes_and_times_are_none(rebuild):
    tree, doc = rebuild(BECAME)
    assert arcs(tree)[3] == "attr(became, doctor)"
    assert chunks(doc) == ["She", "a doctor"]


def test_reading_parted_words_and_spaces(scripts, tmp_path):
    row = "{}\t{}\t_\tX\tXX\t_\t{}\t{}\t_\t{}\n"
    text = (
        "# text = didn't go.\n"
        + row.format("1-2", "didn't", "_", "_", "_")
        + row.format(1, "did", 3, "aux", "_")
        + row.format(2, "n't", 3, "advmod", "_")
        + row.format(3, "go", 0, "root", "SpaceAfter=No")
        + row.format("3.1", "gone", "_", "_", "_")
        + row.format(4, ".", 3, "punct", "_")
        + "\n"
        + row.format(1, "Yes", 0, "root", "_")
    )
    (tmp_path / "dev.conllu").write_text(text)
    first, second = scripts["trees"].read_trees(tmp_path / "dev.conllu")
    assert scripts["train"].gold_doc(BLANK, first).text == "didn't go. "
    assert (first.heads, second.words) == ([2, 2, 2, 2], ["Yes"])


def test_random_trees_stay_trees(scripts):
    trees, rng = scripts["trees"], np.random.default_rng(0)
    labels = ["case", "cop", "cc", "punct", "conj", "flat", "nsubj", "obl", "amod", "advmod", "det", "obl:agent"]
    parts = ["NOUN", "VERB", "ADJ", "PROPN", "PUNCT", "ADP"]
    for _ in range(500):
        n = int(rng.integers(1, 9))
        order = rng.permutation(n)
        heads = [0] * n
        for rank, token in enumerate(order):
            heads[token] = int(order[rng.integers(rank)]) if rank else int(token)
        drawn = [str(label) for label in rng.choice(labels, n)]
        drawn[order[0]] = "root"
        tree = trees.Tree(list("abcdefgh"[:n]), [True] * n, ["NN"] * n, list(rng.choice(parts, n)), heads, drawn)
        rebuilt = trees.rebuilt(tree)
        above = rebuilt.heads
        for _ in range(n):
            above = [rebuilt.heads[head] for head in above]
        assert len(set(above)) == 1
        assert rebuilt.heads[above[0]] == above[0]
