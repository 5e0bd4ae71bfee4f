"""Comparison of two or more systems, as in `vlgauge compare`."""

import contextlib
import io
import json
import re
import shlex

import gradio as gr
import pytest
from folders import EXAMPLES
from made_runs import made_run

import vlgauge
from vlgauge import scenes
from vlgauge.api.row_sources import Origin, RowReader, reading
from vlgauge.api.row_sources.tables import TableRows
from vlgauge.cli import main
from vlgauge.inputs.tables.files import read_rows
from vlgauge.models.clip import encoder
from vlgauge_workbench import bundled_systems, compare, compared_systems, errors, scoring
from vlgauge_workbench.compare_snippets import compare_link, compare_snippets
from vlgauge_workbench.pages import page_of_compared

BOARD = EXAMPLES / "leaderboard"
NONE = compare.NONE
SHARED = ("references", "styles", "images", "videos", "id")
MINUS = "\N{MINUS SIGN}"


def shown(metrics, files, predictions="predictions", *, uploads=None, most_rows=None, **titles):
    """Return the result of the Compare page for files."""
    shared = [titles.get(name, NONE) for name in SHARED]
    own = [predictions] if isinstance(predictions, str) else predictions
    paths = [str(one) for one in files]
    return compare.compare_uploaded(metrics.split(","), "embedded", paths, uploads, own, *shared, most_rows=most_rows)


def page_of(found, pair=0, rows_by=""):
    return page_of_compared(found.compared, found.asked, pair, rows_by)


def compared(*words, **options):
    return page_of(shown(*words, **options))


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def captions():
    """Return captions of two systems for four rows, and references."""
    refs = [["a dog ran home", "the dog ran"], ["a cat sat"], ["two birds sing"], ["a red car"]]
    first = ["a dog ran home", "a cat sat down", "birds", "a red car"]
    second = ["the dog", "a cat sat", "two birds sing", "a red car"]
    return first, second, refs


@pytest.fixture
def wide(tmp_path, captions):
    """One table with a column for each system."""
    rows = [
        {"id": f"r{i}", "mine": a, "yours": b, "references": refs}
        for i, (a, b, refs) in enumerate(zip(*captions, strict=True))
    ]
    return written(tmp_path / "both.jsonl", rows)


def test_the_table_of_the_package_holds_the_systems_of_the_examples():
    rows = bundled_systems.rows()
    for name in ("sampler", "greedy", "wanderer"):
        own = read_rows(str(BOARD / f"{name}.jsonl"))
        assert [(row["id"], row["references"], row[name]) for row in rows] == [
            (row["id"], row["references"], row["predictions"]) for row in own
        ]
    for row, following in zip(rows, [*rows[1:], rows[0]], strict=True):
        assert row["beam"] == [row["sampler"][place] for place in (0, 0, 1, 1, 2)]
        assert row["echo"] == row["references"][:1] * 5
        assert row["stranger"] == following["sampler"]
    assert list(rows[0]) == ["id", "references", *bundled_systems.NAMES]


def numbers_of(comparison):
    return [
        (one.metric, pair.first, pair.second, *(round(cell, 9) for cell in (pair.difference, pair.adjusted_pvalue)))
        for one in comparison.metrics
        for pair in one.pairs
    ]


