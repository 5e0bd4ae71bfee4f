"""Rounds of a metric: state after an error, no rows, ways to add rows, partial results."""

import math

import numpy as np
import pytest
from demo_rows import SETS, STORIES, same

from vlgauge.core.validation import rows_of
from vlgauge.families.base import columns as module_columns
from vlgauge.families.base.columns import Column


@pytest.fixture(params=[True, False], ids=["memory", "disk"])
def in_memory(request):
    return request.param


# -- state after an error ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("bad", [["b", None], 3, ["b", ["c"]]])
def test_refused_batch_leaves_the_rows_before_it(story_demo, bad):
    story_demo.add_batch(predictions=["a"])
    with pytest.raises(ValueError, match="`predictions"):
        story_demo.add_batch(predictions=bad)
    story_demo.add(prediction="cc")
    assert story_demo.compute()["story_demo_scores"] == [1.0, 2.0]


def test_refused_rows_end_the_round_of_compute(story_demo):
    story_demo.add_batch(predictions=["a"])
    with pytest.raises(ValueError, match="`predictions"):
        story_demo.compute(predictions=[None])
    assert story_demo.compute(predictions=["cc"])["story_demo_scores"] == [2.0]


def test_failed_write_discards_the_round_and_says_so(story_demo, monkeypatch):
    story_demo.add_batch(predictions=["a"])
    monkeypatch.setattr(story_demo.writer, "write_batch", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full") as caught:
        story_demo.add_batch(predictions=["b"])
    assert caught.value.__notes__ == ["The rows that were added before in this round have been discarded."]
    assert story_demo.compute(predictions=["cc"])["story_demo_scores"] == [2.0]


# -- no rows ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("call", ["nothing", "empty", "generator", "added nothing"])
def test_no_rows_are_one_error_on_disk_and_in_memory(load_demo, rows_folder, in_memory, call):
    metric = load_demo("set_demo", keep_in_memory=in_memory, cache_dir=str(rows_folder))
    columns = {"nothing": {}, "empty": {"predictions": [], "references": []}, "added nothing": {}}
    columns["generator"] = {"predictions": iter(()), "references": iter(())}
    if call == "added nothing":
        metric.add_batch(predictions=[], references=[])
    for _ in range(2):
        with pytest.raises(ValueError, match=r"^`predictions`.*`references`.*got none"):
            metric.compute(**columns[call])


def test_rows_of_the_round_before_do_not_count(story_demo):
    story_demo.compute(predictions=["a"])
    with pytest.raises(ValueError, match=r"^`predictions` must .*got none"):
        story_demo.compute()


# -- ways to add ------------------------------------------------------------------------------------------------------
def test_add_and_add_batch_and_compute_agree(load_demo, rows_folder, in_memory):
    metric = load_demo("set_demo", keep_in_memory=in_memory, cache_dir=str(rows_folder))
    expected = metric.compute(**SETS)
    rows = list(zip(*SETS.values(), strict=True))
    for ours, theirs in rows:
        metric.add(prediction=ours, reference=theirs)
    one_by_one = metric.compute()
    for ours, theirs in rows:
        metric.add(predictions=ours, references=theirs)
    plural = metric.compute()
    metric.add_batch(**{name: column[:2] for name, column in SETS.items()})
    in_parts = metric.compute(**{name: column[2:] for name, column in SETS.items()})
    assert same(expected, one_by_one)
    assert same(expected, plural)
    assert same(expected, in_parts)
    assert expected["set_demo_scores"][:2] == [0.5, 0.0]


def test_add_takes_images_in_the_singular_and_the_plural(image_demo):
    image = np.zeros((2, 3, 3), np.uint8)
    image_demo.add(prediction="a", image=image)
    image_demo.add(predictions="a", images=[image], reference=["b"])
    found = image_demo.compute(return_details=True)
    assert found["image_demo_sizes"] == [[[3, 2]], [[3, 2]]]
    assert found["image_demo_references"] == [None, ["b"]]


@pytest.mark.parametrize("name", ["add", "add_batch", "compute"])
def test_columns_of_other_metrics_are_ignored(story_demo, name):
    form = (lambda row: row) if name == "add" else (lambda row: [row])
    story = form("abc")
    others = {"images": form(["missing.jpg"]), "styles": form("romantic"), "references": form(["x"])}
    result = getattr(story_demo, name)(predictions=story, **others) or story_demo.compute()
    assert result["story_demo_scores"] == [3.0]


# -- parts of the result ----------------------------------------------------------------------------------------------
def test_result_has_four_keys_and_more_on_request(story_demo):
    result = story_demo.compute(predictions=STORIES)
    assert list(result) == ["story_demo", "story_demo_scores", "story_demo_undefined", "story_demo_signature"]
    assert same(list(result.values()), [5.5, [6.0, 5.0, math.nan], 1, "story_demo|v:0.1.0|profile:paper|weight:1"])
    more = story_demo.compute(predictions=STORIES, return_details=True)
    assert more["story_demo_letters"] == [[6], [5], [0]]
    assert list(more) == [*result, "story_demo_letters"]


def test_all_undefined_is_nan(story_demo):
    result = story_demo.compute(predictions=["", "?"])
    assert math.isnan(result["story_demo"])
    assert result["story_demo_undefined"] == 2


# -- the columns themselves -------------------------------------------------------------------------------------------
def test_column_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Column("predictions")


def test_rows_of_copies_a_list():
    rows = ["a"]
    assert rows_of("x", rows) == rows
    assert rows_of("x", rows) is not rows


def test_lazy_rows_are_read_one_at_a_time_like_a_list():
    import pyarrow as pa

    rows = [[1], [2, 3], [], None, [4]]
    lazy = module_columns.LazyRows(pa.chunked_array([rows[:2], rows[2:]]))
    assert len(lazy) == 5
    assert list(lazy) == rows
    assert lazy[-1] == [4]
    for cut in (slice(None), slice(1, 4), slice(3, 1), slice(None, None, 2), slice(None, None, -1), slice(-2, None)):
        assert list(lazy[cut]) == rows[cut]
        assert isinstance(lazy[cut], module_columns.LazyRows)
    with pytest.raises(IndexError):
        lazy[5]
