"""DSG: answers by hand, the three sources of questions, the definition as plain loops, and every error message."""

import csv
import json
import math
import pickle

import numpy as np
import pytest
import tiny_judges

import vlgauge
from vlgauge import scenes
from vlgauge.cli import main
from vlgauge.core.catalog import folder_module
from vlgauge.core.errors import UsageError
from vlgauge.explain import explain
from vlgauge.families import judged
from vlgauge.integrations.batches import RowScorer
from vlgauge.models.judges import Answer

GREY, DARK = (np.full((8, 8, 3), value, dtype=np.uint8) for value in (128, 20))
NAMES = ("proposition_id", "dependency", "question_natural_language")
END = "Please answer yes or no."


def rows_of(*questions):
    return [dict(zip(NAMES, one, strict=True)) for one in questions]


DOG = rows_of((1, "0", "Is there a dog?"), (2, "1", "Is the dog brown?"), (3, "1,2", "Is it a brown poodle?"))
CAT = rows_of((1, 0, "Is there a cat?"))


class Scripted:
    """Judge model with a given probability of yes per question, which records the requests.

    Questions of text only get the given answers.
    """

    identity, dtype, preparation, reads_digits = "scripted", "float32", "own", True

    def __init__(self, *answers, ended=True, **chances):
        self.chances_of = {name.replace("_", " "): chance for name, chance in chances.items()}
        self.texts, self.ended, self.asked, self.calls = answers, ended, [], 0

    def opening(self, opening):
        return "none"

    def find_altered(self, questions):
        return ["<s>" in one.text() for one in questions]

    def answers(self, questions, opening, *, longest, batch_size=1, progress=None):
        self.asked += [one.text() for one in questions]
        none = np.zeros((1, 10))
        return [Answer(text, np.array([-1]), none, self.ended) for text in self.texts[: len(questions)]]

    def chances(self, questions, answers, opening, *, batch_size=1, progress=None):
        self.calls += 1
        found = []
        for question, answer in zip(questions, answers, strict=True):
            self.asked.append((question.text(), answer, question.image_key))
            yes = next(chance for name, chance in self.chances_of.items() if name in question.text())
            with np.errstate(divide="ignore"):
                # The probability of the end token must not count.
                found.append(np.log([0.5 * (yes if answer == "Yes" else 1 - yes), 1e-3 if answer == "Yes" else 0.9]))
        return found


def scored(judge, predictions, given, images=None, **settings):
    metric = vlgauge.load("dsg", model=judge, keep_in_memory=True, **settings)
    images = [GREY] * len(predictions) if images is None else images
    return metric.compute(predictions=predictions, images=images, questions=given, return_details=True)


# -- by hand ----------------------------------------------------------------------------------------------------------
def test_a_no_takes_the_children_along():
    result = scored(Scripted(dog=0.2, poodle=0.8, brown=0.9), ["a brown poodle"], [DOG])
    assert result["dsg_scores"] == [0.0]
    # The poodle counts without its parents only.
    assert scored(Scripted(dog=0.2, poodle=0.8), ["x"], [DOG], independent=True)["dsg"] == pytest.approx(1 / 3)
    result = scored(Scripted(**{"a dog": 0.9, "the dog brown": 0.3, "poodle": 0.8}), ["x"], [DOG])
    assert result["dsg"] == pytest.approx(1 / 3)
    told = result["dsg_details"][0]["questions"]
    assert [one["answer"] for one in told] == ["yes", "no", "yes"]
    assert [one["counted"] for one in told] == [True, False, False]
    assert [one["probability"] for one in told] == pytest.approx([0.9, 0.3, 0.8])
    assert [one["parents"] for one in told] == [[], [1], [1, 2]]
    assert result["dsg_details"][0]["unparsed"] is None
    assert result["dsg_n_questions"] == 3


def test_equal_probabilities_are_no():
    assert scored(Scripted(cat=0.5), ["a cat"], [CAT])["dsg"] == 0.0
    assert scored(Scripted(cat=0.501), ["a cat"], [CAT])["dsg"] == 1.0


def test_each_question_about_an_image_is_asked_once():
    judge = Scripted(cat=0.9)
    result = scored(judge, ["a cat", "the cat", "a cat"], [CAT] * 3, [GREY, GREY, DARK])
    assert result["dsg_scores"] == [1.0] * 3
    assert len(judge.asked) == len(set(judge.asked)) == 4  # two images, two answers
    assert judge.calls == 1
    assert {text for text, *_ in judge.asked} == {f"Is there a cat? {END}"}
    assert result["dsg_n_questions"] == 3


