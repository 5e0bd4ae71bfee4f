"""Readers of the evaluation protocols on small files in the published layouts: rows, references, ratings, groups."""

import json
import math

import numpy as np
import protocol_files as made
import pytest
from protocol_tasks import evaluated

from vlgauge.research.protocols import (
    PROTOCOLS,
    read_abstract50s,
    read_composite,
    read_flickr8k_cf,
    read_flickr8k_expert,
    read_foil,
    read_nebula,
    read_pascal50s,
    read_polaris,
    read_vatex_eval,
)
from vlgauge.research.protocols.corpora import read_corpus

pytestmark = pytest.mark.usefixtures("no_sockets")


@pytest.fixture
def folder(tmp_path):
    return tmp_path


@pytest.fixture
def images(tmp_path):
    return made.write_images(tmp_path / "pictures")


# -- Flickr8k ---------------------------------------------------------------------------------------------------------
def test_expert_has_a_row_per_rating(folder, images):
    task = read_flickr8k_expert([made.write_flickr(folder)], images=images)
    assert task.columns["predictions"] == ["A dog .", "A dog .", "A cat .", "A dog .", "Two cats play ."]
    assert task.columns["references"][0] == ["A dog runs .", "A brown dog .", "The dog runs fast ."]
    assert task.columns["references"][4] == ["Two cats ."]
    assert task.ratings.tolist() == [[3.0], [4.0], [1.0], [2.0], [4.0]]
    assert task.groups == ["1", "1", "1", "2", "2"]
    assert task.left_out == {"ratings that are NaN": 1}
    # found under its path, under its name
    assert task.columns["images"][0] == str(images / "Flickr8k_Dataset" / "1.jpg")
    assert task.columns["images"][4] == str(images / "2.jpg")
    assert task.rules == {"references": "all", "ratings": "rows"}


def test_expert_averaged(folder):
    task = read_flickr8k_expert([made.write_flickr(folder)], average=True, references=1)
    assert task.columns["predictions"] == ["A dog .", "A cat .", "A dog .", "Two cats play ."]
    assert task.ratings.ravel().tolist() == [3.5, 1.0, 2.0, 4.0]
    assert task.columns["references"] == [["A dog runs ."]] * 2 + [["Two cats ."]] * 2
    assert task.rules == {"references": 1, "ratings": "averaged"}


def test_crowd_has_shares_and_takes_the_caption_from_its_references(folder):
    task = read_flickr8k_cf([made.write_crowd(folder)])
    assert task.columns["predictions"] == ["A dog .", "A cat .", "Two cats ."]
    assert task.columns["references"] == [["A brown dog ."], ["A dog .", "A brown dog ."], []]
    assert task.ratings.ravel().tolist() == [1.0, 1 / 3, 0.5]
    assert task.left_out == {"ratings that are NaN": 1}


def test_without_references(folder):
    task = read_flickr8k_cf([folder, made.write_crowd(folder)], references=0)
    assert list(task.columns) == ["predictions", "images"]


# -- Composite --------------------------------------------------------------------------------------------------------
COMPOSITE = [
    {"mt": "A  dog.", "refs": ["A dog.", "Dog  runs."], "score": 4, "imgid": "2"},
    {"mt": "A cat.", "refs": "['A dog.', \"It's\"]", "score": "1.5", "imgid": "2.jpg"},
    {"mt": "A cat.", "refs": '["A cat.", "null"]', "score": math.nan, "imgid": 5},
]


def test_composite(folder, images):
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in COMPOSITE), "utf-8")
    task = read_composite([path], images=images)
    assert task.columns["predictions"] == ["A dog.", "A cat."]
    assert task.columns["references"] == [["Dog runs."], ["A dog.", "It's"]]
    assert task.columns["images"] == [str(images / "2.jpg")] * 2
    assert task.ratings.ravel().tolist() == [4.0, 1.5]
    assert task.left_out == {"ratings that are NaN": 1}


def test_composite_with_its_images_in_parquet(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{"mt": "A dog.", "refs": ["x"], "score": 3.0, "imgid": "1", "img": {"bytes": b"picture", "path": "1.jpg"}}]
    pq.write_table(pa.Table.from_pylist(rows), folder / "test.parquet")
    task = read_composite([folder])
    assert task.columns["images"] == [{"bytes": b"picture", "path": None}]


# -- Polaris, Nebula --------------------------------------------------------------------------------------------------
POLARIS = [
    {"mt": "A dog.", "refs": ["A dog.", "Dog runs."], "score": 0.75, "imgid": "2.jpg"},
    {"mt": "A cat.", "refs": "['A dog.', \"It's\"]", "score": "0.0", "imgid": "2.jpg"},
]


