"""Diversity: the authors' code, settings, novel captions, set sizes, batches and messages."""

import json
import math
import warnings

import folders
import numpy as np
import pytest

import vlgauge
from vlgauge.core.errors import UsageError
from vlgauge.families.ngram.cider import DocumentFrequency
from vlgauge.integrations.batches import RowScorer

GOLDEN = json.loads((folders.GOLDEN / "diversity.json").read_text("utf-8"))
SETS = [["a dog runs", "the dog ran home", "two cats"], ["a cat", "one cat sleeps", "a cat"]]


def loaded(**settings):
    return vlgauge.load("diversity", keep_in_memory=True, progress=False, **settings)


@pytest.mark.parametrize("row", GOLDEN["rows"], ids=range(len(GOLDEN["rows"])))
def test_golden_numbers(row):
    df = DocumentFrequency({tuple(ngram): count for *ngram, count in GOLDEN["df"]}, GOLDEN["documents"])
    result = loaded(df=df).compute(predictions=[row["captions"]])
    # Copies make the kernel singular, and the authors' code takes the roots of rounding errors.
    assert result["diversity"] == pytest.approx(row["self_cider"], rel=1e-12, abs=2e-8)
    assert [result[f"diversity_mbleu_{order}"] for order in (1, 2, 3, 4)] == pytest.approx(row["mbleu"], rel=1e-9)


def test_the_default_counts_the_captions_of_the_call():
    default = loaded().compute(predictions=SETS)
    table = DocumentFrequency.from_references(SETS)
    given = loaded(df=DocumentFrequency(table.counts, len(SETS) + 1)).compute(predictions=SETS)
    assert default["diversity_scores"] == given["diversity_scores"]
    assert "|df:predictions|" in default["diversity_signature"]
    assert f"|df:given@{DocumentFrequency(table.counts, 3).digest[:8]}|" in given["diversity_signature"]


def test_one_sentence_for_all_images_is_not_undefined():
    result = loaded().compute(predictions=[["a dog runs on grass"] * 3] * 4)
    assert result["diversity_scores"] == [0.0] * 4


