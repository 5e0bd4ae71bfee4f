"""`vlgauge score` with Hub datasets, archives, folders and lines of text."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
from dataclasses import fields

import pytest
from folders import EXAMPLES
from hub_data_sets import Repository, commit_of, hub_of_data_sets
from made_data_sets import COLOURS, COMMITS, archive, draw_png, parquet_of_clips, repositories

import vlgauge
from vlgauge.api import sources
from vlgauge.api.row_sources import RowLimits
from vlgauge.api.row_sources.hub import HubRows
from vlgauge.cli import main
from vlgauge.core.errors import NetworkError
from vlgauge.leaderboard.records import read_records

CLIP = ["--config", "image", "--profile", "embedded"]


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    with hub_of_data_sets(tmp_path_factory.mktemp("home"), **repositories("http://127.0.0.1:9")) as served:
        yield served


def test_scores_of_a_data_set_are_those_of_compute(hub, tmp_path, capsys):
    output, record = tmp_path / "scores.json", tmp_path / "results.jsonl"
    named = ["--predictions", "caption", "--images", "image", "--references", "refs"]
    rows = ["--split", "test", "--skip", "3", "--limit", "5", "--revision", COMMITS[0]]
    kept = ["--output", str(output), "--record", str(record), "--model", "me/captioner"]
    assert main(["score", "clip_s", "hub:org/pictures", *named, *rows, *kept, *CLIP]) == 0
    captured = capsys.readouterr()
    assert f"org/pictures, default, test, commit {COMMITS[0]}: 5 of 5 rows scored" in captured.out
    assert "columns used" not in captured.err
    colours = [COLOURS[i % 6] for i in range(3, 8)]
    expected = vlgauge.load("clip_s", "image", profile="embedded").compute(
        predictions=[f"A {colour} square." for colour in colours],
        images=[draw_png(colour) for colour in colours],
        references=[[f"A {colour} picture.", f"All is {colour}."] for colour in colours],
    )
    found = json.loads(output.read_text())
    assert found["ids"] == [3, 4, 5, 6, 7]
    assert found["dataset"] == {"id": "org/pictures", "config": "default", "split": "test", "revision": COMMITS[0]}
    assert found["left_out"] == []
    assert {key: found[key] for key in expected} == expected
    (one,) = read_records(str(record))
    assert (one.dataset.id, one.dataset.config, one.dataset.split) == ("org/pictures", "default", "test")
    assert (one.dataset.revision, one.value, one.n) == (COMMITS[0], expected["clip_s"], 5)


@pytest.mark.filterwarnings("ignore:[0-9]+ of [0-9]+ rows share their image")
def test_rows_that_cannot_be_scored_are_counted_by_reason(hub, tmp_path, capsys):
    output = tmp_path / "scores.csv"
    assert main(["score", "clip_s", "hub:org/hostile", "--split", "test", "--output", str(output), *CLIP]) == 3
    captured = capsys.readouterr()
    assert captured.err.startswith("columns used: --predictions caption --images image --references refs\n")
    assert captured.err.splitlines()[-1] == "12 of 14 rows were skipped and are not included in any result"
    told = "2 of 14 rows scored\n6 left out, the first is row 1: an image or video must be bytes or a file of the data"
    assert told in captured.out
    with output.open(newline="") as stream:
        assert [row["id"] for row in csv.DictReader(stream)] == ["0", "13"]
    left_out = json.loads((tmp_path / "scores.csv.json").read_text())["left_out"]
    assert [one["id"] for one in left_out] == list(range(1, 13))
    assert main(["score", "clip_s", "hub:org/hostile", "--split", "test", "-q", *CLIP]) == 3
    captured = capsys.readouterr()
    assert captured.out.count("\n") == 1
    assert "6 left out, the first is row 1: " in captured.err


def test_a_way_to_the_hub_that_breaks_says_where_to_go_on(hub, tmp_path, capsys, monkeypatch):
    usual = HubRows.rows

    def broken(self, titles, start=0, stop=None):
        for number, row in enumerate(usual(self, titles, start, stop), start):
            if number == 5:
                raise NetworkError("the Hub cut the connection")
            yield row

    monkeypatch.setattr(HubRows, "rows", broken)
    rows = ["--split", "test", "--limit", "9"]
    words = ["hub:org/pictures", *rows, "--output", str(tmp_path / "scores.json"), *CLIP]
    assert main(["score", "clip_s", *words, "--skip", "2"]) == 2
    told = "the Hub cut the connection; score those before row 5 with --limit 3; the others begin with --skip 5"
    assert told in capsys.readouterr().err
    assert main(["score", "clip_s", *words, "--skip", "5"]) == 2
    assert "--skip 5" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_limits_of_rows_are_options(hub, capsys):
    limited = ["--max-picture-bytes", "10", "--limit", "2"]
    assert main(["score", "clip_s", "hub:org/pictures", "--split", "test", *limited, *CLIP]) == 2
    told = "got none (2 left out, the first is row 0: `images` must be a file of at most 10 bytes"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["hub:org/pictures"], "`split` must be one of test, train, got none"),
        (["hub:org/pictures:large", "--split", "test"], "`config` must be one of default, small, got 'large'"),
        (["hub:org/private", "--split", "test"], "got 'org/private', which is unknown or private"),
        (["hub:org/pictures", "--split", "test", "--skip", "99"], "got none (there is no row from number 99 on)"),
        (
            ["hub:org/pictures", "--split", "test", "--styles", "caption"],
            "--styles is not supported by the metrics",
        ),
        (
            ["hub:org/pictures", "--split", "test", "--predictions", "no"],
            "the rows must have the columns no, got image",
        ),
        (
            ["hub:org/pictures", "--split", "test", "--record", "r.jsonl", "--model", "a/b", "--dataset", "c/d"],
            "--dataset must be omitted or org/pictures, as in FILE, got c/d",
        ),
    ],
)
def test_wrong_words_are_one_line(hub, words, message, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(["score", "clip_s", *words, *CLIP]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("option", "minimum"), [("--limit", 1), ("--skip", 0), ("--max-pixels", 1)])
def test_numbers_of_rows_are_checked_at_once(option, minimum, capsys):
    with pytest.raises(SystemExit):
        main(["score", "clip_s", "rows.jsonl", option, str(minimum - 1)])
    assert f"{minimum}, got '{minimum - 1}'" in capsys.readouterr().err


def test_help_tells_every_limit_of_a_row_with_its_default(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.setattr(RowLimits.__dataclass_fields__["characters"], "default", 12_345)
    with pytest.raises(SystemExit):
        main(["score", "--help"])
    told = re.findall(r"--max-([a-z]+(?:-[a-z]+)?) N\s+maximum .*\(default: ([0-9,]+)\)", capsys.readouterr().out)
    limits = [(limit.name.replace("_", "-"), f"{limit.default:,}") for limit in fields(RowLimits)]
    assert ("characters", "12,345") in limits
    assert [pair for pair in told if pair in limits] == limits


def test_a_folder_and_an_archive_score_as_the_data_set(hub, tmp_path, capsys):
    folder = tmp_path / "rows"
    folder.mkdir()
    for i, colour in enumerate(COLOURS):
        (folder / f"{i}.png").write_bytes(draw_png(colour))
        (folder / f"{i}.txt").write_text(f"A {colour} square.\n")
    archive = tmp_path / "rows.tar"
    with tarfile.open(archive, "w") as made:
        made.add(folder, ".")
    numbers = []
    for file in (str(folder), str(archive), "hub:org/pictures"):
        split = ["--split", "test", "--limit", "6"] if file.startswith("hub:") else []
        assert main(["score", "clip_s", file, *split, "-q", "-w", "6", *CLIP]) == 0
        numbers.append(capsys.readouterr().out)
    assert len(set(numbers)) == 1


def test_clips_of_a_data_set_and_an_archive_are_scored_as_those_of_files(hub, tmp_path, capsys):
    clip = EXAMPLES / "clips" / "01.mp4"
    rows = [("A star moves.", clip.read_bytes()), ("Nothing.", b"no clip")]
    cells = [{"bytes": content, "path": None} for _, content in rows]
    made = {"data/test-0.parquet": parquet_of_clips(cells, [caption for caption, _ in rows])}
    hub.repositories["org/clips"] = Repository({commit_of(made): made})
    members = [
        (f"{i}.{ending}", content)
        for i, (caption, clip_bytes) in enumerate(rows)
        for ending, content in (("mp4", clip_bytes), ("txt", caption.encode()))
    ]
    tar = archive(tmp_path / "clips.tar", members)
    table = tmp_path / "clips.jsonl"
    table.write_text(json.dumps({"predictions": rows[0][0], "videos": str(clip)}) + "\n")
    words = ["--config", "video", "--profile", "embedded", "-q", "-w", "12"]
    numbers = []
    for file, own in (
        (str(table), []),
        ("hub:org/clips", ["--split", "test", "--videos", "video", "--predictions", "caption"]),
        (tar, ["--report", str(tmp_path / "report.html")]),
    ):
        assert main(["score", "pac_s,clip_s", file, *own, *words]) == 0
        captured = capsys.readouterr()
        numbers.append(captured.out)
        row = "'1'" if file == tar else 1
        told = f"1 left out, row {row}: `videos` must be a readable video, got 7 bytes"
        assert (told in captured.err) == (file != str(table))
    assert len(set(numbers)) == 1
    assert "data:image/" in (tmp_path / "report.html").read_text()
    assert main(["score", "pac_s", tar, "--max-clip-bytes", "10", *words]) == 2
    assert "`0.mp4`" in capsys.readouterr().err


def written_rows(folder, *names, caption=b"A red square."):
    folder.mkdir()
    for name in names:
        (folder / name).write_bytes(draw_png("red"))
        (folder / name).with_suffix(".txt").write_bytes(caption)
    return str(folder)


@pytest.mark.filterwarnings("ignore:[0-9]+ of [0-9]+ rows share their image")
def test_a_folder_of_images_of_several_endings_is_scored_as_a_whole(tmp_path, capsys):
    # The second suffix comes late, and the names of screenshots contain dots.
    names = [*(f"{i:02}.png" for i in range(25)), "shot 10.15.23.jpg", "shot 10.15.24.JPG", "shot 10.15.24 b.webp"]
    folder = written_rows(tmp_path / "rows", *names)
    for own in ([], ["--images", "jpg,png,webp"], ["--images", "image"]):
        assert main(["score", "clip_s", folder, *own, "--format", "json", *CLIP]) == 0
        out, told = capsys.readouterr()
        found = json.loads(out)
        assert found["ids"] == sorted(name.rpartition(".")[0] for name in names)
        assert found["left_out"] == []
        assert ("columns used: --predictions txt" in told) is not ("--images" in own and "columns used: --im" in told)
    assert main(["score", "clip_s", folder, "--images", "png", "-q", *CLIP]) == 0
    assert capsys.readouterr().err.splitlines()[-1] == "3 of 28 rows were skipped and are not included in any result"


@pytest.mark.filterwarnings("ignore:[0-9]+ of [0-9]+ rows share their image")
@pytest.mark.parametrize(("n_broken", "code"), [(0, 0), (1, 0), (2, 3)])
def test_a_run_that_skipped_rows_says_so_last(tmp_path, capsys, n_broken, code):
    folder = written_rows(tmp_path / "rows", *(f"{i}.png" for i in range(3)))
    for i in range(n_broken):
        (tmp_path / "rows" / f"{i}.txt").unlink()
    output = tmp_path / "scores.json"
    for own in ([], ["-q"], ["--format", "json"]):
        assert main(["score", "clip_s", folder, "--output", str(output), *own, *CLIP]) == code
        last = f"{n_broken} of 3 rows were skipped and are not included in any result"
        assert (capsys.readouterr().err.splitlines()[-1] == last) is (n_broken > 0)
        assert len(json.loads(output.read_text())["ids"]) == 3 - n_broken
        output.unlink()


@pytest.mark.filterwarnings("ignore:every score of rovist_nr is undefined")
def test_undefined_scores_are_no_skipped_rows(tmp_path, capsys):
    folder = written_rows(tmp_path / "rows", "0.png", "1.png", caption=b"One.")
    assert main(["score", "rovist_nr", folder, "-q"]) == 0
    assert "skipped" not in capsys.readouterr().err


def test_skipped_rows_are_told_in_python(tmp_path):
    folder = written_rows(tmp_path / "rows", "0.png", "1.png")
    (tmp_path / "rows" / "1.txt").unlink()
    told = r"1 of 2 rows.*1 left.*`predictions`"
    with pytest.warns(UserWarning, match=told):
        assert vlgauge.score(folder, "clip_s", profile="embedded").ids == ["0"]


def test_an_image_of_an_archive_that_cannot_be_read_is_named(tmp_path, capsys):
    archive = tmp_path / "rows.tar"
    with tarfile.open(archive, "w") as made:
        for name, content in (("a/0.png", draw_png("red")), ("a/1.png", b"no picture"), ("a/2.png", b"no picture")):
            for member, held in ((name, content), (name.replace("png", "txt"), b"A square.")):
                info = tarfile.TarInfo(member)
                info.size = len(held)
                made.addfile(info, io.BytesIO(held))
    assert main(["score", "clip_s", str(archive), *CLIP]) == 3
    captured = capsys.readouterr()
    assert "--images png" in captured.err
    assert "1 of 3 rows scored\n2 left out, the first is row 'a/1': `images` must be a readable image" in captured.out


@pytest.mark.filterwarnings("ignore:every score of rovist_nr is undefined")
@pytest.mark.filterwarnings("ignore:.*that are empty")  # on purpose: an empty line, and a cell without a reference
def test_one_caption_a_line_and_rows_chosen_of_a_table(tmp_path, capsys):
    (tmp_path / "a.txt").write_bytes(b"One dog.\r\n\nTwo dogs.\n")
    assert main(["score", "rovist_nr", str(tmp_path / "a.txt"), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["ids"] == [0, 1, 2]
    rows = [{"predictions": "A dog.", "first": "A dog.", "second": "", "a,b": "A cat."} for _ in range(4)]
    table = tmp_path / "rows.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for references, expected in (("first,second", 1.0), ("first, second", 1.0), ("a,b", 0.5)):
        words = ["--references", references, "--skip", "1", "--limit", "2", "--format", "json"]
        assert main(["score", "rouge_l", str(table), *words]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["ids"] == [1, 2]
        assert found["rouge_l"] == pytest.approx(expected)
    assert main(["score", "rouge_l", str(table), "--references", "first,third"]) == 2
    assert "'third'" in capsys.readouterr().err
    assert main(["score", "bleu", str(table), "--references", "first", "--skip", "4"]) == 2
    assert "--skip" in capsys.readouterr().err
    assert main(["score", "bleu", str(table), "--references", "first", "--revision", "main"]) == 2
    assert "--revision" in capsys.readouterr().err
    for limit in fields(RowLimits):
        option = f"--max-{limit.name.replace('_', '-')}"
        assert main(["score", "bleu", str(table), "--references", "first", option, "3"]) == 2
        assert f"{option} requires hub:, a .tar or a folder" in capsys.readouterr().err


def test_the_number_of_texts_of_an_untrusted_table_has_a_limit(tmp_path, capsys):
    table = tmp_path / "rows.jsonl"
    table.write_text(json.dumps({"predictions": "a", "references": ["b"] * 1_001}) + "\n")
    assert main(["score", "bleu", str(table), "--untrusted"]) == 2
    assert "`references` must have at most 1,000 texts per row, got 1,001 in row 0" in capsys.readouterr().err
    assert main(["score", "bleu", str(table), "--untrusted", "--max-texts", "1001", "-q"]) == 0
    assert main(["score", "bleu", str(table), "-q"]) == 0


def test_only_the_rows_that_are_read_are_listed_of_an_archive(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "tar_rows", lambda file, limits, most_rows: (file, most_rows))
    given = {"revision": None, "split": None, "limits": RowLimits(), "skip": 3}
    for limit, most_rows in ((4, 7), (None, None)):
        assert sources.source_of("a.tar", limit=limit, **given) == ("a.tar", most_rows)
    monkeypatch.setattr(sources, "source_of", lambda *_, **how: {}[how["skip"] + how["limit"]])
    with pytest.raises(KeyError, match="3"):
        vlgauge.score(archive(tmp_path / "a.tar", []), "rouge_l", skip=1, limit=2)


STOPPED = """
import os, signal, sys
from vlgauge.cli import main
from vlgauge.core.lean_imports import lean_import

evaluate = lean_import("evaluate")  # without transformers, whose import takes seconds
evaluate.EvaluationModule.compute = lambda *_, **__: (os.kill(os.getpid(), signal.SIGTERM), signal.pause())
main(sys.argv[1:])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without a signal")
def test_a_stopped_command_leaves_no_files(tmp_path):
    clip = (EXAMPLES / "clips" / "01.mp4").read_bytes()
    tar = archive(tmp_path / "rows.tar", [("1.txt", b"A star moves."), ("1.mp4", clip)])
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    ran = subprocess.run(
        [sys.executable, "-c", STOPPED, "score", "clip_s", tar, "--config", "video", "--profile", "embedded"],
        env={**os.environ, "TMPDIR": str(scratch)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert list(scratch.glob("vlgauge-*")) == []
    assert (ran.returncode, ran.stdout) == (128 + signal.SIGTERM, ""), ran.stderr
