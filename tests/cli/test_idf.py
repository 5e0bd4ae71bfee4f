"""`vlgauge idf`: a table of idf weights from stories, or from the authors' pickle."""

import json
import pickle

import pytest

import vlgauge
from vlgauge.cli import main
from vlgauge.families.ngram.cider import DocumentFrequency
from vlgauge.inputs.text.story_idf import fit_idf, idf_table

STORIES = [["The dog ran home.", "It was night."], "The Dog slept.", ["A cat sat."]]


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"story": story, "name": "x", "none": [], "n": 3}) + "\n" for story in STORIES))
    return path


@pytest.fixture
def pickled(tmp_path):
    path = tmp_path / "idf.pkl"
    path.write_bytes(pickle.dumps({"dog": 2.0}))
    return path


def idf(*arguments):
    return main(["idf", *map(str, arguments)])


def test_words_of_stories_are_counted(corpus, tmp_path, capsys):
    out = tmp_path / "idf.json"
    assert idf(out, "--stories", corpus) == 0
    assert idf_table(out) == fit_idf(STORIES)
    assert capsys.readouterr().out == f"{len(fit_idf(STORIES).df)} words of 3 stories: {out}\n"
    assert idf(out, "--stories", corpus, "--lowercase") == 0
    assert idf_table(out) == fit_idf(STORIES, lowercase=True)
    corpus.rename(tmp_path / "corpus")
    assert idf(out, "--stories", tmp_path / "corpus", "--column", "name", "--input-format", "jsonl") == 0
    assert idf_table(out) == fit_idf(["x"] * 3)


def test_ngrams_of_references_are_counted_as_cider_does(tmp_path, capsys):
    corpus, out = tmp_path / "corpus.jsonl", tmp_path / "df.gz"
    rows = [["a dog runs", "A dog is running."], "two dogs", [], ["a cat", "a dog"]]
    corpus.write_text("".join(json.dumps({"references": row, "name": ["x"]}) + "\n" for row in rows))
    assert idf(out, "--references", corpus) == 0
    assert capsys.readouterr().out == f"n-grams of the references of 3 rows: {out}\n"
    found = DocumentFrequency.load(out)
    assert found.digest == DocumentFrequency.from_references(rows).digest
    assert found.counts[("a", "dog")] == 2
    vlgauge.load("cider", df=str(out)).compute(predictions=["a dog"], references=[["a dog"]])
    assert idf(out, "--references", corpus, "--eos") == 0
    assert DocumentFrequency.load(out).digest == DocumentFrequency.from_references(rows, eos=True).digest
    vlgauge.load("cider", df=str(out), eos=True).compute(predictions=["a dog"], references=[["a dog"]])
    capsys.readouterr()
    assert idf(out, "--references", corpus, "--column", "name") == 0
    assert DocumentFrequency.load(out).counts == {("x",): 4}


def test_the_pickle_is_converted(pickled, tmp_path, capsys):
    out = tmp_path / "idf.json"
    assert idf(out, "--pickle", pickled) == 0
    assert idf_table(out).value("dog") == 2.0
    assert capsys.readouterr().out == f"1 words of an unknown number of stories: {out}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["idf.json", "--stories", "corpus.jsonl", "--column", "text"], "FILE must have the column 'text'"),
        (["idf.json", "--stories", "corpus.jsonl", "--max-rows", "2"], "FILE must have at most 2 rows"),
        (["df.gz", "--references", "corpus.jsonl"], "FILE must have the column 'references'"),
        (
            ["df.gz", "--references", "corpus.jsonl", "--column", "none"],
            "FILE must have a reference in at least one row",
        ),
        (["df.gz", "--references", "corpus.jsonl", "--column", "n"], "`references[0]` must be a list of captions, got"),
        (["df.json", "--references", "corpus.jsonl"], "OUT must end in .gz, got 'df.json'"),
        (["df.gz", "--references", "corpus.jsonl", "--lowercase"], "--lowercase requires --stories"),
        (["idf.json", "--stories", "corpus.jsonl", "--eos"], "--eos requires --references"),
        (["idf.json", "--pickle", "corpus.jsonl"], "`corpus.jsonl` must be a complete pickle"),
        (["idf.txt", "--pickle", "idf.pkl"], "OUT must end in .json, got 'idf.txt'"),
        (["idf.pkl", "--pickle", "idf.pkl"], "OUT must be a different file from FILE, got 'idf.pkl' for both"),
        (["no/idf.json", "--pickle", "idf.pkl"], "OUT must be a file in an existing folder, got 'no/idf.json'"),
        *(
            (["idf.json", "--pickle", "idf.pkl", *words], "--column, --input-format and --lowercase require")
            for words in (["--lowercase"], ["--column", "text"], ["--input-format", "csv"])
        ),
    ],
)
def test_errors_are_one_line_and_nothing_is_written(corpus, pickled, tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert idf(*arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"vlgauge idf: error: {message}")
    assert {path.name for path in tmp_path.iterdir()} == {"corpus.jsonl", "idf.pkl"}
