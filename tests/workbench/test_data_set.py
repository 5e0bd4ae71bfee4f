"""Datasets and files by one metric, with the scores of `compute`, without a browser."""

import json
import tarfile
import tempfile
import zipfile
from contextvars import copy_context
from pathlib import Path
from types import SimpleNamespace

import av
import gradio as gr
import pytest
from folders import EXAMPLES
from gradio_client import handle_file
from gradio_client.exceptions import AppError
from gradio_loops import loops_of_gradio_left_open
from hub_data_sets import TOKEN, Repository, commit_of, hub_of_data_sets
from made_data_sets import COLOURS, COMMITS, N_ROWS, draw_png, hostile_rows, parquet_of_clips, repositories

import vlgauge
from vlgauge.api.row_sources import Origin, RowLimits
from vlgauge.api.row_sources.tables import archive_rows, read_uploaded_rows
from vlgauge.core.errors import NetworkError
from vlgauge.explain import examples
from vlgauge.inputs.images import cells
from vlgauge.inputs.tables.files import read_rows
from vlgauge.leaderboard import read_records, read_run
from vlgauge.stats import bootstrap_interval
from vlgauge_workbench import data_set, runs, stopping, uploads
from vlgauge_workbench.data_set_call import score_dataset_of
from vlgauge_workbench.hosting import OWN_MACHINE, SPACE, Hosting, hosting_of
from vlgauge_workbench.presets import PRESETS
from vlgauge_workbench.selection import Selection

CLIP = ("clip_s", "image", "embedded")
IMAGES = {"predictions": ["caption"], "images": ["image"], "references": ["refs"]}


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    with hub_of_data_sets(tmp_path_factory.mktemp("home"), **repositories("http://127.0.0.1:9")) as served:
        yield served


@pytest.fixture(scope="module")
def image_rows(hub):
    return runs.open_hub_rows("org/pictures", None, "test", None, "", OWN_MACHINE)


def tab_of(hosting):
    with loops_of_gradio_left_open(), gr.Blocks():
        return data_set._Tab(Selection(gr.Dropdown(), gr.Textbox(), gr.Radio(), gr.Textbox(), gr.State(), ""), hosting)


@pytest.fixture(scope="module")
def space():
    """Return the tab with the limits of a Space."""
    return tab_of(SPACE)


