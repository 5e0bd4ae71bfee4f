"""Why a caption has a low CIDEr, in words."""

import pytest

import vlgauge
from vlgauge.explain import explain
from vlgauge.families.ngram.cider import DocumentFrequency

DF = DocumentFrequency({("a",): 90, ("dog",): 9}, 100)


@pytest.mark.parametrize(
    ("caption", "references", "reason"),
    [
        ("a red dog", ["a dog runs"], "2 of 3 words also occur in a reference; “red” does not"),
        (
            "dog the a",
            ["a dog sat on the mat", "the dog"],
            "3 of 3 words also occur in a reference, but only 0 of its 2 n-grams of 2 words; it ends in “a”",
        ),
        (
            "a dog sat the mat",
            ["a dog sat on the mat"],
            "5 of 5 words also occur in a reference, but only 3 of its 4 n-grams of 2 words",
        ),
        (
            "a dog sat",
            ["a dog sat on the mat"],
            "3 of 3 words also occur in a reference; it has fewer than 4 words, and each n-gram length is a "
            "quarter of the score",
        ),
        (
            "a dog sat on",
            ["a dog sat on the mat", "a dog sat on it"],
            "4 of 4 words also occur in a reference, as do its n-grams; frequent n-grams have low weights, and "
            "length differences lower the score: it has 4 words, a reference 5 to 6; it ends in “on”",
        ),
        ("!", ["a dog"], "has no word"),
        ("a red dog with", ["a dog runs"], "2 of 4 words also occur in a reference; “red” does not; it ends in “with”"),
    ],
)
def test_a_reason_is_not_only_that_words_are_shared(caption, references, reason):
    columns = {"predictions": [caption], "references": [references]}
    result = vlgauge.load("cider", keep_in_memory=True, df=DF).compute(**columns, return_details=True)
    assert explain("cider", columns, result).reason(0) == reason


def test_a_page_has_the_share_of_unfinished_captions():
    columns = {
        "predictions": ["a dog with", "a dog", "a dog on the", "a"],
        "references": [["a dog"], ["a dog"], ["a"], []],
    }
    result = vlgauge.load("cider", keep_in_memory=True, df=DF).compute(**columns, return_details=True)
    assert result["cider_unfinished"] == pytest.approx(2 / 3)
    assert [one.get("unfinished") for one in result["cider_details"]] == [True, False, True, None]
    assert "unfinished captions: 66.7%" in " ".join(explain("cider", columns, result).html().split())


def test_the_end_token_is_in_no_explanation():
    df = DocumentFrequency({("a",): 90, ("<eos>",): 100}, 100)
    columns = {"predictions": ["a dog sat", "", "a dog"], "references": [["a dog sat"], ["a dog"], []]}
    result = vlgauge.load("cider", keep_in_memory=True, df=df, eos=True).compute(**columns, return_details=True)
    assert result["cider_details"][0]["tokens"][-1] == "<eos>"
    explained = explain("cider", columns, result)
    assert explained.reason(0).startswith("3 of 3 words also occur in a reference")
    assert explained.reason(1) == "has no word"
    assert "eos&gt;" not in explained.html()