def test_undefined_rows():
    judge = Scripted(cat=math.nan, dog=0.9, brown=0.9, poodle=1.0)
    result = scored(judge, ["a cat", "nothing", "a dog"], [CAT, [], DOG])
    assert [math.isnan(score) for score in result["dsg_scores"]] == [True, True, False]
    assert (result["dsg_undefined"], result["dsg_unread"]) == (2, 0)
    (told,) = result["dsg_details"][0]["questions"]
    assert (told["probability"], told["answer"], told["counted"]) == (None, None, False)
    reasons = [
        explain("dsg", {"predictions": ["a cat", "x", "a dog"]}, result).explain_undefined(row) for row in (0, 1)
    ]
    assert reasons == ["the model did not return how likely yes and no are", "there are no questions about the caption"]


def test_definition_as_plain_loops():
    reference = folder_module("dsg", "reference")
    rng = np.random.default_rng(6)
    for _ in range(300):
        n = int(rng.integers(1, 9))
        answers = {i: bool(rng.random() < 0.7) for i in range(1, n + 1)}
        parents = {i: [j for j in range(1, i) if rng.random() < 0.4] for i in answers}
        words = {i: "yes" if yes else "no" for i, yes in answers.items()}
        found = judged.dsg_score(answers, parents)
        assert found == pytest.approx(reference.dsg(words, parents), abs=1e-12)
        alone = judged.dsg_score(answers, dict.fromkeys(answers, ()))
        assert found <= alone == sum(answers.values()) / n


# -- tables -----------------------------------------------------------------------------------------------------------
HEAD = "item_id,text,keywords,proposition_id,dependency,tuple,question_natural_language\n"
TABLE = (
    f"{HEAD}w_5,a brown  poodle,dog,1,0,entity - whole (dog),Is there a dog?\n"
    'w_5,a brown  poodle,brown,2,"1, back",attribute - color (dog),Is the dog brown?\n'
    "w_6,a cat,cat,1,1,entity - whole (cat),Is there a cat?\n"
    'w_8,a circle,x,1,"2",x,A?\nw_8,a circle,x,2,"3,3",x,B?\nw_8,a circle,x,3,1,x,C?\nw_8,a circle,x,4,"3",x,D?\n'
)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "questions.csv"
    path.write_text(TABLE, "utf-8")
    return path


def test_a_table_in_the_released_layout(table):
    judge = Scripted(dog=0.9, cat=0.1)
    result = scored(judge, ["a brown poodle", "a cat"], None, questions=table)
    # The cat is its own parent, which has no effect.
    assert result["dsg_scores"] == [1.0, 0.0]
    assert [one["parents"] for own in result["dsg_details"] for one in own["questions"]] == [[], [1], []]
    assert result["dsg_details"][0]["questions"][1]["tuple"] == "attribute - color (dog)"
    assert "|questions:local@sha256-" in result["dsg_signature"]
    assert "max_new_tokens" not in result["dsg_signature"]
    given = scored(judge, ["a cat"], [CAT], questions=table)
    assert "|questions:given" in given["dsg_signature"]


def test_a_table_in_another_format_has_the_same_digest(table, tmp_path):
    from vlgauge.inputs.tables.files import read_rows

    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in read_rows(str(table))), "utf-8")
    assert judged.QuestionTable(path).identity == judged.QuestionTable(table).identity


@pytest.mark.parametrize(
    ("caption", "message"),
    [
        ("a bird", r"`questions` must have questions about each caption, got none about 'a bird'"),
        ("a circle", r"'a circle' must have no questions that depend on each other, got 1, 2, 3; correct 'dependency'"),
    ],
)
def test_captions_that_a_table_cannot_score(table, caption, message):
    with pytest.raises(UsageError, match=message):
        scored(Scripted(), [caption], None, questions=table)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("text,proposition_id,dependency\na,1,0\n", r"column 'question_natural_language', got none in row 0"),
        (f"{HEAD}a,x,,1,0,,A?\nb,x,,1,0,,B?\n", r"one set of questions about a caption, got those of 'a' and 'b'"),
        (f"{HEAD}a,x,,1,0,,A?\na,x,,1,0,,B?\n", r"must have each 'proposition_id' once, got 1 more than once"),
        ("", r"`questions` must have at least one row"),
        (f"{HEAD}a,x\n", r"`questions` must have as many cells as column names"),
        (f"{HEAD}a,x,,1,0,,\n", r"question 0 of `questions` about 'x' must have a text as 'question_natural_language'"),
    ],
)
def test_other_tables(tmp_path, text, message):
    path = tmp_path / "questions.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=message):
        scored(Scripted(), ["x"], None, questions=path)