def check_copies(found, folder, monkeypatch, capsys):
    """Check that the copied code gives the same numbers if it runs in the folder of the files."""
    monkeypatch.chdir(folder)
    expected = numbers_of(found.compared.comparison)
    copied = compare_snippets(found.asked)
    names = {"__name__": "pasted"}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(copied["Python"].text, names)
    assert numbers_of(names["found"].statistics) == expected
    (line,) = [one for one in copied["CLI"].text.splitlines() if one.startswith("vlgauge")]
    words = [one.replace("$systems", str(bundled_systems.TABLE)) for one in shlex.split(line)]
    capsys.readouterr()
    assert main([*words[1:], "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)["metrics"]
    assert [
        (
            one["metric"],
            pair["first"],
            pair["second"],
            *(round(pair[key], 9) for key in ("difference", "adjusted_pvalue")),
        )
        for one in record
        for pair in one["pairs"]
    ] == expected


def test_systems_of_the_package_are_copied_and_give_the_same_numbers(tmp_path, monkeypatch, capsys):
    found = compare._compare_bundled(["greedy", "sampler", "wanderer"], ["trm", "rovist_nr"], "embedded")
    check_copies(found, tmp_path, monkeypatch, capsys)
    query = compare_link(found.asked, 1, "rovist_nr")
    assert query == "?view=compare&systems=sampler,greedy,wanderer&metrics=trm,rovist_nr&pair=1&rows=rovist_nr"
    asked = dict(one.split("=") for one in query[1:].split("&"))
    assert compare.open_address(asked) == [
        ["sampler", "greedy", "wanderer"],
        ["trm", "rovist_nr"],
        "embedded",
        (1, "rovist_nr"),
    ]


def test_files_and_columns_are_copied_and_give_the_same_numbers(tmp_path, monkeypatch, capsys, wide):
    files = [BOARD / f"{name}.jsonl" for name in ("sampler", "greedy", "wanderer")]
    found = shown("trm,rovist_nr", files, references="references", id="id")
    check_copies(found, BOARD, monkeypatch, capsys)
    check_copies(
        shown("rouge_l", [wide], ["mine", "yours"], references="references", id="id"), tmp_path, monkeypatch, capsys
    )
    for name in ("a", "b"):
        assert main(["score", "rovist_nr", str(BOARD / "greedy.jsonl"), "--output", str(tmp_path / f"{name}.csv")]) == 0
    check_copies(shown("rovist_nr", sorted(tmp_path.glob("*.csv*"))), tmp_path, monkeypatch, capsys)


def test_an_address_with_something_else_is_the_first_view():
    first = [list(bundled_systems.FIRST), list(bundled_systems.METRICS), "embedded"]
    asked = {"view": "compare", "systems": "x,y", "metrics": "<b>", "profile": "z", "pair": "-1", "rows": "q"}
    assert compare.open_address(asked)[:3] == first
    found = compare._compare_bundled(["sampler", "greedy"], ["rovist_nr"], "embedded")
    assert compare._within(found, (99, "q")) == (0, "rovist_nr")
    assert compare._within(found, "nonsense") == (0, "rovist_nr")
    assert all(one == gr.skip() for one in compare.open_address({"view": "data"}))


@pytest.mark.parametrize("metric", ["rovist_nr", "trm"])  # higher is better, lower is better
def test_files_of_predictions_are_compared_as_by_the_command(metric, capsys):
    files = [BOARD / "sampler.jsonl", BOARD / "wanderer.jsonl"]
    titles = {"id": "id"} | ({"references": "references"} if metric == "trm" else {})
    page = compared(metric, files, **titles)
    words = ["compare", metric, *map(str, files), "--profile", "embedded", "--format", "json"]
    assert main([*words, "--rows-that-differ", "10"]) == 0
    record = json.loads(capsys.readouterr().out)["metrics"][0]
    (pair,) = record["pairs"]
    wins, losses, ties = pair["wins"], pair["losses"], pair["ties"]
    assert wins != losses
    assert pair["better"] is None
    assert "Neither is better: no metric distinguishes sampler and wanderer." in page
    won = re.findall(r'<i class="(wins|ties|losses)" style="flex-grow:(\d+)">', page)
    assert won == [(kind, str(n)) for kind, n in (("wins", wins), ("ties", ties), ("losses", losses)) if n]
    sign = 1 if record["higher_is_better"] else -1
    assert f"{sign * pair['difference']:+.3f}".replace("-", MINUS) in page
    found = re.findall(r'<summary><b class="mono">(.*?)</b>.*?<b class="n (for|against)">', page)
    rows = [(key, "sampler" if tone == "for" else "wanderer") for key, tone in found]
    higher = record["higher_is_better"]
    expected = [
        (one["id"], "sampler" if (one["sampler"] > one["wanderer"]) == higher else "wanderer")
        for one in pair["rows_that_differ"]
    ]
    assert rows == expected
    assert len({name for _, name in rows}) == 2
    assert page.count('<div class="side ') == 2 * len(rows)


def test_three_systems_have_three_pairs_and_rows_by_each_metric():
    found = compare._compare_bundled(["sampler", "greedy", "wanderer"], ["trm", "rovist_nr"], "embedded")
    page = page_of(found, 0, "rovist_nr")
    assert re.findall(r'data-set="pair" data-value="(\d)"', page) == ["0", "1", "2"]
    assert re.findall(r'aria-checked="true"[^>]*data-set="(\w+)" data-value="(\w+)"', page) == [
        ("pair", "0"),
        ("rows", "rovist_nr"),
    ]
    assert "sampler is better by" in page
    other, part = compare._part_chosen(found, (0, "trm"), gr.EventData(None, {"pair": "2"}))
    assert part == (2, "trm")
    assert "greedy against wanderer" in re.sub("<.*?>", "", other)


def test_kept_scores_of_another_order_are_joined_by_id(tmp_path):
    run = {"rovist_nr_signature": "rovist_nr|v:0.1.0"}
    first, second = [0.9, 0.5, 0.7], [0.1, 0.6, 0.8]
    pages = []
    for step in (1, -1):
        for name, scores, order in (("a", first, 1), ("b", second, step)):
            kept = run | {"ids": ["x", "y", "z"][::order], "rovist_nr_scores": scores[::order]}
            kept["rovist_nr"] = sum(scores) / 3
            (tmp_path / f"{name}.json").write_text(json.dumps(kept))
        pages.append(compared("rovist_nr", [tmp_path / "a.json", tmp_path / "b.json"]))
    assert pages[0] == pages[1]
    assert "a is better in 1 rows, b in 2, 0 tie" in pages[0]


def test_two_systems_mirror(captions):
    first, second, refs = captions
    rows = [{"A": a, "B": b, "refs": own} for a, b, own in zip(first, second, refs, strict=True)]
    metric = scoring.metric_of("rouge_l")
    source = TableRows(rows, Origin("table"))
    given = {name: RowReader(source, metric.columns, {"predictions": [name], "references": ["refs"]}) for name in "AB"}
    mirrored = dict(reversed(given.items()))
    one, other = (compared_systems.compare_systems([metric], pair) for pair in (given, mirrored))
    (there,), (back,) = one.comparison.metrics[0].pairs, other.comparison.metrics[0].pairs
    assert there.difference == pytest.approx(-back.difference, rel=1e-12)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), rel=1e-12)
    assert (there.wins, there.losses, there.ties) == (back.losses, back.wins, back.ties) == (1, 2, 1)
    assert (there.pvalue, there.better) == (back.pvalue, back.better)


