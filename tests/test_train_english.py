"""Universal Dependencies rebuilt in spaCy's style, sentences from a grammar, and the training of the small pipeline."""

import json
import lzma
import sys
from pathlib import Path

import numpy as np
import pytest

spacy = pytest.importorskip("spacy")

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
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
OUT_OF = """
It PRP PRON 2 nsubj
ran VBD VERB 0 root
out IN ADP 6 case
of IN ADP 6 case
my PRP$ PRON 6 nmod:poss
garden NN NOUN 2 obl
"""
WHERE = """
Where WRB ADV 0 root
is VBZ AUX 1 cop
the DT DET 4 det
map NN NOUN 1 nsubj
? . PUNCT 1 punct
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


@pytest.fixture(scope="module")
def scripts():
    """The modules of the training."""
    sys.path.insert(0, str(SCRIPTS))
    import english_scenes
    import english_stories
    import english_trees
    import train_english

    modules = {"trees": english_trees, "scenes": english_scenes, "stories": english_stories, "train": train_english}
    yield modules
    sys.path.remove(str(SCRIPTS))
    for name in ("english_scenes", "english_stories", "english_trees", "train_english"):
        del sys.modules[name]


@pytest.fixture(scope="module")
def rebuild(scripts):
    """`rebuild(rows)`: the rebuilt tree, and its document."""

    def rebuild(rows):
        words, tags, parts, heads, labels = zip(*(line.split() for line in rows.strip().splitlines()), strict=True)
        above = [int(head) - 1 if head != "0" else i for i, head in enumerate(heads)]
        given = scripts["trees"].Tree(list(words), [True] * len(words), list(tags), list(parts), above, list(labels))
        tree = scripts["trees"].rebuilt(given)
        assert given.heads == above
        return tree, scripts["train"].gold_doc(BLANK, tree)

    return rebuild


def arcs(tree):
    return [f"{tree.labels[i]}({tree.words[head]}, {tree.words[i]})" for i, head in enumerate(tree.heads)]


def chunks(doc):
    return [chunk.text for chunk in doc.noun_chunks]


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


def is_tree(tree):
    """Whether every token leads to a root and no arcs cross."""
    from spacy.pipeline._parser_internals import nonproj

    return not nonproj.contains_cycle(tree.heads) and not nonproj.is_nonproj_tree(tree.heads)


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


def test_chunks_of_the_treebank(scripts, shared_folder):
    """What the steps are for: few chunks begin with a preposition or a mark, few nouns are in none."""
    count = dict.fromkeys(("chunks", "adposition", "punctuation", "nouns", "inside", "crossing"), 0)
    for tree in scripts["train"].find_split(shared_folder / "data" / "ewt", "dev"):
        found = list(scripts["train"].gold_doc(BLANK, tree).noun_chunks)
        covered = {i for chunk in found for i in range(chunk.start, chunk.end)}
        nouns = [i for i, part in enumerate(tree.parts) if part in ("NOUN", "PROPN")]
        count["chunks"] += len(found)
        count["adposition"] += sum(chunk[0].pos_ == "ADP" for chunk in found)
        count["punctuation"] += sum(chunk[0].pos_ == "PUNCT" for chunk in found)
        count["nouns"] += len(nouns)
        count["inside"] += len(covered.intersection(nouns))
        count["crossing"] += not is_tree(tree)
    assert count == {
        "chunks": 6356,
        "adposition": 4,
        "punctuation": 42,
        "nouns": 6077,
        "inside": 5699,
        "crossing": 32,
    }


def test_sentences_of_the_grammar(scripts):
    for tree in scripts["scenes"].scene_trees(200, 3):
        assert is_tree(tree)
        assert sum(head == i for i, head in enumerate(tree.heads)) == 1
        assert all(tree.tags)
        assert all(tree.parts)
        doc = scripts["train"].gold_doc(BLANK, tree)
        covered = {i for chunk in doc.noun_chunks for i in range(chunk.start, chunk.end)}
        assert covered == {i for i, part in enumerate(tree.parts) if part in ("DET", "NOUN", "PRON", "ADJ")} - {
            i for i, word in enumerate(tree.words) if word.lower() in ("there", "alone")
        }


def test_sentences_as_stories_are_told(scripts):
    trees = scripts["stories"].story_trees(400, 3)
    assert trees == scripts["stories"].story_trees(400, 3) != scripts["stories"].story_trees(400, 4)
    verbs = {word for tree in trees for word, tag in zip(tree.words, tree.tags, strict=True) if tag == "VBD"}
    assert (
        {"sang", "leapt", "threw", "laughed"} <= verbs <= {*scripts["stories"].ALONE, *scripts["stories"].WITH_OBJECT}
    )
    for tree in trees:
        assert is_tree(tree)
        assert tree.tags[tree.labels.index("ROOT")] == "VBD"
        assert all(tree.tags)
        assert all(tree.parts)
        doc = scripts["train"].gold_doc(BLANK, tree)
        assert " ," not in doc.text
        covered = {i for chunk in doc.noun_chunks for i in range(chunk.start, chunk.end)}
        within = ("DET", "NOUN", "PROPN", "PRON", "ADJ", "NUM")
        assert covered == {i for i, part in enumerate(tree.parts) if part in within}


def test_variations_keep_the_tree(scripts, rebuild):
    tree, _ = rebuild(IN_THE_HOUSE)
    rng = np.random.default_rng(1)
    texts = {"".join(scripts["train"].gold_doc(BLANK, scripts["train"].varied(tree, rng)).text) for _ in range(40)}
    assert texts == {
        "The dog slept right in the house . ",
        "the dog slept right in the house . ",
        "The dog slept right in the house ",
        "the dog slept right in the house ",
    }


@pytest.fixture(scope="module")
def tiny_treebank(tmp_path_factory):
    """Three splits of the few sentences above."""
    folder = tmp_path_factory.mktemp("treebank")
    blocks = []
    for rows in (IN_THE_HOUSE, IS_A_TEACHER, APPLES, NAMES, OUT_OF, IS_IN, BECAME):
        lines = (line.split() for line in rows.strip().splitlines())
        blocks.append(
            "".join(
                f"{i}\t{word}\t_\t{part}\t{tag}\t_\t{head}\t{label}\t_\t_\n"
                for i, (word, tag, part, head, label) in enumerate(lines, 1)
            )
        )
    for split in ("train", "dev", "test"):
        (folder / f"{split}.conllu").write_text("\n".join(blocks))
    return folder


def run(scripts, *arguments):
    return scripts["train"].main(
        [*map(str, arguments), "--epochs", "2", "--scenes", "20", "--told", "10", "--limit", "7"]
    )


def test_training_writes_a_pipeline_and_repeats_itself(scripts, tiny_treebank, tmp_path, capsys, monkeypatch):
    from vlgauge.english import english_pipeline

    compress = lzma.compress
    monkeypatch.setattr(lzma, "compress", lambda data, preset: compress(data, preset=0))
    for name in ("a", "b"):
        assert run(scripts, tiny_treebank, "--target", tmp_path / name) == 0
    records = [json.loads((tmp_path / name / "pipeline.json").read_text()) for name in ("a", "b")]
    assert records[0] == records[1]
    assert records[0]["trained"] | {"spacy": ""} == {
        "epochs": 2,
        "seed": 0,
        "trees": 7,
        "made_by_grammar": 30,
        "spacy": "",
    }
    assert english_pipeline(tmp_path / "a").pipe_names == ["tok2vec", "tagger", "morphologizer", "parser"]
    capsys.readouterr()
    assert run(scripts, tiny_treebank, "--evaluate", "--target", tmp_path / "a") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["test", "test_lower_case", "scenes", "told"]
    told = {part.split()[0]: float(part.split()[1]) for part in lines[0].split(":")[1].split(", ")}
    assert told == pytest.approx({key: 100 * value for key, value in records[0]["accuracy"]["test"].items()})


def test_a_folder_without_the_treebank(scripts, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"`folder` must hold test.conllu of UD English EWT, got"):
        run(scripts, tmp_path)


def test_the_shipped_pipeline_is_as_good_as_its_card_says(scripts, shared_folder):
    from vlgauge.english import english_pipeline
    from vlgauge.english import english_record

    test = scripts["train"].find_split(shared_folder / "data" / "ewt", "test")[::10]
    found = scripts["train"].evaluate_pipeline(english_pipeline(), test)
    stated = english_record()["accuracy"]["test"]
    assert stated["tag"] >= 0.92
    assert stated["noun_chunks_f"] >= 0.85
    assert found["tag"] == pytest.approx(stated["tag"], abs=0.02)
    assert found["noun_chunks_f"] == pytest.approx(stated["noun_chunks_f"], abs=0.03)


def test_phrases_of_drawn_scenes_and_of_told_stories(scripts):
    from vlgauge.english import english_pipeline

    assert scripts["train"].scene_accuracy(english_pipeline(), n=100) >= 0.97
    assert scripts["train"].told_accuracy(english_pipeline(), n=200) >= 0.97