def test_the_same_questions_about_two_items_are_one_set(tmp_path):
    path = tmp_path / "questions.csv"
    path.write_text(f"{HEAD}a,x,,1,0,,A?\nb,x,,1,0,,A?\n", "utf-8")
    assert scored(Scripted(A=0.9), ["x"], None, questions=path)["dsg"] == 1.0


# -- a table in the command line and in batches ------------------------------------------------------------------------
@pytest.fixture
def asked_scenes(tmp_path, monkeypatch):
    """Write images of six scenes, captions of two systems and a table of questions to the current folder.

    The questions are those of the demo rules without the last one of each caption, so that their scores differ.
    """
    monkeypatch.chdir(tmp_path)
    rows, questions = {"right": [], "wrong": []}, []
    for i, scene in enumerate(scenes.scenes(6, seed=11, split="test")):
        scenes.draw_scene(scene).image.save(f"{i}.png")
        for system, own in (("right", scene), ("wrong", scenes.change_fact(scene, "shape", seed=1))):
            (caption,) = scenes.captions(own, seed=1)
            rows[system].append({"id": i, "predictions": caption, "images": f"{i}.png"})
            for one in judged.scene_graph_questions(caption)[:-1]:
                parents = ",".join(map(str, one.parents or (0,)))
                questions.append([f"{system}{i}", caption, one.number, parents, one.proposition, one.text])
    for system, own in rows.items():
        (tmp_path / f"{system}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in own), "utf-8")
    with open("questions.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["item_id", "text", "proposition_id", "dependency", "tuple", "question_natural_language"])
        table.writerows(questions)
    return rows


CHOSEN = ("--set", "questions=questions.csv", "--profile", "embedded", "--no-progress")


def call(capsys, *words):
    assert main([*words, *CHOSEN]) == 0
    return capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:the scores of the demo CLIP")
def test_the_command_line_uses_a_table_of_questions(asked_scenes, capsys):
    rows = asked_scenes["wrong"]
    columns = {name: [row[name] for row in rows] for name in ("predictions", "images")}
    metric = vlgauge.load("dsg", profile="embedded", questions="questions.csv", progress=False)
    expected = metric.compute(**columns, return_details=True)
    own_rules = vlgauge.load("dsg", profile="embedded", progress=False).compute(**columns)
    assert expected["dsg_n_questions"] == own_rules["dsg_n_questions"] - len(rows)

    found = json.loads(call(capsys, "score", "dsg", "wrong.jsonl", "--details"))
    assert {key: found[key] for key in expected} == expected
    record = ["--record", "results.jsonl", "--model", "a/m", "--dataset", "a/d", "--split", "test"]
    call(capsys, "score", "dsg", "wrong.jsonl", *record, "--report", "page.html")
    with open("results.jsonl", encoding="utf-8") as lines:
        (recorded,) = map(json.loads, lines)
    assert (recorded["value"], recorded["signature"]) == (expected["dsg"], expected["dsg_signature"])
    with open("page.html", encoding="utf-8") as page:
        assert expected["dsg_details"][0]["questions"][0]["question"] in page.read()

    compared = json.loads(call(capsys, "compare", "dsg", "right.jsonl", "wrong.jsonl", "--format", "json"))
    means = {one["name"]: one["value"] for one in compared["metrics"][0]["systems"]}
    assert means["wrong"] == pytest.approx(expected["dsg"], abs=1e-12)
    assert means["right"] > means["wrong"]


@pytest.mark.filterwarnings("ignore:the scores of the demo CLIP")
def test_batches_of_rows_use_a_table_of_questions(asked_scenes):
    rows = asked_scenes["wrong"]
    given = {"profile": "embedded", "device": "cpu", "questions": "questions.csv"}
    scorer = pickle.loads(pickle.dumps(RowScorer("dsg", **given)))
    columns = {name: [row[name] for row in rows] for name in ("id", "predictions", "images")}
    blocks = [{name: cells[part] for name, cells in columns.items()} for part in (slice(0, 4), slice(4, None))]
    found = scorer.combine([scorer.score_rows(block) for block in blocks])
    whole = vlgauge.load("dsg", **given).compute(predictions=columns["predictions"], images=columns["images"])
    assert found["dsg_scores"] == pytest.approx(whole["dsg_scores"], abs=1e-6)
    assert {key: found[key] for key in whole if key != "dsg_scores"} == pytest.approx(
        {key: value for key, value in whole.items() if key != "dsg_scores"}
    )
    # Scored blocks of other questions must not be continued.
    before = scorer.describe()
    with open("questions.csv", "a", encoding="utf-8") as file:
        file.write("x,a cat,1,0,,Is there a cat?\n")
    assert RowScorer("dsg", **given).describe() != before


# -- questions of the call ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("questions", "message"),
    [
        (5, r"`questions` must have one list per row, 1 in all, got int"),
        ([DOG, DOG], r"`questions` must have one list per row, 1 in all, got 2"),
        ([None], r"`questions\[0\]` must be a list of questions, got None"),
        (["Is there a dog?"], r"`questions\[0\]` must be a list of questions, got 'Is there"),
        ([DOG[0]], r"`questions\[0\]` must be a list of questions, got {'prop"),
        ([["Is there a dog?"]], r"question 0 of `questions\[0\]` must have 'proposition_id', 'dependency' and"),
        ([[{"proposition_id": 1}]], r"question 0 of .*'question_natural_language', got proposition_id"),
        ([rows_of((0, 0, "A?"))], r"must have a number from 1 as 'proposition_id', got 0"),
        ([rows_of(("a", 0, "A?"))], r"must have a number from 1 as 'proposition_id', got 'a'"),
        ([rows_of((-1, 0, "A?"))], r"must have a number from 1 as 'proposition_id', got -1"),
        ([rows_of((1, 0, " "))], r"must have a text as 'question_natural_language', got ' '"),
        ([rows_of((1, 0, 7))], r"must have a text as 'question_natural_language', got 7"),
        ([rows_of((1, None, "A?"))], r"numbers of questions as 'dependency', 0 for none, got None"),
        ([rows_of((1, "-", "A?"))], r"numbers of questions as 'dependency', 0 for none, got '-'"),
        ([rows_of((1, [], "A?"))], r"numbers of questions as 'dependency', 0 for none, got \[\]"),
        ([rows_of((1, 7, "A?"))], r"parents among the questions 1, got 7 as 'dependency' of question 1"),
        ([rows_of((1, 0, "A?"), (1, 0, "B?"))], r"each 'proposition_id' once, got 1 more than once"),
        ([rows_of(("1" * 5000, 0, "A?"))], r"must have a number from 1 as 'proposition_id', got '111"),
        ([rows_of((1, "1" * 5000, "A?"))], r"numbers of questions as 'dependency', 0 for none, got '111"),
        ([rows_of((1, 0, "A?"), (2, "1,-2", "B?"))], r"numbers of questions as 'dependency', 0 for none, got '1,-2'"),
        ([rows_of((1, 0, "A?"), (2, [1, 1.5], "B?"))], r"numbers of questions as 'dependency', .*got \[1, 1\.5\]"),
        ([rows_of((1, 0, "A \ud800?"))], r"question_natural_language of question 0.*valid Unicode, got the lone"),
        (
            [rows_of(*((i, (i - 2) % 50 + 1, "A?") for i in range(1, 51)))],
            r"got 1, .*10, \.\.\. \(50 in all\); correct",
        ),
        (np.array([[DOG[0]], [DOG[1]]]), r"`questions` must have one list per row, 1 in all, got 2"),
        ([rows_of((1, 2, "A?"), (2, 1, "B?"), (3, 2, "C?"))], r"depend on each other, got 1, 2; correct 'dependency'"),
    ],
)
def test_wrong_questions(questions, message):
    with pytest.raises(UsageError, match=message) as caught:
        scored(Scripted(), ["a dog"], questions)
    assert "\n" not in str(caught.value)


def test_parents_as_lists_and_order_of_ids():
    questions = rows_of((2, [5], "Is the dog brown?"), (5, [0], "Is there a dog?"))
    result = scored(Scripted(**{"a dog": 0.1, "brown": 0.9}), ["x"], [questions])
    assert (result["dsg"], [one["number"] for one in result["dsg_details"][0]["questions"]]) == (0.0, [2, 5])


# -- a language model -------------------------------------------------------------------------------------------------
WRITTEN = """Here you are:
1 | entity - whole (dog) | Is there a dog? | 0
2 | attribute - color (dog, brown) | Is the dog brown? | 1

"""


def test_questions_of_a_language_model():
    writer = Scripted(WRITTEN, "I cannot do this.")
    result = scored(
        Scripted(**{"a dog": 0.9, "brown": 0.2}), ["a\nbrown dog", "x"], None, question_model=writer, batch_size=2
    )
    assert result["dsg_scores"][0] == 0.5
    assert math.isnan(result["dsg_scores"][1])
    assert (result["dsg_undefined"], result["dsg_unread"], result["dsg_n_questions"]) == (1, 1, 2)
    assert [one["unparsed"] for one in result["dsg_details"]] == [None, "I cannot do this."]
    assert writer.asked[0].endswith("\nDescription: a brown dog\n")
    assert "|questions:scripted|prompt:1-none|" in f"{result['dsg_signature']}|"
    assert "max_new_tokens:1024" in result["dsg_signature"]


def test_the_last_line_of_an_answer_without_end_may_be_incomplete():
    result = scored(Scripted(), ["a dog"], None, question_model=Scripted(WRITTEN, ended=False))
    assert math.isnan(result["dsg"])
    assert result["dsg_unread"] == 1


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "1 | entity | Is there a dog?",
        "1 | entity | Is there a dog? | none",
        "1 | entity | Is there a dog? | 2",
        "1 | entity | | 0",
        "one | entity | Is there a dog? | 0",
        "1 | entity | Is there a dog? | 0\n1 | entity | Is there a cat? | 0",
        "1 | entity | Is there a dog? | 2\n2 | entity | Is there a cat? | 1",
        "1 | entity | Is there a dog? | 0 | 0",
    ],
)
def test_answers_that_are_no_graph(answer):
    assert judged.parse_graph(answer) is None