def test_rows_of_another_order_are_joined_by_id(tmp_path, captions, wide):
    rows = read_rows(str(wide))
    swapped = [{"id": row["id"], "yours": row["yours"], "references": row["references"]} for row in rows[::-1]]
    mine = [{"id": row["id"], "mine": row["mine"], "references": row["references"]} for row in rows]
    files = [written(tmp_path / "mine.jsonl", mine), written(tmp_path / "yours.jsonl", swapped)]
    titles = {"references": "references", "id": "id"}
    both = [shown("rouge_l", one, ["mine", "yours"], **titles) for one in (files, [wide])]
    assert numbers_of(both[0].compared.comparison) == numbers_of(both[1].compared.comparison)
    assert "columns of predictions have different names" in compare_snippets(both[0].asked)["CLI"].why_not


@pytest.mark.parametrize("ending", [".json", ".csv"])
def test_scores_that_were_kept_are_compared_without_scoring(tmp_path, ending, monkeypatch, capsys):
    for name in ("sampler", "greedy"):
        output = str(tmp_path / f"{name}{ending}")
        assert main(["score", "rovist_nr", str(BOARD / f"{name}.jsonl"), "--output", output]) == 0
    monkeypatch.setattr("vlgauge.api.systems.compute_all", None)
    files = sorted(tmp_path.iterdir())
    assert len(files) == (4 if ending == ".csv" else 2)
    page = compared("rovist_nr", files)
    assert "sampler is better." in page
    assert "Only its score was given" in page
    found = compare.guess_columns([str(path) for path in files], ["trm", "rovist_nr"])
    assert found[0]["value"] == ["rovist_nr"]
    assert [one.visible for one in found[1:]] == [False] * 6


