import argparse
import csv
import errno
import io
import json
import re
import runpy
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from folders import EXAMPLES

import vlgauge
from vlgauge.cli import COMMANDS, main, one_line, score
from vlgauge.cli.scoring import setting
from vlgauge.core.errors import UsageError
from vlgauge.inputs.tables.files import read_rows
from vlgauge.stats import bootstrap_interval

ROWS = [
    {"id": "x", "text": "The dog ran home. The dog ran home.", "other": "NA"},
    {"id": "y", "text": '[male] left. Rain, \u2028 then "sun".', "other": ""},
]

IMAGE = EXAMPLES / "drawn_stories" / "1-1.png"


def write_jsonl(path, rows):
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n\n", "utf-8")


def write_json(path, rows):
    path.write_text(json.dumps(rows), "utf-8")


def write_csv(path, rows, delimiter=","):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def write_tsv(path, rows):
    write_csv(path, rows, "\t")


def write_parquet(path, rows):
    pq.write_table(pa.Table.from_pylist(rows), path)


WRITERS = {"jsonl": write_jsonl, "json": write_json, "csv": write_csv, "tsv": write_tsv, "parquet": write_parquet}


def error_of(capsys, *arguments):
    """Return the one line on standard error of a call that fails."""
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize("ending", WRITERS)
def test_every_format_gives_the_same_scores(tmp_path, capsys, ending):
    WRITERS[ending](tmp_path / f"rows.{ending}", ROWS)
    code = main(["score", "rovist_nr", str(tmp_path / f"rows.{ending}"), "--predictions", "text", "--format", "json"])
    record = json.loads(capsys.readouterr().out)
    assert code == 0
    assert record["ids"] == ["x", "y"]
    assert record["rovist_nr_scores"] == [0.5, 1.0]


def test_a_list_in_a_csv_cell(tmp_path, capsys):
    write_csv(tmp_path / "rows.csv", [{"story": json.dumps(["A b c.", "A b d."])}])
    assert main(["score", "rovist_nr", str(tmp_path / "rows.csv"), "--predictions", "story"]) == 0
    assert "A b c. | A b d." in capsys.readouterr().out


