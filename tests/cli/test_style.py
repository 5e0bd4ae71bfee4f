"""`vlgauge style-fit` and `vlgauge style-report`."""

import json
import warnings

import folders
import pytest

from vlgauge.cli import main
from vlgauge.families.style import StyleTable
from vlgauge.research.studies.style_corpora import read_table
from vlgauge.research.studies.style_report import split_by_group, style_report

EXAMPLES = folders.EXAMPLES / "styled_captions.csv"


FILES = {
    "other.csv": "text,mood\na,x\n",
    "unnamed.csv": "caption,style\na,x\nb, \n",
    "two.csv": "caption,style\na,x\nb,y\n",
}


@pytest.fixture
def corpus():
    return read_table(EXAMPLES, group="picture")


@pytest.fixture
def emotions(tmp_path):
    path = tmp_path / "train.tsv"
    rows = ["I love it\t17", "I love you\t17", "I hate it\t2", "I hate you\t2", "so so\t27", "no idea\t27", "both\t2,3"]
    path.write_text("".join(f"{row}\tid\n" for row in rows), "utf-8")
    return path


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


# -- style-fit --------------------------------------------------------------------------------------------------------
def test_fit_writes_a_table_and_says_what_is_in_it(capsys, tmp_path, corpus):
    path = tmp_path / "table.parquet"
    code, out, err = run(capsys, "style-fit", EXAMPLES, "-o", path, "--name", "examples", "--licence", "Apache-2.0")
    table = StyleTable.load(path)
    assert (code, err) == (0, "")
    assert table.fingerprint == StyleTable.fit(corpus.captions, corpus.styles).fingerprint
    assert (table.name, table.source, table.licence) == ("examples", None, "Apache-2.0")
    for fact in ("table.parquet", "160", "words-1", table.fingerprint):
        assert fact in out


def test_fitted_table_scores(capsys, tmp_path):
    path = tmp_path / "table.parquet"
    assert run(capsys, "style-fit", EXAMPLES, "-o", path)[0] == 0
    columns = ("--predictions", "caption", "--styles", "style", "--set", "exclude_self=true", "--format", "json")
    code, out, _ = run(capsys, "score", "onlystyle", EXAMPLES, *columns, "--set", f"table={path}")
    result = json.loads(out)
    assert code == 0
    assert (len(result["onlystyle_scores"]), result["onlystyle_in_sample"]) == (160, 160)


def test_fit_of_other_columns_and_tokenizer(capsys, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "A b.", "mood": "x"}\n{"text": "c", "mood": "y"}\n', "utf-8")
    options = ("--caption", "text", "--style", "mood", "--tokenizer", "whitespace", "-o", tmp_path / "t.parquet")
    assert run(capsys, "style-fit", path, *options)[0] == 0
    assert StyleTable.load(tmp_path / "t.parquet").tokens == ["A", "b.", "c"]


