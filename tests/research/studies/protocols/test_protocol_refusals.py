"""Errors of the readers of the evaluation protocols: one sentence each, with file and position."""

import copy
import json
import math

import numpy as np
import protocol_files as made
import pytest
from scipy.io import savemat

from vlgauge.research.protocols import PROTOCOLS, read_foil
from vlgauge.research.protocols.corpora import read_corpus
from vlgauge.research.protocols.files import Folder, texts

pytestmark = pytest.mark.usefixtures("no_sockets")


def changed(content, *path_and_value):
    """Return a copy with one entry changed, or removed if the value is Ellipsis."""
    *path, key, value = path_and_value
    found = copy.deepcopy(content)
    inner = found
    for step in path:
        inner = inner[step]
    if value is ...:
        del inner[key]
    else:
        inner[key] = value
    return found


def refusal(name, files, **rules):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        PROTOCOLS[name](files, **rules)
    message = str(caught.value)
    assert "\n" not in message
    return message


FIRST_RATING = ("1", "human_judgement", 0, "rating")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "`{path}` must contain a JSON object, got list"),
        (changed(made.FLICKR, "1", ...), None),
        (changed(made.FLICKR, "1", 5), "`{path}`, '1', must have 'image_path', got int"),
        (changed(made.FLICKR, "1", "ground_truth", ...), "must have 'ground_truth', got image_path, human_judgement"),
        (changed(made.FLICKR, "1", "ground_truth", "a"), "'1', must have a list as 'ground_truth', got str"),
        (changed(made.FLICKR, "1", "ground_truth", [1]), "'ground_truth' of `{path}`, '1', must be a list of strings"),
        (changed(made.FLICKR, *FIRST_RATING, "3"), "'1', must have a number as 'rating', got str"),
        (changed(made.FLICKR, *FIRST_RATING, True), "'1', must have a number as 'rating', got bool"),
        (changed(made.FLICKR, "1", "image_path", "/"), "an image or video of the dataset must have a name, got '/'"),
    ],
)
def test_flickr(tmp_path, content, message):
    path = made.write(tmp_path / "flickr8k.json", content)
    if message is None:
        assert len(PROTOCOLS["flickr8k_expert"]([path]).columns["predictions"]) == 2
    else:
        assert message.format(path=path) in refusal("flickr8k_expert", [path])


def test_crowd_has_shares(tmp_path):
    path = made.write(tmp_path / "c.json", changed(made.CROWD, "1.jpg", "human_judgement", 0, "rating", 3.0))
    assert "must have shares from 0 to 1 as ratings, got 3.0 for '1.jpg'" in refusal("flickr8k_cf", [path])


def test_files(tmp_path):
    path = made.write_flickr(tmp_path)
    assert refusal("foil", [path]).startswith("DATA must be foilv1.0_test_2017.json, captions_val2014.json, or folders")
    (tmp_path / "empty").mkdir()
    message = refusal("foil", [tmp_path / "empty"])
    assert message.endswith("empty without foilv1.0_test_2017.json, captions_val2014.json")
    assert "DATA must have flickr8k.json, got" in refusal("flickr8k_expert", [tmp_path / "empty"])
    assert "DATA must be flickr8k.json, or" in refusal("flickr8k_expert", [path, tmp_path / "other.json"])
    (tmp_path / "text.json").write_text("{not json", "utf-8")
    assert "text.json` must contain JSON, got " in refusal("flickr8k_cf", [tmp_path / "text.json"])
    assert "folder of images or videos must exist, got '" in refusal("flickr8k_expert", [path], images=tmp_path / "no")
    assert "`references` must be an integer of at least 0" in refusal("flickr8k_expert", [path], references=-1)
    made.write(tmp_path / "no_rows.json", {})
    for name in ("flickr8k_expert", "flickr8k_cf", "pascal50s"):
        assert refusal(name, [tmp_path / "no_rows.json"]) == "DATA must have at least one row, got none"
    (tmp_path / "no_rows.jsonl").write_text("", "utf-8")
    for name in ("composite", "polaris", "sdci"):
        assert refusal(name, [tmp_path / "no_rows.jsonl"]).startswith("DATA must have at least one row, got none")
    with pytest.raises(FileNotFoundError):
        PROTOCOLS["flickr8k_expert"]([tmp_path / "missing.json"])
    with pytest.raises(ValueError, match="list of strings"):
        texts("text", "x")
    with pytest.raises(ValueError, match="got ''"):
        Folder(None, path).image("")


