"""clip_s as a metric: rows, references, settings and long texts, with a fake encoder."""

import json
import math
import re

import numpy as np
import pytest
from chosen_clip import ChosenAdapter, ChosenClip, grey

import vlgauge
from vlgauge.core.signatures import parse_signature
from vlgauge.families.base.parts import merge_partial_results
from vlgauge.families.clip_score.backbone_metric import Backbone

# Unit vectors in the plane. Cosines follow from the angles between them.
EAST, NORTH, WEST, NORTHEAST = [1, 0, 0], [0, 1, 0], [-1, 0, 0], [1, 1, 0]
IMAGES = {1: EAST, 2: NORTH}
TEXTS = {"east": EAST, "north": NORTH, "west": WEST, "northeast": NORTHEAST, "nothing": [0, 0, 0], "": [3, 0, 4]}
HALF = math.sqrt(0.5)


@pytest.fixture
def encoder():
    return ChosenClip(IMAGES, TEXTS)


@pytest.fixture
def load(encoder, monkeypatch):
    """Function `load(name, config, **settings)` that loads a metric with the fake encoder."""

    def load(name="clip_s", config=None, adapter=None, **settings):
        metric = vlgauge.load(name, config, keep_in_memory=True, **settings)
        monkeypatch.setattr(Backbone, "encoder_and_adapter", lambda self: (encoder, adapter))
        return metric

    return load


@pytest.fixture
def clip_s(load):
    return load()


def images(*greys):
    return [grey(value) for value in greys]


# -- scores -----------------------------------------------------------------------------------------------------------
def test_worked_example(clip_s, encoder):
    result = clip_s.compute(
        predictions=["east", "northeast", "west"],
        images=images(1, 1, 1),
        references=[["north", "northeast"], ["east"], ["west"]],
    )
    scores = [2.5, 2.5 * HALF, 0.0]
    assert result["clip_s_scores"] == pytest.approx(scores, abs=1e-6)
    assert result["clip_s"] == pytest.approx(sum(scores) / 3, abs=1e-6)
    harmonic = [2 * 2.5 * HALF / (2.5 + HALF), 2 * 2.5 * HALF * HALF / (2.5 * HALF + HALF), 0.0]
    assert result["ref_clip_s_scores"] == pytest.approx(harmonic, abs=1e-6)
    assert (result["clip_s_undefined"], result["ref_clip_s_undefined"]) == (0, 0)
    assert encoder.prompts == {"A photo depicts "}


def test_pac_s_has_another_factor_and_other_projections(load):
    rows = {"predictions": ["northeast"], "images": images(1)}
    assert load("pac_s").compute(**rows)["pac_s"] == pytest.approx(2 * HALF)
    adapter = ChosenAdapter((2.0, 1.0, 1.0))
    assert load("pac_s", adapter=adapter).compute(**rows)["pac_s"] == pytest.approx(2 * 2 / math.sqrt(5))
    assert load(w=3).compute(**rows)["clip_s"] == pytest.approx(3 * HALF)


@pytest.mark.parametrize(("name", "prompts"), [("clip_s", {"A photo depicts "}), ("pac_s", {""})])
def test_prompt_of_the_papers(load, encoder, name, prompts):
    result = load(name, variant="paper").compute(predictions=["east"], images=images(1))
    assert encoder.prompts == prompts
    signed = parse_signature(result[f"{name}_signature"])[1]
    assert signed["prompt"] == (prompts.pop().strip() or "none")


@pytest.mark.filterwarnings("ignore:.* ref_clip_s exceed")
def test_paper_variant_takes_no_similarity_below_zero(load):
    rows = {"predictions": ["northeast"], "images": images(1), "references": [["west"]]}
    released, paper = (load(variant=variant).compute(**rows)["ref_clip_s"] for variant in ("released", "paper"))
    p = 2.5 * HALF
    assert released == pytest.approx(2 * p * -HALF / (p - HALF), rel=1e-6)
    assert paper == 0.0


def test_variants_agree_where_nothing_is_below_zero(load):
    rows = {
        "predictions": ["east", "northeast"],
        "images": images(1, 1),
        "references": [["northeast"], ["west", "east"]],
    }
    results = [load(variant=variant).compute(**rows) for variant in ("released", "paper")]
    for key in ("clip_s_scores", "ref_clip_s_scores"):
        assert results[0][key] == results[1][key]


