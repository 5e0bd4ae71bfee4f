"""Groups of rows, such as captions of one image: intervals, records, comparisons, pages and warnings."""

import json

import numpy as np
import pandas as pd
import pytest
from made_data_sets import archive, draw_png
from made_runs import made_run
from PIL import Image

import vlgauge
from vlgauge.api.columns import warn_of_repeated
from vlgauge.api.numbers import notes_of, numbers_table
from vlgauge.cli import main
from vlgauge.families.aggregation import corpus_interval
from vlgauge.leaderboard import compare, read_records
from vlgauge.stats import FEW_MARK, FEW_NOTE, bootstrap_interval

N_IMAGES, EACH = 24, 5
WORDS = ["a", "dog", "cat", "runs", "sits", "on", "the", "red", "green", "grass", "mat", "bus"]
RECORD = ["--record", "results.jsonl", "--model", "org/teller", "--dataset", "org/drawn", "--split", "test"]


def captions(seed=0, n=N_IMAGES, each=EACH, copies=False):
    """Return five similar captions of each image. In an easy image, all are similar to their references."""
    rng = np.random.default_rng(seed)
    rows = []
    for image in range(n):
        known = rng.choice(WORDS, 6).tolist()
        kept = rng.integers(1, 6)
        first = [*known[:kept], *rng.choice(WORDS, 6 - kept)]
        for _ in range(each):
            told = first if copies else [*first[:4], *rng.choice(WORDS, 2)]
            rows.append({"predictions": " ".join(told), "references": [" ".join(known)], "image": f"i{image}"})
    return [{"id": str(number), **row} for number, row in enumerate(rows)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("rows", 0), ("other", 1)):
        rows = [
            row | {"references": known["references"]} for row, known in zip(captions(seed), captions(), strict=True)
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return tmp_path


# -- Python -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("metric", ["rouge_l", "chrf"])
def test_copies_of_a_caption_say_no_more_than_one(metric):
    one = vlgauge.score(captions(copies=True, each=1), metric).summary()
    five = vlgauge.score(captions(copies=True), metric, groups="image").summary()
    alone = vlgauge.score(captions(copies=True), metric).summary()
    ends = ["low", "high"]
    assert five.loc[metric, ends].tolist() == pytest.approx(one.loc[metric, ends].tolist(), rel=1e-9)
    width = [found.loc[metric, "high"] - found.loc[metric, "low"] for found in (five, alone)]
    assert width[1] < 0.6 * width[0]


def test_groups_are_a_column_or_labels_by_id():
    rows = captions()
    found = vlgauge.score(rows, "rouge_l", groups="image")
    labels = [row["image"] for row in rows]
    expected = bootstrap_interval(found.scores()["rouge_l"], groups=labels)
    assert found.summary().loc["rouge_l", ["low", "high"]].tolist() == [expected.low, expected.high]
    by_id = {row["id"]: row["image"] for row in rows}
    for same in (
        vlgauge.score(rows, "rouge_l", groups=by_id),
        vlgauge.score(pd.DataFrame(rows), "rouge_l", groups="image"),
    ):
        assert same.summary().equals(found.summary())
    assert (found.run()["groups"], found.run()["grouped_by"]) == (labels, "image")
    assert "intervals resample whole groups of image (24 groups)" in repr(found)
    assert "over whole groups of image" in found._repr_html_()
    with pytest.raises(ValueError, match=r"'imago'.*`groups`"):
        vlgauge.score(rows, "rouge_l", groups="imago")
    with pytest.raises(ValueError, match=r"^`groups`.*got 'image'"):
        vlgauge.score([rows[0], rows[1] | {"image": " "}], "rouge_l", groups="image")
    with pytest.raises(ValueError, match=r"^`groups`.*got none"):
        vlgauge.score(rows, "rouge_l", groups={key: label for key, label in by_id.items() if key != "0"})


def test_an_interval_of_few_groups_is_marked():
    rows = captions(n=10)
    assert FEW_MARK in repr(vlgauge.score(rows, "rouge_l", groups="image"))
    assert FEW_MARK not in repr(vlgauge.score(rows, "rouge_l"))


def test_the_interval_of_a_page_and_of_a_record_are_those_of_the_summary(tmp_path):
    found = vlgauge.score(captions(), "chrf", groups="image")
    low, high = found.summary().loc["chrf", ["low", "high"]]
    (record,) = found.record(model="org/teller", dataset="org/drawn")
    assert (record.ci.low, record.ci.high, record.ci.groups, record.ci.grouped_by) == (low, high, N_IMAGES, "image")
    (explanation,) = found._explained()
    assert (explanation.interval.low, explanation.interval.high) == (low, high)
    (alone,) = vlgauge.score(captions(), "chrf").record(model="org/teller", dataset="org/drawn")
    assert (alone.ci.groups, alone.ci.grouped_by) == (N_IMAGES * EACH, None)


def test_excess_of_sets_is_drawn_by_groups():
    rows = [
        {"predictions": [f"a dog {i}", "a red dog"], "references": ["the dog runs", f"a {i} dog"], "image": i // 2}
        for i in range(8)
    ]
    found = vlgauge.score(rows, vlgauge.load("trm", pvalue="exact"), groups="image")
    expected = bootstrap_interval(found.scores()["trm_excess"], groups=[row["image"] for row in rows])
    assert found.summary().loc["trm_excess", ["low", "high"]].tolist() == [expected.low, expected.high]


def test_a_part_of_few_rows_is_told_where_its_metric_has_many():
    scores = np.linspace(0.1, 0.9, 40)
    part = np.where(np.arange(40) < 5, scores, np.nan)
    signature = "spice|v:0.1.0|profile:paper|parser:given"
    results = {
        "spice": {
            **{"spice": scores.mean(), "spice_scores": scores.tolist(), "spice_signature": signature},
            **{"spice_colours": float(np.nanmean(part)), "spice_colours_scores": part.tolist()},
        }
    }
    (cell,) = [row[1].text for row in numbers_table(results).rows if row[0].text.startswith("spice_colours")]
    assert cell.endswith(FEW_MARK)
    assert [note for note in notes_of(results) if note.startswith(FEW_MARK)] == [
        f"{FEW_MARK} spice_colours: {FEW_NOTE}"
    ]


def test_bleu_1_is_of_the_rows_of_bleu():
    rows = [{"predictions": f"a dog runs {row}", "references": ["a dog runs"] if row else []} for row in range(4)]
    scores = vlgauge.score(rows, "bleu")
    summary = scores.summary()
    assert summary.loc[["bleu", "bleu_1"], ["n", "undefined"]].to_numpy().tolist() == [[3, 1], [3, 1]]
    shown = {row[0].text.split(" ")[0]: row[2].text for row in numbers_table(scores.results).rows}
    assert shown["bleu"] == shown["bleu_1"] == "3 of 4"


# -- files ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("ending", [".json", ".csv", ".parquet", ".jsonl"])
def test_a_record_names_its_groups_and_is_checked_with_its_scores(folder, ending, capsys):
    words = ["score", "chrf", "rows.jsonl", "--groups", "image", *RECORD]
    assert main([*words, "--output", f"scores{ending}"]) == 0
    assert "intervals resample whole groups of image (24 groups)" in capsys.readouterr().out
    (record,) = read_records("results.jsonl")
    assert (record.ci.groups, record.ci.grouped_by) == (N_IMAGES, "image")
    assert main(["record", "check", "results.jsonl", "--scores", f"org/teller=scores{ending}"]) == 0
    assert "1 of these with their interval" in capsys.readouterr().out
    # The groups cannot be sampled again if they are not passed.
    assert main(["score", "chrf", "rows.jsonl", "--output", "alone.json"]) == 0
    assert main(["record", "check", "results.jsonl", "--scores", "org/teller=alone.json"]) == 0
    assert "24 groups of rows were resampled, which are unknown for scores" in capsys.readouterr().out


def test_files_of_scores_are_compared_by_the_groups_that_they_name(folder, capsys):
    for name in ("rows", "other"):
        assert main(["score", "rouge_l", f"{name}.jsonl", "--groups", "image", "--output", f"{name}.json"]) == 0
    capsys.readouterr()
    how = ["--resamples", "200", "--format", "json"]
    assert main(["compare", "rouge_l", "rows.json", "other.json", *how]) == 0
    by_scores = json.loads(capsys.readouterr().out)
    assert main(["compare", "rouge_l", "rows.jsonl", "other.jsonl", "--groups", "image", *how]) == 0
    assert json.loads(capsys.readouterr().out) == by_scores
    assert by_scores["n_groups"] == N_IMAGES
    moved = json.loads((folder / "other.json").read_text("utf-8"))
    moved["groups"][0] = "i1"
    (folder / "other.json").write_text(json.dumps(moved), "utf-8")
    assert main(["compare", "rouge_l", "rows.json", "other.json", *how]) == 2
    assert "'0' is in 'i0'" in capsys.readouterr().err


def test_rows_keep_the_groups_of_a_file_of_scores_next_to_predictions(folder, capsys):
    assert main(["score", "rouge_l", "rows.jsonl", "--groups", "image", "--output", "rows.json"]) == 0
    how = ["--resamples", "200", "--format", "json"]
    capsys.readouterr()
    assert main(["compare", "rouge_l", "rows.json", "other.jsonl", *how]) == 0
    by_scores = json.loads(capsys.readouterr().out)
    assert main(["compare", "rouge_l", "rows.jsonl", "other.jsonl", "--groups", "image", *how]) == 0
    assert json.loads(capsys.readouterr().out) == by_scores


def test_files_of_scores_with_unlike_groups_are_warned_of():
    unlike = {
        name: {"ids": [0, 1], "groups": ["a", "a"], "grouped_by": name, **made_run([0.1, 0.2 + len(name)])}
        for name in ("image", "story")
    }
    with pytest.warns(UserWarning, match="resampled independently"):
        assert compare(unlike, ["rovist_nr"]).n_groups is None


def test_labels_that_are_numbers_or_texts_make_the_same_groups_in_score_and_compare():
    rows = [{"id": row, "predictions": f"a dog {row}", "references": ["a dog runs"]} for row in range(6)]
    groups = {0: 1, 1: "1", 2: 2, 3: 2, 4: 3, 5: 3}
    scores = vlgauge.score(rows, "rouge_l", groups=groups)
    found = vlgauge.compare({"one": scores, "two": rows}, "rouge_l", groups=groups)
    assert found.statistics.n_groups == len(set(scores.run()["groups"])) == 3


@pytest.mark.parametrize("front_end", ["command", "python"])
def test_a_row_in_other_groups_by_two_systems_is_refused(folder, capsys, front_end):
    rows = [json.loads(line) for line in (folder / "other.jsonl").read_text("utf-8").splitlines()]
    rows[0]["image"] = "elsewhere"
    (folder / "moved.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    said = "in 'elsewhere'"
    if front_end == "command":
        assert main(["compare", "rouge_l", "rows.jsonl", "moved.jsonl", "--groups", "image"]) == 2
        assert said in capsys.readouterr().err
        return
    with pytest.raises(ValueError, match=said):
        vlgauge.compare({"rows": "rows.jsonl", "moved": "moved.jsonl"}, "rouge_l", groups="image")


def test_groups_of_a_command_are_refused_where_there_are_none(folder, capsys):
    assert main(["score", "rouge_l", "rows.jsonl", "--groups", "imago"]) == 2
    assert "--groups" in capsys.readouterr().err


def test_groups_of_an_archive(tmp_path, capsys):
    members = []
    for i, row in enumerate(captions(n=3, each=2)):
        members.append((f"{i:02}.png", draw_png("red" if i < 2 else "blue")))
        members.append(
            (f"{i:02}.json", json.dumps({"predictions": row["predictions"], "image": row["image"]}).encode())
        )
    path = archive(tmp_path / "rows.tar", members)
    words = ["--predictions", "json.predictions", "--profile", "embedded", "--config", "image"]
    output = tmp_path / "scores.json"
    assert main(["score", "clip_s", path, *words, "--groups", "json.image", "--output", str(output)]) == 0
    found = json.loads(output.read_text("utf-8"))
    assert (found["groups"], found["grouped_by"]) == (["i0", "i0", "i1", "i1", "i2", "i2"], "json.image")
    assert "intervals resample whole groups of json.image (3 groups)" in capsys.readouterr().out
    same = vlgauge.score(
        path, "clip_s", predictions="json.predictions", groups="json.image", config="image", profile="embedded"
    )
    assert same.run()["groups"] == found["groups"]


# -- warnings ---------------------------------------------------------------------------------------------------------
SHARED = "4 of 5 rows share their image with another row: intervals are too narrow .* pass the column .* as `groups`"


@pytest.mark.parametrize(
    "images",
    [
        ["a.png", "a.png", "b.png", "b.png", "c.png"],
        [["a.png", "x.png"], ["a.png", "x.png"], ["b.png"], ["b.png"], ["x.png"]],
        [b"1", b"1", b"2", b"2", b"3"],
        [{"path": "a", "bytes": None}, {"path": "a", "bytes": None}, {"bytes": b"2"}, {"bytes": b"2"}, {"path": "c"}],
        [None, "a.png", "a.png", "a.png", "a.png"],
    ],
)
def test_rows_that_share_an_image_are_told(images):
    with pytest.warns(UserWarning, match=SHARED.replace("`groups`", "")):
        warn_of_repeated(range(5), {"predictions": ["x"] * 5, "images": images})
    warn_of_repeated(range(5), {"images": images}, grouped=True)
    warn_of_repeated(range(3), {"images": ["a.png", "b.png", None], "videos": None})


def test_one_image_object_in_several_rows_is_told():
    image = Image.new("RGB", (8, 8))
    with pytest.warns(UserWarning, match="2 of 2 rows share"):
        warn_of_repeated(range(2), {"images": [image, image]})
    warn_of_repeated(range(2), {"images": [image, Image.new("RGB", (8, 8))]})


def test_ids_that_repeat_are_told_once():
    rows = [row | {"id": row["image"]} for row in captions(n=3)]
    with pytest.warns(UserWarning, match="ids, and intervals") as told:
        vlgauge.score(rows, "rouge_l")
    assert len(told) == 1
    with pytest.warns(UserWarning, match="cannot be joined by these ids$"):
        found = vlgauge.score(rows, "rouge_l", groups="id")
    interval = corpus_interval("rouge_l", found.results["rouge_l"], groups=[row["id"] for row in rows])
    assert found.summary().loc["rouge_l", "low"] == interval.low


def test_compare_tells_of_shared_images(tmp_path):
    paths = []
    for i in range(3):
        paths.append(str(tmp_path / f"{i}.png"))
        Image.new("RGB", (32, 32), (80 * i, 0, 0)).save(paths[-1])
    rows = [{"id": i, "predictions": f"a red square {i}", "images": paths[i // 2]} for i in range(6)]
    systems = {"one": rows, "other": [row | {"predictions": "a dog"} for row in rows]}
    with pytest.warns(UserWarning, match="6 of 6 rows share"):
        vlgauge.compare(systems, "clip_s", profile="embedded")
    found = vlgauge.compare(systems, "clip_s", profile="embedded", groups={i: i // 2 for i in range(6)})
    assert len(found.systems) == 2