@pytest.mark.parametrize("training", ["list", "txt", "jsonl", "json"])
def test_novel_captions(tmp_path, training):
    known = ["A dog runs.", "One cat sleeps", "unseen"]
    path = tmp_path / f"train.{training}"
    if training == "txt":
        path.write_text("\n".join(known) + "\n", "utf-8")
    elif training == "jsonl":
        path.write_text("".join(json.dumps({"captions": [one]}) + "\n" for one in known), "utf-8")
    elif training == "json":
        annotations = [{"image_id": i // 2, "caption": one} for i, one in enumerate(known)]
        path.write_text(json.dumps({"annotations": annotations}), "utf-8")
    result = loaded(training_captions=known if training == "list" else str(path)).compute(predictions=SETS)
    assert result["diversity_novel_scores"] == pytest.approx([2 / 3, 2 / 3])
    source = "given" if training == "list" else path.name
    assert f"|training:{source}@" in result["diversity_novel_signature"]
    assert "training" not in result["diversity_signature"]
    digests = {result["diversity_novel_signature"].rpartition("@")[2]}
    again = loaded(training_captions=[*known[::-1], "unseen"]).compute(predictions=SETS)
    assert {again["diversity_novel_signature"].rpartition("@")[2]} == digests


def test_without_training_captions_there_is_no_novelty():
    assert not [key for key in loaded().compute(predictions=SETS) if "novel" in key]


def test_rows_with_one_caption_change_nothing_else():
    result, more = (loaded().compute(predictions=rows) for rows in (SETS, [*SETS, ["an unseen word"], []]))
    for key, value in result.items():
        if not key.endswith(("_scores", "_undefined")):
            assert more[key] == value, key
    assert more["diversity_undefined"] == more["diversity_distinct_undefined"] == 2


def test_sets_of_several_sizes_give_a_warning():
    ragged = [SETS[0], SETS[1][:2], SETS[1], SETS[0][:1]]
    with pytest.warns(UserWarning, match="mean over sets of 2 sizes, whose scores are not comparable: 2 of 3, 1 of 2"):
        loaded().compute(predictions=ragged)
    with pytest.warns(UserWarning, match="every score of diversity is undefined; give each row as a list"):
        loaded().compute(predictions=[["a"], ["b"]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded().compute(predictions=[*SETS, ["alone"]])


@pytest.mark.parametrize(
    "settings", [{}, {"df": DocumentFrequency({("a",): 60}, 100)}, {"training_captions": ["a cat"]}]
)
@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.filterwarnings("ignore:`diversity` is a mean over sets")
def test_batches_equal_one_call(settings, size):
    rng = np.random.default_rng(3)
    words = ("a", "dog", "cat", "runs", "on", "grass")
    rows = [[" ".join(rng.choice(words, rng.integers(0, 8))) for _ in range(rng.integers(0, 5))] for _ in range(11)]
    expected = loaded(**settings).compute(predictions=rows)
    scorer = RowScorer("diversity", **settings)
    parts = [
        {"id": list(range(start, min(start + size, 11))), "predictions": rows[start : start + size]}
        for start in range(0, 11, size)
    ]
    scorer = scorer.with_counts(map(scorer.count_rows, parts))
    found = scorer.combine([scorer.score_rows(part) for part in parts[::-1]])
    assert found.pop("ids") == list(range(11))
    assert found.pop("sizes") == [(len(row), 0) for row in rows]
    for key, value in expected.items():
        if key.endswith("_signature"):
            assert found[key].startswith(f"{value}|sets:1-4@")
        else:
            np.testing.assert_array_equal(found[key], value, err_msg=key)
    assert found.keys() == expected.keys()


def test_order_of_rows_and_copies_of_a_metric_do_not_matter():
    metric = loaded()
    first = metric.compute(predictions=SETS)
    turned = metric.compute(predictions=SETS[::-1])
    assert first["diversity_scores"] == turned["diversity_scores"][::-1]
    assert first["diversity_mbleu_4"] == turned["diversity_mbleu_4"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"df": "references"}, "`df` must be 'predictions', a DocumentFrequency or the path of its saved file"),
        ({"df": 3}, "`df` must be 'predictions', a DocumentFrequency"),
        ({"training_captions": "nowhere.txt"}, "`training_captions` must be an existing file or a list of captions"),
        ({"training_captions": []}, "`training_captions` must be a path or a list of at least one caption, got"),
        ({"training_captions": {"a": 1}}, "`training_captions` must be a path or a list of at least one caption"),
        ({"training_captions": ["a", None]}, r"`training_captions\[1\]` must be a caption \(str\), got NoneType"),
        ({"tokenizer": "words"}, "`tokenizer` must be"),
        ({"references": 1}, "references"),
    ],
)
def test_invalid_settings(settings, message):
    with pytest.raises((UsageError, TypeError), match=message):
        loaded(**settings)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["a dog", "a cat"], r"`predictions\[0\]` must be a list of captions, got str; wrap a single caption"),
        ([["a", 3]], r"`predictions\[0\]\[1\]` must be a caption \(str\), got int"),
        ([None], r"`predictions\[0\]` must be a list of captions, got NoneType"),
        ([["a", "\ud800"]], r"`predictions\[0\]\[1\]`"),
        (3, "`predictions` must"),
        ([], "`predictions`|no rows"),
    ],
)
def test_invalid_rows(rows, message):
    with pytest.raises(ValueError, match=message):
        loaded().compute(predictions=rows)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.jsonl", '{"text": "a dog"}\n', "must be a file with one caption per line, annotations of COCO, or a table"),
        ("x.jsonl", '{"caption": 3}\n', "got .* in row 0 of"),
        ("x.csv", "caption\n", "`training_captions` must have at least one row"),
        ("x.docx", "a", "`training_captions` must end in one of jsonl"),
        ("x.json", "{", "`training_captions`"),
        (
            "x.txt",
            "\n \u200b\n",
            "`training_captions` must have a caption with a word, got none",
        ),
        ("x.txt.gz", "a", "^`training_captions` must end in one of jsonl, [^;]*$"),
    ],
)
def test_invalid_files_of_training_captions(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content, "utf-8")
    with pytest.raises(UsageError, match=message):
        loaded(training_captions=path).compute(predictions=SETS)


def test_a_table_of_other_tokens_gives_a_warning():
    df = DocumentFrequency({("a",): 60}, 100, "other")
    with pytest.warns(UserWarning, match="`df` was counted with the tokenizer 'other'"):
        loaded(df=df).compute(predictions=SETS)


def test_the_order_of_captions_changes_the_kernel():
    texts = ["a a dog", "a dog dog cat runs"]
    scores = [
        loaded(df=DocumentFrequency({("a",): 9}, 10)).compute(predictions=[own])["diversity"]
        for own in (texts, texts[::-1])
    ]
    assert scores[0] != scores[1]
    assert math.isclose(*scores, abs_tol=0.1)
