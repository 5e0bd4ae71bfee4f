"""d_HM: the compute the distance of generated stories from human-written ones, and the files it is published in."""

import json
import math

import folders
import numpy as np
import pytest

import vlgauge
from vlgauge.research.studies import component_tables

GOLDEN = json.loads((folders.GOLDEN / "d_hm.json").read_text("utf-8"))
EXPECTED = GOLDEN["expected"]
NAMES = ("groovist", "rovist_c", "rovist_nr")


@pytest.fixture
def d_hm():
    return vlgauge.load("d_hm", keep_in_memory=True)


def row(g, c, r):
    return dict(zip(NAMES, (g, c, r), strict=True))


def numbers(values):
    return [math.nan if value is None else value for value in values]


def random_rows(rng, count):
    table = np.stack([rng.normal(size=count), rng.random(count), 1 - rng.exponential(size=count)], axis=1)
    table[rng.random(table.shape) < 0.1] = np.nan
    return [row(*values) for values in table.tolist()]


# -- by hand ----------------------------------------------------------------------------------------------------------
def test_worked_example(d_hm):
    # tanh(atanh(0.5)) - tanh(0) = 0.5; 0.9 - 0.7 = 0.2; 1 - 0.5 = 0.5.
    result = d_hm.compute(predictions=[row(0, 0.7, 1)], references=[row(math.atanh(0.5), 0.9, 0.5)])
    parts = [result[f"d_hm_d_{part}"] for part in "gcr"]
    assert parts == pytest.approx([0.5, 0.2, 0.5], rel=1e-12)
    assert result["d_hm"] == pytest.approx(0.4, rel=1e-12)
    assert result["d_hm_signature"] == f"d_hm|v:{vlgauge.__version__}|profile:paper|apply_tanh:True"


def test_definition_on_random_scores(d_hm):
    rng = np.random.default_rng(3)
    model, human = random_rows(rng, 300), random_rows(rng, 300)
    result = d_hm.compute(predictions=model, references=human)
    expected = []
    for ours, theirs in zip(model, human, strict=True):
        parts = [abs(math.tanh(theirs["groovist"]) - math.tanh(ours["groovist"]))]
        parts += [abs(theirs[name] - ours[name]) for name in NAMES[1:]]
        expected.append(sum(parts) / 3)
    assert result["d_hm_scores"] == pytest.approx(expected, rel=1e-12, nan_ok=True)
    assert 100 < result["d_hm_undefined"] < 200
    assert result["d_hm"] == pytest.approx(np.nanmean(expected), rel=1e-12)
    assert result["d_hm"] == pytest.approx(sum(result[f"d_hm_d_{part}"] for part in "gcr") / 3, rel=1e-12)


def test_golden_values(d_hm):
    result = d_hm.compute(predictions=GOLDEN["model"], references=GOLDEN["human"], return_details=True)
    assert result["d_hm_scores"] == pytest.approx(numbers(EXPECTED["d_hm_scores"]), abs=1e-12, nan_ok=True)
    for part in ("d_g", "d_c", "d_r"):
        found = [detail[part] for detail in result["d_hm_details"]]
        assert found == pytest.approx(numbers(EXPECTED[part]), abs=1e-12, nan_ok=True)
        assert result[f"d_hm_{part}"] == pytest.approx(EXPECTED[f"mean_{part}"], abs=1e-12)
    assert result["d_hm"] == pytest.approx(EXPECTED["d_hm"], abs=1e-12)
    assert result["d_hm_undefined"] == EXPECTED["d_hm_undefined"]


def test_golden_values_without_tanh():
    metric = vlgauge.load("d_hm", apply_tanh=False)
    result = metric.compute(predictions=GOLDEN["model"], references=GOLDEN["human"])
    expected = numbers(EXPECTED["d_hm_scores_without_tanh"])
    assert result["d_hm_scores"] == pytest.approx(expected, abs=1e-12, nan_ok=True)
    assert result["d_hm"] == pytest.approx(EXPECTED["d_hm_without_tanh"], abs=1e-12)
    assert result["d_hm_signature"].endswith("apply_tanh:False")


# -- properties -------------------------------------------------------------------------------------------------------
def test_sides_can_be_exchanged_and_equal_stories_have_distance_zero(d_hm):
    rng = np.random.default_rng(5)
    model, human = random_rows(rng, 20), random_rows(rng, 20)
    forth = d_hm.compute(predictions=model, references=human)["d_hm_scores"]
    back = d_hm.compute(predictions=human, references=model)["d_hm_scores"]
    assert forth == pytest.approx(back, abs=0, nan_ok=True)
    same = d_hm.compute(predictions=model, references=model)["d_hm_scores"]
    assert {score for score in same if not math.isnan(score)} == {0.0}