COMPOSITE = {"mt": "A dog.", "refs": ["x"], "score": 3, "imgid": "1"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (changed(COMPOSITE, "mt", ...), "row 0 of `{path}` must have 'mt', got refs, score, imgid"),
        (changed(COMPOSITE, "score", "good"), "row 0 of `{path}` must have a number as 'score', got 'good'"),
        (changed(COMPOSITE, "score", None), "must have a number or a string as 'score', got NoneType"),
        (changed(COMPOSITE, "refs", "__import__('os')"), "'refs' of row 0 of `{path}` must be a list of strings"),
        (changed(COMPOSITE, "refs", "[1]"), "'refs' of row 0 of `{path}` must be a list of strings"),
        (changed(COMPOSITE, "imgid", 1.5), "must have a string or a number as 'imgid', got float"),
    ],
)
def test_composite(tmp_path, row, message):
    path = made.write(tmp_path / "c.json", [row])
    assert message.format(path=path) in refusal("composite", [path])


# -- FOIL -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("path_and_value", "message"),
    [
        (("annotations", 0, "foil", "no"), "annotation 70 of `{path}` must have true or false as 'foil', got str"),
        (("annotations", 0, "foil", True), "annotation 70 of `{path}` must have one original, got 0"),
        (("annotations", 2, "foil", False), "annotation 70 of `{path}` must have one original, got 2"),
        (("annotations", 0, "image_id", 9), "`{path}` must list image 9 of annotation 70, got no such image"),
        (("images", 0, "id", [1]), "an image of `{path}` must have a number or a string as 'id', got list"),
    ],
)
def test_foil(tmp_path, path_and_value, message):
    made.write_foil(tmp_path)
    path = made.write(tmp_path / "foilv1.0_test_2017.json", changed(made.FOIL, *path_and_value))
    assert message.format(path=path) in refusal("foil", [tmp_path])


def test_foil_of_coco_without_captions(tmp_path):
    made.write_foil(tmp_path)
    made.write(tmp_path / "captions_val2014.json", {"annotations": [{"image_id": 7}]})
    assert "must have 'caption', got image_id" in refusal("foil", [tmp_path])
    assert read_foil([tmp_path], references=0).groups == ["7", "7", "8"]


# -- Pascal-50S, Abstract-50S -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"draws": 0}, "`draws` must be at least 1, or 'fixed' for the first references, got 0"),
        ({"draws": "all"}, "`draws` must be at least 1, or 'fixed'"),
        ({"references": 49}, "`references` must be at most 48, as many as pair 0 has, got 49"),
        ({"references": -1}, "`references` must be an integer of at least 0"),
        ({"vote_ties": "a"}, "`vote_ties` must be"),
        ({"score_ties": "first"}, "`score_ties` must be"),
    ],
)
@pytest.mark.parametrize("name", ["pascal50s", "abstract50s"])
def test_rules_of_votes(tmp_path, name, rules, message):
    {"pascal50s": made.write_pascal, "abstract50s": made.write_abstract}[name](tmp_path, made.PASCAL[:1])
    assert message in refusal(name, [tmp_path], **rules)


def rewritten(triplets, place, field, value):
    triplets[0, place][field] = value
    return triplets


@pytest.mark.parametrize(
    ("triplets", "message"),
    [
        (made.triplets()[:, :50], "must have 48 votes for each pair, got 50 votes"),
        (made.triplets()[:, :0], "must have 48 votes for each pair, got 0 votes"),
        (
            made.structures([("r", "b", 1.0)] * 48, "ABw"),
            "pair 0 of `{path}` must have reference, two captions and a vote, got 3",
        ),
        (rewritten(made.triplets(), 49, "w", 0.0), "pair 1 of `{path}` must have 1 or -1 as vote, got 0"),
        (rewritten(made.triplets(), 49, "w", "x"), "pair 1 of `{path}` must be a number, got a string"),
        (rewritten(made.triplets(), 1, "A", 3.0), "pair 0 of `{path}` must be a string, got "),
        (rewritten(made.triplets(), 1, "B", "other"), "must have the same two captions in its 48 votes, got 2 pairs"),
    ],
)
def test_votes(tmp_path, triplets, message):
    made.write_pascal(tmp_path)
    savemat(tmp_path / "consensus_pascal.mat", {"triplets": triplets})
    assert message.format(path=tmp_path / "consensus_pascal.mat") in refusal("pascal50s", [tmp_path])


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ({"category": np.array([[1.0, 2, 3]])}, "must have the same pairs and kinds, got 4, 3 and 4"),
        ({"category": np.array([[1.0, 2, 3, 5]])}, "pair 3 of `{path}` must have a category from 1 to 4, got 5"),
        (
            {"new_input": made.structures([row[1:3] for row in made.PASCAL], "bc")},
            "pair 0 of `{path}` must have image and two captions, got 2 fields",
        ),
        (
            {"new_input": made.structures([("i", "x", "y")] * 4, "abc")},
            "pair 0 of `{path}` must have the captions of the votes, got ('x', 'y') and ('A dog.', 'Dog runs.')",
        ),
    ],
)
def test_pairs_of_pascal(tmp_path, pairs, message):
    made.write_pascal(tmp_path, **pairs)
    assert message.format(path=tmp_path / "pair_pascal.mat") in refusal("pascal50s", [tmp_path])


