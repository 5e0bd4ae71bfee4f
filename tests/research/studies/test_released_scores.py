"""FLEUR's published values from the scores that its authors released: small files of that form, and errors."""

import json
from itertools import chain

import pytest
from scipy.stats import kendalltau

from vlgauge.cli import main

# Image, its caption, the experts' ratings, and the released score.
RATED = [("a", "A dog  runs .", (4, 4, 3), 0.9), ("a", "A cat .", (1, 2, 1), 0.05), ("b", "Two men .", (3, 2, 2), 0.5)]
PAIRS = {
    "HC": [(1, 0.2, 0.4), (0, 0.2, 0.4), (0, 0.7, 0.3), (1, 0.5, 0.5)],  # a tie is wrong
    "HI": [(1, 0.1, 0.9)],
    "HM": [(0, 0.8, 0.1), (1, 0.8, 0.1)],
    "MM": [(0, 0.3, 0.2)],
}


@pytest.fixture
def released(tmp_path):
    folder = tmp_path / "FLEUR"
    (folder / "results").mkdir(parents=True)
    (folder / "annotations").mkdir()
    told = {}
    for image, caption, ratings, _ in RATED:
        entry = told.setdefault(image, {"image_path": f"{image}.jpg", "ground_truth": ["x"], "human_judgement": []})
        entry["human_judgement"] += [{"caption": caption, "rating": rating} for rating in ratings]
    (folder / "annotations" / "flickr8k.json").write_text(json.dumps(told))
    lines = [
        f"image file : {image}.jpg\ncaption : {' '.join(caption.split())}\nmodel score : 0.5\nour score : {score}\n\n"
        for image, caption, _, score in RATED
    ]
    (folder / "results" / "fleur_flickr8k_expert.txt").write_text("".join(lines))
    for kind, pairs in PAIRS.items():
        text = "".join(
            f"image : x.jpg\nlabel : {label}\n\n"
            + "".join(f"caption : c\nmodel score : 0.5\nour score : {score}\n\n" for score in scores)
            for label, *scores in pairs
        )
        (folder / "results" / f"fleur_pascal_{kind}.txt").write_text(f"{text}true count : 1\ntie count : 0")
    return folder


def verified(folder, capsys):
    main(["verify", "fleur", "--data", str(folder), "--format", "json"])
    return json.loads(capsys.readouterr().out)


def test_numbers_of_small_files(released, capsys):
    record = verified(released, capsys)
    found = {(one["row"], one["column"]): one["ours"] for one in record["compared"]}
    ratings = list(chain.from_iterable(ratings for *_, ratings, _ in RATED))
    scores = [score for *_, score in RATED for _ in range(3)]
    for variant in "bc":
        expected = 100 * kendalltau(scores, ratings, variant=variant).statistic
        assert found["Flickr8k-Expert", f"tau_{variant}"] == pytest.approx(expected)
    assert [found["Pascal-50S", kind] for kind in (*PAIRS, "mean")] == pytest.approx([50, 100, 50, 100, 75])
    assert record["not_checked"] == []


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("fleur_flickr8k_expert", "our score : 0.9", "our score : good", "must have numeric scores"),
        ("fleur_flickr8k_expert", "our score : 0.9", "our score : nan", "must have finite scores"),
        ("fleur_flickr8k_expert", "caption : A dog", "caption : A hound", "must have a score for each caption of"),
        ("fleur_pascal_HC", "label : 0", "label : 2", "must have a label, 0 or 1, for two scores, got 4 for 8"),
    ],
)
def test_files_of_another_content_are_refused(released, capsys, file, old, new, told):
    path = released / "results" / f"{file}.txt"
    path.write_text(path.read_text().replace(old, new, 1))
    (lacking,) = verified(released, capsys)["not_checked"]
    assert told in lacking["why"]


def test_files_that_are_not_there_are_named(released, capsys):
    (released / "results" / "fleur_pascal_MM.txt").unlink()
    (lacking,) = verified(released, capsys)["not_checked"]
    assert lacking["why"] == "results/fleur_pascal_MM.txt not found"
    assert "Yebin46/FLEUR" in lacking["how"]
