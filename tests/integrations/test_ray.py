"""Files scored by Ray: the same result for any number of workers, and no row twice after a failure."""

import json
import math
import os
import random
import re
import socket
import sys
from pathlib import Path
from unittest.mock import patch

import pandas as pd
import psutil
import pytest
from apart_cases import EMBEDDED, captioned, drawn
from folders import ROOT

import vlgauge
from vlgauge.cli import main
from vlgauge.core.errors import MissingExtraError, NetworkError, UsageError, is_of_user
from vlgauge.core.run_locks import exclusive_run
from vlgauge.integrations import ray as of_ray
from vlgauge.integrations.batches import RowScorer
from vlgauge.integrations.ray import common_folder, score_files

N_ROWS = 40
WORDS = ["dog", "cat", "runs", "sits", "red"]


def ray_or_skip():
    """Return Ray as vlgauge imports it, which keeps it on the loopback interface."""
    try:
        return of_ray.import_ray()
    except MissingExtraError:
        pytest.skip("needs Ray")


@pytest.fixture(scope="module")
def session():
    ray_or_skip()
    # Each additional processor starts one more process that imports Ray Data.
    with of_ray.session(None, 1, 0):
        yield


@pytest.mark.parametrize(("address", "where"), [(None, "on this machine"), ("auto", "with the cluster at 'auto'")])
def test_a_ray_that_does_not_start_is_one_sentence(address, where):
    ray = ray_or_skip()
    message = re.escape(f"Ray could not be started {where}: timed out; check that it is running")
    with (
        patch.object(ray, "is_initialized", lambda: False),
        patch.object(ray, "init", side_effect=Exception("timed\nout")),
        patch.object(ray, "shutdown"),
        pytest.raises(NetworkError, match=message),
        of_ray.session(address, 1, 0),
    ):
        pass


def test_a_ray_that_other_machines_can_reach_is_not_started():
    ray = ray_or_skip()
    message = r"127\.0\.0\.1.*got 10\.0\.0\.5.*=0"
    with (
        patch.object(ray, "is_initialized", lambda: False),
        patch.object(ray.util, "get_node_ip_address", lambda: "10.0.0.5"),
        patch.object(ray, "init", side_effect=AssertionError("started")),
        pytest.raises(UsageError, match=message),
        of_ray.session(None, 1, 0),
    ):
        pass


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_a_cluster_at_whose_door_nobody_listens_is_one_sentence_at_once(scheme):
    ray = ray_or_skip()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"{scheme}127.0.0.1:{silent.getsockname()[1]}"
        with (
            patch.object(ray, "is_initialized", lambda: False),
            patch.object(ray, "init", side_effect=AssertionError("asked")),
            pytest.raises(NetworkError, match=f"'{re.escape(address)}'") as caught,
            of_ray.session(address, 1, 0),
        ):
            pass
    assert is_of_user(caught.value)


@pytest.fixture
def stories(tmp_path):
    """Two Parquet files of stories of one string each, with a column that no metric uses."""
    rng = random.Random(0)
    rows = [{"id": f"s{i}", "predictions": f"{i}. {' '.join(rng.choices(WORDS, k=9))}. So."} for i in range(N_ROWS)]
    files = [tmp_path / f"{name}.parquet" for name in "ab"]
    for start, file in enumerate(files):
        pd.DataFrame([{**row, "source": "a book"} for row in rows[start::2]]).to_parquet(file)
    return files, {name: [row[name] for row in rows] for name in ("id", "predictions")}


def watched_splitter(folder):
    """Return a sentence splitter that logs the stories it splits.

    Its process dies at a story for which a file with its number exists.
    """

    def split(text):
        if "So." in text:
            number = text.split(".")[0]
            with open(os.path.join(folder, "seen"), "a") as stream:
                stream.write(number + "\n")
            if os.path.exists(kill := os.path.join(folder, f"kill {number}")):
                if os.path.getsize(kill):  # once
                    os.unlink(kill)
                os.kill(os.getpid(), 9)
        return [part for part in text.split(".") if part.strip()]

    return split


