"""clip_s with config_name "video": rows, segments, word weights, details, with a fake encoder and real files."""

import math
import re

import numpy as np
import pytest
from chosen_clip import ChosenClip, grey
from tiny_clip import IMAGES

import vlgauge
from vlgauge.families.clip_score.backbone_metric import Backbone
from vlgauge.families.clip_score.token_idf import corpus_idf
from vlgauge.models.clip.tokens import ClipTokens

TOKENS = ClipTokens(77)

CLIP = IMAGES / "syn_clip.mp4"
EAST, NORTH, WEST = [1, 0, 0], [0, 1, 0], [-1, 0, 0]


@pytest.fixture
def encoder():
    return ChosenClip({1: EAST, 2: NORTH, 3: WEST})


@pytest.fixture
def load(encoder, monkeypatch):
    def load(name="clip_s", config="video", **settings):
        metric = vlgauge.load(name, config, keep_in_memory=True, **settings)
        monkeypatch.setattr(Backbone, "encoder_and_adapter", lambda self: (encoder, None))
        return metric

    return load


@pytest.fixture
def clip_s(load):
    return load()


def clip(*greys):
    return [grey(value) for value in greys]


def definition(encoder, caption, frames, reference=None, joint=False):
    """Score of one row by double loops over the words and frames of the fake encoder."""

    def unit(vector):
        return np.asarray(vector) / np.linalg.norm(vector)

    def words(text):
        return [unit(row) for row in encoder.text_hidden([text], tokens=True).tokens[0]]

    def match(ours, theirs, whole):
        table = [[float(a @ b) for b in theirs] for a in ours]
        p = sum(map(max, table)) / len(ours)
        r = sum(map(max, zip(*table, strict=True))) / len(theirs)
        return 2 * p * r / (p + r), float(ours[-1] @ whole)

    seen = [unit(frame) for frame in frames]
    free = sum(match(words(caption), seen, unit(np.mean(seen, axis=0)))) / 2
    if reference is None:
        return free
    return (free + sum(match(words(caption), words(reference), words(reference)[-1])) / 2) / 2


# -- scores -----------------------------------------------------------------------------------------------------------
def test_definition(clip_s, encoder):
    result = clip_s.compute(
        predictions=["a dog runs", "a cat"],
        videos=[clip(1, 2, 2), clip(3)],
        references=[["dogs run fast"], None],
    )
    wanted = [definition(encoder, "a dog runs", [EAST, NORTH, NORTH]), definition(encoder, "a cat", [WEST])]
    assert result["clip_s_scores"] == pytest.approx(wanted, abs=1e-5)
    with_reference = definition(encoder, "a dog runs", [EAST, NORTH, NORTH], "dogs run fast")
    assert result["ref_clip_s_scores"] == pytest.approx([with_reference, math.nan], abs=1e-5, nan_ok=True)
    assert encoder.prompts == {""}


def test_pac_s_is_the_same_formula(load):
    rows = {"predictions": ["a dog"], "videos": [clip(1, 2)], "references": [["a cat"]]}
    one, other = load().compute(**rows), load("pac_s").compute(**rows)
    assert other["pac_s"] == one["clip_s"]
    assert other["ref_pac_s"] == one["ref_clip_s"]


def test_rows_of_a_call_do_not_touch_each_other(clip_s):
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(66):
        frames = clip(*rng.integers(4, 9, size=rng.integers(1, 6)).tolist())
        rows.append(
            (f"a {'big ' * int(rng.integers(0, 9))}dog", frames, [["a cat"], ["dogs", "two dogs"]][len(rows) % 2])
        )

    def scores(rows):
        predictions, videos, references = zip(*rows, strict=True)
        result = clip_s.compute(predictions=predictions, videos=videos, references=references)
        return np.array([result["clip_s_scores"], result["ref_clip_s_scores"]]).T

    expected = scores(rows)
    order = rng.permutation(66)
    near = {"rel": 1e-5, "abs": 1e-6, "nan_ok": True}
    assert scores([rows[i] for i in order]) == pytest.approx(expected[order], **near)
    assert np.concatenate([scores([row]) for row in rows[:10]]) == pytest.approx(expected[:10], **near)


def test_batches_of_the_released_code(load, clip_s):
    rows = {"predictions": ["a dog", "a big dog"] * 2, "videos": [clip(1), clip(1, 2), clip(3), clip(3, 3)]}
    alone = clip_s.compute(**rows)["clip_s_scores"]
    metric = load(variant="emscore", idf=False, emscore_batch_size=1)
    assert metric.compute(**rows)["clip_s_scores"] == pytest.approx(alone, rel=1e-5)
    assert "|emscore_batch:1|" in metric.compute(**rows)["clip_s_signature"]
    assert load(variant="emscore", idf=False).compute(**rows)["clip_s_scores"] != alone


