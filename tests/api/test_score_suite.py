"""One call for the table of a paper, from the command line and from Python."""

import json
import math

import pytest

import vlgauge
from vlgauge.checkpoints.files import SourcesMissingError
from vlgauge.cli import main
from vlgauge.core.errors import UsageError

pytestmark = pytest.mark.filterwarnings("ignore:CIDEr-D takes document frequencies")

CAPTIONS = {
    7: ("a dog runs on the grass", ["a brown dog runs on the grass", "a dog is running on green grass"]),
    3: ("a cat sleeps on a red chair", ["a cat is sleeping on a chair", "the cat sleeps on a red chair by a window"]),
    5: ("two men ride bikes", ["two men are riding bikes down a street", "men on bikes"]),
    9: ("a plate of food", ["a plate with rice and meat on a table", "food on a white plate"]),
}
TEXT_ONLY = "spice,meteor"


@pytest.fixture
def files(tmp_path):
    annotations = {
        "images": [{"id": image} for image in CAPTIONS],
        "annotations": [{"image_id": image, "caption": one} for image, (_, own) in CAPTIONS.items() for one in own],
    }
    results = [{"image_id": image, "caption": caption} for image, (caption, _) in CAPTIONS.items()]
    others = [{"image_id": image, "caption": caption.replace("dog", "cow")} for image, (caption, _) in CAPTIONS.items()]
    for name, content in (("annotations", annotations), ("results", results), ("others", others)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    return {name: str(tmp_path / f"{name}.json") for name in ("annotations", "results", "others")}


@pytest.fixture
def expected():
    predictions, references = zip(*CAPTIONS.values(), strict=True)
    scores = {}
    for name in ("bleu", "rouge_l", "cider"):
        scores |= vlgauge.load(name).compute(predictions=list(predictions), references=list(references))
    return [scores[key] for key in ("bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "cider")]


TITLES = ["BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr"]


def test_the_table_of_coco_files(files, expected, capsys):
    words = ["score", "coco", files["results"], "--annotations", files["annotations"], "--without", TEXT_ONLY]
    assert main([*words, "--format", "markdown", "-w", "12"]) == 0
    header, _, cells, *_ = capsys.readouterr().out.splitlines()
    assert header.strip("| ").split(" | ") == TITLES
    assert [float(cell) for cell in cells.strip("| ").split(" | ")] == pytest.approx(expected, abs=1e-11)
    assert main([*words, "--format", "latex", "--scale", "100", "-w", "1"]) == 0
    assert " & ".join(f"{100 * value:.1f}" for value in expected) in capsys.readouterr().out
    assert main(words) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == TITLES


def test_python_reads_paths_lists_and_dictionaries(files, expected):
    without = TEXT_ONLY.split(",")
    results = [{"image_id": image, "caption": caption} for image, (caption, _) in CAPTIONS.items()]
    res = {str(image): [{"caption": caption}] for image, (caption, _) in CAPTIONS.items()}
    gts = {str(image): [{"caption": one} for one in own] for image, (_, own) in CAPTIONS.items()}
    for rows, annotations in ((files["results"], files["annotations"]), (results, gts), (res, gts)):
        scored = vlgauge.score(rows, "coco", annotations=annotations, without=without)
        assert list(scored.results) == ["bleu", "rouge_l", "cider"]
        found = [scored.results["bleu"][f"bleu_{order}"] for order in (1, 2, 3, 4)]
        assert [*found, scored.results["rouge_l"]["rouge_l"], scored.results["cider"]["cider"]] == expected


@pytest.mark.filterwarnings("ignore:[0-9]+ of [0-9]+ rows share their image")
def test_metrics_of_images_come_with_images(files):
    pytest.importorskip("open_clip")
    rows = [{"predictions": "a dog", "references": ["a dog"], "images": vlgauge_image()}] * 2
    scored = vlgauge.score(rows, "coco", without=["meteor", "spice"], profile="embedded")
    assert list(scored.results) == ["bleu", "rouge_l", "cider", "clip_s", "pac_s"]
    assert "ref_clip_s" in scored.results["clip_s"]


def vlgauge_image():
    from vlgauge import scenes

    return scenes.stories(1, seed=0, split="test")[0].images()[0]


def test_a_part_that_fails_is_nan_with_its_reason(files, capsys, monkeypatch):
    def fail(*_, **__):
        raise UsageError("no memory for it")

    monkeypatch.setattr("vlgauge.families.ngram.cider.length_penalties", fail)
    words = ["score", "coco", files["results"], "--annotations", files["annotations"], "--without", TEXT_ONLY]
    assert main([*words, "--format", "markdown"]) == 1
    told = capsys.readouterr().out
    assert told.splitlines()[2].endswith("| NaN |")
    assert "cider failed: cider: no memory for it" in told


def test_a_bug_in_a_part_leaves_a_traceback(files, capsys, monkeypatch):
    def fail(*_, **__):
        raise KeyError("bug")

    monkeypatch.setattr("vlgauge.families.ngram.cider.length_penalties", fail)
    words = ["score", "coco", files["results"], "--annotations", files["annotations"], "--without", TEXT_ONLY]
    assert main([*words, "--format", "json"]) == 1
    told = capsys.readouterr()
    assert "Traceback" in told.err
    assert json.loads(told.out)["rouge_l"] > 0


def test_nothing_but_failures_is_raised(files, monkeypatch):
    def fail(*_, **__):
        raise UsageError("no")

    monkeypatch.setattr("vlgauge.families.ngram.cider.length_penalties", fail)
    with pytest.raises(UsageError, match="no"):
        vlgauge.score(
            files["results"], "coco", annotations=files["annotations"], without=["bleu", "rouge_l", "meteor", "spice"]
        )


def test_records_of_a_suite(files, tmp_path, capsys):
    record = tmp_path / "results.jsonl"
    words = ["score", "coco", files["results"], "--annotations", files["annotations"], "--without", TEXT_ONLY]
    names = ["--model", "me/m", "--dataset", "me/d", "--split", "test"]
    assert main([*words, "--record", str(record), *names]) == 0
    assert [json.loads(line)["metric"] for line in record.read_text().splitlines()] == ["bleu", "rouge_l", "cider"]


def test_systems_are_compared_by_a_suite(files, capsys):
    words = ["compare", "coco", files["results"], files["others"], "--annotations", files["annotations"]]
    assert main([*words, "--without", TEXT_ONLY, "--format", "json", "--resamples", "200"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["metric"] for one in told["metrics"]] == ["bleu", "rouge_l", "cider"]
    rows = {name: files[name] for name in ("results", "others")}
    compared = vlgauge.compare(
        rows, "coco", annotations=files["annotations"], without=TEXT_ONLY.split(","), resamples=200
    )
    assert "cider" in repr(compared)


def test_python_has_the_table_of_the_command(files, capsys):
    how = {"annotations": files["annotations"], "without": ["spice", "meteor"]}
    words = ["score", "coco", files["results"], "--annotations", files["annotations"], "--without", TEXT_ONLY]
    scored = vlgauge.score(files["results"], "coco", **how)
    assert repr(scored).splitlines()[0].split() == TITLES
    assert scored._repr_html_().index("BLEU-1") < scored._repr_html_().index("bleu_1")
    assert main([*words, "--format", "markdown"]) == 0
    assert capsys.readouterr().out.strip() == scored.to_markdown()
    assert main([*words, "--format", "latex", "--scale", "100", "-w", "1"]) == 0
    assert capsys.readouterr().out.strip() == scored.to_latex()
    with pytest.raises(UsageError, match=r"suite \(coco.*bleu"):
        vlgauge.score(files["results"], "bleu", annotations=files["annotations"]).to_markdown()


def test_python_passes_settings(files):
    how = {"annotations": files["annotations"], "without": ["spice", "meteor"]}
    given = {"bleu": {"tokenizer": str.split}, "cider": {"df": "references"}}
    scored = vlgauge.score(files["results"], "coco", settings=given, **how)
    predictions, references = zip(*CAPTIONS.values(), strict=True)
    alone = vlgauge.load("bleu", tokenizer=str.split).compute(predictions=predictions, references=references)
    assert scored.results["bleu"]["bleu_signature"] == alone["bleu_signature"]
    assert "|tokenizer:ptb" in scored.results["rouge_l"]["rouge_l_signature"]
    systems = {"a": files["results"], "b": files["others"]}
    compared = vlgauge.compare(systems, "coco", settings=given, resamples=200, **how)
    assert compared.statistics.metrics[0].signature == alone["bleu_signature"]


@pytest.mark.parametrize(
    ("metrics", "settings", "message"),
    [
        (
            "bleu",
            {"bleu": {"tokenizer": "ptb"}},
            r"^`settings`.*requires",
        ),
        ("coco", {"blue": {"tokenizer": "ptb"}}, r"^`settings`.*'blue'"),
        (
            "coco",
            {"spice": {"parser": "rules"}},
            r"^`settings`.*'spice'",
        ),
        ("coco", {"bleu": {"tokeniser": "ptb"}}, "tokeniser"),
    ],
)
def test_settings_of_no_metric_are_refused(files, metrics, settings, message):
    without = [] if metrics == "bleu" else ["spice", "meteor"]
    for call, rows in (
        (vlgauge.score, files["results"]),
        (vlgauge.compare, {"a": files["results"], "b": files["others"]}),
    ):
        with pytest.raises((UsageError, TypeError), match=message):
            call(rows, metrics, annotations=files["annotations"], without=without, settings=settings)


def test_python_names_the_part_that_failed(files, monkeypatch):
    def fail(*_, **__):
        raise UsageError("no such thing")

    monkeypatch.setattr("vlgauge.families.ngram.cider.length_penalties", fail)
    scored = vlgauge.score(files["results"], "coco", annotations=files["annotations"], without=["spice", "meteor"])
    assert "NaN" in repr(scored)
    assert "cider failed: cider: no such thing" in repr(scored)


def test_what_is_not_multiplied_says_so_with_as_many_digits(files, capsys):
    words = ["score", "coco", files["results"], "--annotations", files["annotations"], "--without", TEXT_ONLY]
    assert main([*words, "--scale", "100", "-w", "1", "--rows", "1"]) == 0
    told = capsys.readouterr().out
    assert "The scores and values below are not multiplied." in told
    value = vlgauge.score(files["results"], "rouge_l", annotations=files["annotations"]).results["rouge_l"]["rouge_l"]
    assert f"{100 * value:.1f}" in told
    assert f"rouge_l            {value:.3f}" in told
    for other in (["-q"], ["--format", "json"]):
        assert main([*words, "--scale", "100", *other]) == 2
        assert "--scale" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["score"], ["compare"]])
def test_settings_of_a_metric_that_is_left_out_are_refused(files, command, capsys):
    named = [files["results"]] if command == ["score"] else [files["results"], files["others"]]
    words = [*command, "coco", *named, "--annotations", files["annotations"], "--without", TEXT_ONLY]
    assert main([*words, "--set", "meteor.version=2007"]) == 2
    assert "--set" in capsys.readouterr().err


def test_what_a_suite_lacks_can_be_left_out(files, monkeypatch, capsys):
    def lack(*_, **__):
        raise SourcesMissingError("no pipeline")

    monkeypatch.setattr("vlgauge.api.computing.look_for_all", lack)
    words = [files["results"], "--annotations", files["annotations"]]
    assert main(["score", "coco", *words]) == 2
    assert "--without" in capsys.readouterr().err
    assert main(["score", "bleu,cider", *words]) == 2
    assert "--without" not in capsys.readouterr().err
    with pytest.raises(SourcesMissingError, match=r"suite.*`without`"):
        vlgauge.score(files["results"], "coco", annotations=files["annotations"])


def test_a_tokenizer_by_name_applies_to_all_metrics_of_words(files, tmp_path, capsys):
    words = [files["results"], "--annotations", files["annotations"], "--without", "spice"]
    chosen = ["--set", "tokenizer=char", "--set", "meteor.version=2007", "--no-progress"]
    names = ["bleu", "meteor", "rouge_l", "cider"]
    assert main(["score", "coco", *words, *chosen, "--output", str(tmp_path / "found.json")]) == 0
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))
    predictions, references = map(list, zip(*CAPTIONS.values(), strict=True))
    for name in names:
        more = {"version": "2007"} if name == "meteor" else {}
        metric = vlgauge.load(name, tokenizer="char", **more)
        alone = metric.compute(predictions=predictions, references=references)
        assert found[name] == pytest.approx(alone[name], rel=1e-12)
        assert found[f"{name}_signature"] == alone[f"{name}_signature"]
        assert "|tokenizer:char-1" in alone[f"{name}_signature"]
        usual = vlgauge.load(name, **more).compute(predictions=predictions, references=references)
        assert usual[name] != pytest.approx(alone[name], rel=1e-6)
    assert main(["score", "coco", *words, "--set", "tokenizer=char"]) == 2
    assert "METEOR 1.5" in capsys.readouterr().err