def test_a_row_that_one_system_lacks_a_caption_for_is_left_out_of_all(tmp_path, captions):
    first, second, refs = captions
    rows = [{"mine": a, "yours": b, "references": r} for a, b, r in zip(first, [*second[:3], None], refs, strict=True)]
    found = shown("rouge_l", [written(tmp_path / "x.jsonl", rows)], ["mine", "yours"], references="references")
    assert "3 of 4 rows were compared" in page_of(found)
    assert "yours: `predictions` is required" in page_of(found)
    assert "Rows were skipped" in compare_snippets(found.asked)["Python"].why_not


def test_kept_scores_and_predictions_are_compared_where_both_have_a_score(tmp_path, captions):
    first, second, refs = captions
    rows = [{"id": i, "caption": one, "references": r} for i, (one, r) in enumerate(zip(first, refs, strict=True))]
    output = str(tmp_path / "kept.json")
    path = written(tmp_path / "x.jsonl", rows)
    words = ["--predictions", "caption", "--profile", "embedded", "--output", output]
    assert main(["score", "rouge_l", str(path), *words]) == 0
    others = [{**row, "caption": two} for row, two in zip(rows, [*second[:3], None], strict=True)]
    files = [output, written(tmp_path / "y.jsonl", others[::-1])]
    page = compared("rouge_l", files, "caption", references="references", id="id")
    assert "3 of 4 rows were compared" in page
    assert page.count("Only its score was given") == page.count('<details class="duel"') > 0


def test_rows_without_a_score_in_one_system_are_told_in_words(tmp_path):
    good, short = "We ran home. We ran home again.", "It ran."
    rows = [{"mine": a, "yours": b} for a, b in ((good, "She sat. He left."), (good, short), (good, good))]
    page = compared("rovist_nr", [written(tmp_path / "x.jsonl", rows)], ["mine", "yours"])
    assert "of the 2 of 3 rows of which every system has a score; without one: yours of 1" in page


def test_means_over_all_rows_of_a_system_stand_next_to_those_over_the_rows_of_both(tmp_path):
    kept = []
    for name, scores in (("a", [1.0, 2.0, 3.0, 6.0]), ("b", [0.0, 1.0, None, None])):
        run = {"ids": list(range(4)), "groovist_scores": scores, "groovist_signature": "groovist|v:0.1.0"}
        kept.append(tmp_path / f"{name}.json")
        kept[-1].write_text(json.dumps(run), encoding="utf-8")
    page = compared("groovist", kept)
    assert "a 3.000 over all its rows; b 0.500 over all its rows, 2 without a score." in page
    (tmp_path / "c.json").write_bytes(kept[0].read_bytes())
    assert "of its own" not in compared("groovist", [kept[0], tmp_path / "c.json"])


def test_of_unequal_sets_as_many_captions_are_drawn_and_it_is_told(tmp_path):
    rows = read_rows(str(BOARD / "sampler.jsonl"))
    fewer = written(tmp_path / "fewer.jsonl", [{**row, "predictions": row["predictions"][:4]} for row in rows])
    page = compared("trm", [BOARD / "sampler.jsonl", fewer], references="references", id="id")
    assert "sampler has more captions in some rows than another system" in page.replace("Sampler", "sampler")
    assert "fewer has more" not in page