# -- forms of a video -------------------------------------------------------------------------------------------------
def test_forms_of_a_video(clip_s):
    array = np.stack(clip(1, 2))
    videos = [clip(1, 2), tuple(clip(1, 2)), array, {"frames": clip(1, 2)}, {"frames": array}]
    result = clip_s.compute(predictions=["a dog"] * 5, videos=videos)
    assert len(set(result["clip_s_scores"])) == 1
    assert "|frames:given|" in result["clip_s_signature"]


def test_files_and_segments(clip_s):
    videos = [
        CLIP,
        str(CLIP),
        {"path": str(CLIP)},
        {"path": CLIP, "start": 0.0, "end": 1.0},
        {"path": CLIP, "start": 2},
    ]
    result = clip_s.compute(predictions=["a dog"] * 5, videos=videos, return_details=True)
    scores = result["clip_s_scores"]
    assert scores[0] == scores[1] == scores[2] != scores[3]
    frames = [note["frames"] for note in result["clip_s_details"]]
    assert frames[0] == [0, 3, 6, 9, 12, 16, 19, 22, 25, 29]
    assert frames[3] == list(range(10))
    assert frames[4] == list(range(20, 30))
    assert "|frames:10|" in result["clip_s_signature"]


def test_frames_are_sampled_as_asked(load, clip_s):
    three = load(n_frames=3)
    result = three.compute(predictions=["a dog"] * 2, videos=[CLIP, clip(1, 2, 3, 1, 2)], return_details=True)
    assert result["clip_s_details"][0]["frames"] == [0, 14, 29]
    assert result["clip_s_scores"][1] == clip_s.compute(predictions=["a dog"], videos=[clip(1, 3, 2)])["clip_s"]
    assert "|frames:3|" in result["clip_s_signature"]
    every = load(n_frames="all").compute(predictions=["a dog"], videos=[CLIP], return_details=True)
    assert every["clip_s_details"][0]["frames"] == list(range(30))
    assert "|frames:all|" in every["clip_s_signature"]
    mixed = clip_s.compute(predictions=["a dog"] * 2, videos=[CLIP, clip(1)])
    assert "|frames:10+given|" in mixed["clip_s_signature"]


def test_frames_go_through_the_encoder_once(clip_s, encoder):
    clip_s.compute(predictions=["a dog", "a cat", "two"], videos=[CLIP, CLIP, clip(1, 1, 1)])
    assert encoder.forwards["image"] == 11


@pytest.mark.parametrize("rows", [1, 3])
def test_video_without_frames_is_undefined(clip_s, rows):
    videos = [[], clip(1), clip(2)][:rows]
    message = f"1 of {rows} videos"
    with pytest.warns(UserWarning, match=message) as caught:
        result = clip_s.compute(predictions=["a dog"] * rows, videos=videos, references=[["dogs"]] * rows)
    assert len(caught) == 1
    assert np.isnan(result["clip_s_scores"]).tolist() == [True, False, False][:rows]
    assert np.isnan(result["ref_clip_s_scores"]).tolist() == [True, False, False][:rows]
    with pytest.warns(UserWarning, match=message):
        detailed = clip_s.compute(predictions=["a dog"] * rows, videos=videos, return_details=True)
    assert detailed["clip_s_details"][0]["frames"] == detailed["clip_s_details"][0]["tokens"] == []


# -- word weights -----------------------------------------------------------------------------------------------------
def test_word_weights(load, tmp_path):
    corpus = ["a dog runs", "a cat", "a bird and a cat"]
    (tmp_path / "corpus.txt").write_text("\n".join(corpus), encoding="utf-8")
    table = corpus_idf(corpus, "corpus", TOKENS)
    rows = {"predictions": ["a dog", "a cat"], "videos": [clip(1, 2), clip(2)], "references": [corpus, None]}
    found = {}
    for idf in ("references", "auto", corpus, tmp_path / "corpus.txt", table):
        result = load(idf=idf).compute(**rows, return_details=True)
        found[result["clip_s"], result["ref_clip_s"]] = idf
        name = re.search(r"\|idf:(\w+)@(\w{8})\|", result["clip_s_signature"])
        assert name[2] == table.digest[:8]
        weights = [token["weight"] for token in result["clip_s_details"][0]["tokens"]]
        assert weights == pytest.approx(table.of(TOKENS(["a dog"])[0][0]).tolist())
    assert len(found) == 1
    plain, own = load().compute(**rows), load(idf="candidates").compute(**rows)
    assert plain["clip_s"] != own["clip_s"] not in {score for score, _ in found}
    assert "|idf:none|" in plain["clip_s_signature"]
    assert "|idf:candidates@" in own["clip_s_signature"]