def seen(folder):
    path = folder / "seen"
    found = path.read_text().split() if path.exists() else []
    path.unlink(missing_ok=True)
    return found


def bits(record):
    return json.dumps(record, sort_keys=True)


@pytest.mark.ray
@pytest.mark.usefixtures("session")
def test_a_session_of_our_own_listens_on_the_loopback_only():
    import ray

    assert ray.util.get_node_ip_address() == "127.0.0.1"
    assert ray.cluster_resources()["CPU"] == 3
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    ours = {psutil.Process(), *psutil.Process().children(recursive=True)}
    listening = [c for one in ours for c in open_sockets(one) if c.status == psutil.CONN_LISTEN]
    assert {c.laddr.ip for c in listening} <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}
    assert listening


def open_sockets(process):
    try:
        return process.net_connections(kind="tcp")
    except psutil.Error:  # it has ended in between
        return []


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.usefixtures("session")
def test_three_workers_have_the_result_of_a_plain_loop(stories, tmp_path):
    """Check three workers only here, because each worker costs seconds to start.

    The next test and the test of the command use two and one.
    """
    files, rows = stories
    expected = RowScorer("rovist_nr").combine([RowScorer("rovist_nr").score_rows(rows)])
    how = {"workers": 3, "cpus": 0.5, "batch_rows": 5, "progress": False}
    assert bits(score_files(RowScorer("rovist_nr"), files, tmp_path / "kept", **how)) == bits(expected)
    assert len(list((tmp_path / "kept").glob("*.parquet"))) >= N_ROWS // 5


@pytest.mark.ray
@pytest.mark.usefixtures("session")
def test_a_row_that_always_kills_its_worker_ends_the_run_and_costs_no_row_that_was_done(stories, tmp_path):
    files, rows = stories
    how = {"batch_rows": 4, "progress": False}
    message = r"died.*\.1"
    scorer = RowScorer("rovist_nr", sentences=watched_splitter(tmp_path))
    (tmp_path / "kill 33").touch()
    with patch.object(of_ray, "_RESTARTS", 0), pytest.raises(of_ray.DeadWorkerError, match=message) as caught:
        score_files(scorer, files, tmp_path / "kept", **how)
    assert is_of_user(caught.value)
    (tmp_path / "kill 33").unlink()
    seen(tmp_path)
    kept = of_ray.ScoredBatches(tmp_path / "kept", json.loads((tmp_path / "kept" / "run.json").read_text()))
    done = {name.removeprefix("s") for name in kept.ids("id")}

    (tmp_path / "kill 35").write_text("once")  # a story of the same batch
    found = score_files(scorer, files, tmp_path / "kept", **how, workers=2, cpus=0.5)
    again = seen(tmp_path)
    assert not done & set(again)
    assert set(again) | done == {str(i) for i in range(N_ROWS)}
    # Only the batch of the killed worker is scored once more.
    assert again.count("35") == 2
    assert len(again) - len(set(again)) <= 4
    expected = scorer.combine([scorer.score_rows(rows)])
    assert bits(found) == bits(expected)
    seen(tmp_path)
    assert bits(score_files(scorer, files, tmp_path / "kept", **how)) == bits(expected)
    assert seen(tmp_path) == []


def answers_here(own, pool, given):
    """Yield the answers of one worker to whole files in this process, because workers of Ray take seconds to start."""
    work = of_ray._Worker(**given)
    for path in own._paths:
        file = of_ray.pa.table({"file": [path]})
        yield work(of_ray._read_file(file, own.scorer, own._kind, own._sandbox))


