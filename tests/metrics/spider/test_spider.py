"""SPIDEr: the mean of its two parts, each equal to its own metric."""

import json
import math
import random

import numpy as np
import pytest
import spice_stand_in
from graph_parsers import WordParser

import vlgauge
from vlgauge.checkpoints.files import SourcesMissingError
from vlgauge.core.errors import UsageError
from vlgauge.core.signatures import parse_signature
from vlgauge.families.base.parts import merge_partial_results
from vlgauge.families.ngram.cider import DocumentFrequency

DF = DocumentFrequency({("a",): 90, ("dog",): 9}, 100)
CAPTIONS = ["a dog runs", "a cat", "nothing", "a bird"]
REFERENCES = [["a dog is running", "a dog runs fast"], ["a cat", "two cats"], ["a bus"], []]


def loaded(**settings):
    settings = {"parser": WordParser(), "df": DF} | settings
    return vlgauge.load("spider", keep_in_memory=True, progress=False, **settings)


def same(ours, theirs):
    return json.dumps(ours) == json.dumps(theirs)


def test_by_hand():
    graphs = {"predictions": ["( dog , run )"], "references": [["( dog , run )", "( dog , run ) , ( dog , fast )"]]}
    result = loaded().compute(predictions=CAPTIONS[:1], references=REFERENCES[:1], graphs=graphs)
    # SPICE: 2 of 2 tuples are matched, the references have 3: 2 * 2 / (2 + 3).
    assert result["spider_spice"] == pytest.approx(0.8)
    assert result["spider"] == result["spider_scores"][0] == pytest.approx((result["spider_cider"] + 0.8) / 2)
    assert list(result)[:4] == ["spider", "spider_scores", "spider_undefined", "spider_signature"]


def test_each_part_is_as_its_own_metric_gives_it():
    result = loaded().compute(predictions=CAPTIONS, references=REFERENCES, return_details=True)
    rows = {"predictions": CAPTIONS, "references": REFERENCES, "return_details": True}
    cider = vlgauge.load("cider", df=DF, keep_in_memory=True).compute(**rows)
    spice = vlgauge.load("spice", parser=WordParser(), keep_in_memory=True, progress=False).compute(**rows)
    for name, part in (("cider", cider), ("spice", spice)):
        for key in (name, f"{name}_scores", f"{name}_undefined", f"{name}_details"):
            assert same(result[f"spider_{key}"], part[key])
        assert result[f"spider_{name}_signature"] == f"spider_{part[f'{name}_signature']}"
    means = (np.array(cider["cider_scores"]) + np.array(spice["spice_scores"])) / 2
    assert result["spider_scores"] == pytest.approx(means.tolist(), nan_ok=True)
    assert result["spider_details"][0] == {
        "score": result["spider_scores"][0],
        "cider": cider["cider_scores"][0],
        "spice": spice["spice_scores"][0],
    }


def test_the_end_token_of_cider():
    df = DocumentFrequency.from_references([["a dog runs", "a dog"], ["a cat"], ["two birds"]] * 30, eos=True)
    rows = {"predictions": CAPTIONS[:1], "references": REFERENCES[:1]}
    result = loaded(df=df, eos=True).compute(**rows)
    cider = vlgauge.load("cider", df=df, eos=True, keep_in_memory=True).compute(**rows)
    assert result["spider_cider"] == cider["cider"]
    assert result["spider_cider_signature"] == f"spider_{cider['cider_signature']}"
    usual = loaded(df=df).compute(**rows)
    assert usual["spider_cider"] != cider["cider"]
    assert parse_signature(result["spider_signature"])[1]["eos"] == "True"
    assert "eos" not in parse_signature(usual["spider_signature"])[1]
    with pytest.raises(ValueError, match=r"^`df` must count the end token"):
        loaded(eos=True)
    with pytest.raises(ValueError, match=r"^`eos`"):
        loaded(eos="yes")