def test_answers_in_a_table_of_markdown():
    (one, two) = judged.parse_graph("```\n| 1 | a (b) | A? | 0 |\n| 2 | c (d) | B? | 1, 1 |\n```")
    assert (one.number, one.text, one.parents, one.proposition) == (1, "A?", (), "a (b)")
    assert two.parents == (1,)


def test_the_examples_of_the_prompt_are_graphs():
    prompt = judged.writing_prompt("a tree").text()
    parts = prompt.split("\nDescription: ")[1:]
    assert parts.pop() == "a tree\n"
    for part in parts:
        text, _, lines = part.partition("\n")
        graph = judged.parse_graph(lines)
        assert text
        assert len(graph) == len(lines.splitlines())


def test_special_tokens_are_counted():
    with pytest.warns(UserWarning, match="special token"):
        result = scored(Scripted(cat=0.9), ["x", "x"], [rows_of((1, 0, "Is <s> a cat?")), CAT])
    assert result["dsg_altered"] == 1


# -- synthetic scenes -------------------------------------------------------------------------------------------------
def test_rules_read_every_caption_of_a_scene():
    for scene in scenes.scenes(40, seed=2, split="test"):
        for complete in (True, False):
            for caption in scenes.captions(scene, seed=1, n=4, complete=complete):
                graph = judged.scene_graph_questions(caption)
                assert graph is not None, caption
                assert all(one.parents < (one.number,) for one in graph)
    for caption in ("", "a dog", "a red circle near a box", "red circle", "a small red circle and", "a red, a circle"):
        assert judged.scene_graph_questions(caption) is None


