"""Valid and hostile Hub datasets, from a Hub on this machine."""

import builtins
import io
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hub_data_sets import TOKEN, Repository, commit_of
from idle_workers import stop_idle
from made_data_sets import COLOURS, COMMITS, N_ROWS, card_of, draw_png, files, hostile_rows

from vlgauge.api.row_sources import Origin, RowLimits, RowReader, guess_titles, skip_reasons
from vlgauge.api.row_sources import hub as hub_rows
from vlgauge.core.errors import NetworkError
from vlgauge.families.base.columns import References, Story, Text
from vlgauge.families.base.video_columns import OneImage
from vlgauge.inputs.sandbox import workers

pytestmark = pytest.mark.streaming

# A worker ends with a stream that is left before its last row, and the next one imports for a second. The tests that
# require a new worker are the first ones, so that they end few others.
ALL = 100
COLUMNS = [Text("predictions"), OneImage("images"), References("references", optional=True)]


def opened(name, *, config=None, split="test", token=None):
    return hub_rows.HubRows(hub_rows.pin_dataset(name, token=token), config, split)


def read(source, n, columns=COLUMNS, **options):
    reader = RowReader(source, columns, guess_titles(columns, source.kinds), **options)
    reader.read(n)
    return reader


def test_a_hub_that_is_down_opens_no_data_set_with_an_unchecked_card(hub):
    data_set = hub_rows.pin_dataset("org/lines")
    stop_idle()
    hub.is_down = True
    try:
        with pytest.raises(NetworkError):
            hub_rows.HubRows(data_set, None, None)
    finally:
        hub.is_down = False
    assert hub_rows.HubRows(data_set, None, None).kinds


def test_what_was_read_is_kept_for_the_same_token_alone(hub):
    stop_idle()
    asked = []
    for token in (False, False, TOKEN):
        data_set = hub_rows.pin_dataset("org/pictures", token=token)
        hub.asked.clear()
        hub_rows.HubRows(data_set, None, "test")
        asked.append(len(hub.asked))
    assert 0 == asked[1] < asked[0] == asked[2] < 12


def test_rows_are_those_of_the_split_with_their_numbers(hub):
    source = opened("org/pictures")
    assert source.origin == Origin("org/pictures", "default", "test", COMMITS[0])
    assert source.kinds == {"image": "image", "caption": "text", "refs": "texts"}
    reader = read(source, 5, next_row=7)
    assert reader.ids == [7, 8, 9, 10, 11]
    assert reader.columns["predictions"] == [f"A {COLOURS[i % 6]} square." for i in reader.ids]
    assert reader.columns["images"] == [draw_png(COLOURS[i % 6]) for i in reader.ids]
    assert reader.columns["references"][0] == ["A green picture.", "All is green."]
    reader.read(ALL)
    assert (reader.is_done, reader.next_row, reader.left_out) == (True, N_ROWS, [])


def test_a_reader_that_stops_at_a_row_leaves_its_worker_to_the_next_one(hub, monkeypatch):
    source = opened("org/pictures")
    reader = RowReader(source, COLUMNS, guess_titles(COLUMNS, source.kinds), stop_row=3)
    assert (reader.read(ALL), reader.is_done) == (3, False)
    monkeypatch.setattr(workers, "_Worker", None)  # no other worker can start
    reader.stop_row = 5
    assert (reader.read(ALL), reader.ids) == (2, [0, 1, 2, 3, 4])
    reader.stop_row = None
    reader.read(ALL)
    assert (reader.is_done, reader.next_row, reader.left_out) == (True, N_ROWS, [])


def test_only_the_columns_that_are_read_are_fetched(hub):
    rows = [*opened("org/pictures").rows(["caption"])]
    assert rows[0] == {"caption": "A red square."}


def test_configurations_and_splits_and_search(hub):
    data_set = hub_rows.pin_dataset("org/pictures")
    assert hub_rows.configurations(data_set) == ["default", "small"]
    assert hub_rows.splits(data_set, "default") == ["test", "train"]
    assert opened("org/pictures", config="small").origin.config == "small"
    assert hub_rows.search("pict") == ["org/pictures"]
    assert "org/gated" not in hub_rows.search("org/")


def test_a_data_set_that_changes_meanwhile_stays_as_it_was_opened(hub):
    repository = Repository({COMMITS[0]: files()})
    hub.repositories["org/changing"] = repository
    source = opened("org/changing")
    repository.commits[COMMITS[1]] = files("circle")
    assert read(source, ALL).columns["predictions"][0] == "A red square."
    assert source.origin.revision == COMMITS[0]
    later = opened("org/changing")
    assert (later.origin.revision, read(later, ALL).columns["predictions"][0]) == (COMMITS[1], "A red circle.")
    again = hub_rows.HubRows(hub_rows.pin_dataset("org/changing", COMMITS[0]), None, "test")
    assert read(again, ALL).columns["predictions"][0] == "A red square."