@pytest.mark.parametrize(
    ("path_and_value", "message"),
    [
        (("HC", 0, "label", 2), "'HC'[0] of `{path}` must have two captions and label 0 or 1, got 2 and 2"),
        (("HC", 0, "captions", ["c"]), "'HC'[0] of `{path}` must have two captions and label 0 or 1, got 1 and 0"),
        (("MM", 0, "image", ...), "'MM'[0] of `{path}` must have 'image', got captions, label, references"),
    ],
)
def test_fleur(tmp_path, path_and_value, message):
    path = made.write(tmp_path / "pascal_50s.json", changed(made.FLEUR, *path_and_value))
    assert message.format(path=path) in refusal("pascal50s", [path])


def test_fleur_has_no_draws(tmp_path):
    path = made.write(tmp_path / "pascal_50s.json", made.FLEUR)
    message = "`draws` is not supported for a file with selected references, got 5"
    assert message in refusal("pascal50s", [path], draws=5)
    assert PROTOCOLS["pascal50s"]([path], draws="fixed", references=2).columns["references"][0] == ["u", "v"]


def test_images_of_abstract(tmp_path):
    made.write_abstract(tmp_path)
    savemat(tmp_path / "abstract50S.mat", {"abs_sent": made.structures([("x",)], "a")})
    assert "must have sentences and a URL, got 1 fields" in refusal("abstract50s", [tmp_path])
    savemat(tmp_path / "abstract50S.mat", {"abs_sent": made.structures([("x", "address")], "ab")})
    assert "must have an image with most references of pair 0, got at most 0" in refusal("abstract50s", [tmp_path])


# -- videos -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"candidates_list": ["a", "b"]}, "as many captions, reference lists, ids and ratings, got [2, 3, 3, 3]"),
        ({"candidates_list": {"a": 1}}, "candidates_list.pkl` must contain a list or an array, got dict"),
        ({"candidates_list": [1, 2, 3]}, "candidates_list.pkl` must be a list of strings"),
        ({"gts_list": ["a", "b", "c"]}, "row 0 of `{folder}/gts_list.pkl` must be a list of strings"),
        ({"gts_list": [["a"] * 9, ["b"], ["c"] * 9]}, "`references` must be at most 1, as many as row 1 has, got 9"),
        ({"human_scores": [1, 2]}, "human_scores.pkl` must contain three numbers per caption"),
        ({"human_scores": ["a"] * 9}, "human_scores.pkl` must contain three numbers per caption"),
        ({"human_scores": "a"}, "human_scores.pkl` must contain a list or an array, got str"),
    ],
)
def test_vatex(tmp_path, content, message):
    made.write_vatex(tmp_path, **content)
    assert message.format(folder=tmp_path) in refusal("vatex_eval", [tmp_path])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "final_foil_video_sentences",
            {"results": {"v_a": [{"sentence": "x"}]}},
            "must have the same videos as `final_rig",
        ),
        ("final_foil_video_sentences", {"results": {"v_a": []}}, "video 'v_a' of `{path}` must have a list of sentenc"),
        ("final_foil_video_sentences", {}, "`{path}` must have 'results', got nothing"),
        ("anet_entities_test_1", {"v_b": made.SEGMENTS["v_b"]}, "`{path}` must have 'v_a', got v_b"),
        (
            "anet_entities_test_1",
            changed(made.SEGMENTS, "v_a", "timestamps", [[0, 1]]),
            "video 'v_a' must have as many right as foil sentences and segments, got 2, 2 and 1",
        ),
        (
            "anet_entities_test_1",
            changed(made.SEGMENTS, "v_a", "timestamps", [[0]]),
            "video 'v_a' of `{path}` must have [start, end] as timestamps, got [0]",
        ),
        (
            "anet_entities_test_2",
            changed(made.TOLD, "v_a", "sentences", ["x"]),
            "video 'v_a' of `{path}` must have as many sentences as timestamps, got 1 and 3",
        ),
    ],
)
def test_activitynet(tmp_path, name, content, message):
    made.write_activitynet(tmp_path)
    path = made.write(tmp_path / f"{name}.json", content)
    assert message.format(path=path) in refusal("activitynet_foil", [tmp_path])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"a": "text"}, r"'sentences'.*'a'"),
        ({"a": {"sentence": []}}, r"'sentences'.*'a'"),
        ({"a": [1]}, r"'sentences'.*'a'"),
        ({"a": []}, "got none"),
    ],
)
def test_corpora(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read_corpus(made.write(tmp_path / "c.json", content))


def test_nan_is_read_as_json_writes_it():
    assert math.isnan(json.loads(json.dumps(made.FLICKR))["1"]["human_judgement"][2]["rating"])