def test_fit_shows_a_bar_if_it_may(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("vlgauge.core.progress.DELAY_SECONDS", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert "Tokenizing captions" in run(capsys, "style-fit", EXAMPLES, "-o", tmp_path / "t.parquet")[2]
    assert run(capsys, "style-fit", EXAMPLES, "-o", tmp_path / "t.parquet", "--no-progress")[2] == ""


# -- style-report -----------------------------------------------------------------------------------------------------
def test_report_is_that_of_the_package(capsys, corpus):
    code, out, err = run(capsys, "style-report", EXAMPLES, "--group-column", "picture", "--json")
    held_out = split_by_group(corpus.groups, 0.15)
    expected = style_report(corpus.captions, corpus.styles, held_out=held_out)
    assert (code, err) == (0, "")
    assert json.loads(out) == {name: row.record() for name, row in expected.items()}


def test_report_as_a_table(capsys):
    options = ("--shuffle-seed", "none", "--held-out", "0", "--variant", "released")
    code, out, _ = run(capsys, "style-report", EXAMPLES, *options)
    lines = out.splitlines()
    assert code == 0
    assert lines[0].split() == [
        *("share", "of", "captions", "won", "(released)", "captions", "OnlyStyle"),
        *("Eq.", "9", "pairs", "Eq.", "10", "pairs", "pooled"),
    ]
    assert [line[:14].strip() for line in lines[2:]] == ["in sample", "in sample, not", "leave one out"]
    assert lines[2].split()[2:] == ["160", "0.6935", "1.0000", "1.0000", "1.0000", "1.0000", "1.0000"]
    assert len(lines[4].split()) == 7  # Eq. 10 is not computed


def test_seeds_choose_the_parts(capsys):
    def report(*options):
        return json.loads(run(capsys, "style-report", EXAMPLES, "--json", *options)[1])

    first = report()
    assert report() == first
    drawn, shuffled = report("--seed", "1"), report("--shuffle-seed", "1")
    assert drawn["in sample"] == first["in sample"]
    assert drawn["held out"] != first["held out"]
    assert shuffled["held out"] == first["held out"]
    assert shuffled["shuffled: leave one out"] != first["shuffled: leave one out"]
    assert report("--held-out", "0.5")["held out"]["captions"] == 80
    assert first["held out"]["captions"] == 24


def test_report_of_a_published_corpus_with_a_test_file(capsys, emotions):
    code, out, err = run(
        capsys, "style-report", emotions, "--kind", "goemotions", "--test", emotions, "--shuffle-seed", "none", "--json"
    )
    assert code == 0
    assert err == f"read 6 captions from {emotions}, left out 1 with several labels\n" * 2
    report = json.loads(out)
    assert report["held out"]["captions"] == 6
    assert report["held out"]["eq9"] == report["in sample"]["eq9"]


# -- errors -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["style-fit", EXAMPLES, "-o", "nowhere/t.parquet"],
            "--output must be a file in an existing folder, got 'nowhere/t.parquet'",
        ),
        (["style-fit", EXAMPLES, "-o", "."], "--output must be a file in an existing folder, got '.'"),
        (["style-fit", "none.csv", "-o", "t.parquet"], "none.csv: No such file or directory"),
        (
            ["style-fit", EXAMPLES, "-o", "t.parquet", "--style", "mood"],
            "FILE must have the column 'mood' in every row",
        ),
        (["style-fit", EXAMPLES, "-o", "t.parquet", "--kind", "senticap"], "FILE must contain JSON, got"),
        (
            ["style-fit", ".", "-o", "t.parquet", "--kind", "senticap"],
            "FILE must be a file for --kind senticap, got the",
        ),
        (["style-fit", EXAMPLES, "-o", "t.csv"], "--output must end in .parquet, got 't.csv'"),
        (["style-report", "."], "FILE must be a file, got the folder '.'"),
        (["style-report", "none"], "none: No such file or directory"),
        (
            ["style-fit", ".", "-o", "t.parquet", "--kind", "flickrstyle"],
            "FILE must be the folder of FlickrStyle with humor/funny_train.txt and romantic/romantic_train.txt, got "
            "'.' without humor/funny_train.txt and romantic/romantic_train.txt",
        ),
        (
            ["style-report", EXAMPLES, "--caption", "text"],
            "FILE must have the column 'text' in every row, got row 0 with: caption, style, picture; choose columns "
            "with --caption and --style, or --kind for a published corpus",
        ),
        (["style-report", EXAMPLES, "--test", "other.csv"], "--test FILE must have the column 'caption' in every row"),
        (["style-report", "unnamed.csv"], "FILE must have text in the column 'style', row 1 has: ' '"),
        (["style-report", "two.csv"], "`held_out` must leave captions of at least two styles for training, got only "),
        (["style-report", EXAMPLES, "--held-out", "1.5"], "--held-out must be at least 0 and below 1, got 1.5"),
        (["style-report", EXAMPLES, "--held-out", "-1"], "--held-out must be at least 0 and below 1, got -1.0"),
        (["style-report", EXAMPLES, "--held-out", "nan"], "--held-out must be at least 0 and below 1, got nan"),
        (
            ["style-report", EXAMPLES, "--test", EXAMPLES, "--held-out", "0.1"],
            "--test cannot be combined with --held-out",
        ),
        (
            ["style-report", EXAMPLES, "--test", EXAMPLES, "--group-column", "x"],
            "--test cannot be combined with --held-out",
        ),
        (["style-report", EXAMPLES, "--seed", "-1"], "`seed` must be an integer of at least 0, got -1"),
        (["style-report", EXAMPLES, "--kind", "senticap", "--caption", "x"], "--caption requires --kind table"),
        (["style-fit", EXAMPLES, "-o", "t.parquet", "--kind", "senticap", "--style", "x"], "--style requires --kind"),
        (["style-report", EXAMPLES, "--kind", "senticap", "--input-format", "csv"], "--input-format requires --kind"),
        (["style-report", EXAMPLES, "--group-column", "scene"], "FILE must have the column 'scene' in every row"),
        (
            ["style-report", EXAMPLES, "--kind", "flickrstyle", "--group-column", "x"],
            "--group-column requires --kind table",
        ),
        (["style-report", EXAMPLES, "--input-format", "xml"], "FILE must end in one of jsonl, json, csv, tsv, parquet"),
    ],
)
def test_wrong_calls_end_with_one_line(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    for name, rows in FILES.items():
        (tmp_path / name).write_text(rows, "utf-8")
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"vlgauge {arguments[0]}: error: {message}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [["style-fit", "x"], ["style-report", "x", "--shuffle-seed", "y"], ["style-report", "x", "--kind", "z"]],
)
def test_wrong_options_end_with_one_line(capsys, arguments):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "--shuffle-seed" not in arguments or "--shuffle-seed: must be an integer or none, got 'y'" in err


def test_one_style_only(capsys, tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("caption,style\na,x\nb,x\n", "utf-8")
    code, _, err = run(capsys, "style-fit", path, "-o", tmp_path / "t.parquet")
    assert code == 2
    assert "FILE must have captions of at least two styles, which are contrasted, got only 'x'" in err
    assert not (tmp_path / "t.parquet").exists()


def test_captions_without_words_are_told(capsys, tmp_path):
    path = tmp_path / "empty.csv"
    path.write_text("caption,style\na b,x\n...,x\nc d,y\n", "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code, _, err = run(capsys, "style-fit", path, "-o", tmp_path / "t.parquet")
    assert code == 0
    assert err.startswith("vlgauge style-fit: warning: 1 of 3 captions have no tokens")
    assert err.count("\n") == 1