@pytest.mark.parametrize("undefined", [None, math.nan, np.float32("nan")])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("side", ["predictions", "references"])
def test_an_undefined_score_makes_the_story_undefined(d_hm, undefined, name, side):
    rows = {"predictions": [row(1, 0.5, 0.5), row(2, 0.1, 1)], "references": [row(0, 1, 0.9), row(1, 0.2, 0.5)]}
    rows[side][0][name] = undefined
    result = d_hm.compute(**rows, return_details=True)
    assert result["d_hm_undefined"] == 1
    assert all(math.isnan(value) for value in result["d_hm_details"][0].values())
    # The means of the parts equal the parts of the other story.
    assert result["d_hm_d_c"] == pytest.approx(0.1, rel=1e-12)


def test_all_undefined(d_hm):
    result = d_hm.compute(predictions=[row(None, 1, 1)], references=[row(1, 1, 1)])
    assert math.isnan(result["d_hm"])
    assert math.isnan(result["d_hm_d_g"])


def test_numbers_of_any_type_and_other_keys_are_taken(d_hm):
    result = d_hm.compute(
        predictions=[row(np.float32(0.5), 1, np.int64(1)) | {"id": "x", "story": "A dog ran."}],
        references=[row(0.5, 0, 0.25)],
    )
    assert result["d_hm_scores"] == pytest.approx([(0 + 1 + 0.75) / 3])


def test_every_value_that_the_metrics_give_is_taken(d_hm):
    extremes = [row(-40.0, np.float32(0), -12.5), row(np.float64(57), 1 + 1e-7, np.float32(1))]
    result = d_hm.compute(predictions=extremes, references=extremes[::-1])
    assert result["d_hm_scores"] == pytest.approx([(2 + 1 + 13.5) / 3] * 2)


def test_the_row_of_a_bad_score_is_named(d_hm):
    with pytest.raises(ValueError, match=r"^`references\[1\]\['rovist_c'\]`.*from 0 to 1"):
        d_hm.compute(predictions=[row(1, 1, 1)] * 2, references=[row(1, 1, 1), row(1, 1.01, 1)])


# -- errors -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ([0.5], r"^`predictions\[0\]`.*got float"),
        ([{"groovist": 1, "rovist_c": 1}], r"^`predictions\[0\]`.*`rovist_nr`"),
        ([{}], r"^`predictions\[0\]`.*rovist_c.*rovist_nr.*empty"),
        ([{"groovist": 1}], r"^`predictions\[0\]`.*rovist_c.*rovist_nr.*groovist"),
        (
            [{"grovist": 1, "rovist_c": 1, "rovist_nr": 1}],
            r"^`predictions\[0\]`.*`groovist`",
        ),
        ([row("0.5", 1, 1)], r"^`predictions\[0\]\['groovist'\]`.*got '0\.5'"),
        ([row(1, True, 1)], r"^`predictions\[0\]\['rovist_c'\]`.*got True"),
        ([row(1, 1, math.inf)], r"^`predictions\[0\]\['rovist_nr'\]`.*got inf"),
        ([row(-math.inf, 1, 1)], r"^`predictions\[0\]\['groovist'\]`.*inf"),
        ([row(1, 57.0, 1)], r"^`predictions\[0\]\['rovist_c'\]`.*from 0 to 1.*got 57\.0"),
        ([row(1, np.float32(-0.5), 1)], r"^`predictions\[0\]\['rovist_c'\]`.*from 0 to 1.*got -0\.5"),
        (
            [row(1, 1, np.int64(2))],
            r"^`predictions\[0\]\['rovist_nr'\]`.*at most 1.*got 2\.0",
        ),
        ([row(1, 1, 1)] * 2, r"^`references`.*`predictions`.*got 1"),
        ([], r"^`references`.*`predictions`.*got 1"),
    ],
)
def test_bad_rows_are_refused(d_hm, predictions, message):
    with pytest.raises(ValueError, match=message):
        d_hm.compute(predictions=predictions, references=[row(1, 1, 1)])


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match=r"^`apply_tanh`.*got 'no'"):
        vlgauge.load("d_hm", apply_tanh="no")


# -- tables -----------------------------------------------------------------------------------------------------------
def write_published(folder, stem, grounding, coherence, redundancy):
    (folder / f"{stem}_G.json").write_text(json.dumps(grounding))
    for ending, title, scores in (("C", "C_score", coherence), ("R", "R_score", redundancy)):
        lines = [f"story_id,{title}", *(f"{name},{score}" for name, score in scores.items())]
        (folder / f"{stem}_{ending}.csv").write_text("\n".join(lines) + "\n")
    return folder / stem


