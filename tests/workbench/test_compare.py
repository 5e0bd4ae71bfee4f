"""Two runs compared, as `vlgauge compare` compares them."""

import json
import re

import gradio as gr
import pytest
from folders import EXAMPLES

from vlgauge import scenes
from vlgauge.cli import main
from vlgauge.encoders.clip import encoder
from vlgauge.media.tables import read_rows
from vlgauge.workbench import compare, errors, scoring, two_runs

BOARD = EXAMPLES / "leaderboard"
NONE = compare.NONE


def shown(page):
    """The page in a frame, without the second escape."""
    return page.replace("&lt;", "<").replace("&gt;", ">").replace("&#34;", '"').replace("&amp;", "&")


def compared(metric, first, second, own, other, *, pictures=None, config="", most_rows=None, **titles):
    shared = [titles.get(name, NONE) for name in ("references", "styles", "images", "videos", "id")]
    files = [None if one is None else [str(path) for path in one] for one in (first, second)]
    words = (metric, config, "embedded", *files, pictures, own, other, *shared)
    return shown(compare.compared(*words, most_rows=most_rows))


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def captions():
    """Two runs of four rows: what `Given` holds, and the files of them."""
    refs = [["a dog ran home", "the dog ran"], ["a cat sat"], ["two birds sing"], ["a red car"]]
    first = ["a dog ran home", "a cat sat down", "birds", "a red car"]
    second = ["the dog", "a cat sat", "two birds sing", "a red car"]
    return first, second, refs


@pytest.mark.parametrize("metric", ["rovist_nr", "trm"])  # higher is better, lower is better
def test_files_of_predictions_are_compared_as_by_the_command(metric, capsys):
    files = [BOARD / "sampler.jsonl", BOARD / "wanderer.jsonl"]
    titles = {"id": "id"} | ({"references": "references"} if metric == "trm" else {})
    page = compared(metric, [files[0]], [files[1]], "predictions", "predictions", **titles)
    words = ["compare", metric, *map(str, files), "--profile", "embedded", "--format", "json"]
    assert main([*words, "--rows-that-differ", "10"]) == 0
    record = json.loads(capsys.readouterr().out)["metrics"][0]
    (pair,) = record["pairs"]
    wins, losses, ties = pair["wins"], pair["losses"], pair["ties"]
    assert wins != losses
    assert pair["better"] is None
    few = f"{metric}: too few rows that differ to tell apart"
    assert f"<h2>{few if pair['too_few'] else f'{metric} does not tell A and B apart'}</h2>" in page
    assert f"A is better in {wins}, both tie in {ties}, B is better in {losses} of" in page
    won = re.findall(r'<i class="(wins|ties|losses)" style="flex-grow:(\d+)">', page)
    assert won == [(kind, str(n)) for kind, n in (("wins", wins), ("ties", ties), ("losses", losses)) if n]
    signs = [f"{pair[name]:+.4f}".replace("-", "\N{MINUS SIGN}") for name in ("difference", "low", "high")]
    assert "{}, 95 % interval {} to {}".format(*signs) in page
    assert f"{pair['pvalue']:.4f}, sign-flip test" in page
    found = re.findall(r'<summary><b class="mono">(.*?)</b>.*?<b class="n (for|against)">', page)
    rows = [(key, "A" if tone == "for" else "B") for key, tone in found]
    higher = record["higher_is_better"]
    expected = [
        (one["id"], "A" if (one["sampler"] > one["wanderer"]) == higher else "B") for one in pair["rows_that_differ"]
    ]
    assert rows == expected
    assert {letter for _, letter in rows} == {"A", "B"}
    assert page.count('class="card') == 2 * len(rows)


