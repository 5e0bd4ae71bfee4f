"""`vlgauge protocol`: data and scores as input, one row of a table as output."""

import importlib
import json
import re

import numpy as np
import protocol_files as made
import pytest
from folders import ROOT
from protocol_tasks import evaluated

import vlgauge
from vlgauge import scenes
from vlgauge.cli import main, protocol, protocol_tables
from vlgauge.core.files import DATA
from vlgauge.core.results import to_json
from vlgauge.research.protocols import PROTOCOLS, flickr8k, hallucination, read_flickr8k_expert
from vlgauge.research.protocols.scoring import metric_scores

pytestmark = pytest.mark.usefixtures("no_sockets")


def test_help_says_what_the_files_of_each_protocol_hold(capsys):
    layouts = (DATA / "protocol_layouts.txt").read_text("utf-8")
    paragraphs = [paragraph.split() for paragraph in re.split(r"^  (?=\S)", layouts, flags=re.MULTILINE)[1:]]
    assert [words[0] for words in paragraphs] == protocol.NAMES
    for name, *words in paragraphs:
        module = "flickr8k" if name.startswith("flickr8k") else name
        module = "hallucination" if name in ("hat", "nocaps_foil") else module
        module = "polaris" if name == "nebula" else module
        reader = importlib.import_module(f"vlgauge.research.protocols.{module}")
        files = {value for key, value in vars(reader).items() if key.endswith("_FILE")}
        other = {"flickr8k_expert": flickr8k.CF_FILE, "flickr8k_cf": flickr8k.EXPERT_FILE}
        other |= {"hat": hallucination.NOCAPS_FILE, "nocaps_foil": hallucination.HAT_FILE}
        other |= {"polaris": "nebula_test.csv", "nebula": "polaris_test.csv"}
        assert all(file in " ".join(words) for file in files - {other.get(name)}), name
    with pytest.raises(SystemExit):
        main(["protocol", "--help"])
    assert layouts in capsys.readouterr().out
    page = (ROOT / "docs/howto/published_experiments.md").read_text("utf-8")
    assert all(f"`{name}`" in page for name in protocol.NAMES)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Return a folder with Flickr8k-Expert and FOIL of synthetic scenes, and rating 4 for correct captions.

    A caption with a wrong color is rated 2, and a caption of another scene is rated 1.
    """
    folder = tmp_path_factory.mktemp("drawn")
    shown = scenes.scenes(8, seed=5, split="test")
    content, foil, coco = {}, {"images": [], "annotations": []}, []
    for i, scene in enumerate(shown):
        scenes.draw_scene(scene).image.save(folder / f"{i}.png")
        captions = scenes.captions(scene, seed=i, n=4)
        wrong = scenes.captions(scenes.change_fact(scene, "colour", seed=i), seed=i)[0]
        other = scenes.captions(shown[(i + 1) % len(shown)], seed=i)[0]
        judged = [(captions[0], 4), (captions[0], 4), (wrong, 2), (other, 1)]
        judgements = [{"caption": caption, "rating": rating} for caption, rating in judged]
        content[str(i)] = {"image_path": f"{i}.png", "ground_truth": captions[1:], "human_judgement": judgements}
        foil["images"].append({"id": i, "file_name": f"{i}.png"})
        common = {"id": i, "image_id": i}
        foil["annotations"] += [
            {**common, "caption": captions[0], "foil": False},
            {**common, "caption": other, "foil": True},
        ]
        coco += [{"image_id": i, "caption": caption} for caption in captions]
    made.write(folder / "flickr8k.json", content)
    made.write(folder / "foilv1.0_test_2017.json", foil)
    made.write(folder / "captions_val2014.json", {"annotations": coco})
    return folder


def output_of(capsys, *words):
    assert main(["protocol", *map(str, words)]) == 0
    return capsys.readouterr().out


def record_of(capsys, *words):
    return json.loads(output_of(capsys, *words, "--format", "json"))


def error_of(capsys, *words):
    assert main(["protocol", *map(str, words)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err


def test_names_are_those_of_the_package(capsys):
    assert ", ".join(PROTOCOLS) in error_in_options(capsys)


def error_in_options(capsys):
    with pytest.raises(SystemExit):
        main(["protocol", "none", "FILE"])
    return capsys.readouterr().err.replace("'", "")


# -- scores from files ------------------------------------------------------------------------------------------------
def test_one_row_with_intervals_and_signature(here, capsys):
    made.write_flickr(here)
    (here / "mine.txt").write_text("0.7\n0.7\n0.1\n0.2\nnull\n")
    out = output_of(capsys, "flickr8k_expert", "flickr8k.json", "--scores", "mine.txt", "--resamples", 50)
    lines = out.splitlines()
    assert lines[0].split() == ["metric", "tau_b", "tau_c", "rows", "images", "undefined"]
    row = r"mine +\d+\.\d\d( \[-?\d+\.\d, -?\d+\.\d\])? +\d+\.\d\d( \[.*\])? +4 +2 +1"
    assert re.fullmatch(row, lines[2])
    assert "left out: 1 ratings that are NaN" in lines
    assert "mine: 1 rows have no score and do not count" in lines
    assert lines[-1] == "flickr8k_expert|v:0.1.0|references:all|ratings:rows|level:0.95|resamples:50|seed:0"


SCORES = [0.7, 0.6, 0.1, 0.2, None]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(SCORES),
        json.dumps({"pac_s": 0.4, "pac_s_scores": SCORES, "pac_s_signature": "pac_s|made"}),
        "".join(json.dumps({"id": i, "score": score}) + "\n" for i, score in enumerate(SCORES)),
        "0.7\n\n0.6\r\n0.1\n0.2\nNaN",
    ],
)
def test_forms_of_scores(here, capsys, text):
    made.write_flickr(here)
    (here / "pac_s.json").write_text(text, "utf-8")
    record = record_of(capsys, "flickr8k_expert", here, "--scores", "pac_s.json", "--resamples", 0)["pac_s"]
    expected = evaluated(read_flickr8k_expert([here]), SCORES, resamples=0)
    assert record["figures"]["tau_b"]["value"] == expected.figures["tau_b"].value
    assert record["figures"]["tau_b"]["low"] is None
    assert (record["n"], record["n_groups"], record["undefined"]) == (4, 2, 1)
    assert record["scores"] == SCORES


def test_rules_reach_the_reader(here, capsys):
    made.write_pascal(here)
    (here / "s.json").write_text(json.dumps([1, 1, 2, 1, 2, 1, 1, 1]))
    words = ("pascal50s", here, "--references", "none", "--scores", "s.json", "--resamples", 0)
    wrong = record_of(capsys, *words)["s"]["figures"]
    assert {kind: figure["value"] for kind, figure in wrong.items()} == {
        **{"HC": 0.0, "HI": 100.0, "HM": 50.0, "MM": 0.0},
        "mean": 37.5,
    }
    half = record_of(capsys, *words, "--score-ties", "half")["s"]
    assert half["figures"]["HC"]["value"] == 50.0
    assert "|references:0|draws:fixed|votes:half|ties:half|" in half["signature"]
    drawn = record_of(capsys, *words, "--vote-ties", "random", "--seed", 1)["s"]
    assert drawn["figures"]["HM"]["value"] in (0.0, 100.0)
    assert "|votes:random|ties:wrong|choice_seed:1|" in drawn["signature"]


def test_rows_can_be_written_and_scored_elsewhere(here, capsys):
    made.write_foil(here)
    assert output_of(capsys, "foil", here, "--write-rows", "rows.jsonl", "--references", 1) == ""
    rows = [json.loads(line) for line in (here / "rows.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 6
    assert rows[0]["references"] == ["One dog."]
    assert rows[0]["images"].endswith("COCO_val2014_000000000007.jpg")


def test_output_is_written(here, capsys):
    made.write_crowd(here)
    (here / "s.json").write_text("[1, 2, 3]")
    words = ("flickr8k_cf", here, "--scores", "s.json", "--resamples", 0)
    output_of(capsys, *words, "--output", "out.json")
    assert json.loads((here / "out.json").read_text("utf-8")) == record_of(capsys, *words)


# -- a metric ---------------------------------------------------------------------------------------------------------
def test_metric_on_drawn_images(drawn, here, capsys):
    words = ("flickr8k_expert", drawn, "--metric", "clip_s", "--profile", "embedded", "--resamples", 39)
    out = output_of(capsys, *words, "--output", "out.json")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["clip_s", "ref_clip_s"]
    assert all("(embedded)" in line for line in lines[2:4])
    assert protocol_tables.EMBEDDED in lines
    assert any(line.startswith("clip_s|v:0.1.0|profile:embedded|enc:vlgauge-toy-clip@") for line in lines)
    record = json.loads((here / "out.json").read_text("utf-8"))
    task = read_flickr8k_expert([drawn])
    result = vlgauge.load("clip_s", profile="embedded").compute(**task.columns)
    for name in ("clip_s", "ref_clip_s"):
        assert record[name]["scores"] == pytest.approx(result[f"{name}_scores"], abs=1e-6)
        expected = evaluated(task, record[name]["scores"], resamples=39)
        assert record[name]["figures"] == json.loads(to_json(expected.figures))
        assert (record[name]["n"], record[name]["n_groups"]) == (32, 8)
    family = {"clip_s_scores": record["clip_s"]["scores"], "clip_s_signature": record["clip_s"]["scores_signature"]}
    made.write(here / "scores.json", family)
    again = output_of(capsys, "flickr8k_expert", drawn, "--scores", "scores.json", "--resamples", 39)
    assert again.splitlines()[2].split() == lines[2].split()
    assert protocol_tables.EMBEDDED in again


def test_foils_of_drawn_images_with_a_setting(drawn, here, capsys):
    words = ("foil", drawn, "--metric", "clip_s", "--profile", "embedded", "--set", "w=2", "--references", "none")
    record = record_of(capsys, *words)
    assert set(record) == {"clip_s", "differences", "left_out", "unscored"}
    scores = record["clip_s"]["scores"]
    won = [right > foil for right, foil in zip(scores[::2], scores[1::2], strict=True)]
    assert record["clip_s"]["figures"]["accuracy"]["value"] == 100 * sum(won) / 8
    assert "|w:2|" in record["clip_s"]["scores_signature"]


def test_videos(here, capsys):
    from small_videos import write_video

    made.write_vatex(here)
    for name in ("v1", "v2"):
        write_video(here / f"{name}.mp4", n_frames=12)
    made.write(here / "vatex_train_en_annotations.json", {"x": ["A man.", "A dog runs fast."]})
    words = ("vatex_eval", here, "--metric", "clip_s", "--profile", "embedded", "--references", 2, "--resamples", 0)
    words = [*words, "--idf", "vatex_train_en_annotations.json"]
    record = record_of(capsys, *words)
    assert list(record["clip_s"]["figures"]) == ["tau_b", "spearman"]
    assert "|config:video|" in record["clip_s"]["scores_signature"]
    assert "|idf:list@" in record["clip_s"]["scores_signature"]
    assert "|frames:10|" in record["clip_s"]["scores_signature"]
    (here / "v2.mp4").unlink()
    assert "1 of 3 are missing, such as " in error_of(capsys, *words)
    holes = record_of(capsys, *words, "--missing", "nan")
    assert (holes["clip_s"]["undefined"], holes["clip_s"]["scores"][1]) == (1, None)
    assert holes["clip_s"]["scores"][0] == pytest.approx(record["clip_s"]["scores"][0], abs=1e-6)


def test_segments_of_videos(here, capsys):
    from small_videos import write_video

    made.write_activitynet(here)
    for name in ("v_a", "v_b"):
        write_video(here / f"{name}.mp4", n_frames=200)
    words = ("activitynet_foil", here, "--metric", "clip_s", "--profile", "embedded", "--resamples", 39)
    record = record_of(capsys, *words)
    assert record["clip_s"]["n"] == record["ref_clip_s"]["n"] == 2
    assert None not in record["clip_s"]["scores"]


# -- errors -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "one of --metric, --baselines, --scores and --write-rows is required"),
        (
            ("--metric", "pac_s", "--scores", "s.json"),
            "--metric and --baselines cannot be combined with --scores",
        ),
        (("--scores", "s.json", "--set", "w=2"), "--set, --profile and --idf require --metric"),
        (("--metric", "pac"), "`name` must be one of the installed metrics"),
        (("--metric", "pac_s,clip_s,pac_s"), "METRIC must have each name once, got 'pac_s' more than once"),
        (("--metric", "length,cider,length"), "METRIC must have each name once, got 'length' more than once"),
        (("--metric", ","), "METRIC must be one or more names, separated by commas, got ''"),
        (("--metric", "cider", "--idf", "f"), "--idf requires a metric that weighs words, got cider"),
        (("--metric", "cider", "--against", "meteor"), "--against must be one of cider, got 'meteor'"),
        (
            ("--metric", "length,bleu,clip_s", "--against", "bleu"),
            "one of length, bleu_1, bleu_4, clip_s, ref_clip_s, got",
        ),
        (("--scores", "five.json", "--against", "six"), "--against must be one of five, got 'six'"),
        (("--metric", "cider", "--plot", "p.svg"), "--plot requires --references of several numbers"),
        (("--scores", "s.json", "--references", "1,2"), "--scores requires --references of one number"),
        (("--metric", "cider", "--average", "--unanimous"), "`average` cannot be combined with `unanimous`"),
        (("--metric", "pac_s", "--profile", "embedded"), "5 of 5 are missing, such as"),
        (
            ("--metric", "onlystyle"),
            "METRIC must score predictions, images, references, got onlystyle, which",
        ),
        (("--metric", "trm"), "METRIC must be a metric for which higher is better, got trm"),
        (("--metric", "pac_s", "--set", "idf=auto", "--idf", "flickr8k.json"), "--idf cannot be combined with --set"),
        (("--metric", "pac_s", "--idf", "flickr8k.json"), "must have a list of texts, or one as 'sentences', for '1'"),
        (
            ("--scores", "s.json", "--vote-ties", "half"),
            "--vote-ties is not supported for flickr8k_expert, which has --",
        ),
        (
            ("--scores", "s.json", "--videos", "."),
            "--videos is not supported for flickr8k_expert, which has --images, ",
        ),
        (("--scores", "s.json"), "`scores` must have one score per row of the protocol, 5, got 2"),
        (("--scores", "words.txt"), "must have a number or an object with 'score' in line 2, got 'good'"),
        (("--scores", "none.json"), "must have a key of scores that ends in _scores, got pac_s"),
        (("--scores", "texts.json"), "got 'a' in row '1'"),
        (("--scores", "missing.json"), "missing.json: No such file or directory"),
        (("--scores", "s.json", "--output", "no/out.json"), "--output must be a file in an existing folder"),
        (("--scores", "s.json", "--output", "s.json"), "--output must be a different file from FILE"),
        (("--write-rows", "flickr8k.json"), "--write-rows must be a different file from FILE"),
        (("--scores", "s.json", "--images", "no"), "the folder of images or videos must exist, got 'no'"),
    ],
)
def test_refusals(here, capsys, words, message):
    made.write_flickr(here)
    (here / "s.json").write_text("[1, 2]")
    (here / "five.json").write_text("[1, 2, 3, 4, 5]")
    (here / "words.txt").write_text("1\ngood\n")
    (here / "none.json").write_text('{"pac_s": 1}')
    (here / "texts.json").write_text('[1, "a"]')
    assert message in error_of(capsys, "flickr8k_expert", "flickr8k.json", *words)


def test_unknown_name_and_numbers(here, capsys):
    for words, message in (
        (("coco", "x.json"), "invalid choice: 'coco'"),
        (
            ("foil", "x.json", "--references", "few"),
            "argument --references: must be an integer, all or none, got 'few'",
        ),
        (("foil", "x.json", "--references", "1,all,1"), "must have each number once, got '1,all,1'"),
        (("pascal50s", "x", "--draws", "some"), "argument --draws: must be an integer or fixed, got 'some'"),
    ):
        with pytest.raises(SystemExit):
            main(["protocol", *words])
        assert message in capsys.readouterr().err


def test_embedded_images_are_not_written_as_rows(here, capsys):
    import pyarrow as pa
    import pyarrow.parquet as pq

    row = {"mt": "A dog.", "refs": ["x"], "score": 3.0, "imgid": "1", "img": {"bytes": b"picture", "path": "1.jpg"}}
    pq.write_table(pa.Table.from_pylist([row]), here / "c.parquet")
    message = "--write-rows is not supported if DATA contains the images"
    assert message in error_of(capsys, "composite", "c.parquet", "--write-rows", "rows.jsonl")


def test_missing_must_be_known():
    with pytest.raises(ValueError, match="`missing` must be"):
        metric_scores([], {}, missing="skip")


def test_rows_are_scored_in_their_order(here):
    class Length:
        name, higher_is_better, columns = "length", True, ()

        def compute(self, **columns):
            return {"length_scores": [float(len(text)) for text in columns["predictions"]]}

    from vlgauge.families.base.columns import Text

    Length.columns = (Text("predictions"),)
    texts = ["a", "bbb", "cc"]
    (found,) = metric_scores([Length()], {"predictions": texts, "images": ["no.png"] * 3})
    assert (found.name, found.values, found.signature) == ("length", [1.0, 3.0, 2.0], "")
    assert np.argsort(found.values).tolist() == [0, 2, 1]