def test_saved_scores_are_compared_with_rows_and_annotations(files, tmp_path, capsys):
    without = TEXT_ONLY.split(",")
    saved = str(tmp_path / "saved.json")
    scored = vlgauge.score(files["results"], "coco", annotations=files["annotations"], without=without)
    scored.to_json(saved)
    how = {"annotations": files["annotations"], "without": without, "resamples": 200}
    expected = repr(vlgauge.compare({name: files[name] for name in ("results", "others")}, "coco", **how))
    for given in (scored, saved):
        assert repr(vlgauge.compare({"results": given, "others": files["others"]}, "coco", **how)) == expected
    with pytest.raises(UsageError, match=r"^`annotations`"):
        vlgauge.compare({"results": scored, "again": scored}, "coco", **how)
    words = ["compare", "coco", saved, saved, "--names", "a,b", "--annotations", files["annotations"]]
    assert main(words) == 2
    assert "--annotations" in capsys.readouterr().err


def test_sets_and_stories():
    rows = [{"predictions": ["a dog", "a cow"], "references": ["a dog runs", "the dog"]}] * 4
    scored = vlgauge.score(rows, "sets", without=["mmd_bert", "frechet_bert"])
    assert math.isfinite(scored.results["trm"]["trm"])
    assert scored.results["diversity"]["diversity_signature"].endswith("|sets:2")
    alone = vlgauge.load("diversity").compute(predictions=[row["predictions"] for row in rows])
    header, _, cells, *_ = scored.to_markdown(digits=12).splitlines()
    table = dict(zip(header.strip("| ").split(" | "), cells.strip("| ").split(" | "), strict=True))
    keys = {"Self-CIDEr": "diversity", "mBLEU-4": "diversity_mbleu_4", "Div-1": "diversity_div_1"}
    assert {title: float(table[title]) for title in keys} == pytest.approx({t: alone[key] for t, key in keys.items()})


