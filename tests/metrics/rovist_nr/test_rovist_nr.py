import json
import math
import threading

import folders
import pytest

import vlgauge

GOLDEN = json.loads((folders.GOLDEN / "rovist_nr.json").read_text("utf-8"))["stories"]
STORIES = [
    "The dog ran home. The dog ran home. The dog ran home.",
    "One sentence without an end",
    "We went to the fair. Rain ended the day.",
    "",
]
SCORES = [0.5, math.nan, 1 - 1 / 8 / 2, math.nan]  # the third shares "the" of eight words


@pytest.fixture
def rovist_nr():
    return vlgauge.load("rovist_nr", keep_in_memory=True)


def expected(story):
    value = story["released_n4"]
    if isinstance(value, str) and value.startswith("raises"):
        value = story["followup_n4"]
    return math.nan if isinstance(value, str) else value


def test_the_result_has_four_keys_of_plain_types(rovist_nr, no_sockets):
    result = rovist_nr.compute(predictions=STORIES)
    signature = f"rovist_nr|v:{vlgauge.__version__}|profile:paper|variant:released|n:4|sentences:rules|lowercase:False"
    assert list(result) == ["rovist_nr", "rovist_nr_scores", "rovist_nr_undefined", "rovist_nr_signature"]
    assert result["rovist_nr_scores"] == pytest.approx(SCORES, abs=1e-12, nan_ok=True)
    assert result["rovist_nr"] == pytest.approx((0.5 + 0.9375) / 2)
    assert (result["rovist_nr_undefined"], result["rovist_nr_signature"]) == (2, signature)
    assert {type(score) for score in result["rovist_nr_scores"]} == {float}


def test_golden_stories_as_lists_of_sentences(rovist_nr):
    stories = [story["sentences"] for story in GOLDEN.values()]
    scores = rovist_nr.compute(predictions=stories)["rovist_nr_scores"]
    assert scores == pytest.approx([expected(story) for story in GOLDEN.values()], abs=1e-12, nan_ok=True)