def test_images_of_a_folder_are_read_from_the_data_set_itself(hub):
    reader = read(opened("org/folder"), 9)
    assert sorted(reader.columns["predictions"]) == [f"A {colour} square." for colour in sorted(COLOURS[:3])]
    assert set(reader.columns["images"]) == {draw_png(colour) for colour in COLOURS[:3]}


def test_rows_without_features_have_columns_by_the_first_row(hub):
    source = opened("org/cells")
    assert source.kinds == {"caption": "text", "refs": "text"}
    columns = [Text("predictions"), References("references")]
    reader = read(source, ALL, columns)
    assert (reader.ids, reader.columns["references"]) == ([0], ["A hound."])
    assert [(one.id, one.reason) for one in reader.left_out] == [(1, "`references` is required")]


def test_rows_are_called_by_their_column_of_ids(hub):
    source = opened("org/lines")
    assert source.kinds == {"id": "text", "story": "texts", "note": "other"}
    columns = [Story("predictions")]
    assert guess_titles(columns, source.kinds) == {"predictions": ["story"], "id": ["id"]}
    assert read(source, ALL, columns).ids[:2] == ["s0", "s1"]


def test_gated_and_private_sets_open_with_the_visitors_own_token(hub):
    for name in ("org/gated", "org/private"):
        assert read(opened(name, token=TOKEN), ALL).ids[0] == 0
        with pytest.raises(ValueError, match=r"^`dataset`.*accessible"):
            opened(name, token=False)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("org/gated", r"^`dataset`.*got 'org/gated'"),
        ("org/private", r"^`dataset`.*got 'org/private'"),
        ("org/unknown", r"^`dataset`.*got 'org/unknown'"),
        ("org/scripted", "got 'org/scripted'"),
        ("org/elsewhere", r"^`dataset`.*repository"),
        ("org/above", r"^`dataset`.*got 'org/above'"),
        ("org/server", r"^`dataset`.*repository"),
        ("org/broken", r"^`dataset`.*got 'org/broken'"),
        ("org/empty", r"^`dataset`.*got 'org/empty'"),
        ("org/sounds", r"^`dataset`.*formats"),
        ("parquet", r"^`dataset`.*got 'parquet'"),
        ("../org/x", r"^`dataset`.*OWNER/NAME"),
        ("buckets/org/x", r"^`dataset`.*OWNER/NAME"),
    ],
)
def test_what_cannot_be_opened_is_one_sentence(hub, within, name, message):
    with pytest.raises(ValueError, match=message) as caught:
        read(opened(name), 1)
    assert "\n" not in str(caught.value)
    assert within[1] == []


def test_a_text_of_invalid_utf8_is_told(hub):
    stream = io.BytesIO()
    pq.write_table(pa.table({"caption": pa.array([b"\xed\xa0\x80 dog"]).view(pa.string())}), stream)
    files = {"test.parquet": stream.getvalue()}
    hub.repositories["org/bytes"] = Repository({commit_of(files): files})
    with pytest.raises(ValueError, match=r"^`dataset` must be readable.*UTF8"):
        list(opened("org/bytes", split="test").rows(["caption"]))


def arrow_cut_short(table):
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return stream.getvalue()[:-1000]


def parquet_with_a_broken_footer(table):
    stream = io.BytesIO()
    pq.write_table(table, stream)
    content = stream.getvalue()
    return content[:-300] + b"\xff" * 280 + content[-20:]


@pytest.mark.parametrize(
    ("name", "damage"), [("x.arrow", arrow_cut_short), ("x.parquet", parquet_with_a_broken_footer)]
)
def test_a_damaged_file_is_told_and_not_a_hub_that_cannot_be_reached(hub, name, damage):
    files = {name: damage(pa.table({"caption": ["A dog ran."] * 400}))}
    hub.repositories["org/damaged"] = Repository({commit_of(files): files})
    with pytest.raises(ValueError, match=r"^`dataset` must be readable, got 'org/damaged' \(\w+: [^\n]+\)$"):
        read(opened("org/damaged", split="train"), 1, [Text("predictions")])


def test_wrong_configurations_splits_and_revisions_name_the_right_ones(hub):
    with pytest.raises(ValueError, match=r"^`config`.*got 'large'"):
        opened("org/pictures", config="large")
    with pytest.raises(ValueError, match=r"^`split`.*got none"):
        opened("org/pictures", split=None)
    with pytest.raises(ValueError, match=r"^`revision`.*'org/pictures'"):
        hub_rows.pin_dataset("org/pictures", "v9")