def test_a_row_is_undefined_where_a_part_is():
    # The references of the second row do not describe a scene, and the third row has none.
    graphs = {"predictions": ["( dog )"] * 3, "references": [["( dog )"], [""], []]}
    result = loaded().compute(predictions=["a dog"] * 3, references=[["a dog"], ["a dog"], []], graphs=graphs)
    assert [math.isnan(score) for score in result["spider_scores"]] == [False, True, True]
    assert not math.isnan(result["spider_cider_scores"][1])
    assert tuple(result[f"spider{key}_undefined"] for key in ("", "_cider", "_spice")) == (2, 1, 2)
    assert result["spider"] == result["spider_scores"][0]


@pytest.mark.parametrize("seed", range(5))
def test_bounds_and_the_mean_of_the_means(seed):
    rng = random.Random(seed)
    words = ["a", "dog", "cat", "runs", "red", "bus"]

    def caption():
        return " ".join(rng.choices(words, k=rng.randint(1, 6)))

    rows = {
        "predictions": [caption() for _ in range(8)],
        "references": [[caption() for _ in range(rng.randint(1, 3))] for _ in range(8)],
    }
    result = loaded().compute(**rows)
    assert all(0 <= score < 6 for score in result["spider_scores"])
    assert result["spider"] == pytest.approx((result["spider_cider"] + result["spider_spice"]) / 2, rel=1e-12)


@pytest.mark.filterwarnings("ignore:CIDEr-D takes document frequencies from")
def test_batches_count_n_grams_over_the_corpus_as_cider_does():
    whole = loaded(df="references")
    wanted = whole.compute(predictions=CAPTIONS[:3], references=REFERENCES[:3])
    counts = whole.count({"predictions": CAPTIONS[:3], "references": REFERENCES[:3]})
    apart = loaded(df="references")
    apart.use_counts(counts)
    parts = merge_partial_results(
        apart.score_batch({"predictions": CAPTIONS[rows], "references": REFERENCES[rows]}, [0] * n)
        for rows, n in ((slice(2), 2), (slice(2, 3), 1))
    )
    found = apart.combine(parts)
    assert found["spider_scores"] == pytest.approx(wanted["spider_scores"], rel=1e-12)
    assert found["spider_signature"] == wanted["spider_signature"]


# -- settings ---------------------------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore:CIDEr-D takes document frequencies from")
def test_the_signature_names_table_and_parser():
    result = loaded(df="references", tokenizer=str.split).compute(predictions=CAPTIONS, references=REFERENCES)
    fields = parse_signature(result["spider_signature"])[1]
    cider, spice = (parse_signature(result[f"spider_{name}_signature"])[1] for name in ("cider", "spice"))
    assert fields["df"] == cider["df"]
    assert fields["tokenizer"] == cider["tokenizer"]
    assert fields["parser"] == spice["parser"] == "words-1"


def test_graphs_of_the_program_of_spice(tmp_path):
    program = {"java": spice_stand_in.write_java(tmp_path), "jars": spice_stand_in.write_jars(tmp_path / "jars")}
    result = loaded(parser="spice-1.0", **program).compute(predictions=["red dog"], references=[["red dog"]])
    assert result["spider_spice"] == 1.0
    assert "|parser:spice-1.0@" in result["spider_signature"]


def test_what_is_missing_is_told_under_its_own_name(tmp_path):
    metric = loaded(parser="spice-1.0", java=tmp_path / "no_java", jars=tmp_path)
    with pytest.raises(SourcesMissingError, match="3"):
        metric.compute(predictions=["a"], references=[["a"]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"df": "words"}, "`df` must be"),
        ({"parser": "spice"}, "`parser` must be"),
        ({"parser": WordParser(), "pipeline": "embedded"}, r"^`pipeline`"),
        ({"jars": "folder"}, r"^`jars`.*`parser`"),
    ],
)
def test_settings_that_do_not_fit(settings, message):
    with pytest.raises((UsageError, FileNotFoundError), match=message):
        vlgauge.load("spider", **settings)