@pytest.mark.parametrize(("read", "name"), [(read_polaris, "polaris"), (read_nebula, "nebula")])
def test_polaris_and_nebula_keep_their_references(folder, images, read, name):
    lines = ["mt,refs,score,imgid"]
    for row in POLARIS:
        cells = [str(row[column]).replace('"', '""') for column in ("mt", "refs", "score", "imgid")]
        lines.append(",".join(f'"{cell}"' for cell in cells))
    (folder / f"{name}_test.csv").write_text("\n".join(lines), "utf-8")
    task = read([folder], images=images)
    assert task.columns["references"] == [["A dog.", "Dog runs."], ["A dog.", "It's"]]
    assert task.columns["images"] == [str(images / "2.jpg")] * 2
    assert task.ratings.ravel().tolist() == [0.75, 0.0]
    assert task.name == name


def test_polaris_with_ratings_of_another_scale(folder):
    path = made.write(folder / "p.json", [POLARIS[0], POLARIS[1] | {"score": 4}])
    with pytest.raises(ValueError, match=r"from 0 to 1 as.*'score'.*got 4"):
        read_polaris([path])


# -- Pascal-50S, Abstract-50S -----------------------------------------------------------------------------------------
def test_pascal_votes_kinds_and_images(folder, images):
    task = read_pascal50s([made.write_pascal(folder)], images=images, references=0)
    assert task.votes.tolist() == [[30, 18], [48, 0], [24, 24], [10, 38]]
    assert task.kinds == ["HC", "HI", "HM", "MM"]
    assert task.columns["predictions"][4:6] == ["A cat.", "The cat is a cat."]
    assert task.columns["images"][4:6] == [str(images / "2008_2.jpg")] * 2
    assert task.groups[0] == task.groups[1] != task.groups[2]
    assert (list(task.columns), task.draws) == (["predictions", "images"], 1)