@pytest.mark.ray
@pytest.mark.usefixtures("session")
def test_what_a_row_raises_ends_the_run(tmp_path, monkeypatch):
    def curse(text):
        raise UsageError("this story is cursed")

    monkeypatch.setattr(of_ray._Rows, "_answers", answers_here)
    (tmp_path / "rows.jsonl").write_text('{"id": "a", "predictions": "A dog. A cat."}\n')
    # A usage error, so that the command shows one line.
    with pytest.raises(UsageError, match=r"'a'.*cursed") as caught:
        score_files(RowScorer("rovist_nr", sentences=curse), [tmp_path / "rows.jsonl"], tmp_path / "kept")
    assert ", in curse" in caught.value.__notes__[0]


@pytest.mark.ray
@pytest.mark.usefixtures("session")
def test_rows_that_changed_are_not_answered_by_scores_of_others(tmp_path, monkeypatch):
    """Replace a file with one of the same name and size, and change a file that the settings name."""

    monkeypatch.setattr(of_ray._Rows, "_answers", answers_here)
    rows, scorer = tmp_path / "rows.jsonl", RowScorer("rovist_nr")
    rows.write_text('{"id": 1, "predictions": "a dog. a dog."}\n')
    kept = tmp_path / "kept"
    kept.mkdir()
    left = kept / f".x.{8 * '0'}.{16 * '0'}.part"  # left by a process that was killed before it wrote run.json
    left.touch()
    assert score_files(scorer, [rows], kept, progress=False)["rovist_nr_scores"] == [0.5]
    assert not left.exists()
    rows.write_text('{"id": 1, "predictions": "a dog. no cat"}\n')
    message = r"--parts.*rows\.jsonl.*sha256"
    with pytest.raises(ValueError, match=message):
        score_files(scorer, [rows], kept, progress=False)

    # The scores do not matter if a file changes in between.
    with (
        patch.object(of_ray, "_score", return_value={}),
        patch.object(of_ray, "_states", side_effect=[{str(rows): (1, 1)}, {str(rows): (1, 2)}]),
        pytest.raises(ValueError, match=r"FILE.*rows\.jsonl"),
    ):
        score_files(scorer, [rows], tmp_path / "other", progress=False)