def test_images_are_encoded_once_for_all_systems(tmp_path, monkeypatch):
    counted = []
    usual = encoder.ClipEncoder._count
    monkeypatch.setattr(encoder.ClipEncoder, "_count", lambda *words: counted.append(words[1:]) or usual(*words))
    drawn = scenes.scenes(2, seed=4711, split="test")
    for number, scene in enumerate(drawn):
        scenes.draw_scene(scene).image.save(tmp_path / f"{number}.png")
    rows = [{"caption": "a star", "other": "a disc", "image": f"{number}.png"} for number in range(2)]
    uploads = [str(tmp_path / f"{number}.png") for number in range(2)]
    path = written(tmp_path / "x.jsonl", rows)
    page = compared("clip_s", [path], ["caption", "other"], images="image", uploads=uploads)
    assert sum(n for side, n in counted if side == "image") == 2
    assert "Some of these scores are from a small demo model" in page


def test_titles_and_metrics_are_guessed_and_an_id_is_no_caption(tmp_path):
    row = {"id": "x1", "caption": "x", "output": "y", "references": ["z"]}
    one = written(tmp_path / "a.jsonl", [row])
    found = compare.guess_columns([str(one)], ["rouge_l", "trm"])
    assert found[0]["value"] == ["rouge_l"]  # trm scores caption sets
    assert [choice.value for choice in found[1:]] == [["caption", "output"], "references", NONE, NONE, NONE, "id"]
    assert [choice.visible for choice in found[1:]] == [True, True, False, False, False, True]
    others = written(tmp_path / "b.jsonl", [{"image_id": "7", "ours": "x", "base": "y", "references": ["z"]}])
    assert compare.guess_columns([str(others)], ["rouge_l"])[1].value == ["ours", "base"]
    (tmp_path / "none.jsonl").write_text("{", encoding="utf-8")
    assert [one.visible for one in compare.guess_columns([str(tmp_path / "none.jsonl")], ["trm"])[1:]] == [False] * 6


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], r"^`Files`.*got none"),
        (["greedy.jsonl"], r"^`Files`.*got 1"),
        (
            ["greedy.jsonl", "short.jsonl"],
            r"^`ids`",
        ),
        (
            ["greedy.jsonl", "changed.jsonl"],
            r"^`Files` must have the same references.*'scene-01'.*pass a column of ids, `Column: id`$",
        ),
        (["greedy.jsonl", "other/greedy.jsonl"], r"^`Files`.*'greedy\.jsonl'"),
        (["greedy.jsonl", "untitled.jsonl"], r"^`Columns: predictions`.*select one"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(tmp_path, files, message):
    rows = read_rows(str(BOARD / "greedy.jsonl"))
    (tmp_path / "other").mkdir()
    written(tmp_path / "other" / "greedy.jsonl", rows)
    written(tmp_path / "short.jsonl", rows[1:])
    written(tmp_path / "untitled.jsonl", [{"id": row["id"], "x": "y"} for row in rows])
    written(tmp_path / "changed.jsonl", [{**row, "references": ["else", "where"]} for row in rows])
    paths = [path if (path := tmp_path / name).exists() else BOARD / name for name in files]
    with pytest.raises(ValueError, match=message):
        compared("trm", paths, references="references", id="id")


def test_what_the_package_has_not_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match=r"^`Systems`.*got 1"):
        compare._compare_bundled(["sampler"], ["trm"], "embedded")
    with pytest.raises(ValueError, match=r"^`Metrics`.*got 0"):
        compare._compare_bundled(["sampler", "greedy"], [], "embedded")
    with pytest.raises(ValueError, match=r"^`Metrics`.*1 to 8 here.*got 9"):
        compare._compare_bundled(["sampler", "greedy"], ["trm"] * 9, "embedded")
    with pytest.raises(ValueError, match=r"^`Metrics`.*CLIP"):
        compare._compare_bundled(["sampler", "greedy"], ["trm", "clip_s"], "embedded")


