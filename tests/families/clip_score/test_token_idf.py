"""Word weights of clip_s and pac_s for videos."""

import json
import math

import numpy as np
import pytest

from vlgauge.families.clip_score.token_idf import (
    Idf,
    check_idf,
    corpus_idf,
    count_idf,
    fit_idf,
    resolve_idf,
    sentence_counts,
)
from vlgauge.models.clip.tokens import END, ClipTokens

TOKENS = ClipTokens(77)
START = 49406
SENTENCES = ["a dog runs", "a cat", "a cat and a cat"]


def ids(*words):
    return np.array([START, *words, END])


def fitted(sentences=SENTENCES, name="corpus"):
    return corpus_idf(sentences, name, TOKENS)


def resolved(value, candidates=("a dog",), references=None):
    return resolve_idf(check_idf(value), candidates=candidates, references=references, tokens=TOKENS)


# -- the table --------------------------------------------------------------------------------------------------------
def test_worked_example():
    # Two sentences: word 5 in both, word 6 twice in one, word 7 in the other; both have the padding.
    idf = fit_idf([ids(5, 6, 6), ids(5, 7)], "two", 77)
    rare = math.log(3 / 2)
    assert idf.weights == pytest.approx({0: 0.0, 5: 0.0, 6: rare, 7: rare, START: 0.0, END: 0.0})
    assert idf.end == pytest.approx(2 * rare / 6)
    assert idf.unseen == pytest.approx(math.log(3))
    assert idf.of(ids(5, 6, 9)) == pytest.approx([0.0, 0.0, rare, math.log(3), 2 * rare / 6])


@pytest.mark.parametrize("seed", range(3))
def test_brute_force(seed):
    rng = np.random.default_rng(seed)
    rows = [ids(*rng.integers(1, 30, size=rng.integers(1, 76))) for _ in range(int(rng.integers(1, 20)))]
    idf = fit_idf(rows, "random", 77)
    full = [set(row.tolist()) | ({0} if len(row) < 77 else set()) for row in rows]
    for token in set().union(*full):
        df = sum(token in row for row in full)
        assert idf.weights[token] == pytest.approx(math.log((len(rows) + 1) / (df + 1)))
    assert set(idf.weights) == set().union(*full)


def test_exclamation_marks_with_the_id_of_the_padding():
    assert TOKENS(["!%"])[0][0].tolist() == [START, 0, 260, END]
    idf = resolved(["so !% much", "so"])
    assert idf.of(TOKENS(["!% so"])[0][0])[:4] == pytest.approx([0.0, 0.0, math.log(3 / 2), 0.0])
    full = [np.arange(1, 78), ids(5)]
    assert fit_idf(full, "full", 77).weights[0] == pytest.approx(math.log(3 / 2))


def test_words_of_the_only_sentence_weigh_nothing():
    idf = fitted(["a dog runs"])
    assert idf.of(TOKENS(["a dog runs"])[0][0]).tolist() == [0.0] * 5
    assert idf.of(TOKENS(["cats"])[0][0])[1] == math.log(2)


def test_no_sentence_is_refused():
    with pytest.raises(ValueError, match=r"^`idf`.*got none"):
        fit_idf([], "x", 77)


# -- files ------------------------------------------------------------------------------------------------------------
def test_saved_table_is_the_same(tmp_path):
    idf = fitted()
    idf.save(tmp_path / "idf.json")
    again = resolved(tmp_path / "idf.json")
    assert again == idf
    assert again.digest == idf.digest
    assert np.array_equal(again.of(np.arange(49408)), idf.of(np.arange(49408)))


def test_digest_depends_on_the_weights_alone():
    assert fitted(name="other").digest == fitted().digest
    assert fitted(SENTENCES[:2]).digest != fitted().digest
    assert fitted(SENTENCES[::-1]).digest == fitted().digest


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["weights"].update({"5": 1.0}),
        lambda record: record.update(n=7),
        lambda record: record.pop("sha256"),
        lambda record: record["weights"].update({"dog": 1.0}),
        lambda record: record["weights"].update({"99999": 1.0}),
        lambda record: record.update(weights=[1.0]),
    ],
)
def test_changed_table_is_refused(tmp_path, change):
    path = tmp_path / "idf.json"
    fitted().save(path)
    record = json.loads(path.read_text("utf-8"))
    change(record)
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(ValueError, match=r"^`idf`.*Idf\.save"):
        resolved(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("corpus.txt", "\n".join([*SENTENCES, "", "  "])),
        ("corpus.json", json.dumps(SENTENCES)),
        ("corpus.json", json.dumps({"v1": SENTENCES[:2], "v2": SENTENCES[2:], "v3": []})),
    ],
)
def test_corpus_from_a_file(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert resolved(str(tmp_path / name)) == fitted()


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.json", b'{"a": 1}', r"^`idf`.*JSON.*key"),
        ("x.json", b'["a", 3]', r"^`idf`.*JSON.*sentences"),
        ("x.json", b"[", r"^`idf`.*JSON.*line 1"),
        ("x.txt", b"a\xff", r"^`idf`.*UTF-8.*byte 0xff"),
        ("x.txt", b"\n", r"^`idf`.*got none"),
    ],
)
def test_bad_files_are_refused(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=message):
        resolved(tmp_path / name)


# -- the setting ------------------------------------------------------------------------------------------------------
def test_a_table_of_broken_json_is_refused(tmp_path):
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(ValueError, match=r"^`idf`.*JSON.*line 1"):
        resolved(tmp_path / "x.json")


def test_rows_of_the_call():
    references, candidates = ["a cat", "a dog"], ["a dog runs"]
    for value, source, name in [
        ("references", references, "references"),
        ("candidates", candidates, "candidates"),
        ("auto", references, "references"),
    ]:
        idf = resolved(value, candidates, references)
        assert idf.weights == fitted(source).weights
        assert idf.name == name
    for nothing in (None, []):
        assert resolved("auto", candidates, nothing).weights == fitted(candidates).weights
    assert resolved(None) is resolved(False) is None
    assert resolved(SENTENCES).name == "list"
    assert resolved(sentence for sentence in SENTENCES).weights == fitted().weights
    assert isinstance(resolved(fitted()), Idf)


def test_references_that_are_missing():
    for references in (None, []):
        with pytest.raises(ValueError, match=r"^`idf='references'`.*got none"):
            resolved("references", references=references)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("reference", r"^`idf`.*got 'reference'"),
        ("x" * 5000, r"^`idf`.*got 'x{50,}\.\.\.$"),
        (True, r"^`idf`.*got bool"),
        ([], "got list"),
        (["a", 3], "got list"),
        (b"auto", "got bytes"),
        ({"a": 1.0}, "got dict"),
    ],
)
def test_bad_settings_are_refused(value, message):
    with pytest.raises(ValueError, match=message):
        check_idf(value)


def test_counts_of_parts_make_the_table_of_the_whole():
    sentences = ["a dog runs", "a red dog", "!", "word " * 90, "a cat"]
    parts = [sentence_counts(TOKENS(part)[0], 77) for part in (sentences[:2], [], sentences[2:])]
    counts = {token: sum(part.get(token, 0) for part in parts) for part in parts for token in part}
    assert count_idf(counts, 5, "list") == corpus_idf(sentences, "list", TOKENS)