def test_kept_scores_of_another_order_are_joined_by_id(tmp_path):
    run = {"rovist_nr_signature": "rovist_nr|v:0.1.0"}
    first, second = [0.9, 0.5, 0.7], [0.1, 0.6, 0.8]
    pages = []
    for step in (1, -1):
        for name, scores, order in (("a", first, 1), ("b", second, step)):
            kept = run | {"ids": ["x", "y", "z"][::order], "rovist_nr_scores": scores[::order]}
            kept["rovist_nr"] = sum(scores) / 3
            (tmp_path / f"{name}.json").write_text(json.dumps(kept))
        pages.append(compared("rovist_nr", [tmp_path / "a.json"], [tmp_path / "b.json"], NONE, NONE))
    assert pages[0] == pages[1]
    assert "A is better in 1, both tie in 0, B is better in 2 of 3 rows" in pages[0]


def test_a_and_b_mirror(captions):
    first, second, refs = captions
    ids = ["a", "b", "c", "d"]
    given = [
        two_runs.Given(name, ids, columns={"predictions": own, "references": refs})
        for name, own in zip("AB", (first, second), strict=True)
    ]
    one, other = (two_runs.compare_two("rouge_l", "embedded", "", *pair) for pair in (given, given[::-1]))
    (there,), (back,) = one.comparison.metrics[0].pairs, other.comparison.metrics[0].pairs
    assert there.difference == pytest.approx(-back.difference, rel=1e-12)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), rel=1e-12)
    assert (there.wins, there.losses, there.ties) == (back.losses, back.wins, back.ties) == (1, 2, 1)
    assert (there.pvalue, there.better) == (back.pvalue, back.better)


def test_two_columns_of_one_file_are_joined_by_row(tmp_path, captions):
    rows = [{"mine": a, "yours": b, "references": refs} for a, b, refs in zip(*captions, strict=True)]
    path = written(tmp_path / "both.jsonl", rows)
    page = compared("rouge_l", [path], None, "mine", "yours", references="references")
    assert "A: both, mine" in page
    assert "B: both, yours" in page
    with pytest.raises(ValueError, match="`Run B` must be a file, or another column of predictions of run A, got none"):
        compared("rouge_l", [path], None, "mine", "mine", references="references")


def test_rows_of_another_order_are_joined_by_id(tmp_path, captions):
    rows = [{"id": i, "p": a, "q": b, "references": refs} for i, (a, b, refs) in enumerate(zip(*captions, strict=True))]
    first, second = written(tmp_path / "a.jsonl", rows), written(tmp_path / "b.jsonl", rows[::-1])
    page = compared("rouge_l", [first], [second], "p", "q", references="references", id="id")
    again = compared("rouge_l", [first], None, "p", "q", references="references", id="id")
    facts = re.compile(r"A is better in .*? rows|<td>[^<]*</td>|<summary>.*?</summary>")
    assert facts.findall(page) == facts.findall(again)
    assert len(facts.findall(page)) >= 5


@pytest.mark.parametrize("ending", [".json", ".csv"])
def test_scores_that_were_kept_are_compared_without_scoring(tmp_path, ending, monkeypatch, capsys):
    for name in ("sampler", "greedy"):
        output = str(tmp_path / f"{name}{ending}")
        assert main(["score", "rovist_nr", str(BOARD / f"{name}.jsonl"), "--output", output]) == 0
    monkeypatch.setattr(two_runs, "score_checked", None)
    files = [sorted(tmp_path.glob(f"{name}*")) for name in ("sampler", "greedy")]
    assert [len(one) for one in files] == ([2, 2] if ending == ".csv" else [1, 1])
    page = compared("rovist_nr", *files, NONE, NONE)
    assert re.search(r"<h2>A is better by 0\.\d+ rovist_nr</h2>", page)
    assert "Only its score was given" in page
    assert [
        one.visible for one in compare.guessed("rovist_nr", "", *[[str(path) for path in one] for one in files])
    ] == [False] * 7


def test_a_row_that_one_run_lacks_a_caption_for_is_left_out_of_both(tmp_path, captions):
    first, second, refs = captions
    rows = [{"mine": a, "yours": b, "references": r} for a, b, r in zip(first, [*second[:3], None], refs, strict=True)]
    page = compared("rouge_l", [written(tmp_path / "x.jsonl", rows)], None, "mine", "yours", references="references")
    assert "3 of 4 rows were compared" in page
    assert "`predictions[3]` must be given, got nothing" in page
    assert "of 3 rows" in page


