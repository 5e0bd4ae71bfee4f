"""THumB: hand-made rows and references, invalid files, and the published correlation."""

import json

import pytest
from protocol_tasks import evaluated

from vlgauge.research.protocols import read_thumb

ROWS = [
    {"SYS": "Up-Down", "seg_id": "7", "hyp": "A  dog.", "image": "7.jpg", "P": 4.0, "R": 3.0, "human_score": 3.5},
    {"SYS": "Human", "seg_id": "7", "hyp": "A brown dog runs.", "image": "7.jpg", "human_score": 5.0},
    {"SYS": "Up-Down", "seg_id": "9", "hyp": "A cat.", "image": "9.jpg", "human_score": 2},
]
REFERENCES = [{"seg_id": "9", "refs": ["Cars."]}, {"seg_id": "7", "refs": ["The dog  runs.", "A dog."]}]


def write(folder, rows=ROWS, references=REFERENCES):
    for name, lines in (("mscoco_THumB-1.0.jsonl", rows), ("mscoco_references.json", references)):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return folder


def test_a_row_per_caption_with_the_references_of_its_image(tmp_path):
    task = read_thumb([write(tmp_path)], images=tmp_path)
    assert task.columns["predictions"] == ["A dog.", "A brown dog runs.", "A cat."]
    assert task.columns["references"] == [["The dog runs.", "A dog."]] * 2 + [["Cars."]]
    assert task.columns["images"] == [str(tmp_path / f"{name}.jpg") for name in (7, 7, 9)]
    assert task.ratings.tolist() == [[3.5], [5.0], [2.0]]
    assert task.groups == ["7", "7", "9"]
    assert task.rules == {"references": "all", "ratings": "rows"}
    found = evaluated(task, [0.2, 0.3, 0.1], resamples=0)
    assert {name: figure.value for name, figure in found.figures.items()} == pytest.approx({"tau_b": 100, "tau_c": 100})


def test_without_references_their_file_is_not_needed(tmp_path):
    write(tmp_path)
    (tmp_path / "mscoco_references.json").unlink()
    assert list(read_thumb([tmp_path], references=0).columns) == ["predictions", "images"]
    with pytest.raises(ValueError, match=r"DATA.*mscoco_references\.json"):
        read_thumb([tmp_path])


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("hyp", None, r"row 0.*'hyp'.*got NoneType"),
        ("human_score", "5", r"row 0.*'human_score'.*got str"),
        ("seg_id", "8", r"mscoco_references\.json`.*'seg_id' '8', got none"),
    ],
)
def test_other_files(tmp_path, key, value, message):
    with pytest.raises(ValueError, match=message):
        read_thumb([write(tmp_path, [ROWS[0] | {key: value}, *ROWS[1:]])])


def test_references_that_are_no_list(tmp_path):
    with pytest.raises(ValueError, match=r"row 0.*'refs'.*got str"):
        read_thumb([write(tmp_path, references=[{"seg_id": "7", "refs": "A dog."}])])