def test_name_of_a_corpus_cannot_break_the_signature(load):
    table = corpus_idf(["a dog", "a cat"], "mine|idf:none", TOKENS)
    signature = load(idf=table).compute(predictions=["a dog"], videos=[clip(1)])["clip_s_signature"]
    assert f"|idf:mine%7Cidf:none@{table.digest[:8]}|frames:given|" in signature


def test_defaults_of_the_variants(load):
    rows = {"predictions": ["a dog", "a cat"], "videos": [clip(1), clip(2)]}
    assert "|idf:candidates@" in load(variant="emscore").compute(**rows)["clip_s_signature"]
    assert "|idf:none|" in load(variant="emscore", idf=False).compute(**rows)["clip_s_signature"]
    assert "|idf:references@" in load(variant="emscore").compute(**rows, references=[["x"], ["y"]])["clip_s_signature"]


def test_words_that_all_weigh_nothing_leave_it_undefined(load):
    with pytest.warns(UserWarning, match="1 of 1 clip_s"):
        result = load(idf="candidates").compute(predictions=["a dog"], videos=[clip(1)])
    assert math.isnan(result["clip_s"])


# -- details, long texts ----------------------------------------------------------------------------------------------
def test_details(clip_s):
    result = clip_s.compute(
        predictions=["a dog"], videos=[clip(1, 2)], references=[["cats", "a dog", "x"]], return_details=True
    )
    note = result["clip_s_details"][0]
    assert (note["fine"] + note["coarse"]) / 2 == pytest.approx(result["clip_s"])
    assert [token["token"] for token in note["tokens"]] == ["<|startoftext|>", "a", "dog", "<|endoftext|>"]
    assert sum(token["cosine"] for token in note["tokens"]) / 4 == pytest.approx(note["precision"], abs=1e-6)
    assert {token["frame"] for token in note["tokens"]} <= {0, 1}
    assert (note["frames"], note["truncated"], note["special"], note["best_reference"]) == ([0, 1], False, False, 1)
    for part in ("precision", "recall", "fine", "coarse"):
        assert note[f"reference_{part}"] == pytest.approx(1.0, abs=1e-5)


def test_details_where_no_row_has_references(clip_s):
    rows = {"predictions": ["a dog"] * 2, "videos": [clip(1), clip(2)], "references": [[], []]}
    result = clip_s.compute(**rows, return_details=True)
    assert result["ref_clip_s_undefined"] == 2
    for note in result["clip_s_details"]:
        assert note["best_reference"] is None
        assert math.isnan(note["reference_fine"])


def test_long_captions_split(load, clip_s):
    first, second = "a big dog runs. ", "dog " * 76
    with pytest.warns(UserWarning, match=r"1 of 1 captions.*than 77 tokens"):
        whole = load(long_text="split").compute(predictions=[first + second], videos=[clip(1, 2)], return_details=True)
    with pytest.warns(UserWarning, match="were cut"):
        parts = clip_s.compute(predictions=[first.strip(), second], videos=[clip(1, 2)] * 2)["clip_s_scores"]
    assert whole["clip_s"] == pytest.approx(sum(parts) / 2)
    assert whole["clip_s_details"][0]["truncated"] is True
    assert len(whole["clip_s_details"][0]["tokens"]) == 7 + 77


# -- refusals ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variant": "paper"}, r"^`idf`.*variant='paper'"),
        ({"variant": "paper", "idf": False}, r"^`idf`.*variant='paper'"),
        ({"variant": "x"}, r"^`variant`.*'emscore', got 'x'"),
        ({"w": 2}, r"^`w`.*videos.*got 2"),
        ({"idf": "all"}, r"^`idf`.*got 'all'"),
        ({"n_frames": 0}, r"^`n_frames`.*at least 1.*got 0"),
        ({"emscore_batch_size": 0}, r"^`emscore_batch_size`.*at least 1.*got 0"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        vlgauge.load("pac_s", "video", **settings)


def test_references_that_the_weights_need(load):
    with pytest.raises(ValueError, match=r"^`idf='references'`.*got none"):
        load(idf="references").compute(predictions=["a dog"], videos=[clip(1)])


def test_images_are_no_videos(clip_s):
    with pytest.raises(
        ValueError,
        match=r"^`videos`.*got `images`",
    ):
        clip_s.compute(predictions=["a dog"], images=clip(1))


def test_frames_that_cancel_are_undefined(clip_s):
    with pytest.warns(UserWarning, match="1 of 1 clip_s"):
        assert math.isnan(clip_s.compute(predictions=["a dog"], videos=[clip(1, 3)])["clip_s"])
