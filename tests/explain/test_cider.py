"""Why a caption has a low CIDEr, in words."""

import pytest

import vlgauge
from vlgauge.explain import explain
from vlgauge.families.ngram.cider import DocumentFrequency

DF = DocumentFrequency({("a",): 90, ("dog",): 9}, 100)


@pytest.mark.parametrize(
    ("caption", "references", "reason"),
    [
        ("a red dog", ["a dog runs"], "2 of 3 words stand in a reference too; “red” does not"),
        (
            "dog the a",
            ["a dog sat on the mat", "the dog"],
            "3 of 3 words stand in a reference too, but only 0 of its 2 runs of 2 words",
        ),
        (
            "a dog sat the mat",
            ["a dog sat on the mat"],
            "5 of 5 words stand in a reference too, but only 3 of its 4 runs of 2 words",
        ),
        (
            "a dog sat",
            ["a dog sat on the mat"],
            "3 of 3 words stand in a reference too; it has no 4 words in a row, and each length of a run makes a "
            "quarter of the score",
        ),
        (
            "a dog sat on",
            ["a dog sat on the mat", "a dog sat on it"],
            "4 of 4 words stand in a reference too, as do its runs of words; what many images have weighs little, as "
            "do other lengths: it has 4 words, a reference 5 to 6",
        ),
        ("!", ["a dog"], "has no word"),
    ],
)
def test_a_reason_is_not_only_that_words_are_shared(caption, references, reason):
    columns = {"predictions": [caption], "references": [references]}
    result = vlgauge.load("cider", keep_in_memory=True, df=DF).compute(**columns, return_details=True)
    assert explain("cider", columns, result).reason(0) == reason