def test_kept_scores_and_predictions_are_compared_where_both_have_a_score(tmp_path, captions):
    first, second, refs = captions
    rows = [{"id": i, "caption": one, "references": r} for i, (one, r) in enumerate(zip(first, refs, strict=True))]
    output = str(tmp_path / "kept.json")
    path = written(tmp_path / "x.jsonl", rows)
    words = ["--predictions", "caption", "--profile", "embedded", "--output", output]
    assert main(["score", "rouge_l", str(path), *words]) == 0
    others = [{**row, "caption": two} for row, two in zip(rows, [*second[:3], None], strict=True)]
    titles = {"references": "references", "id": "id"}
    page = compared("rouge_l", [output], [written(tmp_path / "y.jsonl", others[::-1])], NONE, "caption", **titles)
    assert "3 of 4 rows were compared" in page
    assert "of 3 rows" in page
    assert page.count("Only its score was given") == page.count('<details class="duel"') > 0


def test_rows_without_a_score_are_not_counted_as_compared(tmp_path):
    good, short = "We ran home. We ran home again.", "It ran."
    rows = [{"mine": a, "yours": b} for a, b in ((good, "She sat. He left."), (good, short), (None, good))]
    page = compared("rovist_nr", [written(tmp_path / "x.jsonl", rows)], None, "mine", "yours")
    assert "1 of 3 rows were compared, 1 undefined, 1 left out:" in page.replace("</b>", "")


def test_means_over_all_rows_of_a_run_stand_beside_those_over_the_rows_of_both(tmp_path):
    kept = []
    for name, scores in (("a", [1.0, 2.0, 3.0, 6.0]), ("b", [0.0, 1.0, None, None])):
        run = {"ids": list(range(4)), "groovist_scores": scores, "groovist_signature": "groovist|v:0.1.0"}
        kept.append(tmp_path / f"{name}.json")
        kept[-1].write_text(json.dumps(run), encoding="utf-8")
    page = compared("groovist", [kept[0]], [kept[1]], NONE, NONE)
    assert ">1.500</td>" in page
    assert ": 3.000 over all of its own rows." in page
    assert ": 0.500 over all of its own rows, 2 undefined." in page
    both = compared("groovist", [kept[0]], [kept[0]], NONE, NONE)
    assert "of its own" not in both


def test_no_comparison_stays_beside_another_profile_or_a_refusal(built):
    page = built()
    (shown,) = [one for one in page.blocks.values() if isinstance(one, gr.HTML) and one.label == "Comparison"]
    emptied = [one for one in page.fns.values() if one.outputs == [shown] and not one.inputs]
    assert [one.fn() for one in emptied] == ["", ""]
    assert sorted(one.trigger_only_on_failure for one in emptied) == [False, True]


def test_of_unequal_sets_as_many_captions_are_drawn(tmp_path):
    rows = read_rows(str(BOARD / "sampler.jsonl"))
    fewer = [{**row, "predictions": row["predictions"][:4]} for row in rows]
    page = compared(
        "trm",
        [BOARD / "sampler.jsonl"],
        [written(tmp_path / "fewer.jsonl", fewer)],
        "predictions",
        "predictions",
        references="references",
        id="id",
    )
    assert "A is better in" in page
    assert "unequal numbers" not in page


def test_pictures_are_encoded_once_for_both_runs(tmp_path, monkeypatch):
    counted = []
    usual = encoder.ClipEncoder._count
    monkeypatch.setattr(encoder.ClipEncoder, "_count", lambda *words: counted.append(words[1:]) or usual(*words))
    drawn = scenes.scenes(2, seed=4711, split="test")
    for number, scene in enumerate(drawn):
        scenes.draw_scene(scene).image.save(tmp_path / f"{number}.png")
    rows = [{"caption": "a star", "other": "a disc", "image": f"{number}.png"} for number in range(2)]
    uploads = [str(tmp_path / f"{number}.png") for number in range(2)]
    path = written(tmp_path / "x.jsonl", rows)
    page = compared("clip_s", [path], None, "caption", "other", images="image", pictures=uploads, config="image")
    assert sum(n for side, n in counted if side == "image") == 2
    assert "A small model trained on drawn scenes made these numbers" in page


