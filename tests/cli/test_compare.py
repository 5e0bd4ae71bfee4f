"""`vlgauge compare`: input files and output tables."""

import json
import re
import shutil

import pytest
from demo_page import Elements

from vlgauge.cli import main
from vlgauge.cli.compare import system_names

STORIES = {
    "plain": [
        "A dog ran home. The cat sat down.",
        "Rain fell all day. We stayed inside.",
        "We left. The band played on.",
    ],
    "same": ["A dog ran home. A dog ran home.", "Rain fell all day. Rain fell all day.", "We left. We left again now."],
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Predictions of two systems in the working folder. The rows of the second are in another order."""
    monkeypatch.chdir(tmp_path)
    for name, stories in STORIES.items():
        rows = [{"id": i, "album": f"album {i // 2}", "predictions": text} for i, text in enumerate(stories)]
        lines = [json.dumps(row) + "\n" for row in (rows if name == "plain" else reversed(rows))]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return tmp_path


def compared(capsys, *words):
    assert main(["compare", *words, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys, *words):
    assert main(["compare", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err


def test_predictions_are_scored_and_joined(files, capsys):
    record = compared(capsys, "rovist_nr", "plain.jsonl", "same.jsonl", "--rows-that-differ", "1")
    assert record["n_rows"] == 3
    (metric,) = record["metrics"]
    assert not {"ids", "scores", "noise"} & {*record, *metric}  # one value per row
    assert [one["name"] for one in metric["systems"]] == ["plain", "same"]
    (pair,) = metric["pairs"]
    assert (pair["wins"], pair["losses"], pair["pvalue"]) == (3, 0, 0.25)
    (row,) = pair["rows_that_differ"]
    assert row["plain"] - row["same"] >= pair["difference"]


@pytest.mark.parametrize("ending", ["json", "csv", "jsonl", "parquet"])
def test_scores_of_every_form_compare_as_predictions_do(files, capsys, ending):
    expected = compared(capsys, "rovist_nr", "plain.jsonl", "same.jsonl")
    for name in STORIES:
        assert main(["score", "rovist_nr", f"{name}.jsonl", "--output", f"{name}-scores.{ending}"]) == 0
    capsys.readouterr()
    names = ["--names", "plain,same"]
    assert compared(capsys, "rovist_nr", *(f"{name}-scores.{ending}" for name in STORIES), *names) == expected
    assert compared(capsys, "rovist_nr", f"plain-scores.{ending}", "same.jsonl", *names) == expected


@pytest.mark.parametrize("ending", ["json", "csv", "jsonl", "parquet"])
def test_scores_of_bleu_keep_what_it_is_made_of(tmp_path, monkeypatch, capsys, ending):
    monkeypatch.chdir(tmp_path)
    captions = {"a": ["a dog runs on the grass", "two cats", "a hat"], "b": ["a dog", "two red cats sleep here", "a"]}
    for name, own in captions.items():
        references = [["a dog runs on the lawn"], ["two red cats sleep"], []]
        rows = [{"id": i, "predictions": text, "references": references[i]} for i, text in enumerate(own)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        assert main(["score", "bleu", f"{name}.jsonl", "--output", f"{name}-scores.{ending}"]) == 0
    out = capsys.readouterr().out
    # The table has the confidence interval of the corpus value.
    values = dict(line.split(maxsplit=1) for line in out.splitlines() if line.startswith("bleu "))
    assert [len(value.split()) for value in values.values()] == [6]
    expected = compared(capsys, "bleu", "a.jsonl", "b.jsonl", "--names", "a,b")
    (metric,) = expected["metrics"]
    assert (metric["value"], [one["n"] for one in metric["systems"]]) == ("corpus", [2, 2])
    assert compared(capsys, "bleu", f"a-scores.{ending}", f"b-scores.{ending}", "--names", "a,b") == expected


def test_the_text_names_the_better_system_and_shows_the_rows(files, capsys):
    assert main(["compare", "rovist_nr", "plain.jsonl", "same.jsonl", "--level", "0.5", "--rows-that-differ", "2"]) == 0
    out = capsys.readouterr().out
    assert "rovist_nr ↑" in out
    assert "Means with 50% bootstrap intervals; 3 rows, 10000 samples, seed 0." in out
    assert "Rows in which plain and same differ most by rovist_nr ↑" in out
    assert "A dog ran home. A dog ran home." in out
    assert out.count("|v:0.1.0|") == 1


@pytest.mark.filterwarnings("default:.* is a mean over sets of")
def test_what_holds_for_every_system_is_said_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        rows = [
            {"id": n, "predictions": [f"{name} {i}" for i in range(n)], "references": ["a dog", "a cat"]}
            for n in (2, 3)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert main(["compare", "trm", "a.jsonl", "b.jsonl"]) == 0
    err = capsys.readouterr().err
    assert err.count("vlgauge compare: warning: `trm` is a mean over sets of 2 sizes") == err.count("warning") == 1


@pytest.mark.parametrize(("form", "begin"), [("markdown", "| system |"), ("latex", "\\begin{tab"), ("html", "<table>")])
def test_forms(files, capsys, form, begin):
    assert main(["compare", "rovist_nr", "plain.jsonl", "same.jsonl", "--format", form]) == 0
    assert capsys.readouterr().out.startswith(begin)


def test_lower_is_better_is_told_the_right_way_round(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": i, "references": [f"a dog number {i} ran", f"the dog {i} is running", f"dog {i} runs"]} for i in range(8)
    ]
    near = [
        row | {"predictions": [f"a dog {row['id']} ran", f"the dog {row['id']} runs", "dog running"]} for row in rows
    ]
    far = [row | {"predictions": ["blue green", "no tree at all", "seven hats"]} for row in rows]
    for name, own in (("far", far), ("near", near)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in own), encoding="utf-8")
    record = compared(capsys, "trm", "far.jsonl", "near.jsonl")["metrics"][0]
    assert not record["higher_is_better"]
    assert [one["name"] for one in record["systems"]] == ["near", "far"]
    assert (record["pairs"][0]["better"], record["pairs"][0]["losses"]) == ("near", 8)
    assert record["pairs"][0]["difference"] > 0
    for form in ("text", "markdown", "latex", "html"):
        assert main(["compare", "trm", "far.jsonl", "near.jsonl", "--format", form]) == 0
        out = capsys.readouterr().out
        assert ("$\\downarrow$" if form == "latex" else "↓") in out
        best = {
            "text": "near    * 0",
            "markdown": "| near | **0",
            "latex": "near & \\textbf{0",
            "html": '<td data-label="system">near</td><td data-label=',
        }
        assert out.index(best[form]) < out.index("far")


def test_of_unequal_sets_as_many_are_drawn(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, count in (("four", 4), ("three", 3)):
        words = ["a dog ran", "the dog ran home", "dog at home", "a brown dog"]
        rows = [
            {"id": i, "predictions": words[:count], "references": ["a dog", "dog runs", f"dogs {i}"]} for i in range(3)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert main(["compare", "trm", "four.jsonl", "three.jsonl", "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["metrics"][0]["value"] == "score"
    assert "four: for each row, captions are sampled (seed 0) to match the system with the fewest" in err
    assert "|sets:3v3" in json.loads(out)["metrics"][0]["signature"]
    # The same as sampling in advance: one K for all systems, by the ids of the rows.
    for name in ("four", "three"):
        words = ["--captions-per-row", "3", "--output", f"{name}.json"]
        assert main(["score", "trm", f"{name}.jsonl", *words]) == 0
    capsys.readouterr()
    found = compared(capsys, "trm", "four.json", "three.json")
    assert found["metrics"][0]["systems"] == json.loads(out)["metrics"][0]["systems"]
    signature = json.loads((tmp_path / "four.json").read_text("utf-8"))["trm_signature"]
    assert signature.endswith("|sets:3v3|drawn_from:4|draw_seed:0")


@pytest.mark.parametrize("ending", ["json", "csv", "parquet"])
def test_scores_of_unequal_sets_are_refused(tmp_path, monkeypatch, capsys, ending):
    monkeypatch.chdir(tmp_path)
    words = ["a dog ran", "the dog ran home", "dog at home", "a brown dog"]
    for name, count in (("four", 4), ("three", 3)):
        row = {"predictions": words[:count], "references": ["a dog", "dog runs", "dogs"]}
        rows = [row | {"id": 0}, row | {"id": 1, "references": ["a cat", "the cat ran home", "dog at home"]}]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        assert main(["score", "trm", f"{name}.jsonl", "--output", f"{name}.{ending}"]) == 0
    capsys.readouterr()
    assert "or score every system again with --captions-per-row 3" in refused(
        capsys, "trm", f"four.{ending}", f"three.{ending}"
    )
    assert compared(capsys, "trm", f"four.{ending}", "four.jsonl", "--names", "a,b")["metrics"][0]["value"] == "score"
    # Captions are sampled from rows that are scored here, as many as in the file of scores, but not from scores.
    assert compared(capsys, "trm", f"three.{ending}", "four.jsonl")["metrics"][0]["value"] == "score"
    assert "--captions-per-row 3" in refused(capsys, "trm", f"four.{ending}", "three.jsonl")


def test_groups_come_from_the_predictions_or_from_a_file(files, capsys):
    own = compared(capsys, "rovist_nr", "plain.jsonl", "same.jsonl", "--groups", "album")
    assert own["n_groups"] == 2
    for name in STORIES:
        assert main(["score", "rovist_nr", f"{name}.jsonl", "--output", f"{name}.csv"]) == 0
    capsys.readouterr()
    words = ["rovist_nr", "plain.csv", "same.csv", "--groups", "album"]
    assert compared(capsys, *words, "--groups-file", "plain.jsonl") == own
    assert "--groups requires --groups-file FILE if every FILE contains scores" in refused(capsys, *words)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_rows_without_a_group_are_no_group(tmp_path, monkeypatch, capsys, ending):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": str(k), "predictions": f"a dog ran {k}", "references": "a dog ran", "album": ""} for k in range(3)]
    for name in ("a", "b"):
        if ending == "jsonl":
            text = "".join(json.dumps(row) + "\n" for row in rows)
        else:
            mark = "," if ending == "csv" else "\t"
            text = "".join(mark.join(cells) + "\n" for cells in (rows[0], *(row.values() for row in rows)))
        (tmp_path / f"{name}.{ending}").write_text(text, encoding="utf-8")
    told = refused(capsys, "rouge_l", f"a.{ending}", f"b.{ending}", "--groups", "album")
    assert "--groups must be a column with a value in every row, got 'album', which is missing in row '0'" in told


def test_the_baseline_may_be_a_file(files, capsys):
    for given in ("same", "same.jsonl"):
        record = compared(capsys, "rovist_nr", "same.jsonl", "plain.jsonl", "--baseline", given)
        assert record["baseline"] == "same"
        assert [pair["first"] for pair in record["metrics"][0]["pairs"]] == ["plain"]


def test_the_output_is_what_json_prints(files, capsys):
    record = compared(capsys, "rovist_nr", "plain.jsonl", "same.jsonl", "--output", "out.json")
    assert json.loads((files / "out.json").read_text("utf-8")) == record


def test_names_of_files_that_are_called_the_same():
    assert system_names(["x/a.jsonl", "y/a.jsonl"], None) == ["x/a.jsonl", "y/a.jsonl"]
    assert system_names(["x/a.jsonl", "y/b.csv"], None) == ["a", "b"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rovist_nr", "plain.jsonl"], "FILE must be at least two files, one per system, got only 'plain.jsonl'"),
        (
            ["rovist_nr", "plain.jsonl", "plain.jsonl"],
            "--names must be 2 different names, one per FILE, got plain.jsonl",
        ),
        (["rovist_nr", "plain.jsonl", "same.jsonl", "--names", "a"], "--names must be 2 different names"),
        (["nothing", "plain.jsonl", "same.jsonl"], "`name` must be one of the installed metrics"),
        (["rovist_nr", "plain.jsonl", "none.jsonl"], "none.jsonl: No such file"),
        (["rovist_nr", "plain.jsonl", "short.jsonl"], "`ids` must be the same in every system, plain has '1', '2'"),
        (["rovist_nr", "plain.jsonl", "noid.jsonl"], "noid.jsonl: FILE must have the column 'id' in every row"),
        (["rovist_nr", "plain.jsonl", "empty.jsonl"], "`rovist_nr_scores of empty` must be defined for at least one"),
        (["rovist_nr", "plain.jsonl", "same.jsonl", "--groups-file", "x"], "--groups-file requires --groups"),
        (["rovist_nr", "plain.jsonl", "same.jsonl", "--groups", "page"], "'page', which is missing in row '0'"),
        (["rovist_nr", "plain.jsonl", "same.jsonl", "--output", "same.jsonl"], "--output must be a different file"),
        (
            ["trm", "plain.csv", "same.csv"],
            "the scores of trm and their signature, 'plain.csv' has scores of: rovist_nr",
        ),
        (["rovist_nr", "plain.csv", "same.csv", "--profile", "paper"], "--profile is not supported if every FILE"),
        (
            ["rovist_nr", "plain.jsonl", "same.jsonl", "--report", "x.html"],
            "--report requires --rows-that-differ N",
        ),
        (["rovist_nr", "plain.jsonl", "same.jsonl", "--report", "x.txt"], "--report must end in .html, got 'x.txt'"),
        (
            ["rovist_nr", "plain.jsonl", "same.csv", "--report", "x.html", "--rows-that-differ", "1"],
            "--report requires files of predictions, which it explains, got scores in 'same.csv'",
        ),
        (["rovist_nr", "plain.csv", "same.csv", "--set", "n=3"], "--set is not supported if every FILE"),
        (["rovist_nr", "plain.csv", "same.jsonl", "--set", "n=3"], "plain and same differ in n 4 and 3"),
    ],
)
@pytest.mark.filterwarnings("ignore:every score of rovist_nr is undefined", "ignore:FILE has 3 of 3 cells")
def test_what_is_refused(files, capsys, words, message):
    (files / "short.jsonl").write_text('{"id": 0, "predictions": "A dog ran."}\n', encoding="utf-8")
    (files / "noid.jsonl").write_text('{"predictions": "A dog ran."}\n', encoding="utf-8")
    (files / "empty.jsonl").write_text(
        "".join(f'{{"id": {i}, "predictions": ""}}\n' for i in range(3)), encoding="utf-8"
    )
    for name in STORIES:
        assert main(["score", "rovist_nr", f"{name}.jsonl", "--output", f"{name}.csv"]) == 0
    capsys.readouterr()
    assert message in refused(capsys, *words)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([0, 1, 2, 1], "`ids` must name each row once, other has '1' more than once; use a unique id for each row"),
        ([0, 1], "other has none that plain lacks; score the same rows with every system"),
    ],
)
def test_rows_that_cannot_be_joined_are_refused_before_any_is_scored(files, capsys, monkeypatch, rows, told):
    lines = [json.dumps({"id": number, "predictions": "A dog ran. It sat."}) + "\n" for number in rows]
    (files / "other.jsonl").write_text("".join(lines), encoding="utf-8")
    monkeypatch.setattr("vlgauge.cli.compare.load_metrics", lambda *_, **__: pytest.fail("a metric was loaded"))
    assert told in refused(capsys, "rovist_nr", "plain.jsonl", "other.jsonl")


def cards(page):
    """Return the tone and headline of each card of a page, in page order."""
    return re.findall(r'<article class="card (\w+)"><h3>(.*?)</h3>', page)


def test_the_report_explains_the_rows_for_both_systems(files, capsys):
    words = ["rovist_nr", "plain.jsonl", "same.jsonl", "--rows-that-differ", "2", "--report", "why.html"]
    record = compared(capsys, *words, "--names", "<b>p</b>,same")
    (pair,) = record["metrics"][0]["pairs"]
    page = (files / "why.html").read_text("utf-8")
    elements = Elements(page)
    assert elements.unclosed == []
    assert "<b>p</b>" not in page
    assert "<script" not in page
    assert cards(page) == [("good", "&lt;b&gt;p&lt;/b&gt;"), ("bad", "same")] * 2
    # The largest difference is first, with the text of both systems. The second file has another order.
    for row, part in zip(pair["rows_that_differ"], page.split('<div class="apart">')[1:], strict=True):
        text = Elements(part).text
        assert f"<b>p</b> is better by {row['<b>p</b>'] - row['same']:.2f}" in text
        for stories in STORIES.values():
            assert stories[row["id"] if isinstance(row["id"], int) else int(row["id"])].split()[1] in text
    # The plotted differences, then the rows, and finally all numbers.
    places = [page.index(f'class="{name}"') for name in ("forest", "apart", "fold numbers")]
    assert places == sorted(places)


def test_the_report_knows_that_less_is_better_and_says_that_all_tie(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    row = {"id": 0, "references": ["a dog ran", "the dog is running", "dog runs"]}
    said = {"far": ["blue", "no tree", "hats"], "near": ["a dog ran", "the dog runs", "dog"]}
    for name, own in said.items():
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row | {"predictions": own}) + "\n", encoding="utf-8")
    for other, expected in (("near", [("bad", "far"), ("good", "near")]), ("far", [])):
        shutil.copy(f"{other}.jsonl", "other.jsonl")
        words = ["trm", "far.jsonl", "other.jsonl", "--rows-that-differ", "1", "--report", "why.html"]
        assert main(["compare", *words, "--names", f"far,{'near' if expected else 'same'}"]) == 0
        page = (tmp_path / "why.html").read_text("utf-8")
        assert cards(page) == expected
        # Both sides have the same axis, although their scores differ.
        ends = re.findall(r'<div class="ends">(.*?)</div>', page)
        assert (len(ends), len(set(ends))) == ((2, 1) if expected else (0, 0))
        assert ("They tie in every row." in page) == (not expected)
        assert ("near is better by" in page) == bool(expected)
    capsys.readouterr()


@pytest.mark.filterwarnings("ignore:CIDEr-D takes document frequencies")
def test_the_report_has_the_share_of_unfinished_captions(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, texts in {"<b>": ["a dog with a", "a cat.", "two cats"], "whole": ["a dog", "a cat", "two cats"]}.items():
        rows = [{"predictions": text, "references": ["a dog with a ball"]} for text in texts]
        lines = [json.dumps({"id": i, **row}) + "\n" for i, row in enumerate(rows)]
        (tmp_path / f"{name.strip('<>')}.jsonl").write_text("".join(lines), encoding="utf-8")
    words = ["b.jsonl", "whole.jsonl", "--names", "<b>,whole", "--rows-that-differ", "1", "--report", "why.html"]
    for metric, expected in (("cider,rouge_l", 1), ("rouge_l", 0)):
        assert main(["compare", metric, *words]) == 0
        text = Elements((tmp_path / "why.html").read_text("utf-8")).text
        told = "Unfinished captions, which end in a word such as “a” or “with”: <b> 33.3%, whole 0.0%."
        assert text.count(told) == expected
    capsys.readouterr()


def test_only_the_metric_of_a_demo_model_is_called_a_demo_model(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, text in (("a", "A dog ran home. The cat sat."), ("b", "A dog ran home. A dog ran home.")):
        row = {"id": 0, "predictions": text}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    words = ["rovist_nr,rovist_c", "a.jsonl", "b.jsonl", "--rows-that-differ", "1", "--report", "why.html"]
    assert main(["compare", *words, "--profile", "embedded"]) == 0
    capsys.readouterr()
    sections = (tmp_path / "why.html").read_text("utf-8").split('<section class="metric differing"')[1:]
    assert ["A small demo model trained on synthetic scenes" in section for section in sections] == [False, True]


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (b"\x89PNG\r\n\x1a\n\x00", "a PNG image"),
        (b"\xff\xd8\xff\xe0", "a JPEG image"),
        (b"PK\x03\x04", "an archive or"),
    ],
)
def test_an_image_is_not_told_to_be_saved_as_text(files, capsys, start, what):
    (files / "x.csv").write_bytes(start + bytes(range(256)))
    told = refused(capsys, "rovist_nr", "x.csv", "same.jsonl")
    assert f"FILE must be UTF-8 text, got {what}" in told
    assert "choose a text file" in told
    assert "save it" not in told


def test_the_family_and_too_few_samples(files, capsys):
    words = ["rovist_nr", "plain.jsonl", "same.jsonl"]
    assert compared(capsys, *words)["family"] == "all"
    assert compared(capsys, *words, "--family", "metric")["family"] == "metric"
    told = refused(capsys, *words, "--resamples", "18")
    assert "`resamples` must be at least 19 for 1 test at level 0.95" in told


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("id,predictions\n1,a dog\n2,a cat\n", "the column 'references' in every row, got row 0 with: id, predictions"),
        (
            '{"id": "1", "predictions": null, "references": "a dog"}\n'
            '{"id": "2", "predictions": "a cat", "references": "a cat"}\n',
            "a string in every row of the column 'predictions'",
        ),
    ],
)
def test_the_file_that_lacks_something_is_named(rows, expected, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("id,predictions,references\n1,a dog,a dog\n2,a cat,a cat\n")
    other = "b.csv" if rows.startswith("id") else "b.jsonl"
    (tmp_path / other).write_text(rows)
    assert main(["compare", "rouge_l", "a.csv", other]) == 2
    assert capsys.readouterr().err.startswith(f"vlgauge compare: error: {other}: FILE must have {expected}")


def test_references_that_differ_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    row = {"id": 0, "predictions": ["a dog", "a cat"], "references": ["a dog ran", "the dog"]}
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(json.dumps(row | {"references": ["a dog", "the dog"]}) + "\n", encoding="utf-8")
    assert "must have the same references for every system, a and b differ in row '0'" in refused(
        capsys, "trm", "a.jsonl", "b.jsonl"
    )
    shutil.copy("a.jsonl", "c.jsonl")
    assert main(["compare", "trm", "a.jsonl", "c.jsonl"]) == 0


def test_scores_without_what_stands_next_to_them_are_no_scores(files, capsys):
    assert main(["score", "rovist_nr", "plain.jsonl", "--output", "plain.csv"]) == 0
    (files / "plain.csv.json").unlink()
    capsys.readouterr()
    assert "FILE must have the column 'predictions' in every row" in refused(
        capsys, "rovist_nr", "plain.csv", "same.jsonl"
    )


@pytest.mark.parametrize("words", [["compare", "meteor", "a", "b"], ["protocol", "foil", "a"], ["sensitivity", "a"]])
def test_a_negative_seed_is_refused(words, capsys):
    with pytest.raises(SystemExit):
        main([*words, "--seed", "-1"])
    assert "--seed" in capsys.readouterr().err
