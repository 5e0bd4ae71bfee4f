"""TIFA160 of DSG: hand-made ratings, questions and answers, invalid files, and the published correlations."""

import csv
import json
import os

import numpy as np
import pytest
from protocol_tasks import evaluated

from vlgauge.cli import main
from vlgauge.families.judged.question_graphs import apply_dependencies, dsg_score, parents_of
from vlgauge.research.protocols import read_dsg_tifa160
from vlgauge.research.protocols.dsg_tifa160 import ANSWERS, QUESTIONS_FILE, RATINGS_FILE
from vlgauge.research.protocols.evaluation import judge
from vlgauge.research.studies.published import rows

MODELS = ("sd1", "vq")
RATINGS = [
    {"t2i_model": model, "item_id": item, "answer": rating}
    for model, item, own in (("sd1", "a_0", "45"), ("vq", "a_0", "12"), ("sd1", "a_1", "3"), ("vq", "a_1", "5"))
    for rating in own
]
QUESTIONS = [
    {"item_id": item, "text": text, "proposition_id": number, "dependency": dependency}
    for item, text, number, dependency in (
        ("a_0", "A  red dog runs.", "1", "0"),
        ("a_0", "A  red dog runs.", "2", "1"),
        ("a_0", "A  red dog runs.", "3", "1, fast"),
        ("a_0", "A  red dog runs.", "4", "2,3"),
        ("a_1", "A cat.", "1", "0"),
        ("b_7", "Of another set.", "1", "none"),
    )
]
GIVEN = {("sd1", "a_0"): "yes no yes yes", ("vq", "a_0"): "no yes yes no", ("sd1", "a_1"): "yes"}
REPLIES = [
    {"dsg_prompt_split": "tifa160", "t2i_model": model, "item_id": item, "question_id": str(i), "answer": answer}
    for (model, item), answers in GIVEN.items()
    for i, answer in enumerate(answers.split(), 1)
]


def write(folder, ratings=RATINGS, questions=QUESTIONS, replies=REPLIES):
    other = {"dsg_prompt_split": "vrd", "t2i_model": "x", "item_id": "y", "question_id": "", "answer": ""}
    tables = {RATINGS_FILE: ratings, QUESTIONS_FILE: questions, ANSWERS["dsg_mplug"]: [*replies, other]}
    for name, lines in tables.items():
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(lines[0]))
            writer.writeheader()
            writer.writerows(lines)
    return folder


def changed(lines, at, **cells):
    return [{**line, **cells} if i == at else line for i, line in enumerate(lines)]


def test_parents():
    assert [parents_of(text, "here") for text in ("0", "1,2", " 2, 1,2", "0,3", "5, ground")] == [
        (),
        (1, 2),
        (2, 1),
        (3,),
        (5,),
    ]
    for text in ("", "none", "-", "1.5"):
        with pytest.raises(ValueError, match=r"here must have numbers of questions as 'dependency', 0 for none, got"):
            parents_of(text, "here")


def test_only_direct_parents_are_asked():
    # Question 3 counts: its parent is answered yes, although that one does not count itself.
    answers, parents = {1: False, 2: True, 3: True}, {1: (), 2: (1,), 3: (2,)}
    assert apply_dependencies(answers, parents) == {1: False, 2: False, 3: True}
    assert dsg_score(answers, parents) == 1 / 3


def test_score_as_plain_loops():
    rng = np.random.default_rng(2)
    for _ in range(200):
        n = int(rng.integers(1, 9))
        answers = {i: bool(rng.random() < 0.7) for i in range(1, n + 1)}
        parents = {i: [j for j in range(1, i) if rng.random() < 0.4] for i in answers}
        total = 0
        for i in answers:
            value = 1 if answers[i] else 0
            for parent in parents[i]:
                if not answers[parent]:
                    value = 0
            total += value
        assert dsg_score(answers, parents) == total / n


def test_a_row_per_image_and_scores_of_the_released_answers(tmp_path):
    task = read_dsg_tifa160([write(tmp_path)], images=tmp_path)
    assert task.columns["predictions"] == ["A red dog runs."] * 2 + ["A cat."] * 2
    assert task.columns["images"][1] == str(tmp_path / "a_0_vq.jpg")
    assert task.ratings.tolist() == [[4.5], [1.5], [3.0], [5.0]]
    assert task.groups == ["a_0", "a_0", "a_1", "a_1"]
    # The last image has no answers.
    assert task.released == {"dsg_mplug": [0.5, 0.0, 1.0, 0.0]}
    assert task.rules == {"ratings": "mean", "dependencies": "parents", "unanswered": 0}
    alone = read_dsg_tifa160([tmp_path], independent=True)
    assert alone.released == {"dsg_mplug": [0.75, 0.5, 1.0, 0.0]}
    found = evaluated(task, task.ratings[:, 0].tolist(), resamples=0)
    assert {name: figure.value for name, figure in found.figures.items()} == pytest.approx(
        {"spearman": 100, "tau_b": 100}
    )


def test_sampled_figures_are_exact():
    from vlgauge.research.protocols.ratings import CORRELATIONS

    rng = np.random.default_rng(4)
    scores, ratings = rng.integers(0, 6, 50) / 6, rng.integers(5, 25, (50, 1)) / 5
    drawn = rng.integers(0, 50, 50)
    found = CORRELATIONS.sampled(scores, ratings, range(50))(drawn)
    assert found == pytest.approx(list(CORRELATIONS.exact(scores[drawn], ratings[drawn]).values()))
    many = rng.random((50, 1)) + np.arange(50)[:, None]
    many = np.concatenate([many, many + 100])
    own = np.arange(100.0)[rng.permutation(100)]
    found = CORRELATIONS.sampled(own, many, range(100))(drawn)
    assert found == pytest.approx(list(CORRELATIONS.exact(own[drawn], many[drawn]).values()))