@pytest.mark.filterwarnings("default:FILE has 1 of 3 cells in the column")
def test_a_blank_line_is_a_row(tmp_path, capsys):
    (tmp_path / "rows.csv").write_text("story\nA dog ran. A dog sat.\n\nRain fell. Wind blew.\n")
    assert main(["score", "rovist_nr", str(tmp_path / "rows.csv"), "--predictions", "story", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["rovist_nr_undefined"] == 1


def test_a_character_the_terminal_lacks_costs_nothing(tmp_path, monkeypatch):
    write_jsonl(tmp_path / "rows.jsonl", [{"predictions": "H\u00e9llo there. H\u00e9llo again."}])
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["score", "rovist_nr", str(tmp_path / "rows.jsonl")]) == 0
    terminal.seek(0)
    assert "H\\xe9llo" in terminal.read()


def test_the_table_shows_means_and_signature(capsys):
    assert main(["score", "rovist_nr", str(EXAMPLES / "stories.jsonl"), "--predictions", "story", "--rows", "2"]) == 0
    out = capsys.readouterr().out
    assert "good-02" in out
    assert "good-03" not in out
    assert "... and 38 more rows" in out
    assert out.splitlines()[-1].startswith("rovist_nr|")


@pytest.mark.filterwarnings("ignore:CIDEr-D takes document frequencies")
def test_details_of_cider_have_the_share_of_unfinished_captions(tmp_path, capsys):
    path = tmp_path / "rows.jsonl"
    rows = [{"predictions": text, "references": ["a dog with a ball"]} for text in ("a dog with a", "a dog")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert main(["score", "cider", str(path), "--details"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["cider_unfinished"] == 0.5
    assert [detail["unfinished"] for detail in record["cider_details"]] == [True, False]
    for more in ([], ["--report", str(tmp_path / "why.html")]):
        assert main(["score", "cider", str(path), "--format", "json", *more]) == 0
        assert "cider_unfinished" not in json.loads(capsys.readouterr().out)
    assert "unfinished captions: 50.0%" in (tmp_path / "why.html").read_text("utf-8")


def test_settings_and_details(tmp_path, capsys):
    write_jsonl(tmp_path / "rows.jsonl", ROWS)
    base = ["score", "rovist_nr", str(tmp_path / "rows.jsonl"), "--predictions", "text"]
    assert main([*base, "--set", "variant=paper", "--set", "n=2", "--set", "lowercase=true", "--details"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert "variant:paper|n:2|sentences:rules|lowercase:True" in record["rovist_nr_signature"]
    assert record["rovist_nr_details"][0]["inter"] == 1.0


def test_output_goes_to_a_file_with_null_for_undefined(tmp_path, capsys):
    write_jsonl(tmp_path / "rows.jsonl", [{"predictions": "one sentence"}])
    assert main(["score", "rovist_nr", str(tmp_path / "rows.jsonl"), "--output", str(tmp_path / "out.json")]) == 0
    record = json.loads((tmp_path / "out.json").read_text())
    assert record["rovist_nr_scores"] == [None]
    assert record["ids"] == [0]
    assert "undefined" in capsys.readouterr().out


@pytest.mark.filterwarnings("default:.* is a mean over sets of")
def test_mmd_bert_on_the_examples(capsys):
    path = str(EXAMPLES / "caption_sets.jsonl")
    command = ["score", "mmd_bert", path, "--profile", "embedded", "--set", "pvalue=exact", "--rows", "0"]
    assert main(command) == 0
    out, error = capsys.readouterr()
    assert "`mmd_bert` is a mean over sets of 3 sizes" in error
    assert "profile:embedded" in out
    # The test of the corpus comes first, and the excess has both ends of its interval.
    numbers = [line.split() for line in out.split("\n\n")[1].splitlines()]
    assert numbers[0] == ["result", "value", "95%", "from", "to", "better", "range"]
    assert [row[0] for row in numbers[2:5]] == ["mmd_bert_pvalue", "mmd_bert_excess", "mmd_bert"]
    assert [len(row) for row in numbers[2:4]] == [2, 5]
    assert numbers[3][4] == "lower"
    assert numbers[4][4] == "lower"
    value, low, high = map(float, numbers[3][1:4])
    assert low < value < high


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score", "rovist_nx", "x.csv"], "must be one of the installed metrics"),
        (["score", "rovist_nr", "missing.csv"], "error: missing.csv: No such file or directory$"),
        (["score", "rovist_nr", "missing"], "error: missing: No such file or directory$"),
        (["score", "rovist_nr", "."], "FILE must have files of texts, images or videos, got none in '[^']+'$"),
        (
            ["score", "trm", "rows.jsonl", "--set", "distance=precomputed"],
            "--set must name a distance that a command can compute, got 'precomputed', which requires "
            "`distances` of `compute` in Python$",
        ),
        (["score", "rovist_nr", "rows.dat"], "FILE must end in one of jsonl.* txt, xlsx or tar, or be a folder, got"),
        (
            ["score", "rovist_nr", "rows.jsonl"],
            "the column 'predictions' in every row, got row 0 with: id, text, other",
        ),
        (
            ["score", "rovist_nr", "rows.jsonl", "--set", "hash=1"],
            "--set must name a setting of the metric, got 'hash'",
        ),
        (["score", "rovist_nr", "rows.jsonl", "--set", "n=1", "--set", "n=2"], "got 'n' more than once"),
        (["score", "rovist_nr", "rows.jsonl", "--set", "n"], "--set must be NAME=VALUE, got 'n'"),
        (
            ["score", "rovist_nr", "rows.jsonl", "--predictions", "text", "--set", "variants=x"],
            "did you mean `variant`?",
        ),
        (["score", "rovist_nr", "rows.jsonl", "--predictions", "text", "--id", "name"], "must have the column 'name'"),
        (["score", "rovist_nr", "broken.jsonl"], "FILE must contain JSON, got .* in line 2, column 2"),
        (["score", "rovist_nr", "array.jsonl"], "one JSON object per row, got list in line 1"),
        (
            ["score", "rovist_nr", "object.json"],
            "a JSON list of objects, one per row, got one object in 'object.json'$",
        ),
        (
            ["score", "rovist_nr", "lines.json"],
            "Extra data in line 2, .*; for one object per line, pass --input-format j",
        ),
        (["score", "rovist_nr", "sheet.xlsx"], "must be a complete Excel workbook, got 'sheet.xlsx'"),
        (["score", "rovist_nr", "sheet.ods"], "got 'sheet.ods'; save the sheet as CSV$"),
        (
            ["score", "rovist_nr", "excel.csv"],
            "must have commas between its cells, got ';' in the column names 'id;predictions' of 'excel.csv'; save",
        ),
        (["score", "rovist_nr", "excel.tsv"], "must have tabs between its cells, got ';' in the column names"),
        (["score", "CIDEr", "rows.jsonl"], "got 'CIDEr'; did you mean `cider`.$"),
        (
            ["score", "coc", "pair.csv"],
            r"no metric or suite has the name 'coc'; did you mean `coco`\? \(suites: ",
        ),
        (
            ["score", "cider", "pair.csv", "--set", "df=missing.gz"],
            "--set df=... must be .*, got 'missing.gz', which is not an existing file$",
        ),
        (
            ["score", "onlystyle", "styled.csv"],
            "'owner/name:config', as --set table=..., or choose a named table with --config demo",
        ),
        (
            ["score", "clip_s", "pictured.csv", "--profile", "embedded"],
            r"`images\[1\]` must be an existing image file, got .*, which is missing \(line 4 of FILE\)$",
        ),
        (
            ["score", "clip_s,rouge_l", "pictured.csv", "--profile", "embedded", "--skip", "1"],
            r"clip_s: `images\[0\]` must be an existing image file, .* \(line 4 of FILE\)$",
        ),
        (["score", "rovist_nr", "empty.jsonl"], "FILE must have at least one row"),
        (["score", "rovist_nr", "latin.csv"], "FILE must be UTF-8 text, got byte 0xe9 in line 3 of 'latin.csv'"),
        (["score", "rovist_nr", "ragged.csv"], "as many cells as column names, got 1 for 2 in row 1, line 3"),
        (["score", "rovist_nr", "quote.csv"], "FILE must be CSV, got .* in line 3"),
        (["score", "rovist_nr", "twice.csv"], "must have each column once, got 'a' more than once"),
        (["score", "rovist_nr", "twice.jsonl"], "must have each key once, got 'a' more than once in line 1"),
        (["score", "rovist_nr", "rows.jsonl", "--output", "no/where.json"], "--output must be a file in an existing"),
        (["score", "rovist_nr", "rows.jsonl", "--output", "rows.jsonl"], "--output must be a different file from FILE"),
        (["score", "rovist_nr", "text.parquet"], "FILE must be a Parquet file"),
        (["score", "rovist_nr", "rows.jsonl", "--predictions", "text", "--config", "video"], "--config .*'video'"),
    ],
)
def test_errors_are_one_line(tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "rows.jsonl", ROWS)
    files = {
        "rows.dat": b"x",
        "broken.jsonl": b'{"predictions": "a"}\n{x}',
        "array.jsonl": b"[1]",
        "object.json": b"{}",
        "empty.jsonl": b"\n",
        "latin.csv": b"predictions\ncaf\xe9\n"[:12] + b"\n\xe9",
        "ragged.csv": b"predictions,b\n1,2\n3\n",
        "quote.csv": b'id,predictions\n1,"A dog ran.\n2,"A dog sat."\n',
        "lines.json": b'{"predictions": "a"}\n{"predictions": "b"}\n',
        "sheet.xlsx": b"PK",
        "sheet.ods": b"PK",
        "excel.csv": "\ufeffid;predictions\r\n1;A dog ran, and a cat.\r\n".encode(),
        "excel.tsv": b"id;predictions\n1;A dog ran.\n",
        "pair.csv": b"predictions,references\na dog,a dog\n",
        "styled.csv": b"predictions,styles\na dog,plain\n",
        "pictured.csv": f'predictions,references,images\n"a\ndog",a,{IMAGE}\na dog,a,no.png\n'.encode(),
        "twice.csv": b"a,a\n1,2\n",
        "twice.jsonl": b'{"a": 1, "a": 2}\n',
        "text.parquet": b"no parquet",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    import re

    assert re.search(message, error_of(capsys, *arguments))


@pytest.mark.parametrize("arguments", [[], ["score"], ["scroe"], ["score", "rovist_nr", "x", "--format", "xml"]])
def test_usage_errors_are_one_line_and_code_2(capsys, arguments):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_faults_of_ours_keep_their_traceback(monkeypatch):
    from vlgauge.cli import listing

    monkeypatch.setattr(listing, "metric_names", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["list"])


def test_interruption(monkeypatch, capsys):
    from vlgauge.cli import listing

    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(listing, "metric_names", interrupt)
    assert main(["list"]) == 130
    assert capsys.readouterr().err == "vlgauge: interrupted\n"


def test_interruption_while_the_options_are_read(monkeypatch, capsys):
    from vlgauge import cli

    def interrupt(command):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "build_parser", interrupt)
    assert main(["list"]) == 130
    assert capsys.readouterr().err == "vlgauge: interrupted\n"


def test_closed_streams_are_no_fault(monkeypatch, tmp_path):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    write_jsonl(tmp_path / "rows.jsonl", ROWS)
    file, out = tmp_path / "rows.jsonl", tmp_path / "scores.json"
    assert main(["score", "rovist_nr", str(file), "--predictions", "text", "--output", str(out)]) == 0
    assert len(json.loads(out.read_text())["rovist_nr_scores"]) == 2
    assert main(["score", "rovist_nr", "-"]) == 2
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        stream.close()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n=4", 4),
        ("x=0.5", 0.5),
        ("x=1e-3", 0.001),
        ("b=true", True),
        ("b=False", False),
        ("p=none", None),
        ("m=jaccard", "jaccard"),
        ("m=[1]", "[1]"),
        ("m=a=b", "a=b"),
    ],
)
def test_values_of_settings(text, value):
    assert setting(text)[1] == value
    assert type(setting(text)[1]) is type(value)


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help_of_its_own(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([name, "--help"])
    assert stopped.value.code == 0
    told = capsys.readouterr().out
    assert told.startswith("usage: vlgauge ")
    assert name in told
    assert len(told.splitlines()) > 5


def test_help_imports_no_command(run_python, tmp_path):
    code = """
from vlgauge.cli import main
try:
    main(["--help"])
except SystemExit:
    shared = {"vlgauge.cli.terminal"}
    own = {name for name in sys.modules if name.startswith("vlgauge.cli.")} - shared
    print([*own, *({"numpy"} & sys.modules.keys())])
"""
    told = run_python(code, cwd=tmp_path)
    assert told.splitlines()[-1] == "[]"
    assert {line.split()[0] for line in told.splitlines() if line.startswith("    ")} >= COMMANDS.keys()


def test_list_imports_nothing_heavy():
    code = "import sys; from vlgauge.cli import main; main(['list']); print([m for m in HEAVY if m in sys.modules])"
    heavy = "HEAVY = ['torch', 'evaluate', 'datasets', 'numpy', 'transformers']; "
    finished = subprocess.run([sys.executable, "-c", heavy + code], capture_output=True, text=True, check=True)
    assert finished.stdout.splitlines()[-1] == "[]"
    assert "rovist_nr" in finished.stdout


def test_a_command_on_text_imports_neither_transformers_nor_torch(run_python, tmp_path):
    code = """
import sys
from vlgauge.api.computing import load_metric
load_metric("rovist_nr").compute(predictions=["A cat sat. A dog ran by."])
assert not {"torch", "transformers"} & set(sys.modules)
"""
    run_python(code, cwd=tmp_path)


def test_list_says_what_is_missing(monkeypatch, capsys):
    from vlgauge.core import catalog

    monkeypatch.setattr(catalog, "extra_is_present", lambda extra: False)
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].endswith("needs the extra")
    assert 'missing: pip install "vlgauge[mmd-bert]"' in out
    assert re.search(r"^meteor .* higher +en +missing", out, re.MULTILINE)
    assert re.search(r"^chrf .* higher +any +", out, re.MULTILINE)
    assert main(["list", "--json"]) == 0
    record = {metric["name"]: metric for metric in json.loads(capsys.readouterr().out)["metrics"]}
    assert record["mmd_bert"]["missing"] == ["mmd-bert"]
    assert record["rovist_nr"]["missing"] == []
    assert (record["rovist_nr"]["languages"], record["meteor"]["languages"]) == (["any"], ["en"])
    assert record["capture"]["other_languages"] == [["graphs", "encoder"], ["parser", "encoder"]]


def test_info_names_versions_devices_and_caches(capsys):
    assert main(["info", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert {"vlgauge", "python", "torch", "device of encoders", "rows cache", "HF_HUB_OFFLINE"} <= facts.keys()
    assert facts["limits of untrusted files"] == ("memory and time" if sys.platform == "linux" else "time")


def test_a_closed_pipe_is_no_error():
    command = [sys.executable, "-m", "vlgauge", "score", "rovist_nr", str(EXAMPLES / "stories.csv")]
    command += ["--predictions", "story", "--rows", "0", "--details"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


def bundled_scores():
    stories = [row["story"] for row in read_rows(str(EXAMPLES / "stories.jsonl"))]
    return vlgauge.load("rovist_nr", keep_in_memory=True).compute(predictions=stories)


def test_means_have_intervals_and_directions(capsys):
    path = str(EXAMPLES / "stories.jsonl")
    assert main(["score", "rovist_nr", path, "--predictions", "story", "--rows", "1", "--confidence", "0.9"]) == 0
    titles, _, first, _ = capsys.readouterr().out.split("\n\n")[1].splitlines()
    assert re.split("  +", titles) == ["result", "value", "90% from", "to", "better", "range"]
    expected = bootstrap_interval(bundled_scores()["rovist_nr_scores"], level=0.9)
    assert re.split("  +", first)[2:5] == [f"{expected.low:.4f}", f"{expected.high:.4f}", "higher"]


def numbers_of(results):
    """Return the cells of the table of numbers, without its header."""
    lines = score.summary(results, [0, 1], ["a", "b"], 0).split("\n\n")[1].splitlines()
    return [re.split("  +", line.rstrip()) for line in lines[2:]]


def made_up(name, value, way):
    return {name: value, f"{name}_scores": [value] * 2, f"{name}_undefined": 0, f"{name}_signature": f"{name}|{way}"}


def test_a_part_that_is_also_scored_by_itself_is_shown_once():
    rovist = made_up("rovist", 1.5, "n:1") | made_up("rovist_c", 0.5, "n:1") | made_up("rovist_nr", 0.75, "n:1")
    results = {"rovist": rovist, "rovist_c": made_up("rovist_c", 0.5, "n:1")}
    results["rovist_nr"] = made_up("rovist_nr", 0.25, "n:2")  # settings that differ from those of the partial score
    shown = [(row[0], row[1]) for row in numbers_of(results) if not row[0].endswith("_undefined")]
    assert shown == [("rovist", "1.5000"), ("rovist_nr", "0.7500"), ("rovist_c", "0.5000"), ("rovist_nr", "0.2500")]
    assert [row[0] for row in numbers_of(results)].count("rovist_c_undefined") == 1


def test_numbers_next_to_that_of_a_metric_have_a_direction_too():
    clip_s = made_up("clip_s", 0.5, "n:1") | made_up("ref_clip_s", 0.25, "n:1")
    rows = {row[0]: row for row in numbers_of({"clip_s": clip_s})}
    assert rows["clip_s"][-2] == "higher"
    assert rows["ref_clip_s"][4:] == ["higher"]
    assert len(rows["ref_clip_s_undefined"]) == 2


def test_numbers_alone(capsys):
    path = str(EXAMPLES / "stories.jsonl")
    words = ["score", "rovist_nr", path, "--predictions", "story"]
    assert main([*words, "-q", "-w", "7"]) == 0
    assert capsys.readouterr().out == f"{bundled_scores()['rovist_nr']:.7f}\n"
    assert main([*words, "-w", "1", "--rows", "1"]) == 0
    assert " 0.9  " in capsys.readouterr().out


def test_a_value_of_the_corpus_is_called_so(tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text('{"predictions": "a dog ran", "references": ["a dog ran"]}\n')
    told = "bleu: the value is the corpus-level value, not the mean of the row scores"
    assert main(["score", "rouge_l,bleu", str(tmp_path / "a.jsonl")]) == 0
    assert told in capsys.readouterr().out.splitlines()
    assert main(["score", "rouge_l", str(tmp_path / "a.jsonl")]) == 0
    assert "corpus" not in capsys.readouterr().out


def test_numbers_of_several_metrics_have_names(tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text('{"predictions": "a dog ran", "references": ["a dog ran"]}\n')
    assert main(["score", "rouge_l,bleu", str(tmp_path / "a.jsonl"), "-q", "-w", "1"]) == 0
    assert capsys.readouterr().out == "rouge_l 1.0\nbleu 0.0\n"


@pytest.mark.filterwarnings("default:ids should name each row once")
@pytest.mark.parametrize(
    ("ids", "told"),
    [
        ("abc", None),
        ("aba", "1 of 3 rows has the id of another, the first is 'a'"),
        ("abbab", "3 of 5 rows have the id of another, the first is 'a'"),
        ((1, "1"), "1 of 2 rows has the id of another, the first is '1'"),
    ],
)
def test_ids_that_repeat_are_told_once(tmp_path, capsys, ids, told):
    rows = [{"id": one, "predictions": "a dog ran", "references": ["a dog ran"]} for one in ids]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["score", "rouge_l", str(tmp_path / "a.jsonl"), "-q"]) == 0
    out, err = capsys.readouterr()
    assert out == "1.0000\n"
    assert err.count("\n") == (told is not None)
    if told is not None:
        assert f"vlgauge score: warning: ids should name each row once, {told}; every row is scored" in err


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--confidence", "95", "must be between 0 and 1, such as 0.95, got '95'"),
        ("-w", "18", "must be an integer from 0 to 17, got '18'"),
        ("-w", "-1", "must be an integer from 0 to 17, got '-1'"),
    ],
)
def test_other_digits_and_levels_are_refused(capsys, option, value, message):
    with pytest.raises(SystemExit):
        main(["score", "rovist_nr", "x.csv", f"{option}{'=' if option[1] == '-' else ''}{value}"])
    assert message in capsys.readouterr().err


@pytest.mark.filterwarnings("default:.* is a mean over sets of")
def test_an_interval_of_the_metric_is_shown_as_it_is(capsys):
    path = str(EXAMPLES / "caption_sets.jsonl")
    words = ["score", "trm", path, "--set", "pvalue=exact", "--set", "seed=3", "--set", "distance=rouge_l"]
    assert main([*words, "--format", "json"]) == 0
    low, high = json.loads(capsys.readouterr().out)["trm_excess_interval"]
    assert main(words) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("trm_excess "))
    assert re.split("  +", row)[2:4] == [f"{low:.4f}", f"{high:.4f}"]


def test_a_standard_output_that_is_full_is_told():
    full = OSError(errno.ENOSPC, "No space left on device")
    assert one_line(full) == "the disk is full, or the target of standard output"


def test_an_interrupt_while_the_command_is_imported_is_told(monkeypatch, capsys):
    class Interrupting:
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "vlgauge.cli", Interrupting())
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("vlgauge", run_name="__main__")
    assert (ended.value.code, capsys.readouterr().err) == (130, "vlgauge: interrupted\n")
    from vlgauge import __main__ as console_script

    assert (console_script.main(), capsys.readouterr().err) == (130, "vlgauge: interrupted\n")


@pytest.mark.parametrize(
    ("argument", "name"), [("df", "--set df=..."), ("ids", "`ids`"), ("references[2]", "`references[2]`")]
)
def test_only_arguments_that_are_settings_are_named_as_settings(argument, name):
    vlgauge.load("cider")
    error = UsageError.about(argument, "must be unique", "remove one")
    assert one_line(error, argparse.Namespace(set=[])) == f"{name} must be unique; remove one"
