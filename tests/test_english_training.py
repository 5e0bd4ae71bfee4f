"""Sentences that grammars make, the training of the English pipeline, and the shipped one."""

import json
import lzma

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
from english_samples import rebuilt
from english_samples import training_scripts


@pytest.fixture(scope="module")
def scripts():
    with training_scripts() as modules:
        yield modules


@pytest.fixture(scope="module")
def rebuild(scripts):
    """`rebuild(rows)`: the rebuilt tree, and its document."""
    return lambda rows: rebuilt(scripts, rows)


def is_tree(tree):
    """Whether every token leads to a root and no arcs cross."""
    from spacy.pipeline._parser_internals import nonproj

    return not nonproj.contains_cycle(tree.heads) and not nonproj.is_nonproj_tree(tree.heads)


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