def test_golden_stories_as_strings(rovist_nr):
    agreed = [story for story in GOLDEN.values() if story["rule_splitter_agrees"]]
    scores = rovist_nr.compute(predictions=[story["story"] for story in agreed])["rovist_nr_scores"]
    assert len(agreed) == len(GOLDEN) - 1
    assert scores == pytest.approx([expected(story) for story in agreed], abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_golden_stories_for_other_n(n):
    known = [story for story in GOLDEN.values() if isinstance(story[f"released_n{n}"], float)]
    result = vlgauge.load("rovist_nr", n=n).compute(predictions=[story["sentences"] for story in known])
    assert result["rovist_nr_scores"] == pytest.approx([story[f"released_n{n}"] for story in known], abs=1e-12)


def test_golden_stories_by_the_papers_formula():
    known = [story for story in GOLDEN.values() if isinstance(story["paper_n4"], float)]
    result = vlgauge.load("rovist_nr", variant="paper").compute(predictions=[story["sentences"] for story in known])
    assert result["rovist_nr_scores"] == pytest.approx([story["paper_n4"] for story in known], abs=1e-12)


def test_details_say_how_the_score_came_about(rovist_nr):
    result = rovist_nr.compute(predictions=STORIES[:1], return_details=True)
    detail = result["rovist_nr_details"][0]
    assert detail["sentences"] == ["The dog ran home."] * 3
    assert detail["words"] == [["The", "dog", "ran", "home"]] * 3
    assert detail["pairs"] == [[1, 0, 1.0], [2, 0, 1.0], [2, 1, 1.0]]
    assert (detail["inter"], detail["intra"], detail["score"]) == (1.0, 0.0, 0.5)


def test_a_list_of_sentences_is_not_split_again(rovist_nr):
    one, two = rovist_nr.compute(predictions=[["A b. C d."], ["A b.", " ", " C d. "]])["rovist_nr_scores"]
    assert math.isnan(one)
    assert two == 1.0


def test_a_function_can_split(rovist_nr):
    metric = vlgauge.load("rovist_nr", sentences=lambda text: text.split("|"))
    result = metric.compute(predictions=["a b x|a b y"])
    assert result["rovist_nr"] == pytest.approx(0.5)
    assert "sentences:custom(" in result["rovist_nr_signature"]


def test_case_counts_unless_told_otherwise(rovist_nr):
    story = [["The dog .", "the dog ."]]
    assert rovist_nr.compute(predictions=story)["rovist_nr"] == pytest.approx(1 - 1 / 3 / 2)
    assert vlgauge.load("rovist_nr", lowercase=True).compute(predictions=story)["rovist_nr"] == 0.5


def test_neighbours_and_order_do_not_matter(rovist_nr):
    alone = [rovist_nr.compute(predictions=[story])["rovist_nr_scores"][0] for story in STORIES]
    backwards = rovist_nr.compute(predictions=STORIES[::-1])["rovist_nr_scores"]
    assert backwards[::-1] == pytest.approx(alone, abs=0, nan_ok=True)


@pytest.mark.parametrize(
    ("story", "score"),
    [("word " * 50_000, math.nan), ("A word. " * 2_000, 0.5), ("The same old words. " * 10_000, 0.5)],
)
def test_long_stories(rovist_nr, story, score):
    assert rovist_nr.compute(predictions=[story])["rovist_nr"] == pytest.approx(score, nan_ok=True)


@pytest.mark.parametrize("output", ["one text", None, [1], 3])
def test_a_splitter_must_return_a_list_of_texts(output):
    metric = vlgauge.load("rovist_nr", keep_in_memory=True, sentences=lambda text: output)
    with pytest.raises(ValueError, match=r"^`sentences`.*returns"):
        metric.compute(predictions=["We ran. We sat."])


def test_odd_characters_are_scored(rovist_nr):
    stories = ["Zeile\u2028 eins. Zwei\ttab.", "😀 lacht. 😀 weint."]
    assert rovist_nr.compute(predictions=stories)["rovist_nr_undefined"] == 0


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ([], r"^`predictions`.*least"),
        (
            ["We ran.", "It sat. It \ud800 ran."],
            r"^`predictions\[1\], sentence 1`",
        ),
        (["a", None], r"^`predictions\[1\]`.*got NoneType"),
        (["a", 3.0], r"^`predictions\[1\]`.*got float"),
        ([["a"], ["b", None]], r"^`predictions\[1\]\[1\]`.*got NoneType"),
        (["a", ["b"]], r"^`predictions`.*form"),
        ("a", r"^`predictions`.*got str"),
    ],
)
def test_bad_stories_are_refused(rovist_nr, predictions, message):
    with pytest.raises(ValueError, match=message):
        rovist_nr.compute(predictions=predictions)


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({"variant": "papr"}, ValueError, r"^`variant`.*got 'papr'"),
        ({"n": 0}, ValueError, r"^`n`.*at least 1.*got 0"),
        ({"sentences": "spacy"}, ValueError, r"^`sentences`.*'rules'.*'punkt'"),
        ({"lowercase": "no"}, ValueError, r"^`lowercase`.*got 'no'"),
        ({"lower_case": True}, TypeError, r"^`lower_case`.*rovist_nr"),
    ],
)
def test_bad_settings_are_refused(settings, kind, message):
    with pytest.raises(kind, match=message):
        vlgauge.load("rovist_nr", **settings)


def test_four_threads_on_one_metric(rows_folder):
    metric = vlgauge.load("rovist_nr", cache_dir=str(rows_folder))
    stories = [[f"word{k} x .", f"word{k} y ."] + ["z ."] * k for k in range(4)]
    wanted = [metric.compute(predictions=[story])["rovist_nr"] for story in stories]
    assert len(set(wanted)) == 4
    wrong = []

    def score(k):
        for _ in range(40):
            result = metric.compute(predictions=[stories[k]])
            if result["rovist_nr"] != wanted[k]:
                wrong.append(k)

    threads = [threading.Thread(target=score, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_flat_list_is_as_many_stories_and_says_so(rovist_nr):
    with pytest.warns(UserWarning, match=r"rovist_nr.*sent"):
        assert rovist_nr.compute(predictions=["One.", "Two."])["rovist_nr_undefined"] == 2
    # There is no warning for a single undefined story, or for one of several.
    assert rovist_nr.compute(predictions=["One."])["rovist_nr_undefined"] == 1
    assert rovist_nr.compute(predictions=["One.", "One. Two."])["rovist_nr_undefined"] == 1