def test_pascal_draws_references_anew(folder):
    task = read_pascal50s([made.write_pascal(folder)], seed=3)
    assert (task.draws, len(task.columns["predictions"])) == (5, 5 * 8)
    assert task.columns["predictions"][:8] == task.columns["predictions"][32:]
    rows = [tuple(row) for row in task.columns["references"]]
    for start in range(0, 40, 2):
        assert rows[start] == rows[start + 1]  # both captions of a pair have the same
        assert len(set(rows[start])) == 5
        assert set(rows[start]) <= set(made.references_of(made.PASCAL[start // 2 % 4]))
    assert len(set(rows)) == 20
    again, other = (read_pascal50s([folder], seed=seed).columns["references"] for seed in (3, 4))
    assert task.columns["references"] == again != other
    assert task.rules == {"references": 5, "draws": 5, "votes": "half", "ties": "wrong", "choice_seed": 3}


def test_pascal_fixed_and_all_references(folder):
    made.write_pascal(folder)
    fixed = read_pascal50s([folder], references=3, draws="fixed")
    assert fixed.columns["references"][0] == made.references_of(made.PASCAL[0])[:3]
    assert (fixed.draws, fixed.rules["draws"]) == (1, "fixed")
    every = read_pascal50s([folder], references=None)
    assert (every.draws, len(every.columns["references"][0])) == (1, 48)


def test_pascal_votes_are_for_captions_and_not_for_places(folder):
    made.write_pascal(folder)
    swapped = [(image, c, b, *rest) for image, b, c, *rest in made.PASCAL]
    made.savemat(
        folder / "pair_pascal.mat",
        {"new_input": made.structures([row[:3] for row in swapped], "abc"), "category": np.array([[1.0, 2, 3, 4]])},
    )
    task = read_pascal50s([folder], references=0)
    assert task.columns["predictions"][0] == "Dog runs."
    assert task.votes.tolist() == [[18, 30], [0, 48], [24, 24], [38, 10]]


def test_pascal_of_fleur(folder):
    path = made.write(folder / "pascal_50s.json", made.FLEUR)
    task = read_pascal50s([path])
    assert task.kinds == ["HC", "MM"]
    assert task.votes.tolist() == [[1, 0], [0, 1]]
    assert task.columns["references"] == [list("uvwxy")] * 2 + [list("pqrst")] * 2
    assert task.columns["images"][2].endswith("4.jpg")
    assert (task.draws, task.rules["draws"]) == (1, "fixed")


def test_abstract_finds_its_images_by_their_sentences(folder, images):
    task = read_abstract50s([made.write_abstract(folder)], images=images, draws=2)
    assert task.columns["images"][:2] == [str(images / "2008_1.jpg")] * 2
    assert len(task.columns["predictions"]) == 16
    assert set(task.kinds) == {"pairs"}
    made.write_abstract(folder, common=20)  # in total, all for the first image
    assert read_abstract50s([folder], images=images, draws=2).columns["images"] == task.columns["images"]
    (folder / "abstract50S.mat").unlink()
    blind = read_abstract50s([folder], draws=2)
    assert "images" not in blind.columns
    assert len(set(blind.groups)) == len(set(task.groups)) == 3


# -- FOIL -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("count", "dogs"), [(1, 1), (4, 4), (None, 5)])
def test_foil_has_a_pair_per_foil(folder, images, count, dogs):
    task = read_foil([made.write_foil(folder)], images=images, references=count)
    assert task.columns["predictions"] == [
        "A dog runs.",
        "A cat runs.",
        "A dog runs.",
        "A bus runs.",
        "A car.",
        "A bike.",
    ]
    assert (
        task.columns["references"][0]
        == task.columns["references"][3]
        == ["One dog.", *(f"Dog {i}." for i in (2, 3, 4, 5))][:dogs]
    )
    assert task.columns["references"][5] == ["Car."]
    assert task.groups == ["7", "7", "8"]
    assert task.votes.tolist() == [[1, 0]] * 3
    assert task.columns["images"][0] == str(images / "COCO_val2014_000000000007.jpg")
    assert evaluated(task, [2, 1, 2, 2, 1, 0], resamples=0).figures["accuracy"].value == pytest.approx(200 / 3)


def test_foil_without_references_needs_one_file(folder):
    made.write_foil(folder)
    (folder / "captions_val2014.json").unlink()
    assert "references" not in read_foil([folder / "foilv1.0_test_2017.json"], references=0).columns


# -- VATEX-EVAL -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("protocol", range(2, 6))
def test_vatex(folder, images, protocol):
    task = read_vatex_eval([made.write_vatex(folder, protocol)], videos=images, references=2)
    assert task.columns["predictions"] == ["A man.", "A dog runs.", "A cat."]
    assert task.columns["references"][1] == ["dog 0.", "dog 1."]
    assert task.columns["videos"] == [str(images / name) for name in ("v1.mp4", "v2.webm", "v1.mp4")]
    assert task.ratings.tolist() == [[1, 2, 1], [5, 4, 5], [2, 1, 3]]
    assert task.groups == ["v1", "v2", "v1"]
    assert list(evaluated(task, [0.1, 0.3, 0.2], resamples=0).figures) == ["tau_b", "spearman"]


def test_vatex_of_lists_with_a_rating_that_is_missing(folder):
    scores = [1.0, math.nan, 2, 2, 4, 1, 1, 5, 3]
    made.write_vatex(folder, human_scores=scores, gts_list=[["a"] * 9, ["b"] * 9, np.array(["c"] * 9, dtype=object)])
    task = read_vatex_eval([folder])
    assert task.columns["predictions"] == ["A man.", "A cat."]
    assert task.columns["references"][1] == ["c"] * 9
    assert task.left_out == {"rows with a rating that is NaN": 1}


# -- common -----------------------------------------------------------------------------------------------------------
def test_corpora_of_word_weights(folder):
    vatex = made.write(folder / "vatex.json", {"a": ["One.", "Two."], "b": ["w " * 100]})
    assert read_corpus(vatex) == ["One.", "Two.", "w " * 100]
    sentences = [" ".join("w" * 66), " ".join("w" * 67)]
    assert read_corpus(made.write(folder / "train.json", {"v": {"sentences": sentences}})) == sentences[:1]


WRITERS = {
    "flickr8k_expert": made.write_flickr,
    "flickr8k_cf": made.write_crowd,
    "composite": lambda folder: made.write(folder / "c.json", COMPOSITE[:2]),
    "polaris": lambda folder: made.write(folder / "p.json", POLARIS),
    "nebula": lambda folder: made.write(folder / "n.json", POLARIS),
    "pascal50s": made.write_pascal,
    "abstract50s": made.write_abstract,
    "foil": made.write_foil,
    "vatex_eval": made.write_vatex,
    "activitynet_foil": made.write_activitynet,
}


def test_no_protocol_is_forgotten():
    # sDCI has a separate test: it has no references, and one of its rules omits images. HAT, nocaps-FOIL, THumB and
    # DSG's TIFA160 have separate tests, too.
    assert {*PROTOCOLS} == {*WRITERS, "sdci", "hat", "nocaps_foil", "thumb", "dsg_tifa160"}


@pytest.mark.parametrize("name", WRITERS)
def test_every_protocol_gives_columns_of_one_length_and_figures(folder, name):
    task = PROTOCOLS[name]([WRITERS[name](folder)])
    assert task.name == name
    lengths = {len(cells) for cells in task.columns.values()}
    assert len(lengths) == 1
    scores = np.random.default_rng(0).normal(size=lengths.pop()).tolist()
    found = evaluated(task, scores, resamples=20)
    assert found.undefined == 0
    assert found.signature.startswith(f"{name}|v:0.1.0|references:")
    assert all(-100 <= figure.value <= 100 for figure in found.figures.values())


def test_names_do_not_lead_out_of_the_folder(folder, images):
    (folder / "secret.jpg").touch()
    content = json.loads(json.dumps(made.FLICKR))
    content["1"]["image_path"] = "../secret.jpg"
    content["2"]["image_path"] = str(folder / "secret.jpg")
    task = read_flickr8k_expert([made.write(folder / "f.json", content)], images=images)
    assert set(task.columns["images"]) == {str(images / "secret.jpg")}