def test_what_anybody_may_ask_for_is_bounded(wide, monkeypatch):
    words = {"references": "references", "id": "id"}
    with pytest.raises(ValueError, match=r"at most 3 rows.*got 4"):
        shown("rouge_l", [wide], ["mine", "yours"], most_rows=3, **words)
    assert shown("rouge_l", [wide], ["mine", "yours"], most_rows=4, **words)
    with pytest.raises(ValueError, match=r"at most 32 scores.*got 40"):
        shown("rouge_l,bleu,chrf,cider,meteor", [wide], ["mine", "yours"], most_rows=4, **words)
    monkeypatch.setattr(compare, "MOST_SCORES", 7)
    with pytest.raises(ValueError, match=r"at most 7 scores.*got 8"):
        shown("rouge_l", [wide], ["mine", "yours"], most_rows=4, **words)
    monkeypatch.setattr(compare, "MOST_SYSTEMS", 1)
    with pytest.raises(ValueError, match=r"2 to 1 systems.*got 2"):
        shown("rouge_l", [wide], ["mine", "yours"], **words)


def test_signatures_that_differ_are_refused(tmp_path):
    run = {"ids": [0, 1], "rovist_nr_scores": [0.1, 0.2]}
    for name, n in (("a", 4), ("b", 3)):
        (tmp_path / f"{name}.json").write_text(json.dumps(run | {"rovist_nr_signature": f"rovist_nr|v:0.1.0|n:{n}"}))
    with pytest.raises(ValueError, match="rovist_nr"):
        compared("rovist_nr", [tmp_path / "a.json", tmp_path / "b.json"])


def test_scores_of_another_metric_are_refused_without_their_folder(tmp_path):
    run = {"ids": [0], "bleu_scores": [0.1], "bleu_signature": "bleu|v:0.1.0"}
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(run), encoding="utf-8")
    with pytest.raises(gr.Error) as caught, errors.in_words_of({}):
        compared("rovist_nr", [path])
    assert "`Files`" in caught.value.message
    assert "/" not in caught.value.message


def test_each_row_is_checked_once_for_all_metrics(wide, monkeypatch):
    checked = []
    usual = reading.check_cell
    monkeypatch.setattr(reading, "check_cell", lambda *words: checked.append(words[1]) or usual(*words))
    shown("rouge_l,chrf", [wide], ["mine", "yours"], references="references", id="id")
    assert checked.count("a dog ran home") == 1
    assert len(checked) == 16  # captions and references of four rows and two systems


def test_no_comparison_stays_next_to_a_refusal(page):
    emptied = [one for one in page.fns.values() if one.fn is compare._empty]
    assert len(emptied) == 4
    assert all(one.trigger_only_on_failure for one in emptied)
    assert compare._empty() == ["", None, (0, "")]


def test_a_name_with_markup_is_shown_and_not_obeyed():
    given = {name: made_run([0.1, 0.2]) for name in ("<img src=x>", "b`${1}")}
    found = compared_systems.compare_systems([scoring.metric_of("rovist_nr")], given)
    asked = compare.Asked(["rovist_nr"], "embedded", files=dict.fromkeys(given, "a.json"), is_scored=False)
    page = page_of_compared(found, asked)
    assert "<img" not in page
    assert "&lt;img src=x&gt;" in page


def test_numbers_are_those_of_the_library(wide):
    found = shown("rouge_l,chrf", [wide], ["mine", "yours"], references="references", id="id")
    own = vlgauge.compare(str(wide), "rouge_l,chrf", predictions=["mine", "yours"], id="id", progress=False)
    assert numbers_of(found.compared.comparison) == numbers_of(own.statistics)