def test_stories_with_human_ones_have_their_distance():
    pytest.importorskip("open_clip")
    from vlgauge import scenes

    stories = scenes.stories(2, seed=0, split="test")
    rows = [
        {"predictions": one.sentences, "images": one.images(), "references": other.sentences}
        for one, other in zip(stories, stories[::-1], strict=True)
    ]
    scored = vlgauge.score(rows, "stories", profile="embedded")
    assert list(scored.results) == ["groovist", "rovist", "d_hm"]
    groovist = vlgauge.load("groovist", profile="embedded")
    human = groovist.compute(predictions=[row["references"] for row in rows], images=[row["images"] for row in rows])
    expected = [
        abs(math.tanh(one) - math.tanh(other))
        for one, other in zip(human["groovist_scores"], scored.results["groovist"]["groovist_scores"], strict=True)
    ]
    assert scored.results["d_hm"]["d_hm_d_g"] == pytest.approx(sum(expected) / 2, abs=1e-9)
    without = vlgauge.score(
        [{**row, "references": None} for row in rows], "stories", without=["d_hm"], profile="embedded"
    )
    assert list(without.results) == ["groovist", "rovist"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["score", "coco,chrf", "x.jsonl"], "the suite coco cannot be combined with metrics"),
        (
            ["score", "coco", "x.jsonl", "--without", "chrf"],
            "--without must name metrics of the suite coco, got 'chrf'",
        ),
        (["score", "cider", "x.jsonl", "--without", "bleu"], "--without requires a suite"),
        (["score", "cider", "x.jsonl", "--format", "latex"], "--format latex requires a suite"),
        (["score", "cider", "x.jsonl", "--scale", "100"], "--scale requires a suite"),
        (["compare", "cider", "x.jsonl", "y.jsonl", "--without", "bleu"], "--without requires a suite"),
        (
            ["score", "sets", "x.jsonl", "--without", "trm,mmd_bert,frechet_bert,diversity"],
            "must not contain all metrics",
        ),
    ],
)
def test_wrong_words_are_one_line(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    for name in "xy":
        (tmp_path / f"{name}.jsonl").write_text('{"id": 1, "predictions": "a", "references": ["a"]}\n')
    assert main(words) == 2
    assert message in capsys.readouterr().err


def test_spice_of_our_parser_says_so(capsys, tmp_path):
    pytest.importorskip("spacy")
    path = tmp_path / "rows.jsonl"
    path.write_text('{"predictions": "a dog runs", "references": ["a dog"]}\n' * 2)
    assert (
        main(["score", "coco", str(path), "--without", "meteor", "--profile", "embedded", "--format", "markdown"]) == 0
    )
    assert "SPICE (own parser)" in capsys.readouterr().out


def test_results_without_annotations_are_told_of_them(files, capsys):
    assert main(["score", "coco", files["results"], "--without", TEXT_ONLY]) == 2
    told = capsys.readouterr().err
    assert "or pass the captions of each image with --annotations FILE" in told
    assert "--references caption" not in told  # it would compare captions with themselves


def test_a_distance_that_fails_costs_no_scores():
    pytest.importorskip("open_clip")
    from vlgauge import scenes

    rows = [
        {"predictions": one.sentences, "images": one.images(), "references": 3}
        for one in scenes.stories(2, seed=0, split="test")
    ]
    scored = vlgauge.score(rows, "stories", profile="embedded")
    assert list(scored.results) == ["groovist", "rovist"]
    assert "d_hm failed: " in repr(scored)


def test_a_distance_of_nothing_is_refused():
    rows = [{"predictions": ["a dog"], "references": ["a cat"]}] * 2
    with pytest.raises(UsageError, match="suite stories"):
        vlgauge.score(rows, "stories", without=["groovist", "rovist"])


def test_annotations_are_read_once_for_all_systems(files, monkeypatch):
    from vlgauge.cli import scoring

    read = []
    once = scoring.read_rows
    monkeypatch.setattr(scoring, "read_rows", lambda path: read.append(path) or once(path))
    words = ["compare", "coco", files["results"], files["others"], "--annotations", files["annotations"]]
    assert main([*words, "--without", TEXT_ONLY, "--resamples", "200"]) == 0
    assert read == [files["annotations"]]