@pytest.mark.filterwarnings("ignore:.* ref_clip_s exceed", "ignore:.* cosines are negative")
def test_rows_of_a_call_do_not_touch_each_other(clip_s):
    rng = np.random.default_rng(0)
    words = ["east", "north", "west", "northeast", "some dog", "any cat"]
    rows = [
        (str(rng.choice(words)), grey(int(rng.integers(1, 5))), rng.choice(words, size=rng.integers(1, 4)).tolist())
        for _ in range(40)
    ]

    def scores(rows):
        predictions, seen, references = zip(*rows, strict=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.warn", lambda *_, **__: None)
            result = clip_s.compute(predictions=predictions, images=seen, references=references)
        return list(zip(result["clip_s_scores"], result["ref_clip_s_scores"], strict=True))

    expected = scores(rows)
    order = rng.permutation(40)
    assert scores([rows[i] for i in order]) == [expected[i] for i in order]
    assert [scores([row])[0] for row in rows] == expected
    assert scores(rows + rows) == expected * 2


# -- references -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("references", [None, [None, None]])
def test_without_references_there_is_one_family(clip_s, references):
    result = clip_s.compute(predictions=["east", "north"], images=images(1, 2), references=references)
    assert list(result) == ["clip_s", "clip_s_scores", "clip_s_undefined", "clip_s_signature"]


def test_rows_without_references_are_undefined_there_alone(clip_s):
    result = clip_s.compute(
        predictions=["east"] * 4, images=images(1, 1, 1, 1), references=[["east"], [], None, "northeast"]
    )
    assert result["clip_s_scores"] == [2.5] * 4
    assert result["ref_clip_s_undefined"] == 2
    assert result["ref_clip_s_scores"] == pytest.approx(
        [5 / 3.5, math.nan, math.nan, 5 * HALF / (2.5 + HALF)], nan_ok=True
    )
    assert result["ref_clip_s"] == pytest.approx((5 / 3.5 + 5 * HALF / (2.5 + HALF)) / 2)


def test_all_references_empty(clip_s):
    result = clip_s.compute(predictions=["east"], images=images(1), references=[[]])
    assert result["clip_s"] == 2.5
    assert math.isnan(result["ref_clip_s"])


def test_one_reference_as_a_string_is_not_read_letter_by_letter(clip_s):
    one = clip_s.compute(predictions=["east"], images=images(1), references=["northeast"])
    assert one == clip_s.compute(predictions=["east"], images=images(1), references=[["northeast"]])


def test_caption_that_is_a_reference(clip_s):
    result = clip_s.compute(
        predictions=["some dog"], images=images(1), references=[["a cat", "some dog"]], return_details=True
    )
    assert result["clip_s_details"][0]["reference_cosine"] == pytest.approx(1.0, abs=1e-6)
    assert result["clip_s_details"][0]["best_reference"] == 1


# -- undefined, zero, warnings ----------------------------------------------------------------------------------------
def test_caption_that_is_like_nothing(clip_s):
    rows = {"predictions": ["north", "west", "east"], "images": images(1, 1, 1)}
    with pytest.warns(UserWarning, match=r"1 of 3 ref_clip_s.*0 because"):
        result = clip_s.compute(**rows, references=[["east"], ["east"], ["east"]])
    assert result["ref_clip_s_scores"] == pytest.approx([0.0, 0.0, 5 / 3.5])
    assert not np.signbit(result["ref_clip_s_scores"]).any()


def test_a_row_that_explodes_is_warned_of_and_the_median_stands_next_to_it(load, encoder):
    # w c = .5 of caption and image, -.498 of caption and reference: 2 x .5 x -.498 / .002.
    angle = math.acos(0.2)
    encoder.texts |= {
        "odd": [math.cos(angle), math.sin(angle), 0],
        "other": [math.cos(angle + math.acos(-0.498)), math.sin(angle + math.acos(-0.498)), 0],
    }
    rows = {
        "predictions": ["east", "odd", "east", "east"],
        "images": images(1, 1, 1, 1),
        "references": [["east"], ["other"], None, ["east"]],
    }
    with pytest.warns(UserWarning, match=r"1 of 4 ref_clip_s.*1\.43"):
        result = load().compute(**rows)
    assert result["ref_clip_s_scores"] == pytest.approx([5 / 3.5, -249.0, math.nan, 5 / 3.5], rel=1e-3, nan_ok=True)
    assert result["ref_clip_s_median"] == np.nanmedian(result["ref_clip_s_scores"])
    assert result["ref_clip_s"] == pytest.approx((10 / 3.5 - 249.0) / 3, rel=1e-3)
    # The paper counts a negative similarity as 0.
    kept = load(variant="paper").compute(**rows)
    assert np.nanmin(kept["ref_clip_s_scores"]) >= 0.0
    # Score each row separately, and combine the partial results.
    metric = load()
    with pytest.warns(UserWarning, match="ref_clip_s exceed"):
        parts = [metric.score_batch({k: [cell] for k, cell in row.items()}, [0]) for row in metric.as_computed(rows)]
    again = metric.combine(merge_partial_results(parts))
    assert again["ref_clip_s_median"] == result["ref_clip_s_median"] != again["ref_clip_s"]


def test_vector_without_length_is_undefined(clip_s):
    with pytest.warns(UserWarning, match="undefined") as caught:
        result = clip_s.compute(
            predictions=["nothing", "east"], images=images(1, 1), references=[["east"], ["nothing", "east"]]
        )
    assert [str(warning.message) for warning in caught] == [
        "1 of 2 clip_s are undefined: an embedding is zero, or score and similarity cancel",
        "1 of 2 ref_clip_s alone are undefined: an embedding is zero, or score and similarity cancel",
    ]
    assert result["clip_s_scores"] == pytest.approx([math.nan, 2.5], nan_ok=True)
    assert result["ref_clip_s_scores"] == pytest.approx([math.nan, math.nan], nan_ok=True)
    assert (result["clip_s_undefined"], result["ref_clip_s_undefined"]) == (1, 2)


@pytest.mark.filterwarnings("ignore:.* ref_clip_s exceed")
def test_empty_texts_are_scored_and_counted(clip_s):
    with pytest.warns(UserWarning, match="1 of 3 captions"):
        result = clip_s.compute(predictions=["", "east"], images=images(1, 1), references=[["east"], []])
    assert result["clip_s_scores"] == pytest.approx([2.5 * 0.6, 2.5])
    assert 0 < result["ref_clip_s_scores"][0] < result["clip_s_scores"][0]


def test_blank_references_are_left_out(clip_s):
    rows = {"predictions": ["east", "east"], "images": images(1, 1)}
    without = clip_s.compute(**rows, references=[["east"], []])
    with pytest.warns(UserWarning, match=r"^`references`.* 2 .*2 of 2 rows") as caught:
        found = clip_s.compute(**rows, references=[["", "east"], [" \n"]])
    assert len(caught) == 1
    np.testing.assert_equal(found, without)


def test_warning_stands_where_compute_was_called(clip_s):
    with pytest.warns(UserWarning, match="are empty") as caught:
        clip_s.compute(predictions=[""], images=images(1))
    assert caught[0].filename == __file__


# -- long texts -------------------------------------------------------------------------------------------------------
LONG = "dog " * 80
STORY = "east. " + "dog " * 60 + "! north?  " + LONG


def test_long_texts_are_cut_by_default(clip_s):
    with pytest.warns(UserWarning, match=r"2 of 3 captions.*than 77 tokens"):
        result = clip_s.compute(
            predictions=[LONG, "east"], images=images(1, 1), references=[None, [LONG]], return_details=True
        )
    assert [note["truncated"] for note in result["clip_s_details"]] == [True, False]
    assert "|long:truncate|" in result["clip_s_signature"]


@pytest.mark.parametrize(
    ("rows", "place"),
    [
        ({"predictions": ["east", LONG], "images": images(1, 1)}, "predictions[1]"),
        ({"predictions": ["east"] * 2, "images": images(1, 1), "references": [None, ["a", LONG]]}, "references[1][1]"),
    ],
)
def test_long_texts_can_be_refused(load, rows, place):
    with pytest.raises(ValueError, match=rf"^`{re.escape(place)}`.*at most 77 tokens"):
        load(long_text="error").compute(**rows)


def test_long_texts_can_be_split(load, encoder):
    metric = load(long_text="split")
    encoder.texts |= {"east.": EAST, ("dog " * 60).strip() + " !": NORTHEAST, "north?": NORTH, LONG.strip(): WEST}
    story = f"east. {('dog ' * 60).strip()} ! north?  {LONG.strip()}"
    with pytest.warns(UserWarning, match=r"than 77 tokens.*sentence"):
        result = metric.compute(
            predictions=[story, "east"], images=images(1, 1), references=[["east", "northeast"], [story, "west"]]
        )
    p = [2.5, 2.5 * HALF, 0.0, 0.0]
    s = [1.0, 1.0, HALF, -HALF]
    assert result["clip_s_scores"] == pytest.approx([sum(p) / 4, 2.5], abs=1e-6)
    harmonic = [2 * a * b / (a + b) if a else 0.0 for a, b in zip(p, s, strict=True)]
    assert result["ref_clip_s_scores"] == pytest.approx([sum(harmonic) / 4, 5 / 3.5], abs=1e-6)


@pytest.mark.filterwarnings("ignore:.*have more than 77 tokens")
def test_split_captions_that_are_like_nothing_are_counted_by_row(load, encoder):
    metric = load(long_text="split", variant="paper")
    encoder.texts |= {"east.": EAST, "north.": NORTH, "north?": NORTH, LONG.strip(): WEST}
    rows = {"images": images(1, 1), "references": [["east"], ["east"]]}
    with pytest.warns(UserWarning, match=r"1 of 2 ref_clip_s.*0 because"):
        result = metric.compute(predictions=[f"north. north? {LONG}", f"east. north? {LONG}"], **rows)
    assert result["ref_clip_s_scores"] == pytest.approx([0.0, 5 / 3.5 / 3], abs=1e-6)


def test_short_texts_are_never_split(load):
    rows = {"predictions": ["east. north."], "images": images(1)}
    assert load(long_text="split").compute(**rows)["clip_s"] == load().compute(**rows)["clip_s"]


# -- details ----------------------------------------------------------------------------------------------------------
def test_details(clip_s, load):
    rows = {"predictions": ["northeast", "east"], "images": images(1, 1), "references": [["west", "east"], None]}
    result = clip_s.compute(**rows, return_details=True)
    first, second = result["clip_s_details"]
    assert first == {
        "cosine": pytest.approx(HALF),
        "truncated": False,
        "special": False,
        "best_reference": 1,
        "reference_cosine": pytest.approx(HALF),
    }
    assert (second["best_reference"], math.isnan(second["reference_cosine"])) == (None, True)
    json.dumps(result)
    assert load(details=True).compute(**rows)["clip_s_details"][0] == first
    assert set(clip_s.compute(predictions=["east"], images=images(1), return_details=True)["clip_s_details"][0]) == {
        "cosine",
        "truncated",
        "special",
    }


# -- special tokens in captions ---------------------------------------------------------------------------------------
def test_spelled_tokens_are_counted_once(clip_s, load):
    end = "<|endoftext|>"
    rows = {
        "predictions": [f"east{end}", "east.<|EndOfText|>", "east <end_of_text> <start_of_text>", "east"],
        "images": images(1, 1, 1, 1),
        "references": [[f"east {end}", "west"], [f"east{end}"], None, ["&lt;|startoftext|&gt; east"]],
    }
    for metric in (clip_s, load(long_text="split")):
        with pytest.warns(UserWarning, match="remove them") as caught:
            result = metric.compute(**rows, return_details=True)
        assert [str(warning.message) for warning in caught] == [
            "5 of 8 captions and references contain <|startoftext|> or <|endoftext|>, which CLIP treats as special "
            "tokens, ignoring text after the second, or splits into words; remove them"
        ]
        assert [note["special"] for note in result["clip_s_details"]] == [True, True, False, False]


# -- refusals ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("row", [[], images(1, 1)])
def test_one_image_per_caption(clip_s, row):
    with pytest.raises(ValueError, match=rf"^`images\[1\]`.*{len(row)}"):
        clip_s.compute(predictions=["east"] * 2, images=[grey(1), row])
    with pytest.raises(ValueError, match=r"^`images\[0\]`"):
        clip_s.compute(predictions=["east"], images=[[row]])
    assert clip_s.compute(predictions=["east"], images=[images(1)])["clip_s"] == 2.5


def test_videos_are_no_images(clip_s):
    with pytest.raises(ValueError, match=r"^`images`.*clip_s.*config_name="):
        clip_s.compute(predictions=["east"], videos=[images(1)])
    with pytest.raises(ValueError, match=r"^`images`.*`predictions`.*`images`"):
        clip_s.compute(predictions=["east"])


def test_no_rows(clip_s):
    with pytest.raises(ValueError, match="least one row"):
        clip_s.compute(predictions=[], images=[])