def test_published_files_are_intersected(tmp_path):
    stem = write_published(
        tmp_path,
        "gt_test",
        {"a": 0.5, "b;1": {"groovist": -0.25, "NP_scores": {}}, "c": "", "d": float("nan"), "e": 1.0},
        {"b;1": 0.75, "a": 0.5, "c": 1, "d": 1, "e": "nan"},
        {"a": 1.0, "b;1": 0.5, "c": 1, "d": 1, "e": 1, "f": 1},
    )
    assert component_tables.read_published(stem) == {"a": row(0.5, 0.5, 1.0), "b;1": row(-0.25, 0.75, 0.5)}


@pytest.mark.parametrize(
    ("ending", "content", "message"),
    [
        ("G.json", "[1]", r"JSON.*got list"),
        ("G.json", "{", r"JSON.*line 1.*column 2"),
        ("G.json", '{"a": "high"}', r"'a'.*got 'high'"),
        (
            "G.json",
            '{"a": 1e999}',
            r"G\.json\['a'\]`.*got inf",
        ),
        (
            "C.csv",
            "story_id,C_score\na,57\n",
            r"C\.csv\['a'\]`.*from 0 to 1.*got 57\.0",
        ),
        (
            "R.csv",
            "story_id,R_score\na,1.5\n",
            r"R\.csv\['a'\]`.*at most 1.*got 1\.5",
        ),
        ("C.csv", "story_id,score\na,1\n", r"columns story_id.*C_score.*got story_id"),
        ("C.csv", "C_score,story_id\n0.5\n", r"story_id.*without"),
        ("R.csv", "", r"columns story_id.*R_score.*got none"),
        ("R.csv", "story_id,R_score\na,1\na,2\n", "got 'a'"),
    ],
)
def test_broken_published_files_are_refused(tmp_path, ending, content, message):
    stem = write_published(tmp_path, "x", {"a": 1.0}, {"a": 1.0}, {"a": 1.0})
    (tmp_path / f"x_{ending}").write_text(content)
    with pytest.raises(ValueError, match=message):
        component_tables.read_published(stem)


def test_tables_are_paired_by_id():
    model, human = {"b": row(1, 1, 1), "a": row(2, 1, 1)}, {"a": row(3, 1, 1), "b": row(4, 1, 1)}
    paired = component_tables.pair_rows(model, human)
    assert paired.ids == ["b", "a"]
    assert [scores["groovist"] for scores in paired.human] == [4, 3]
    both = component_tables.pair_rows(model | {"c": row(0, 0, 0)}, human | {"d": row(0, 0, 0)}, common=True)
    assert (both.ids, both.n_left_out) == (["b", "a"], 2)


@pytest.mark.parametrize(
    ("model", "human", "common", "message"),
    [
        ("ab", "a", False, r"`predictions`.*got 'b' in only one"),
        ("a", "ab", False, r"`predictions`.*got 'b' in only one"),
        ("a", "b", True, r"common.*got none"),
    ],
)
def test_tables_of_other_ids_are_refused(model, human, common, message):
    tables = [dict.fromkeys(ids, row(1, 1, 1)) for ids in (model, human)]
    with pytest.raises(ValueError, match=message):
        component_tables.pair_rows(*tables, common=common)


def test_cells_of_csv_are_numbers_or_empty():
    rows = [{"groovist": "0.5", "rovist_c": " ", "rovist_nr": 1}]
    table = component_tables.table_of_rows(rows, [7], "MODEL")
    assert table["7"]["groovist"] == 0.5
    assert math.isnan(table["7"]["rovist_c"])
    with pytest.raises(ValueError, match=r"^`MODEL: groovist of 7`.*got 'high'"):
        component_tables.table_of_rows([rows[0] | {"groovist": "high"}], [7], "MODEL")
    with pytest.raises(ValueError, match=r"^`MODEL: rovist_c of 7`.*from 0 to 1.*got 80\.0"):
        component_tables.table_of_rows([rows[0] | {"rovist_c": "80"}], [7], "MODEL")
    with pytest.raises(ValueError, match=r"MODEL.*got '7'"):
        component_tables.table_of_rows(rows * 2, [7, "7"], "MODEL")


def test_published_sample_against_itself_shifted(d_hm, shared_folder):
    sample = shared_folder / "oracles" / "groovist_rovist" / "shared_only" / "d_hm_published_sample.json"
    stories = list(json.loads(sample.read_text("utf-8"))["stories"].values())
    names = ("published_G_raw", "published_C_prefix_variant", "published_R")
    scores = [[numbers([story[name]])[0] for name in names] for story in stories]
    human, model = np.array(scores), np.array(scores[1:] + scores[:1])
    wanted = [
        (abs(np.tanh(h[0]) - np.tanh(m[0])) + abs(h[1] - m[1]) + abs(h[2] - m[2])) / 3
        for h, m in zip(human, model, strict=True)
    ]
    rows = [[row(*values) for values in side.tolist()] for side in (model, human)]
    result = d_hm.compute(predictions=rows[0], references=rows[1])
    assert result["d_hm_scores"] == pytest.approx(wanted, abs=1e-12, nan_ok=True)