def test_rules_by_hand():
    graph = judged.scene_graph_questions("On a grey background, a tiny orange star is to the left of a ring.")
    assert [(one.text, one.parents) for one in graph] == [
        ("Is there a star?", ()),
        ("Is there a tiny star?", (1,)),
        ("Is there an orange star?", (1,)),
        ("Is there a ring?", ()),
        ("Is there a star to the left of a ring?", (1, 4)),
        ("Is the background grey?", ()),
    ]


def test_the_demo_judge_prefers_the_right_caption():
    demo = vlgauge.load("dsg", profile="embedded", device="cpu")
    kept = [(one, scenes.change_fact(one, "shape", seed=1)) for one in scenes.scenes(20, seed=7, split="test")]
    images = [scenes.draw_scene(one).image for one, _ in kept]
    right, wrong = (
        np.array(
            demo.compute(predictions=[scenes.captions(p[k], seed=1)[0] for p in kept], images=images)["dsg_scores"]
        )
        for k in (0, 1)
    )
    assert (right >= wrong).mean() > 0.9
    assert right.mean() > wrong.mean() + 0.2


# -- settings ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"questions": DOG}, r"^`questions` must be the path of a table, .*`compute`.*, got "),
        ({"question_model": 5}, r"^`question_model` must be a folder.*got 5"),
        ({"question_model": ""}, r"^`question_model` must be a folder.*got ''"),
        ({"model": ""}, r"^`model` must be a folder.*got ''"),
        ({"questions": "a.csv", "question_model": "b"}, r"^`questions` cannot be combined with `question_model`"),
        ({"template": "Is it?"}, r"^`template` must be a string that contains {} once, got 'Is it\?'"),
        ({"template": "{} {}"}, r"^`template`.*got '{} {}'"),
        ({"template": None}, r"^`template`.*got None"),
        ({"independent": "yes"}, r"^`independent`.*got 'yes'"),
        ({"max_new_tokens": 0}, r"^`max_new_tokens`.*got 0"),
        ({"model": 3}, r"^`model` must be a folder.*got 3"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        vlgauge.load("dsg", **settings)


def test_what_a_call_lacks(tmp_path):
    rows = {"predictions": ["a dog"], "images": [GREY]}
    with pytest.raises(ValueError, match=r"^`questions` are missing: dsg asks questions about each caption; pass a"):
        vlgauge.load("dsg", model=Scripted()).compute(**rows)
    with pytest.raises(ValueError, match=r"`question_model` must be an existing folder, or a Hub id"):
        vlgauge.load("dsg", model=Scripted(), question_model=str(tmp_path / "none")).compute(**rows)
    with pytest.raises(ValueError, match=r"^`question_model` must be a folder with the config\.json"):
        vlgauge.load("dsg", model=Scripted(), question_model=str(tmp_path)).compute(**rows)
    with pytest.raises(FileNotFoundError, match=r"`questions` must be the path of a table, got .*none\.csv'"):
        vlgauge.load("dsg", model=Scripted(), questions=tmp_path / "none.csv").compute(**rows)


def test_through_tiny_models(tmp_path):
    seeing, writing = str(tiny_judges.llava(tmp_path / "seeing")), str(tiny_judges.text_model(tmp_path / "writing"))
    metric = vlgauge.load("dsg", model=seeing, device="cpu", batch_size=3)
    rows = {"predictions": ["a dog", "a cat", "x"], "images": [tiny_judges.png(28, 28, i) for i in range(3)]}
    result = metric.compute(**rows, questions=[DOG, CAT, DOG], return_details=True)
    vqascore = vlgauge.load("vqascore", model=seeing, device="cpu", definition="v3.1", template=f"{{}} {END}")
    yes, no = (
        vlgauge.load("vqascore", model=seeing, device="cpu", definition="v3.1", template=vqascore.template, answer=one)
        for one in ("Yes", "No")
    )
    # Tokens of the tiny model are letters and the space before them, so its answers have four tokens and three.
    asked = {"predictions": [one["question_natural_language"] for one in DOG], "images": rows["images"][:1] * 3}
    chances = [np.array(one.compute(**asked)["vqascore_scores"]) for one in (yes, no)]
    sums = chances[0] ** 4, chances[1] ** 3
    told = [one["probability"] for one in result["dsg_details"][0]["questions"]]
    assert told == pytest.approx(sums[0] / (sums[0] + sums[1]), rel=1e-3)
    written = vlgauge.load("dsg", model=seeing, question_model=writing, device="cpu", max_new_tokens=5)
    with pytest.warns(UserWarning, match="every score of dsg is undefined; no caption has questions"):
        result = written.compute(**rows)
    assert (result["dsg_unread"], result["dsg_n_questions"]) == (3, 0)


# -- explanation ------------------------------------------------------------------------------------------------------
def test_the_tree_of_questions():
    questions = rows_of((1, 0, "A?"), (2, 1, "B?"), (3, "2,1", "C<b>?"), (4, 0, "D?"))
    result = scored(Scripted(A=0.1, B=0.9, C=0.8, D=0.9), ["a dog"], [questions])
    found = explain("dsg", {"predictions": ["a dog"], "images": [GREY]}, result)
    tree = found.values(0)["tree"]
    assert [node["number"] for node in tree] == [1, 4]
    assert [(node["number"], node["also"]) for node in tree[0]["children"]] == [(2, ""), (3, "also depends on 2")]
    assert [node["tone"] for node in (tree[0], tree[0]["children"][0], tree[1])] == ["against", "nil", "for"]
    assert "yes, 0.90, not counted" in tree[0]["children"][0]["note"]
    assert found.reason(0) == "1 of 4 questions count as yes, not “A?”"
    assert "C&lt;b&gt;?" in found.body(0)
