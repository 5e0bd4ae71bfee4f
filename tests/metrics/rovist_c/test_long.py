"""rovist_c on pairs that are too long, and its settings."""

import math
from pathlib import Path

import pytest
from tiny_rovist_c import CHECKPOINT, TINY, load, tiny

from vlgauge.core.pool import pool
from vlgauge.models.pairs.loading import pair_scorer

# -- long pairs -------------------------------------------------------------------------------------------------------
LONG = " ".join(["the dog ran home ."] * 120)


@pytest.mark.parametrize("context", ["pair", "prefix"])
def test_long_pairs_are_cut_and_counted(context):
    metric = tiny(context=context)
    with pytest.warns(UserWarning, match="2 of 3 sentence pairs") as caught:
        result = metric.compute(predictions=[[LONG, "It ended.", LONG + "!"], ["A.", "B."]], return_details=True)
    assert Path(caught[0].filename) == Path(__file__)
    assert result["rovist_c_truncated"] == 2
    assert [detail["truncated"] for detail in result["rovist_c_details"]] == [[True, True], [False]]
    assert all(0 < score < 1 for score in result["rovist_c_scores"])


def test_long_pairs_can_be_refused():
    metric = tiny(truncation="error")
    message = r'^`predictions\[1\]`.*at most 512 tokens.*`truncation="auto"`'
    with pytest.raises(ValueError, match=message):
        metric.compute(predictions=[["A.", "B."], ["A.", "B.", LONG]])


@pytest.fixture
def scorer():
    return pair_scorer(str(CHECKPOINT), str(TINY))


def ids_of(scorer, text):
    return scorer._tokenizer(text, add_special_tokens=False)["input_ids"]


def test_of_two_sentences_the_longer_one_loses_its_end(scorer):
    short = "a short one ."
    ((ids, segments),), (cut,) = scorer._encode([(LONG, short)], "longest")
    room = 512 - 3 - len(ids_of(scorer, short))
    assert cut
    assert ids == [2, *ids_of(scorer, LONG)[:room], 3, *ids_of(scorer, short), 3]
    assert segments == [0] * (room + 2) + [1] * (len(ids_of(scorer, short)) + 1)


def test_of_a_prefix_the_oldest_goes_first(scorer):
    short = "a short one ."
    ((ids, _),), (cut,) = scorer._encode([("begin " + LONG, short)], "oldest")
    room = 512 - 3 - len(ids_of(scorer, short))
    assert cut
    assert ids == [2, *ids_of(scorer, "begin " + LONG)[-room:], 3, *ids_of(scorer, short), 3]


def test_a_sentence_that_does_not_fit_by_itself_is_cut_too(scorer):
    ((ids, _),), _ = scorer._encode([("before .", LONG)], "oldest")
    assert ids == [2, 3, *ids_of(scorer, LONG)[:509], 3]


# -- settings ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({"context": "all"}, ValueError, r"^`context`.*got 'all'"),
        ({"identical": True}, ValueError, r"^`identical`.*got True"),
        ({"truncation": "none"}, ValueError, r"^`truncation`.*got 'none'"),
        ({"coherent_label": -1}, ValueError, r"^`coherent_label`.*at least 0.*got -1"),
        ({"batch_size": 0}, ValueError, r"^`batch_size`.*at least 1.*got 0"),
        ({"model": 3}, ValueError, r"^`model`.*got 3"),
        ({"base": len}, ValueError, r"^`base`.*got <built-in function len>"),
        ({"sentences": "spacy"}, ValueError, r"^`sentences`.*'rules'.*'punkt'"),
        ({"max_length": 128}, TypeError, r"^`max_length`.*rovist_c"),
    ],
)
def test_bad_settings_are_refused(settings, kind, message):
    with pytest.raises(kind, match=message):
        load(**settings)


@pytest.mark.parametrize("output", [[[0.1]], [0.1, 0.2], [1.5], [math.nan], 0.5, ["high"], None])
def test_a_function_must_return_probabilities(output):
    with pytest.raises(ValueError, match=r"^`model`.*probability"):
        load(model=lambda pairs: output).compute(predictions=[["A.", "B."]])


def test_a_function_has_no_base():
    with pytest.raises(ValueError, match=r"^`base`.*`model`.*got 'albert'"):
        load(model=lambda pairs: [0.5] * len(pairs), base="albert").compute(predictions=[["A.", "B."]])


@pytest.mark.filterwarnings("ignore:every score of rovist_c is undefined")
def test_stories_without_a_pair_need_no_forward():
    pool.unload()
    assert math.isnan(tiny().compute(predictions=["One sentence.", ""])["rovist_c"])
    assert pair_scorer(str(CHECKPOINT), str(TINY)).forwards == 0