def test_titles_are_guessed_from_both_files(tmp_path):
    one = written(tmp_path / "a.jsonl", [{"id": 1, "caption": "x", "output": "y", "references": ["z"]}])
    found = compare.guessed("rouge_l", "", [str(one)], None)
    assert [choice.value for choice in found] == ["caption", "output", "references", NONE, NONE, NONE, "id"]
    assert [choice.visible for choice in found] == [True, True, True, False, False, False, True]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (None, None, "`Run A` must be a file of predictions or scores, got none"),
        (["greedy.jsonl", "sampler.jsonl"], None, "`Run` must be one file, or a table of scores and the .json beside"),
        (
            ["greedy.jsonl"],
            ["short.jsonl"],
            "`ids` must be the same in every system, A has .* that B lacks, B has none that",
        ),
        (["greedy.jsonl"], ["changed.jsonl"], "`references` must be the same in both runs, they differ in row"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(tmp_path, first, second, message):
    rows = read_rows(str(BOARD / "greedy.jsonl"))
    written(tmp_path / "short.jsonl", rows[1:])
    written(tmp_path / "changed.jsonl", [{**row, "references": ["else", "where"]} for row in rows])
    files = [
        one and [path if (path := tmp_path / name).exists() else BOARD / name for name in one]
        for one in (first, second)
    ]
    with pytest.raises(ValueError, match=message):
        compared("trm", *files, "predictions", "predictions", references="references", id="id")


def test_rows_to_score_are_bounded_on_a_space(captions, tmp_path):
    rows = [{"mine": a, "yours": b, "references": refs} for a, b, refs in zip(*captions, strict=True)]
    path = written(tmp_path / "x.jsonl", rows)
    words = {"references": "references"}
    with pytest.raises(
        ValueError, match="must have at most 3 rows to score here, got 4; score them on your own machine"
    ):
        compared("rouge_l", [path], None, "mine", "yours", most_rows=3, **words)
    assert compared("rouge_l", [path], None, "mine", "yours", most_rows=4, **words)


def test_signatures_that_differ_are_refused(tmp_path):
    run = {"ids": [0, 1], "rovist_nr_scores": [0.1, 0.2], "rovist_nr_signature": "rovist_nr|v:0.1.0|profile:paper"}
    for name, n in (("a", 4), ("b", 3)):
        (tmp_path / f"{name}.json").write_text(json.dumps(run | {"rovist_nr_signature": f"rovist_nr|v:0.1.0|n:{n}"}))
    with pytest.raises(ValueError, match="must have been scored in one way by rovist_nr"):
        compared("rovist_nr", [tmp_path / "a.json"], [tmp_path / "b.json"], NONE, NONE)


def test_scores_of_another_metric_are_refused_once_and_without_their_folder(tmp_path):
    path = written(tmp_path / "scores.json", [{"ids": [0], "bleu_scores": [0.1], "bleu_signature": "bleu|v:0.1.0"}])
    assert [one.visible for one in compare.guessed("rovist_nr", "", [str(path)], None)] == [False] * 7
    with pytest.raises(gr.Error) as caught, errors.in_words_of({}):
        compared("rovist_nr", [path], None, NONE, NONE)
    assert "scores.json" in caught.value.message
    assert "/" not in caught.value.message


def test_each_row_is_checked_once(tmp_path, captions, monkeypatch):
    checked = []
    usual = scoring._reason
    monkeypatch.setattr(
        scoring, "_reason", lambda metric, columns, row: checked.append(row) or usual(metric, columns, row)
    )
    rows = [{"mine": a, "yours": b, "references": refs} for a, b, refs in zip(*captions, strict=True)]
    compared("rouge_l", [written(tmp_path / "x.jsonl", rows)], None, "mine", "yours", references="references")
    assert sorted(checked) == [0, 0, 1, 1, 2, 2, 3, 3]
