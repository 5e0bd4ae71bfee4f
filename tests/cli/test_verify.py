"""`vlgauge verify`: published and computed numbers, unchecked numbers with reasons, and the list of all tables."""

import dataclasses
import gzip
import importlib
import json
import re
import warnings

import numpy as np
import protocol_files as made
import pytest
from local_hub import COMMIT, FakeHub, be_online, serve
from PIL import Image
from protocol_tasks import evaluated
from tiny_clip import TINY, write_tiny

import vlgauge
from vlgauge import cli
from vlgauge.cli import main, verify
from vlgauge.models.clip.architectures import TABLE
from vlgauge.research.studies.published import list_published_tables, rows
from vlgauge.research.verification import Data, Tools

GOOD = {"one": "A red square .", "two": "A dog runs on the grass ."}
BAD = {"one": "Two cats sleep .", "two": "A bus ."}
KNOWN = {"one": ["A square that is red .", "Red square ."], "two": ["The dog runs over the grass ."]}


@pytest.fixture(autouse=True)
def few_documents():
    """Ignore the warning of CIDEr-D for a small number of rows."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "CIDEr-D takes document frequencies")
        yield


@pytest.fixture
def verified(capsys):
    """`verified(*words)`: exit code and record of the command."""

    def call(*words):
        code = main(["verify", *map(str, words), "--format", "json"])
        return code, json.loads(capsys.readouterr().out)

    return call


def write_example(folder):
    for name, content in (("good_captions", GOOD), ("bad_captions", BAD), ("refs", KNOWN)):
        (folder / "example").mkdir(parents=True, exist_ok=True)
        made.write(folder / "example" / f"{name}.json", content)
    (folder / "example" / "images").mkdir()
    for i, name in enumerate(GOOD):
        pixels = np.random.default_rng(i).integers(0, 255, (40, 50, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "example" / "images" / f"{name}.png")
    return folder


# -- no data ----------------------------------------------------------------------------------------------------------
@pytest.mark.usefixtures("no_sockets")
def test_without_data_and_network_every_row_says_what_is_missing(verified):
    code, record = verified()
    assert (code, record["compared"]) == (3, [])
    assert all(one["why"] and one["how"] for one in record["not_checked"])
    found = [(row["table"], row["row"], str(row["rules"])) for one in record["not_checked"] for row in one["rows"]]
    known = {"agreement", "FlickrStyle7K", "people", "ablations", "coco_systems", "rovist_c_stories"}
    wanted = [
        row
        for row in rows()
        if row.metric and row.backbone in (None, "ViT-B/32") and row.protocol.partition(",")[0] not in known
    ]
    wanted = [row for row in wanted if row.paper != "distribution"]
    assert sorted(found) == sorted((row.table, row.row, str(dict(row.rules))) for row in wanted)


@pytest.mark.usefixtures("no_sockets")
def test_weights_that_are_not_there_are_told_with_the_way_to_get_them(verified, tmp_path):
    code, record = verified("pac_s", "bleu", "--data", write_example(tmp_path))
    assert code == 1
    assert {one["metric"] for one in record["compared"]} == {"bleu_1", "bleu_4"}
    (lacking,) = [one for one in record["not_checked"] if "example" in one["rows"][0]["protocol"]]
    assert "open_clip_model.safetensors" in lacking["why"]
    assert "vlgauge prefetch pac_s" in lacking["how"]


# -- rows that require no weights -------------------------------------------------------------------------------------
def test_the_example_of_the_authors_code(verified, tmp_path):
    code, record = verified("bleu", "cider", "meteor", "--data", write_example(tmp_path))
    assert code == 1
    found = {(one["metric"], one["column"]): one for one in record["compared"]}
    good_cells = {"predictions": list(GOOD.values()), "references": list(KNOWN.values())}
    for column, captions in (("good captions", GOOD), ("bad captions", BAD)):
        cells = {"predictions": list(captions.values()), "references": list(KNOWN.values())}
        assert found["bleu_1", column]["ours"] == vlgauge.load("bleu").compute(**cells)["bleu_1"]
        assert found["cider", column]["ours"] == vlgauge.load("cider").compute(**cells)["cider"]
    good = found["cider", "good captions"]
    assert (good["published"], good["difference"]) == (1.4918, good["ours"] - 1.4918)
    assert good["verdict"].startswith("differs by ")
    assert found["meteor", "good captions"]["ours"] == vlgauge.load("meteor").compute(**good_cells)["meteor"]


def test_protocols_of_files_with_new_content(verified, tmp_path):
    made.write_flickr(tmp_path)
    made.write_crowd(tmp_path)
    code, record = verified("rouge_l", "length", "--data", tmp_path)
    assert code == 1
    found = {(one["table"], one["protocol"], one["column"]): one["ours"] for one in record["compared"]}
    from vlgauge.research.protocols import read_flickr8k_cf
    from vlgauge.research.protocols.scoring import metric_scores

    task = read_flickr8k_cf([tmp_path])
    (scores,) = metric_scores([vlgauge.load("rouge_l")], task.columns)
    expected = evaluated(task, scores.values, resamples=0).figures
    assert found["Table 1", "flickr8k_cf", "tau_b"] == expected["tau_b"].value
    assert ("README of aimagelab/pacscore", "flickr8k_expert", "tau_c") in found


def test_pascal_has_a_spread_as_its_references_are_drawn(verified, tmp_path):
    made.write_pascal(tmp_path)
    _, record = verified("length", "cider", "--data", tmp_path)
    length, cider = ([one for one in record["compared"] if one["metric"] == name] for name in ("length", "cider"))
    assert [one["column"] for one in length] == ["HC", "HI", "HM", "MM", "mean"]
    assert all(one["verdict"].startswith("not compared: the paper does not say") for one in length)
    assert cider[-1]["low"] <= cider[-1]["ours"] <= cider[-1]["high"]


def test_a_damaged_file_costs_its_own_rows_only(verified, tmp_path):
    (tmp_path / "flickr8k.json").write_text('{"1": {"image_path": 3}}')
    made.write_crowd(tmp_path)
    (tmp_path / "test.parquet").write_bytes(b"nothing")
    write_example(tmp_path / "more")
    (tmp_path / "more" / "example" / "refs.json").write_text('{"one": "text"}')
    _, record = verified("rouge_l", "--data", tmp_path)
    assert {one["protocol"] for one in record["compared"]} == {"flickr8k_cf"}
    whys = {one["rows"][0]["protocol"]: one["why"] for one in record["not_checked"]}
    assert "must have a string as 'image_path', got int" in whys["flickr8k_expert"]
    assert "Parquet" in whys["composite"]
    assert "must have a list as 'one', got str" in whys["example"]


def test_the_style_table(verified, tmp_path):
    for name, lines in (("humor/funny", ["a funny dog\r\n", "haha a cat\r\n"]), ("romantic/romantic", ["my love\r\n"])):
        path = tmp_path / f"{name}_train.txt"
        path.parent.mkdir()
        path.write_bytes("".join(lines).encode())
    code, record = verified("onlystyle", "--data", tmp_path)
    assert code == 1
    assert {one["column"]: one["ours"] for one in record["compared"]} == {"onlystyle": 1.0, "stylecider": 1.0}
    (lacking,) = record["not_checked"]
    assert lacking["why"] == "the paper does not state which of its parts were counted"


def test_stories_that_only_their_authors_have(verified, tmp_path):
    stories = [["We had a great time and had a great time.", "We slept."], ["One dog.", "Two dogs ran far."]]
    lines = [json.dumps({"id": i, "predictions": story}) for i, story in enumerate(stories)]
    (tmp_path / "rovist_nr_kg_story.jsonl").write_text("\n".join(lines))
    code, record = verified("rovist_nr", "--data", tmp_path)
    assert code == 1
    (found,) = record["compared"]
    assert found["ours"] == vlgauge.load("rovist_nr").compute(predictions=stories)["rovist_nr"]
    code, record = verified("rovist_nr", "--data", tmp_path, "--set", "rovist_nr.n=9")
    assert record["compared"][0]["ours"] != found["ours"]


# -- real data, if available ------------------------------------------------------------------------------------------
def test_the_demo_of_the_caption_evaluation_is_met(verified, shared_folder, tmp_path):
    given = json.loads(gzip.decompress((shared_folder / "oracles" / "coco_fakecap.json.gz").read_bytes()))
    known = zip(given["ids"], given["references"], strict=True)
    told = [{"image_id": image, "caption": text} for image, texts in known for text in texts]
    made.write(tmp_path / "captions_val2014.json", {"annotations": told})
    results = zip(given["ids"], given["candidates"], strict=True)
    results = [{"image_id": image, "caption": caption} for image, caption in results]
    made.write(tmp_path / "captions_val2014_fakecap_results.json", results)
    _, record = verified("bleu", "rouge_l", "cider", "--data", tmp_path)
    found = {one["metric"]: one["verdict"] for one in record["compared"]}
    assert found == {"bleu_4": "same", "rouge_l": "same", "cider": "same"}


def test_published_stories_have_their_published_scores(verified, shared_folder, tmp_path, monkeypatch):
    pytest.importorskip("nltk")
    monkeypatch.setenv("NLTK_DATA", str(shared_folder / "data" / "nltk_data"))
    path = shared_folder / "oracles" / "groovist_rovist" / "shared_only" / "d_hm_published_sample.json"
    monkeypatch.setattr("nltk.data.path", [str(shared_folder / "data" / "nltk_data")])
    given = json.loads(path.read_text("utf-8"))["stories"]
    for corpus in ("vist", "vwp"):
        for stem in ("gt_test", "llava_vc_p3"):
            own = {
                name.split("/", 2)[2]: story for name, story in given.items() if name.startswith(f"{corpus}/{stem}/")
            }
            own = {name: story for name, story in own.items() if story["published_R"] is not None}
            for kind in ("stories", "scores"):
                (tmp_path / kind / corpus).mkdir(parents=True, exist_ok=True)
            made.write(
                tmp_path / "stories" / corpus / f"{stem}.json", {name: one["story"] for name, one in own.items()}
            )
            lines = [f"{name},{one['published_R']!r}" for name, one in own.items()]
            (tmp_path / "scores" / corpus / f"{stem}_R.csv").write_text(
                "\n".join(["story_id,R_score", *lines]), "utf-8"
            )
    _, record = verified("rovist_nr", "--data", tmp_path)
    gaps = [one["ours"] for one in record["compared"] if one["column"] == "largest gap"]
    assert len(gaps) == 4
    assert max(gaps) < 1e-12


def test_the_real_ratings_of_flickr8k_are_met(verified, shared_folder):
    folder = shared_folder / "data" / "fleur"
    if not (folder / "annotations" / "flickr8k.json").is_file():
        pytest.skip(f"FLEUR's annotations are not in {folder}")
    _, record = verified("bleu", "rouge_l", "cider", "--data", folder)
    found = [one for one in record["compared"] if one["protocol"] == "flickr8k_expert"]
    assert len(found) == 16
    assert {one["verdict"].partition(":")[0] for one in found} == {"same", "within 0.03"}
    assert all(one["verdict"] == "same" for one in found if one["table"] == "Table 1")


# -- weights from a Hub -----------------------------------------------------------------------------------------------
def test_weights_are_fetched_and_their_numbers_compared(verified, tmp_path, monkeypatch):
    FakeHub.content = write_tiny(tmp_path).read_bytes()
    here = {"repository": "me/my.detector", "revision": COMMIT, "files": ("weights/small.safetensors",)}
    monkeypatch.setitem(TABLE, "ViT-B/32", dataclasses.replace(TINY, name="ViT-B/32", **here))
    server, address = serve(FakeHub)
    be_online(monkeypatch, address, tmp_path / "cache")
    data = write_example(tmp_path / "data")
    try:
        code, record = verified("clip_s", "--data", data)
    finally:
        server.shutdown()
        server.server_close()
    assert code == 1
    found = {(one["metric"], one["column"]): one["ours"] for one in record["compared"]}
    images = [str(data / "example" / "images" / f"{name}.png") for name in GOOD]
    cells = {"predictions": list(GOOD.values()), "references": list(KNOWN.values()), "images": images}
    expected = vlgauge.load("clip_s", weights=write_tiny(tmp_path)).compute(**cells)
    for family in ("clip_s", "ref_clip_s"):
        assert found[family, "good captions"] == pytest.approx(expected[family], abs=1e-5)
        assert (family, "bad captions") in found


# -- output -----------------------------------------------------------------------------------------------------------
def test_text_and_markdown(capsys, tmp_path):
    write_example(tmp_path)
    assert main(["verify", "bleu", "--data", str(tmp_path), "--output", str(tmp_path / "all.json")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["published", "in"]
    assert lines[2].startswith("Sarto et al., 2023, README of aimagelab/pacscore  BLEU-1 (example)")
    told = [line for line in lines if line.startswith("not checked: Sarto et al., 2023, Table ")]
    assert any("Table 6, references 4: bleu_1, bleu_4 (" in line for line in told)
    assert len(set(told)) == len(told)
    assert lines[-1].endswith(" were not checked")
    assert set(json.loads((tmp_path / "all.json").read_text("utf-8"))) == {"compared", "not_checked"}
    assert main(["verify", "bleu", "--data", str(tmp_path), "--format", "markdown"]) == 1
    assert "| not checked | numbers | why | how to get it |" in capsys.readouterr().out


def test_exit_code_of_what_is_met(verified, tmp_path, monkeypatch):
    write_example(tmp_path)
    kept = [row for row in rows() if row.protocol == "example" and row.metric == "rouge_l"]
    cells = ({"predictions": list(one.values()), "references": list(KNOWN.values())} for one in (GOOD, BAD))
    good, bad = (round(vlgauge.load("rouge_l").compute(**own)["rouge_l"], 4) for own in cells)
    same = [dataclasses.replace(row, values={"good captions": good, "bad captions": bad}) for row in kept]
    monkeypatch.setattr("vlgauge.research.verification.findings.rows", lambda: same)
    code, record = verified("rouge_l", "--data", tmp_path)
    assert (code, record["not_checked"]) == (0, [])
    assert [one["verdict"] for one in record["compared"]] == ["same", "same"]
    code, record = verified("cider", "--data", tmp_path)
    assert (code, record) == (3, {"compared": [], "not_checked": []})


def test_list_has_every_item_with_its_command_data_values_and_reason(capsys):
    assert main(["verify", "--list", "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)["tables"]
    assert [(one["paper"], one["table"]) for one in listed] == [
        (one.paper, one.table) for one in list_published_tables()
    ]
    table = next(one for one in listed if (one["paper"], one["table"]) == ("pac_s", "Table 5"))
    assert table["published"][0] == "CLIP-S, ViT-B/32 (abstract50s, references 5) accuracy 68.2"
    assert main(["verify", "--list", "--format", "markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| paper | table or figure | about | command | needs | published | checked | why |"
    assert len(lines) == 2 + len(list_published_tables())
    assert main(["verify", "--list", "d_hm", "rovist_c"]) == 0
    items = capsys.readouterr().out.split("\n\n")
    assert len(items) == 3
    assert all("\n  checked: " in item for item in items)
    assert main(["verify", "--list"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) < 300


def test_a_command_that_is_not_there_yet_is_marked(capsys):
    main(["verify", "--list", "--format", "json"])
    for one in list_published_tables():
        shown = verify._command(one)
        unknown = [word for word in ("agreement", "study") if f"vlgauge {word} " in f"{one.command} "]
        assert all((f"({word} is to come)" in shown) == (word not in cli.COMMANDS) for word in unknown)
        assert ("is to come" in shown) <= bool(unknown)


def options_of(parser):
    """Return the options of a command and of its experiments."""
    found = set(parser._option_string_actions)
    for action in parser._actions:
        for inner in (action.choices or {}).values() if isinstance(action.choices, dict) else ():
            found |= options_of(inner) if hasattr(inner, "_actions") else set()
    return found


def test_listed_commands_have_their_options():
    """Check that the commands in the list can be called."""
    known: dict = {}
    for one in list_published_tables():
        for name, words in re.findall(r"vlgauge ([a-z-]+)([^;]*)", one.command or ""):
            if name not in cli.COMMANDS:
                continue
            if name not in known:
                module, _, function = cli.COMMANDS[name][0].partition(":")
                parser = cli.OneLineParser()
                getattr(importlib.import_module(f"vlgauge.cli.{module}"), function or "add_options")(parser)
                known[name] = options_of(parser)
            assert set(re.findall(r"(?<= )--?[a-z][a-z-]*", words)) <= known[name], one.command


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pac",), "METRIC must be the name of a metric, or length, got 'pac'; did you mean `pac_s`?"),
        (("--data", "nowhere"), "the folder of the data must exist, got 'nowhere'"),
        (("--images", "nowhere"), "the folder of the data must exist, got 'nowhere'"),
        (("--set", "nothing=1"), "--set must name a setting of"),
        (("--output", "nowhere/a.json"), "--output must be a file in an existing folder"),
    ],
)
def test_refusals(capsys, words, message):
    assert main(["verify", *words]) == 2
    assert message in capsys.readouterr().err


def test_files_are_found_by_the_end_of_their_path(tmp_path):
    for name in ("b/vist/x.json", "a/vwp/x.json", "vist/x.json"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    data = Data([tmp_path])
    assert data.find("vist/x.json") == tmp_path / "vist" / "x.json"
    assert data.find("vwp/x.json") == tmp_path / "a" / "vwp" / "x.json"
    assert data.find("st/x.json") is None
    with pytest.raises(FileNotFoundError, match=r"y\.json.*z\.json"):
        data.all_of(["y.json", "x.json", "z.json"])


def test_rows_of_another_backbone():
    tools = Tools(vlgauge.load, ["pac_s"], "RN50")
    assert {row.table for row in tools.select_rows("flickr8k_cf")} == {"Table 11"}