def test_command(tmp_path, capsys):
    folder = str(write(tmp_path))
    assert main(["protocol", "dsg_tifa160", folder, "--resamples", "0", "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["dsg_mplug"]["scores"] == [0.5, 0.0, 1.0, 0.0]
    assert record["dsg_mplug"]["scores_signature"].endswith("|answers:released")
    call = ["protocol", "dsg_tifa160", folder, "--independent", "--metric", "length", "--against", "dsg_mplug"]
    assert main([*call, "--resamples", "100"]) == 0
    out = capsys.readouterr().out
    assert "length - dsg_mplug" in out
    assert out.split()[:6] == ["metric", "spearman", "tau_b", "rows", "captions", "undefined"]
    assert main(["protocol", "dsg_tifa160", folder, "--metric", "cider"]) == 2
    assert "got cider, which requires references" in capsys.readouterr().err
    (tmp_path / ANSWERS["dsg_mplug"]).unlink()
    assert main(["protocol", "dsg_tifa160", folder]) == 2
    assert "and --write-rows is required" in capsys.readouterr().err
    assert main(["protocol", "thumb", folder, "--independent", "--metric", "length"]) == 2
    assert "--independent is not supported for thumb" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"ratings": changed(RATINGS, 1, answer="6")}, r"row 1 of `.*rating from 1 to 5 as 'answer', got '6'"),
        ({"questions": QUESTIONS[:4]}, r"must have the questions of 'a_1', got none"),
        ({"questions": changed(QUESTIONS, 1, proposition_id="1")}, r"row 1.*another 'proposition_id'.*got 1 again"),
        (
            {"questions": changed(QUESTIONS, 1, proposition_id="x")},
            r"number of a question as 'proposition_id', got 'x'",
        ),
        ({"questions": changed(QUESTIONS, 1, dependency="-")}, r"row 1.*as 'dependency', 0 for none, got '-'"),
        ({"questions": changed(QUESTIONS, 1, dependency="9")}, r"about 'a_0' must have parents.* 1, 2, 3, 4, got 9"),
        ({"questions": changed(QUESTIONS, 0, dependency="2")}, r"'a_0' must have no questions that depend .*got 1, 2"),
        ({"questions": changed(QUESTIONS, 1, dependency="1,-2")}, r"row 1.*as 'dependency', 0 for none, got '1,-2'"),
        ({"questions": changed(QUESTIONS, 1, proposition_id="1" * 5000)}, r"number of a question .*got '111"),
        (
            {"questions": changed(QUESTIONS, 1, text="A cat.")},
            r"row 1.*'text' of the rows above about 'a_0', got 'A cat",
        ),
        (
            {"replies": [{**reply, "dsg_prompt_split": "x"} for reply in REPLIES]},
            r"'dsg_prompt_split' 'tifa160', got",
        ),
        ({"replies": REPLIES[1:]}, r"answer to each question about 'a_0', got \[2, 3, 4\]"),
        ({"replies": changed(REPLIES, 1, question_id="1")}, r"row 1.*another 'question_id'.*got 1 again"),
        ({"replies": changed(REPLIES, 0, item_id="a_9")}, r"about an image with ratings, got 'a_9' of 'sd1'"),
        ({"replies": [{"answer": "yes", "dsg_prompt_split": "tifa160"}]}, r"must have 't2i_model', got"),
    ],
)
def test_other_files(tmp_path, tables, message):
    if "replies" in tables and "item_id" not in tables["replies"][0]:
        write(tmp_path)
        (tmp_path / ANSWERS["dsg_mplug"]).write_text("answer,dsg_prompt_split\nyes,tifa160\n")
    else:
        write(tmp_path, **tables)
    with pytest.raises(ValueError, match=message):
        read_dsg_tifa160([tmp_path])


def test_a_broken_table_names_the_data(tmp_path):
    write(tmp_path)
    (tmp_path / RATINGS_FILE).write_text("t2i_model,item_id,answer\na\n")
    with pytest.raises(ValueError, match=r"^DATA must have as many cells"):
        read_dsg_tifa160([tmp_path])


@pytest.mark.parametrize("files", [None, "folder", [3], [None]])
def test_data_that_is_no_list_of_paths(files):
    with pytest.raises(ValueError, match=r"^DATA must be a list of files and folders, got"):
        read_dsg_tifa160(files)


@pytest.mark.parametrize("independent", [False, True])
def test_published_correlations(independent):
    """Compare with the published correlations, from the files of the clone that VLGAUGE_DSG names."""
    clone = os.environ.get("VLGAUGE_DSG")
    if not clone:
        pytest.skip("VLGAUGE_DSG names no clone of j-min/DSG")
    folders = [os.path.join(clone, "dsg", "data"), os.path.join(clone, "vqa_answers_release")]
    task = read_dsg_tifa160(folders, independent=independent)
    assert len(task.ratings) == 800
    found = judge(task, task.released, resamples=0).evaluations
    exact = {
        "dsg_mplug": [(46.300, 37.995), (46.358, 37.765)],
        "dsg_instructblip": [(44.246, 36.373), (43.616, 35.498)],
        "dsg_pali17b": [(57.039, 45.790), (57.027, 45.698)],
    }
    for name, expected in exact.items():
        assert tuple(found[name].own_values.values()) == pytest.approx(expected[independent], abs=6e-4)
    published = [
        row for row in rows() if row.protocol == task.name and row.rules["dependencies"] == task.rules["dependencies"]
    ]
    assert len(published) == 3
    for row in published:
        own = found[row.metric].own_values
        assert all(abs(own[column] - value) < max(0.0501, row.tolerance) for column, value in row.values.items())