@pytest.fixture(scope="module")
def begin():
    """Return `begin(source, ...)`, which presses `Score` with the limits of a user's machine."""
    tab = tab_of(OWN_MACHINE)

    def press(source, metric="clip_s", config="image", **changed):
        form = {
            "first": 0,
            "rows": 3,
            "model": "",
            "tokenizer": "",
            "questions": None,
            "images": "image",
            "references": None,
        } | changed
        cells = {"predictions": "caption"} | {name: form.pop(name) for name in ("images", "references")}
        titles = [cells.get(name) for name in data_set.NAMES]
        return tab._begin(None, source, metric, config, "embedded", *form.values(), *titles)[0]

    return press


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Files that runs keep."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return lambda: [path for path in tmp_path.glob("vlgauge-rows-*/*")]


def run_over(source, titles, *, metric=CLIP, first=0, rows=None, hosting=OWN_MACHINE):
    run = runs.begin_run(source, metric, titles, first, rows, hosting)
    return run, list(run.read())


def kept(run, model=""):
    """Return the page, the table, and the paths of the files by name."""
    paths = []
    usual = data_set.write_downloads

    def kept_aside(*given):
        found = usual(*given)
        paths.extend(found[0])
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(data_set, "write_downloads", kept_aside)
        page, table, *_ = data_set._score(run, model)
    return page, table.value, {path.rpartition("/")[2]: path for path in paths}


def test_scores_of_a_data_set_are_those_of_compute(image_rows):
    run, told = run_over(image_rows, IMAGES)
    assert told[0] == "8 rows read, 0 of them left out."
    assert (told[-1], run.is_done) == (f"{N_ROWS} rows read, 0 of them left out.", True)
    colours = [COLOURS[i % 6] for i in range(N_ROWS)]
    expected = vlgauge.load("clip_s", "image", profile="embedded").compute(
        predictions=[f"A {colour} square." for colour in colours],
        images=[draw_png(colour) for colour in colours],
        references=[[f"A {colour} picture.", f"All is {colour}."] for colour in colours],
    )
    found = run.scored()
    assert {key: found.result[key] for key in expected} == expected
    page, table, files = kept(run, "me/captioner")
    assert f"org/pictures, default, test, commit {COMMITS[0]}" in page
    assert "24 of 24 rows were scored" in page
    assert len(table["data"]) == N_ROWS
    assert sorted(files) == [
        *("clip_s.html", "results.jsonl", "scores.csv", "scores.csv.json", "scores.json", "scores.jsonl"),
        *("scores.jsonl.json", "scores.parquet"),
    ]
    for ending in ("json", "jsonl", "csv", "parquet"):
        kept_run = read_run(files[f"scores.{ending}"], ["clip_s"])
        assert kept_run["dataset"] == {
            "id": "org/pictures",
            "config": "default",
            "split": "test",
            "revision": COMMITS[0],
        }
        assert [float(one) for one in kept_run["clip_s_scores"]] == expected["clip_s_scores"]
    assert Path(files["results.jsonl"]).read_text("utf-8").count("\n") == 1
    (record,) = read_records(files["results.jsonl"])
    assert (record.model.id, record.dataset.revision, record.value) == ("me/captioner", COMMITS[0], expected["clip_s"])


def test_a_stopped_run_keeps_what_was_read_and_goes_on(image_rows):
    run = runs.begin_run(image_rows, CLIP, IMAGES, 2, 20, OWN_MACHINE)
    steps = run.read()
    next(steps)
    data_set._stop(run)
    assert list(steps)[-1] == ("8 of 20 rows read, 0 of them left out. Stopped; the rows before row 10 are scored.")
    assert list(run.scored().ids) == list(range(2, 10))
    stop, again, status = data_set._rest(run)[1:]
    assert status.endswith("the rows before row 10 are scored.")
    assert (stop.interactive, again.visible, again.value) == (False, True, "Continue from row 10")
    data_set._continue(run)
    with pytest.raises(gr.Error, match="ended before"):
        data_set._continue(run)
    assert list(run.read())[-1] == "20 rows read, 0 of them left out."
    whole, _ = run_over(image_rows, IMAGES, first=2, rows=20)
    assert run.scored().result == whole.scored().result
    assert data_set._rest(run)[2].visible is False


def test_images_wait_in_files_while_a_run_can_be_gone_on_with(image_rows, temporary):
    run = runs.begin_run(image_rows, CLIP, IMAGES, 0, 3, OWN_MACHINE)
    run.stop_row = 2
    list(run.read())
    assert sorted(run.reader.columns["images"]) == sorted(map(str, temporary()))
    run.stop_row = 3
    kept(run)
    assert len(temporary()) == 2
    list(run.read())
    kept(run)
    assert temporary() == []


def test_a_run_that_another_metric_took_away_ends_quietly():
    assert data_set._read(None) == [gr.skip()] * 2
    assert data_set._score(None, "") == [gr.skip()] * 4
    data_set._stop(None)
    assert [one.visible for one in data_set._rest(None)[:3]] == [True, True, False]


def test_once_all_rows_are_read_it_is_scoring_and_can_be_stopped(image_rows):
    run = runs.begin_run(image_rows, CLIP, IMAGES, 0, 9, OWN_MACHINE)
    told, stop = data_set._read(run)
    assert (told, stop.interactive) == ("9 rows read, 0 of them left out. Scoring them…", True)
    assert data_set._rest(run)[3] == "9 rows read, 0 of them left out."


def test_a_way_to_the_hub_that_breaks_keeps_what_was_read(image_rows, monkeypatch):
    rows = image_rows.rows

    def broken(titles, start=0, stop=None):
        for number, row in enumerate(rows(titles, start, stop), start):
            if number == 5:
                raise NetworkError("the Hub cut the connection")
            yield row

    run = runs.begin_run(image_rows, CLIP, IMAGES, 0, 10, OWN_MACHINE)
    monkeypatch.setattr(image_rows, "rows", broken)
    told = list(run.read())
    assert told == [
        "5 of 10 rows read, 0 of them left out. The Hub cut the connection; the rows before row 5 are scored."
    ]
    assert list(run.scored().ids) == [0, 1, 2, 3, 4]
    monkeypatch.setattr(image_rows, "rows", rows)
    list(run.read())
    assert list(run.scored().ids) == list(range(10))


# -- Videos
def clips_of(hub, n):
    clip = (examples.IMAGES / "clip.mp4").read_bytes()
    cells = [{"bytes": clip, "path": "scene.mp4"}] * (n - 1) + [{"bytes": b"no clip", "path": "damaged.mp4"}]
    captions = [f"A star moves to the {side}." for side in ("left", "right", "top", "left")[:n]]
    files = {"data/test-0.parquet": parquet_of_clips(cells, captions)}
    hub.repositories["org/clips"] = Repository({commit_of(files): files})
    return clip, captions[:-1]


def test_clips_of_a_data_set_are_scored_and_gone_afterwards(hub, tmp_path, temporary, monkeypatch):
    clip, captions = clips_of(hub, 4)
    opened = []
    opens = av.open
    monkeypatch.setattr(av, "open", lambda *given, **how: opened.append(given) or opens(*given, **how))
    source = runs.open_hub_rows("org/clips", None, "test", None, "", OWN_MACHINE)
    titles = {"predictions": ["caption"], "videos": ["video"]}
    run = runs.begin_run(source, ("pac_s", "video", "embedded"), titles, 0, None, OWN_MACHINE)
    run.stop_row = 2
    list(run.read())
    assert len(temporary()) == 2
    run.stop_row = None  # more rows are requested
    assert kept(run)[1]["data"]
    assert len(temporary()) == 2
    list(run.read())
    page, table, _ = kept(run)
    assert temporary() == []
    assert opened == []  # in this process, because child processes decode them
    (tmp_path / "scene.mp4").write_bytes(clip)
    expected = vlgauge.load("pac_s", "video", profile="embedded").compute(
        predictions=captions, videos=[str(tmp_path / "scene.mp4")] * 3
    )
    # The worst row is first.
    assert [row[1] for row in table["data"]] == sorted(round(score, 4) for score in expected["pac_s_scores"])
    assert "must be a readable video, got 7 bytes" in page
    assert "data:image/" in page  # frames
    with pytest.raises(gr.Error, match="ended before"):
        data_set._continue(run)


def test_the_call_scores_clips(hub, temporary):
    clips_of(hub, 2)
    answer = score_dataset_of(SPACE)("clip_s", "org/clips", "test", config="video")
    assert (len(answer["scores"]), [one["id"] for one in answer["left_out"]]) == (1, [1])
    assert temporary() == []
    assert (SPACE.limits.clip_bytes, OWN_MACHINE.limits.clip_bytes) == (20_000_000, 100_000_000)


def test_hostile_rows_are_counted_with_their_reasons(hub):
    source = runs.open_hub_rows("org/hostile", None, "test", None, "", OWN_MACHINE)
    run, _ = run_over(source, IMAGES)
    page, table, files = kept(run)
    assert "2 of 14 rows were scored" in page
    assert "6&lt;/b&gt;" in page
    left_out = read_rows(files["left_out.jsonl"])
    assert [row["id"] for row in left_out] == list(range(1, len(hostile_rows("")) - 1))
    assert sorted(row[0] for row in table["data"]) == [0, 13]


@pytest.mark.parametrize(
    ("first", "rows", "hosting", "message"),
    [
        (0, 10_000, SPACE, r"^`rows`.*at most 200 here.*got 10,000"),
        (0, None, SPACE, r"^`rows`.*at most 200.*got all"),
        (0, 0, OWN_MACHINE, r"^`rows`.*at least 1.*got 0"),
        (-1, 1, OWN_MACHINE, r"^`first_row`.*at least 0.*got -1"),
    ],
)
def test_numbers_of_rows_are_checked(image_rows, first, rows, hosting, message):
    with pytest.raises(ValueError, match=message):
        run_over(image_rows, IMAGES, first=first, rows=rows, hosting=hosting)


def test_runs_without_a_row_and_too_large_ones_say_so(image_rows):
    run, _ = run_over(image_rows, IMAGES, first=99)
    with pytest.raises(ValueError, match=r"^`rows`.*got none.*number"):
        run.scored()
    small = Hosting(limits=RowLimits(picture_bytes=10))
    run, _ = run_over(image_rows, IMAGES, hosting=small)
    with pytest.raises(ValueError, match=r"^`rows`.*got none.*at most 10 bytes"):
        run.scored()
    run, told = run_over(image_rows, IMAGES, rows=9, hosting=Hosting(limits=RowLimits(run_bytes=250)))
    assert "must have at most 250 bytes in all rows" in told[-1]
    assert 1 < len(run.scored().ids) < 9


def test_where_it_is_served_decides_what_may_be_asked_for(monkeypatch):
    monkeypatch.delenv("SPACE_ID", raising=False)
    assert (hosting_of(), hosting_of(True)) == (OWN_MACHINE, SPACE)
    monkeypatch.setenv("SPACE_ID", "vlgauge/workbench")
    assert (hosting_of(), hosting_of(False)) == (SPACE, OWN_MACHINE)
    assert (SPACE.most_rows, SPACE.token, OWN_MACHINE.most_rows) == (200, False, None)


def test_the_call_scores_a_data_set(hub, monkeypatch):
    monkeypatch.setattr(cells, "decode_image", None)  # this process decodes no untrusted image
    call = score_dataset_of(SPACE)
    answer = call("clip_s", "org/pictures", "test", rows=3, first_row=1)
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer
    assert [one["id"] for one in answer["scores"]] == [1, 2, 3]
    assert answer["mean"] == pytest.approx(sum(one["score"] for one in answer["scores"]) / 3)
    assert answer["interval"][0] <= answer["mean"] <= answer["interval"][1]
    assert answer["dataset"]["revision"] == COMMITS[0]
    assert not any("share their image" in note for note in answer["notes"])
    shared = call("clip_s", "org/pictures", "test", rows=8)
    assert [note for note in shared["notes"] if "4 of 8 rows share their image" in note and "as `groups`" in note]
    grouped = call("clip_s", "org/pictures", "test", rows=8, groups="caption")
    labels = [f"A {COLOURS[i % 6]} square." for i in range(8)]
    expected = bootstrap_interval([one["score"] for one in grouped["scores"]], groups=labels)
    assert grouped["interval"] == [expected.low, expected.high] != shared["interval"]
    assert not any("share their image" in note for note in grouped["notes"])
    assert call("rouge_l", "org/private", "test", rows=2, references=["refs"], token=TOKEN)["left_out"] == []
    with pytest.raises(ValueError, match=r"^`rows`.*at most 200 here.*got 201"):
        call("clip_s", "org/pictures", "test", rows=201)
    with pytest.raises(ValueError, match=r"^`dataset`.*private"):
        call("clip_s", "org/private", "test")


def test_the_call_scores_an_uploaded_table_with_its_images(client, tmp_path):
    rows = [{"caption": f"a scene {i}", "image": f"{i}.png"} for i in range(3)]
    table = tmp_path / "rows.json"
    table.write_text(json.dumps(rows))
    for i in range(3):
        (tmp_path / f"{i}.png").write_bytes(draw_png(("red", "green", "blue")[i]))
    words = {"metric": "clip_s", "api_name": "/score_dataset"}
    files = [handle_file(str(tmp_path / f"{i}.png")) for i in range(3)]
    answer = client.predict(dataset=handle_file(str(table)), files=files, **words)
    images_of = [str(tmp_path / f"{i}.png") for i in range(3)]
    expected = vlgauge.load("clip_s", profile="embedded").compute(
        predictions=[row["caption"] for row in rows], images=images_of
    )
    assert [one["score"] for one in answer["scores"]] == pytest.approx(expected["clip_s_scores"], rel=1e-5)
    assert (answer["left_out"], answer["dataset"]["id"]) == ([], "rows.json")
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        for path in (table, *map(Path, images_of)):
            packed.write(path, path.name)
    packed = client.predict(dataset=handle_file(str(tmp_path / "packed.zip")), **words)
    assert packed["scores"] == answer["scores"]
    # Columns that a metric does not use are ignored, as in `compute`.
    ignored = client.predict(dataset=handle_file(str(table)), files=files, styles="nothing", **words)
    assert ignored["scores"] == answer["scores"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dataset": "org/pictures", "files": [{}]}, r"^`files`"),
        ({"dataset": {"path": "/etc/hostname"}}, r"^`dataset`.*uploaded"),
        ({"dataset": 3}, r"^`dataset`.*got 3"),
    ],
)
def test_the_call_opens_no_file_but_an_upload(given, message):
    with pytest.raises(ValueError, match=message):
        score_dataset_of(OWN_MACHINE)("clip_s", **given)


def test_settings_of_the_hub_are_refused_with_an_upload(monkeypatch, tmp_path):
    monkeypatch.setattr(uploads, "get_upload_folder", lambda: str(tmp_path))
    (tmp_path / "rows.csv").write_text("caption\na dog\n")
    sent = {"path": str(tmp_path / "rows.csv"), "meta": {"_type": "gradio.FileData"}}
    with pytest.raises(ValueError, match=r"^`split`"):
        score_dataset_of(OWN_MACHINE)("bleu", sent, "test")
    with pytest.raises(ValueError, match=r"^`files\[0\]`.*got '/etc/hostname'"):
        score_dataset_of(OWN_MACHINE)("bleu", sent, files=["/etc/hostname"])


def test_a_data_set_opens_with_the_token_of_who_signed_in_or_typed_it_alone(hub, space):
    signed_in = gr.OAuthToken(token=TOKEN, scope="", expires_at=0)
    for typed, who in (("", signed_in), (f" {TOKEN} ", None)):
        pinned, config, commit = space._open("org/private", typed, who)
        assert (pinned.token, config.value, commit) == (TOKEN, "default", COMMITS[0])
    for name, told in (
        ("private", "which is unknown or private; if it is private, pass a token with read access"),
        ("gated", "which is gated; accept its terms on its page and pass your token"),
    ):
        with pytest.raises(gr.Error, match=f"`Dataset` must .*{told}"):
            space._open(f"org/{name}", "", None)


CLOSED = r"must exist .* pass a token with read access"


def test_on_a_space_the_token_of_the_machine_opens_nothing(hub, space, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    runs.open_hub_rows("org/private", None, "test", None, "", OWN_MACHINE)  # on a user's machine it does
    with pytest.raises(gr.Error, match=CLOSED):
        space._open("org/private", "", None)
    with pytest.raises(ValueError, match=CLOSED):
        score_dataset_of(SPACE)("rouge_l", "org/private", "test", references=["refs"])
    with pytest.raises(ValueError, match=CLOSED):
        runs.open_hub_rows("org/private", None, "test", None, "", SPACE)


def test_what_a_search_finds_stands_before_what_was_listed(hub, space):
    typed, visitor = SimpleNamespace(input_value="pict"), SimpleNamespace(session_hash="one")
    choices = [value for _, value in space._search_datasets(typed, visitor).choices]
    assert choices == ["org/pictures", *PRESETS]


@pytest.mark.parametrize("model", ["my model", "captioner", "a/b/c"])
def test_a_model_that_no_record_can_name_is_refused_before_a_row_is_read(image_rows, begin, model):
    with pytest.raises(gr.Error, match=r"`Model`.*OWNER/NAME"):
        begin(image_rows, model=model)
    assert begin(image_rows, model=" me/captioner ").reader.next_row == 0


def test_rows_with_clips_ask_for_the_configuration_of_clips(image_rows, begin):
    source = SimpleNamespace(origin=image_rows.origin, kinds={"caption": "text", "video": "video"})
    with pytest.raises(gr.Error, match="`Configuration`"):
        begin(source, images=None)


def test_numbers_are_called_as_on_the_page(image_rows, begin):
    with pytest.raises(gr.Error, match=r"`From row`.*at least 0.*got -1"):
        begin(image_rows, first=-1)


def test_rows_without_a_score_are_not_counted_as_scored(tmp_path):
    path = tmp_path / "stories.jsonl"
    stories = ["It ran.", "We ran home. We ran home again.", "It sat.", None]
    path.write_text("".join(json.dumps({"story": story}) + "\n" for story in stories))
    run, _ = run_over(read_uploaded_rows(str(path)), {"predictions": ["story"]}, metric=("rovist_nr", "", "embedded"))
    page = kept(run)[0].replace("&lt;/b&gt;", "")
    assert "1 of 4 rows were scored, 2 undefined, 1 left out:" in page


def test_what_cannot_be_recorded_is_shown_and_kept_nevertheless(tmp_path):
    path = tmp_path / "stories.jsonl"
    path.write_text('{"story": "It ran."}\n{"story": "It sat."}\n')
    source = read_uploaded_rows(str(path))
    source.origin = Origin("org/stories", "default", "test", "c" * 40)
    run, _ = run_over(source, {"predictions": ["story"]}, metric=("rovist_nr", "", "embedded"))
    page, table, files = kept(run, "me/teller")
    assert "There is no record: `rovist_nr_scores` must be defined for at least one row" in page
    assert [row[1] for row in table["data"]] == [None, None]
    assert "scores.jsonl" in files
    assert "results.jsonl" not in files


def test_numbers_below_the_least_are_told_in_our_words(page):
    """Check that Gradio does not replace the message for numbers below a minimum."""
    numbers = [one for one in page.blocks.values() if isinstance(one, gr.Number)]
    assert [one.preprocess(-3) for one in numbers] == [-3, -3]


def test_a_list_that_is_left_as_it_was_opens_nothing(image_rows):
    """Check that an unchanged choice, which Gradio reports like a new one, keeps the columns and scores."""
    with pytest.raises(gr.Error) as refused:
        data_set._check_other_split("org/pictures ", "default", "test", image_rows)
    assert not refused.value.visible
    for other in (("org/folder", "default", "test"), ("org/pictures", "more", "test"), (None, "default", "train")):
        data_set._check_other_split(*other, image_rows)
    data_set._check_other_split("org/pictures", "default", "test", None)


def test_the_configuration_of_another_metric_is_none(image_rows, begin):
    assert begin(image_rows, "groovist", "image").config == ""
    assert begin(image_rows, "pac_s", "demo").config == "image"
    with pytest.raises(gr.Error, match="`videos`"):
        begin(image_rows, "pac_s", "video")
    assert data_set.guess_columns("groovist", "image", image_rows)[-1].visible


def test_a_run_that_failed_can_be_followed_by_another(page):
    """Check that a run can follow a failed one, although `then` does not follow a failure in gradio 6.31."""
    named = {number: one.fn.__name__ for number, one in page.fns.items() if one.fn is not None}
    rested = [one for one in page.fns.values() if one.fn is not None and one.fn.__name__ == "_rest"]
    after = {(named[one.trigger_after], one.trigger_only_on_failure) for one in rested}
    assert after == {("_score", False), ("_score", True), ("_read", True)}


# -- Files ------------------------------------------------------------------------------------------------------------
def test_scores_of_an_upload_are_those_of_compute():
    path = str(EXAMPLES / "stories.jsonl")
    run, _ = run_over(
        read_uploaded_rows(path), {"predictions": ["story"], "id": ["id"]}, metric=("rovist_nr", "", "embedded")
    )
    rows = read_rows(path)
    expected = vlgauge.load("rovist_nr", profile="embedded").compute(predictions=[row["story"] for row in rows])
    found = run.scored()
    assert list(found.ids) == [row["id"] for row in rows]
    assert str({key: found.result[key] for key in expected}) == str(expected)
    with pytest.raises(gr.Error, match=r"`Model`.*file"):
        data_set._score(run, "me/teller")


def test_files_stand_above_the_rows_and_are_brought_up(page):
    of = [one.elem_id or getattr(one, "label", None) for one in page.blocks.values()]
    order = [of.index(name) for name in ("score-data-set", "Scores and report", "scores-of-data-set")]
    assert order == sorted(order)
    moved = next(one for one in page.fns.values() if one.js and "scores-of-data-set" in one.js)
    assert moved.trigger_only_on_success


def test_columns_are_guessed_and_the_first_rows_shown():
    source = read_uploaded_rows(str(EXAMPLES / "styled_captions.csv"))
    *columns, preview = data_set.guess_columns("onlystyle", "demo", source)
    first = read_rows(str(EXAMPLES / "styled_captions.csv"))[0]["caption"]
    assert (f"caption: {first[:35]}…" if len(first) > 36 else f"caption: {first}", "caption") in columns[0].choices
    assert [(one.value, one.visible) for one in columns] == [
        ("caption", True),
        ([], True),
        ("style", True),
        (data_set.NONE, False),
        (data_set.NONE, False),
        (data_set.NONE, True),
        (data_set.NONE, True),
    ]
    assert preview.visible
    assert len(preview.value["data"]) == data_set.N_PREVIEW


def test_how_many_rows_there_are_is_said(space, page, tmp_path):
    named, *_ = [one.fn for one in page.fns.values() if one.name == "_guess_columns"]
    for guess, more in ((named, "empty for all"), (space._guess_columns, "at most 200 here")):
        assert guess("rovist_nr", "", rows_of_file(tmp_path))[-2].label == f"Number of rows, of 30; {more}"


def test_how_far_it_is_is_told_while_rows_are_read_and_scored(tmp_path):
    run, told = run_over(rows_of_file(tmp_path), CAPTIONS, metric=("rouge_l", "", "embedded"))
    assert told[0] == "8 of 30 rows read, 0 of them left out."
    work = stopping.Work()
    assert data_set._reading(work, run) == ["30 rows read, 0 of them left out.", gr.skip()]
    assert data_set._scoring(work, run, "")[-1] == "Scoring…"
    work.report(10, 30)
    assert data_set._scoring(work, run, "")[-1] == "Scoring, step 10 of 30…"


def test_a_run_that_is_stopped_while_it_is_scored_says_so(tmp_path, monkeypatch):
    def stopped(metric, *given):
        data_set._stop(run)
        metric.progress(1, 2)

    monkeypatch.setattr(runs, "score_checked", stopped)
    run, _ = run_over(rows_of_file(tmp_path), CAPTIONS, metric=("rouge_l", "", "embedded"))
    run.is_busy = True
    work = stopping.Work()
    copy_context().run(work.run, data_set._score, run, "")
    assert work.result[:3] == [gr.skip()] * 3
    run.is_stopped = True  # while it waits in the queue
    assert data_set._score(run, "")[:3] == [gr.skip()] * 3
    score, _, _, told = data_set._rest(run)
    assert (score.interactive, told) == (
        True,
        "30 rows read, 0 of them left out. Stopped during scoring, so there are no scores.",
    )


def test_a_row_of_an_archive_may_be_a_line_of_its_table(tmp_path):
    rows = [
        {"id": f"r{i}", "caption": f"A {colour} square.", "image": f"pictures/{i}.png"}
        for i, colour in enumerate(COLOURS[:3])
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    with zipfile.ZipFile(tmp_path / "rows.zip", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("set/rows.jsonl", lines)
        made.writestr("__MACOSX/set/._rows.jsonl", "x")
        for i, colour in enumerate(COLOURS[:3]):
            made.writestr(f"set/pictures/{i}.png", draw_png(colour))
            made.writestr(f"set/others/{i}.png", b"another of this name")
    titles = {"predictions": ["caption"], "images": ["image"], "id": ["id"]}
    run, _ = run_over(archive_rows(str(tmp_path / "rows.zip"), RowLimits()), titles)
    assert list(run.scored().ids) == ["r0", "r1", "r2"]
    # The same with a table.
    (tmp_path / "rows.jsonl").write_text(lines, encoding="utf-8")
    uploaded, _ = run_over(read_uploaded_rows(str(tmp_path / "rows.jsonl"), [str(tmp_path / "rows.zip")]), titles)
    assert uploaded.scored().result["clip_s_scores"] == run.scored().result["clip_s_scores"]


def test_no_row_gets_the_image_of_another_folder(tmp_path):
    paths = ["train/0.png", "val/0.png", "/data/set/val/1.png", "C:\\set\\only\\2.png"]
    rows = [{"id": path, "caption": "A star.", "image": path} for path in paths]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with zipfile.ZipFile(tmp_path / "pictures.zip", "w") as made:
        for name, colour in (("val/0", "red"), ("val/1", "blue"), ("old/1", "green"), ("2", "red")):
            made.writestr(f"{name}.png", draw_png(colour))
    source = read_uploaded_rows(str(tmp_path / "rows.jsonl"), [str(tmp_path / "pictures.zip")])
    run, _ = run_over(source, {"predictions": ["caption"], "images": ["image"], "id": ["id"]})
    assert run.reader.ids == paths[1:]
    contents = [Path(path).read_bytes() for path in run.reader.columns["images"]]
    assert contents == [draw_png(colour) for colour in ("red", "blue", "red")]
    several = "an image or video must be the name of one uploaded file, got that of several '0.png'; upload it with"
    (left_out,) = run.reader.left_out
    assert (left_out.id, left_out.reason.startswith(several)) == ("train/0.png", True)
    # Uploads have no folder names.
    (tmp_path / "0.png").write_bytes(draw_png("red"))
    uploaded = read_uploaded_rows(str(tmp_path / "rows.jsonl"), [str(tmp_path / "0.png")])
    for path in paths[:2]:
        with pytest.raises(ValueError, match=r"'0\.png'"):
            uploaded.file(path, 10_000)


def test_a_table_in_an_archive_is_told_by_its_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "rows.zip", "w") as made:
        made.writestr("set/rows.csv", "caption\né".encode("latin-1"))
    with pytest.raises(ValueError, match=r"^FILE.*UTF-8.*byte 0xe9.*line 2"):
        archive_rows(str(tmp_path / "rows.zip"), RowLimits())


def test_a_zip_of_files_of_one_name_is_rows_of_these(tmp_path):
    with zipfile.ZipFile(tmp_path / "rows.zip", "w") as made:
        for i, colour in enumerate(COLOURS[:3]):
            made.writestr(f"{i}.png", draw_png(colour))
        for i, colour in enumerate(COLOURS[:3]):
            made.writestr(f"{i}.txt", f"A {colour} square.")
    titles = {"predictions": ["txt"], "images": ["png"], "id": ["__key__"]}
    run, _ = run_over(archive_rows(str(tmp_path / "rows.zip"), RowLimits()), titles)
    assert list(run.scored().ids) == ["0", "1", "2"]
    with zipfile.ZipFile(tmp_path / "none.zip", "w"):
        pass
    with pytest.raises(ValueError, match=r"FILE.*got none"):
        archive_rows(str(tmp_path / "none.zip"), RowLimits())


@pytest.mark.parametrize(
    ("titles", "guessed"),
    [
        (["image_id", "sentence"], "sentence"),
        (["imageId", "words_file", "sentence"], "sentence"),
        (["sample_id", "url"], None),
        (["identity"], "identity"),
    ],
)
def test_an_id_is_never_suggested_as_a_caption(tmp_path, titles, guessed):
    (tmp_path / "rows.jsonl").write_text(json.dumps(dict.fromkeys(titles, "x y z")) + "\n", encoding="utf-8")
    column, *_ = data_set.guess_columns("bleu", "", read_uploaded_rows(str(tmp_path / "rows.jsonl")))
    assert column.value == (guessed or data_set.NONE)


def test_rows_of_an_upload_are_left_out_with_their_reasons(tmp_path):
    (tmp_path / "right.png").write_bytes(draw_png("red"))
    (tmp_path / "broken.png").write_bytes(draw_png("red")[:40])
    rows = [
        {"id": "good", "caption": "A star.", "image": "anywhere/right.png"},
        {"id": "broken", "caption": "A star.", "image": "broken.png"},
        {"id": "server", "caption": "A star.", "image": "/etc/hostname"},
        {"id": "mapping", "caption": "A star.", "image": {"path": "/etc/hostname", "bytes": None}},
        {"id": "silent", "caption": None, "image": "right.png"},
        {"id": "number", "caption": "A star.", "image": 3},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = read_uploaded_rows(str(path), [str(tmp_path / "right.png"), str(tmp_path / "broken.png")])
    run, _ = run_over(source, {"predictions": ["caption"], "images": ["image"], "id": ["id"]})
    assert run.reader.ids == ["good"]
    told = {one.id: one.reason for one in run.reader.left_out}
    assert "must be a readable image" in told.pop("broken")
    refused = "an image or video must be an uploaded file, got 'hostname'; upload it with the table"
    assert told == {
        "server": refused,
        "mapping": refused,
        "silent": "`predictions` is required",
        "number": "`images` must be the bytes or the name of a file, got int",
    }


def test_uploads_of_one_name_and_large_ones_are_refused(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "1.png").write_bytes(draw_png("red"))
    (tmp_path / "rows.csv").write_text("caption\nx\n")
    twice = read_uploaded_rows(
        str(tmp_path / "rows.csv"), [str(tmp_path / "a" / "1.png"), str(tmp_path / "b" / "1.png")]
    )
    with pytest.raises(ValueError, match=r"'1\.png'"):
        twice.file("1.png", 10_000)
    once = read_uploaded_rows(str(tmp_path / "rows.csv"), [str(tmp_path / "a" / "1.png")])
    with pytest.raises(ValueError, match=r"video.*at most 10 bytes"):
        once.file("1.png", 10)


def test_an_archive_is_uploaded_through_the_same_path(tmp_path):
    for i, colour in enumerate(COLOURS[:3]):
        (tmp_path / f"{i}.png").write_bytes(draw_png(colour))
        (tmp_path / f"{i}.txt").write_text(f"A {colour} square.")
    with tarfile.open(tmp_path / "rows.tar", "w") as made:
        for path in sorted(tmp_path.glob("*.*")):
            if path.suffix != ".tar":
                made.add(path, path.name)
    run, _ = run_over(
        archive_rows(str(tmp_path / "rows.tar"), RowLimits(picture_bytes=10_000)),
        {"predictions": ["txt"], "images": ["png"], "id": ["__key__"]},
    )
    assert list(run.scored().ids) == ["0", "1", "2"]


def rows_of_file(tmp_path, count=30, name="rows.jsonl"):
    rows = [{"caption": f"a dog {i} runs home", "references": [f"a dog {i} ran home", "a cat"]} for i in range(count)]
    (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return read_uploaded_rows(str(tmp_path / name))


CAPTIONS = {"predictions": ["caption"], "references": ["references"]}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("first", "rows", "extent"),
    [
        (0, 20, "30 rows, the first 20 scored"),
        (5, 20, "30 rows, 20 from row 5 on scored"),
        (0, 30, ""),
        (0, 99, ""),
        (0, None, ""),
    ],
)
def test_some_rows_of_a_file_are_told_in_the_headline(tmp_path, first, rows, extent):
    source = rows_of_file(tmp_path)
    run, _ = run_over(source, CAPTIONS, metric=("cider", "", "embedded"), first=first, rows=rows)
    assert run.extent == extent
    page, _, _ = kept(run)
    assert (f"&lt;h2&gt;{extent}&lt;/h2&gt;" in page) == bool(extent)
    assert ("the document frequencies of CIDEr, are counted in these" in page) == bool(extent)


def test_where_nobody_tells_how_many_rows_there_are_it_is_said(tmp_path):
    source = rows_of_file(tmp_path)
    unknown = SimpleNamespace(origin=source.origin, kinds=source.kinds, rows=source.rows, file=source.file, n_rows=None)
    for rows, extent in ((20, "more rows than were read, the first 20 scored"), (99, "")):
        run, _ = run_over(unknown, CAPTIONS, metric=("rouge_l", "", "embedded"), rows=rows)
        assert run.extent == extent
    # The number of rows on a card may be wrong.
    unknown.n_rows = 10
    run, _ = run_over(unknown, CAPTIONS, metric=("rouge_l", "", "embedded"), rows=20)
    assert run.extent == "more rows than were read, the first 20 scored"


def test_the_record_and_the_answer_of_some_rows_say_so(hub, image_rows):
    run, _ = run_over(image_rows, IMAGES, rows=8)
    assert run.extent.endswith(", the first 8 scored")
    (record,) = read_records(kept(run, "me/captioner")[2]["results.jsonl"])
    assert record.notes == run.extent
    assert read_records(kept(run_over(image_rows, IMAGES)[0], "me/captioner")[2]["results.jsonl"])[0].notes is None
    answer = score_dataset_of(SPACE)("clip_s", "org/pictures", "test", rows=8)
    assert answer["notes"][0] == run.extent


def test_files_of_grouped_rows_name_the_grouping(image_rows):
    run, _ = run_over(image_rows, IMAGES | {"groups": ["caption"]}, rows=8)
    files = kept(run, "me/captioner")[2]
    (record,) = read_records(files["results.jsonl"])
    assert (record.ci.groups, record.ci.grouped_by, record.n) == (6, "caption", 8)
    assert read_run(files["scores.json"], [])["groups"] == [f"A {COLOURS[i % 6]} square." for i in range(8)]


def test_no_model_is_asked_for_where_none_can_be_recorded():
    of_file, of_hub = data_set._kind_chosen(data_set.OF_FILE)[2], data_set._kind_chosen(data_set.OF_HUB)[2]
    assert (of_file.visible, of_file.value) == (False, "")
    assert of_hub.visible


def test_a_notice_goes_after_the_time_to_read_it():
    with pytest.raises(gr.Error) as told:
        data_set.guess_columns("no_metric", None, SimpleNamespace())
    with pytest.raises(gr.Error) as longer:
        data_set.guess_columns("no_metric" * 40, None, SimpleNamespace())
    assert 8 < told.value.duration < longer.value.duration < 100


def test_rows_are_scored_with_the_chosen_tokenizer(client, begin, tmp_path):
    rows = {"caption": ["ein hund", "ein hut"], "refs": [["ein bunter hund"], ["der hut"]]}
    (tmp_path / "rows.json").write_text(
        json.dumps([dict(zip(rows, one, strict=True)) for one in zip(*rows.values(), strict=True)])
    )
    columns = {"predictions": rows["caption"], "references": rows["refs"]}
    expected = vlgauge.load("rouge_l", tokenizer="char").compute(**columns)
    assert expected["rouge_l"] != vlgauge.load("rouge_l").compute(**columns)["rouge_l"]
    call = {"metric": "rouge_l", "predictions": "caption", "references": ["refs"], "api_name": "/score_dataset"}
    answer = client.predict(dataset=handle_file(str(tmp_path / "rows.json")), tokenizer="char", **call)
    assert [one["score"] for one in answer["scores"]] == expected["rouge_l_scores"]
    assert answer["signature"] == expected["rouge_l_signature"]
    with pytest.raises(AppError, match="`tokenizer` must be one of"):
        client.predict(dataset=handle_file(str(tmp_path / "rows.json")), tokenizer="klingon", **call)

    source = runs.open_upload(str(tmp_path / "rows.json"), (), OWN_MACHINE)
    run = begin(source, "rouge_l", "", rows=2, tokenizer="char", images=None, references=["refs"])
    list(run.read())
    assert run.scored().result["rouge_l_signature"] == expected["rouge_l_signature"]


@pytest.mark.filterwarnings("ignore:the scores of the demo CLIP")
def test_rows_are_scored_with_a_table_of_questions(client, begin, tmp_path):
    columns = {"predictions": ["a red square", "a blue square"], "images": [draw_png("red"), draw_png("green")]}
    asked = [[text, 1, 0, f"Is there {text}?"] for text in columns["predictions"]] + [
        ["a red square", 2, 1, "Is it red?"]
    ]
    lines = [["text", "proposition_id", "dependency", "question_natural_language"], *asked]
    table = tmp_path / "questions.csv"
    table.write_text("".join(",".join(map(str, line)) + "\n" for line in lines))
    expected = vlgauge.load("dsg", profile="embedded", questions=table).compute(**columns)
    assert expected["dsg_n_questions"] == 3
    rows = [{"caption": text, "image": f"{i}.png"} for i, text in enumerate(columns["predictions"])]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    paths = [tmp_path / f"{i}.png" for i in range(2)]
    for path, content in zip(paths, columns["images"], strict=True):
        path.write_bytes(content)
    sent = {"dataset": handle_file(str(tmp_path / "rows.json")), "files": [handle_file(str(path)) for path in paths]}
    sent |= {"questions": handle_file(str(table)), "api_name": "/score_dataset"}
    answer = client.predict("dsg", **sent)
    assert [one["score"] for one in answer["scores"]] == pytest.approx(expected["dsg_scores"], abs=1e-6)
    assert answer["signature"] == expected["dsg_signature"]
    with pytest.raises(AppError, match="`questions` must be empty for clip_s"):
        client.predict("clip_s", **sent)
    with pytest.raises(ValueError, match=r"^`questions` must be a file that was uploaded"):
        score_dataset_of(SPACE)("dsg", sent["dataset"], questions={"path": str(table)})
    table.write_text("text,proposition_id,dependency,question_natural_language\na cat,1,0,Is there a cat?\n")
    with pytest.raises(
        AppError, match=r"`questions` must have questions about each caption, got none about 'a red square' in 'q"
    ):
        client.predict("dsg", **sent | {"questions": handle_file(str(table))})

    source = runs.open_upload(str(tmp_path / "rows.json"), [str(path) for path in paths], OWN_MACHINE)
    run = begin(source, "dsg", "", rows=2, questions=str(table))
    list(run.read())
    with pytest.raises(gr.Error, match="`questions` must have questions about each caption"):
        data_set._score(run, "")
    assert begin(source, "clip_s", "image", rows=2, questions=str(table)).settings == {}


def test_a_table_of_questions_is_asked_for_by_dsg_only():
    tab = tab_of(OWN_MACHINE)
    source = runs.open_upload(str(EXAMPLES / "captioned_scenes.jsonl"), (), OWN_MACHINE)
    assert [tab._guess_columns(name, "", source)[-1].visible for name in ("dsg", "vqascore")] == [True, False]
    assert tab._guess_columns("dsg", "", None)[-1].visible is False