def test_offline_is_told_at_once(hub, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(NetworkError, match="offline mode"):
        hub_rows.pin_dataset("org/pictures")
    with pytest.raises(NetworkError, match="offline mode"):
        hub_rows.search("pictures")


def test_a_token_is_shown_nowhere():
    assert TOKEN not in repr(hub_rows.Pinned("org/private", COMMITS[0], TOKEN))


def test_hostile_rows_are_left_out_and_nothing_of_them_is_opened(hub, within, monkeypatch):
    opened_paths = []
    for module, name in ((builtins, "open"), (os, "open")):
        real = getattr(module, name)
        monkeypatch.setattr(
            module,
            name,
            lambda path, *rest, _real=real, **more: opened_paths.append(path) or _real(path, *rest, **more),
        )
    source = opened("org/hostile")
    del hub.asked[:]
    reader = read(source, 100)
    own = "an image or video must be bytes or a file of the dataset itself, got another path or URL"
    reasons = {one.id: one.reason for one in reader.left_out}
    assert [reasons.pop(number) for number in range(1, 7)] == [own] * 6
    assert "(error: Image size (1000000000 pixels) exceeds limit" in reasons.pop(7)
    assert "`images` must be a readable image, got 6 bytes" in reasons.pop(8)
    assert "`images` must be the bytes of an image file, got 0 bytes" in reasons.pop(9)
    assert reasons.pop(10) == "`images` is required"
    assert reasons.pop(11) == "`predictions` is required"
    assert reasons.pop(12) == "`predictions` must have at most 20,000 characters, got 10,000,000"
    assert reasons == {}
    assert reader.ids == [0, len(hostile_rows("")) - 1]
    assert skip_reasons(reader.left_out)[0] == (own, 6)
    assert within[1] == []
    assert not [path for path in opened_paths if "hostname" in str(path)]
    assert {path.split("/")[3] for _, path in hub.asked if path.startswith("/datasets/")} <= {"hostile"}


def test_a_file_that_a_card_names_outside_is_not_read(hub, within, tmp_path):
    secret = tmp_path / "secret.jsonl"
    secret.write_text('{"caption": "what nobody should see"}\n')
    for path, problem in (
        (str(secret), "repository"),
        (secret.as_uri(), "repository"),
        (f"zip://*::{within[0]}/x.zip", "repository"),
        # Both are searched in the dataset itself.
        ("~/secret.jsonl", "must be readable"),
        ("a/../../secret.jsonl", "must be readable"),
    ):
        named = card_of(path)
        hub.repositories["org/names"] = Repository({commit_of(named): named})
        with pytest.raises(ValueError, match=rf"^`dataset`.*{problem}"):
            opened("org/names")
    assert within[1] == []


def test_images_and_rows_have_limits(hub):
    reader = read(opened("org/pictures"), ALL, limits=RowLimits(picture_bytes=10, pixels=1))
    assert {one.reason for one in reader.left_out} == {"`images` must be a file of at most 10 bytes, got a larger one"}
    reader = read(opened("org/folder"), ALL, limits=RowLimits(picture_bytes=10))
    assert {one.reason for one in reader.left_out} == {
        "an image or video must be a file of at most 10 bytes, got a larger one"
    }
    reader = read(opened("org/pictures"), ALL, limits=RowLimits(pixels=63))
    assert "must have at most 63 pixels, got 8 x 8" in reader.left_out[0].reason
    with pytest.raises(ValueError, match=r"at most 100 bytes.*row 1"):
        read(opened("org/pictures"), 3, stop_row=3, limits=RowLimits(run_bytes=100))


def test_a_hub_that_is_down_ends_the_run_and_leaves_no_row_out(hub):
    source = opened("org/folder")
    reader = RowReader(source, COLUMNS, guess_titles(COLUMNS, source.kinds))
    reader.read(1)
    hub.is_down = True
    try:
        with pytest.raises(NetworkError, match="again later"):
            reader.read(9)
    finally:
        hub.is_down = False
    assert (reader.next_row, reader.left_out) == (1, [])
    reader.read(9)
    assert (reader.ids, reader.left_out) == ([0, 1, 2], [])


def test_an_image_that_is_not_there_is_told(hub):
    source = opened("org/folder")
    root = f"hf://datasets/org/folder@{COMMITS[0]}/"
    with pytest.raises(ValueError, match=r"file.*dataset"):
        source.file(f"{root}test/none.png", 10_000)


def test_a_reader_goes_on_where_the_way_to_the_hub_broke(hub, monkeypatch):
    source = opened("org/pictures")
    rows = source.rows

    def broken(titles, start=0, stop=None):
        for number, row in enumerate(rows(titles, start), start):
            if number == 3:
                raise NetworkError("the Hub cut the connection")
            yield row

    monkeypatch.setattr(source, "rows", broken)
    reader = RowReader(source, COLUMNS, guess_titles(COLUMNS, source.kinds))
    with pytest.raises(NetworkError):
        reader.read(10)
    assert reader.ids == [0, 1, 2]
    monkeypatch.setattr(source, "rows", rows)
    reader.stop_row = 6
    reader.read(3)
    assert reader.ids == [0, 1, 2, 3, 4, 5]
    assert reader.columns["predictions"] == [f"A {colour} square." for colour in COLOURS]