@pytest.mark.ray
def test_the_second_of_two_runs_is_refused_before_ray_starts(stories, tmp_path):
    ray_or_skip()
    message = r"--parts.*another run"
    with (
        patch.object(of_ray, "session", side_effect=AssertionError),
        exclusive_run(tmp_path / "kept", "this"),
        pytest.raises(ValueError, match=message),
    ):
        score_files(RowScorer("rovist_nr"), stories[0], tmp_path / "kept")


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the scores of the demo CLIP")
@pytest.mark.usefixtures("session")
def test_images_as_bytes_in_parquet(tmp_path):
    """Check images as bytes in Parquet.

    Stories in Parquet are above. Images as cells of Arrow, without Ray, are in the tests of `batches`.
    """
    columns = {name: drawn()[name] for name in ("predictions", "images")}
    pd.DataFrame({"id": range(6), **columns}).to_parquet(tmp_path / "rows.parquet")
    scorer = RowScorer("clip_s", **EMBEDDED)
    found = score_files(scorer, [tmp_path / "rows.parquet"], tmp_path / "kept", batch_rows=4, progress=False)
    expected = vlgauge.load("clip_s", progress=False, **EMBEDDED).compute(**columns)
    assert found["clip_s_scores"] == pytest.approx(expected["clip_s_scores"], rel=1e-6)
    assert found["clip_s_signature"] == expected["clip_s_signature"]


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the scores of the demo CLIP")
@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("name", ["bertscore", "dsg"])
def test_models_and_files_of_settings_reach_the_workers(name, tmp_path, monkeypatch, capsys):
    """Check that two batches scored by Ray have the result of one process, with a relative path as a setting."""
    monkeypatch.chdir(tmp_path)
    words = ["--profile", "embedded", "--no-progress"]
    columns = captioned()
    if name == "dsg":
        words += ["--set", "questions=questions.csv"]
        columns = {key: drawn()[key] for key in ("predictions", "images")}
        columns["images"] = [path.name for path in write_images(columns["images"])]
        texts = dict.fromkeys(columns["predictions"])
        table = [(text, 1 + i, i, f"Is there a {word}?") for text in texts for i, word in enumerate(text.split()[:3])]
        head = ["text", "proposition_id", "dependency", "question_natural_language"]
        pd.DataFrame(table, columns=head).to_csv("questions.csv", index=False)
    n = len(columns["predictions"])
    lines = [json.dumps({"id": i, **{key: cells[i] for key, cells in columns.items()}}) for i in range(n)]
    Path("rows.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    assert main(["score", name, "rows.jsonl", *words, "--output", "one.json"]) == 0
    parallel = ["--engine", "ray", "--batch-rows", str(-(-n // 2))]
    assert main(["score", name, "rows.jsonl", *words, *parallel, "--output", "out"]) == 0
    expected = json.loads(Path("one.json").read_text("utf-8"))
    scores = pd.read_parquet("out/scores.parquet")[name].to_list()
    assert scores == pytest.approx(
        [math.nan if one is None else one for one in expected[f"{name}_scores"]], abs=1e-6, nan_ok=True
    )
    assert len(set(scores)) > 2
    result = json.loads(Path("out/result.json").read_text("utf-8"))
    assert result[name] == pytest.approx(expected[name], abs=1e-6)
    assert result[f"{name}_signature"] == expected[f"{name}_signature"]
    capsys.readouterr()


def write_images(images):
    paths = [Path(f"{i}.png") for i in range(len(images))]
    for path, image in zip(paths, images, strict=True):
        path.write_bytes(image)
    return paths


@pytest.mark.ray
@pytest.mark.usefixtures("session")
def test_images_of_strangers_are_read_in_boxes(tmp_path, capsys, monkeypatch):
    """Check images in this process. Rows that workers read are in the next test."""
    columns = {name: drawn()[name] for name in ("predictions", "images")}
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"id": range(6), **columns}).to_parquet(path)
    words = ["score", "clip_s", str(path), "--profile", "embedded", "--no-progress", "--engine", "ray"]
    parts = ["--parts", str(tmp_path / "parts")]
    monkeypatch.setattr(of_ray._Rows, "_answers", answers_here)
    assert main([*words, "--untrusted", *parts, "--output", str(tmp_path / "sandboxed")]) == 0
    sandboxed = (tmp_path / "sandboxed" / "result.json").read_text()
    monkeypatch.setattr(of_ray, "_open_sandboxed_parquet", None)
    assert main([*words, *parts, "--output", str(tmp_path / "direct")]) == 0  # resumes, because it is the same run
    assert (tmp_path / "direct" / "result.json").read_text() == sandboxed
    capsys.readouterr()


@pytest.mark.ray
@pytest.mark.filterwarnings("default:CIDEr-D takes")
@pytest.mark.usefixtures("session")
def test_the_command_counts_scores_and_writes_what_compare_reads(tmp_path, capsys):
    columns = captioned()
    with (tmp_path / "rows.jsonl").open("w") as stream:
        for i in range(7):
            row = {"id": i, "said": columns["predictions"][i], "references": columns["references"][i]}
            stream.write(json.dumps(row) + "\n")
    words = ["score", "cider", str(tmp_path / "rows.jsonl"), "--predictions", "said", "--no-progress"]
    assert main([*words, "--output", str(tmp_path / "one.json")]) == 0
    expected = json.loads((tmp_path / "one.json").read_text())
    capsys.readouterr()
    ray = ["--engine", "ray", "--batch-rows", "3", "--untrusted"]
    assert main([*words, *ray, "--output", str(tmp_path / "out")]) == 0
    told = capsys.readouterr()
    assert re.search(rf"cider +{expected['cider']:.4f}\n", told.out)
    assert told.out.endswith(f"{expected['cider_signature']}\n")
    assert "references of 6 rows" in told.err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["result.json", "scores.parquet"]
    scores = pd.read_parquet(tmp_path / "out" / "scores.parquet")["cider"].to_list()
    assert scores[:3] == pytest.approx(expected["cider_scores"][:3], rel=1e-12)
    loop, rows = RowScorer("cider"), {"id": list(range(7)), **columns}
    loop = loop.with_counts([loop.count_rows(rows)])
    with pytest.warns(UserWarning, match="6 rows"):
        found = loop.combine([loop.score_rows(rows)])["cider_scores"]
    assert scores == pytest.approx(found, rel=1e-12, nan_ok=True)
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result == {key: pytest.approx(expected[key]) if key == "cider" else expected[key] for key in result}


@pytest.mark.ray
@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_rows_of_one_group_are_drawn_together(ending, tmp_path, capsys, monkeypatch):
    columns = captioned()
    rows = [{"id": i, "image": i // 2, **{name: cells[i] for name, cells in columns.items()}} for i in range(7)]
    table = pd.DataFrame(rows[::-1])
    if ending == "parquet":
        table.to_parquet(tmp_path / "rows.parquet")
    else:
        table.to_json(tmp_path / "rows.jsonl", orient="records", lines=True)
    monkeypatch.setattr(of_ray._Rows, "_answers", answers_here)
    words = ["score", "rouge_l", str(tmp_path / f"rows.{ending}"), "--no-progress", "--groups", "image"]
    record = ["--record", str(tmp_path / "results.jsonl"), "--model", "a/m", "--dataset", "a/d", "--split", "test"]
    assert main([*words, *record, "--engine", "ray", "--output", str(tmp_path / "out")]) == 0
    scores = pd.read_parquet(tmp_path / "out" / "scores.parquet")
    assert scores["groups"].to_list() == ["0", "0", "1", "1", "2", "2", "3"]
    assert json.loads((tmp_path / "out" / "result.json").read_text())["grouped_by"] == "image"
    (recorded,) = map(json.loads, (tmp_path / "results.jsonl").read_text().splitlines())
    assert (
        main([*words, "--output", str(tmp_path / "one.json"), *record[:1], str(tmp_path / "one.jsonl"), *record[2:]])
        == 0
    )
    (expected,) = map(json.loads, (tmp_path / "one.jsonl").read_text().splitlines())
    assert recorded == expected
    capsys.readouterr()


# Without Ray ----------------------------------------------------------------------------------------------------------
def score_here(path, **how):
    return score_files(RowScorer("bleu"), [path], path.parent / "kept", **how)


@pytest.mark.ray
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": "a"}, {"id": "a"}], r"^`id`.*got 'a'.*2 times"),
        ([{"id": "a"}, {"id": 1}], r"^`id`.*got int"),
        ([{"id": None}], r"^`id`.*got None"),
        ([{"id": 1}, {"key": 2}], r"FILE.*'id'.*row 1"),
        (
            [{"id": 1, "image": "a"}, {"id": 2, "image": " "}],
            r"^`groups`.*got 'image'.*row 2",
        ),
        ([{"id": 1, "references": ...}], r"FILE.*'references'.*row 0"),
    ],
)
def test_wrong_files_are_refused_before_ray_starts(rows, message, tmp_path):
    ray_or_skip()
    full = [
        {**row, "predictions": "a", "references": ["a"]} | {k: v for k, v in row.items() if v is ...} for row in rows
    ]
    lines = [{key: value for key, value in row.items() if value is not ...} for row in full]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with patch.object(of_ray, "session", side_effect=AssertionError), pytest.raises(ValueError, match=message):
        score_here(tmp_path / "rows.jsonl", groups="image" if "groups" in message else None)
    if "FILE" not in message and "got int" not in message:
        pd.DataFrame(lines).to_parquet(tmp_path / "rows.parquet")
        with patch.object(of_ray, "session", side_effect=AssertionError), pytest.raises(ValueError, match=message):
            score_here(tmp_path / "rows.parquet", groups="image" if "groups" in message else None)


@pytest.mark.ray
def test_no_parquet_file_of_a_stranger_is_opened_here(tmp_path, monkeypatch):
    path = str(tmp_path / "rows.parquet")
    pd.DataFrame({"id": ["b", "a"], "predictions": ["A dog.", "A cat."], "more": [1, 2]}).to_parquet(path)

    def refuse(*_, **__):
        raise AssertionError("the file was opened here")

    monkeypatch.setattr(of_ray.pq, "ParquetFile", refuse)
    found = of_ray._columns_of_parquet(path, ["id", "more"], ["id", "predictions"], True)
    assert found == {"id": ["b", "a"], "more": [1, 2]}
    with pytest.raises(ValueError, match="columns references"):
        of_ray._columns_of_parquet(path, ["id"], ["id", "references"], True)
    table = of_ray._read_file(of_ray.pa.table({"file": [path]}), RowScorer("bleu"), "parquet", True)
    assert table.to_pydict() == {"id": ["b", "a"], "predictions": ["A dog.", "A cat."]}
    with pytest.raises(AssertionError):
        of_ray._columns_of_parquet(path, ["id"], ["id"], False)


def test_no_text_file_of_a_stranger_is_parsed_here(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": 1, "predictions": "A dog.", "more": 2}\n')
    batch, scorer = of_ray.pa.table({"file": [str(path)]}), RowScorer("rovist_nr")
    found = [of_ray._read_file(batch, scorer, "jsonl", sandbox).to_pydict() for sandbox in (True, False)]
    assert found == [{of_ray._ROW: ['{"id": 1, "predictions": "A dog."}']}] * 2
    monkeypatch.setitem(of_ray.READERS, "jsonl", None)
    assert of_ray._read_file(batch, scorer, "jsonl", True).to_pydict() == found[0]
    with pytest.raises(TypeError):
        of_ray._read_file(batch, scorer, "jsonl", False)


def test_a_parquet_file_without_a_column_or_a_row_is_refused(tmp_path):
    ray_or_skip()
    pd.DataFrame({"name": ["a"], "predictions": ["b"]}).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=r"FILE.*name"):
        score_here(tmp_path / "rows.parquet")
    pd.DataFrame({"id": [], "predictions": [], "references": []}).to_parquet(tmp_path / "none.parquet")
    with pytest.raises(ValueError, match=r"FILE.*got none.*none\.parquet"):
        score_here(tmp_path / "none.parquet")


def test_without_ray_the_extra_is_named(tmp_path, capsys):
    (tmp_path / "rows.jsonl").write_text('{"id": 1, "predictions": "a", "references": ["a"]}\n')
    words = ["score", "bleu", str(tmp_path / "rows.jsonl"), "--engine", "ray", "--output", str(tmp_path / "out")]
    with patch.dict(sys.modules, {"ray": None}):
        assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith('vlgauge score: error: --engine ray needs Ray; run: pip install "vlgauge[ray]"')


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bleu", "a.jsonl", "--workers", "2"], "--workers requires --engine ray"),
        (["bleu", "a.jsonl", "--parts", "p"], "--parts requires --engine ray"),
        (["bleu", "a.jsonl", "b.jsonl"], "FILE must be one file without --engine ray, got 2"),
        (["bleu", "a.jsonl", "--engine", "ray"], "--engine ray requires --output DIR"),
        (
            ["bleu", "-", "--engine", "ray", "--output", "o"],
            "FILE must be Parquet or text files with --engine ray, got '-'",
        ),
        (
            ["bleu", "a.jsonl", "--engine", "ray", "--output", "o", "--details"],
            "--details cannot be combined with --engine",
        ),
        (
            ["bleu", "a.jsonl", "--engine", "ray", "--output", "o", "--limit", "3"],
            "--limit cannot be combined with --engine",
        ),
        (
            ["bleu", "a.jsonl", "--engine", "ray", "--output", "o", "--plot", "a.png"],
            "--plot cannot be combined with --engine",
        ),
        (
            ["bleu", "a.jsonl", "--engine", "ray", "--output", "o", "--annotations", "b.json"],
            "--annotations cannot be combined with --engine",
        ),
        (["bleu,meteor", "a.jsonl", "--engine", "ray", "--output", "o"], "METRIC must be one metric with --engine ray"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"id": 1, "predictions": "a", "references": ["a"]}\n')
    with patch("vlgauge.integrations.ray.import_ray"):
        assert main(["score", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--output must not be in use by another run, got 'out'; wait"),
        (["--parts", "./out"], "--parts must be another folder than --output, got 'out' for both"),
    ],
)
def test_a_folder_that_another_run_has_is_refused(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"id": 1, "predictions": "a", "references": ["a"]}\n')
    score = ["score", "bleu", "a.jsonl", "--engine", "ray", "--output", "out"]
    with exclusive_run(tmp_path / "out", "this"), patch("vlgauge.integrations.ray.import_ray"):
        assert main([*score, *words]) == 2
    assert message in capsys.readouterr().err


def test_images_of_several_folders_are_refused(tmp_path):
    files = [str(tmp_path / name / "rows.parquet") for name in "ab"]
    for file in files:
        Path(file).parent.mkdir()
        Path(file).touch()
    assert common_folder(files, False) is None
    assert common_folder(files[:1], True) == str(tmp_path / "a")
    with pytest.raises(ValueError, match=r"FILE.*got 2 folders"):
        common_folder(files, True)


@pytest.mark.ray
def test_files_of_several_formats_are_refused(tmp_path):
    ray_or_skip()
    files = [tmp_path / "a.jsonl", tmp_path / "b.parquet"]
    for file in files:
        file.touch()
    with pytest.raises(ValueError, match=r"FILE.*format"):
        score_files(RowScorer("bleu"), files, tmp_path / "kept")
    with pytest.raises(ValueError, match=r"FILE.*file.*got none"):
        score_files(RowScorer("bleu"), [], tmp_path / "kept")


@pytest.mark.ray
@pytest.mark.usefixtures("session")
def test_workers_that_leave_nothing_to_read_are_refused(stories, tmp_path):
    with pytest.raises(ValueError, match=r"^`workers`.*got 3 of the 3 that"):
        score_files(RowScorer("rovist_nr"), stories[0], tmp_path / "kept", workers=3)
    with pytest.raises(ValueError, match=r"^`workers`.*got 1 of the 0 that"):
        score_files(RowScorer("rovist_nr"), stories[0], tmp_path / "kept", gpus=1)


def test_ray_is_imported_in_one_file_only():
    found = {
        path.relative_to(ROOT).as_posix()
        for folder in ("shared/vlgauge", "metrics")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"^\s*(import|from) ray\b", path.read_text("utf-8"), re.MULTILINE)
    }
    assert found == {"shared/vlgauge/integrations/ray.py"}


def test_the_example_is_called_as_its_readme_says(tmp_path, capsys, monkeypatch):
    file = ROOT / "examples" / "ray" / "score_on_ray.py"
    namespace = {"__name__": "example"}
    exec(compile(file.read_text("utf-8"), str(file), "exec"), namespace)
    called = {}

    def score(scorer, files, folder, **how):
        called.update(how, name=scorer.name, files=files, folder=folder)
        return {"ids": ["a"], "rovist_nr": 0.5, "rovist_nr_scores": [0.5]}

    monkeypatch.setitem(namespace, "score_files", score)
    words = ["a.parquet", "--metric", "rovist_nr", "--folder", "kept", "--workers", "16", "--gpus", "0.25"]
    namespace["main"]([*words, "--address", "auto"])
    assert json.loads(capsys.readouterr().out) == {"rovist_nr": 0.5}
    expected = {"name": "rovist_nr", "files": ["a.parquet"], "folder": "kept", "workers": 16, "gpus": 0.25}
    assert called == {**expected, "address": "auto"}
