"""Rewards: against the contract of trl, and within its trainer."""

import inspect
import json
import math

import datasets
import numpy as np
import pytest
import tiny_captioner
from transformers import GPT2Config, GPT2LMHeadModel
from trl import GRPOConfig, GRPOTrainer
from trl.trainer.utils import get_callable_name

import vlgauge
from vlgauge import scenes
from vlgauge.distances.cider import DocumentFrequency
from vlgauge.integrations.trl import caption_reward, combined_reward, completion_text

SCENES = scenes.scenes(8, seed=0, split="test")
CAPTIONS = [scenes.captions(scene, seed=0)[0] for scene in SCENES]


def drawn(i):
    """The picture, drawn anew as a data loader decodes it anew."""
    return scenes.draw_scene(SCENES[i], size=48).image


def load(name):
    return vlgauge.load(name, profile="embedded", keep_in_memory=True)


def images_encoded(reward):
    return reward.metric.encoder_and_adapter()[0].forwards["image"]


def messages(text):
    return [{"role": "assistant", "content": text}]


def test_one_pass_per_distinct_picture_and_the_scores_of_the_metric():
    reward = caption_reward("pac_s", profile="embedded", scale=2.0, offset=-1.0)
    of_picture = [i for i in range(8) for _ in range(8)]
    texts = [CAPTIONS[(i + number % 2) % 8] for number, i in enumerate(of_picture)]
    before = images_encoded(reward)
    asked = {"prompts": ["Describe."] * 64, "completion_ids": [[1]] * 64, "image": [drawn(i) for i in of_picture]}
    rewards = reward(completions=[messages(text) for text in texts], trainer_state=None, **asked)
    passes = images_encoded(reward) - before
    assert passes <= 8  # fewer where another test of this process has seen them
    assert reward(completions=texts, **asked) == rewards
    assert images_encoded(reward) - before == passes
    expected = load("pac_s").compute(predictions=texts, images=asked["image"])["pac_s_scores"]
    np.testing.assert_allclose(rewards, [2 * score - 1 for score in expected], rtol=1e-6)
    right, wrong = rewards[0::8], rewards[1::8]
    assert all(a > b for a, b in zip(right, wrong, strict=True))


def test_pictures_are_encoded_once_each():
    reward = caption_reward("clip_s", profile="embedded")
    fresh = [scenes.draw_scene(SCENES[i % 3], size=40, seed=77).image for i in range(12)]
    before = images_encoded(reward)
    reward(["p"] * 12, ["a star"] * 12, image=fresh)
    assert images_encoded(reward) - before == 3


def test_undefined_reward_is_none_and_both_shares_are_logged():
    logged = {}
    reward = caption_reward("rovist_nr")
    told = "A red ring. A red star."
    rewards = reward(["p"] * 2, [told, "One sentence."], log_metric=logged.__setitem__)
    assert rewards == [load("rovist_nr").compute(predictions=[told])["rovist_nr"], None]
    assert logged == {"rovist_nr_undefined": 0.5}


@pytest.mark.filterwarnings("ignore:.*have more than 77 tokens")
def test_captions_that_clip_cannot_read_to_the_end_are_logged():
    logged = {}
    texts = ["red " * 76, "a red circle", "red " * 10, "red " * 90]
    caption_reward("clip_s", profile="embedded")(["p"] * 4, texts, image=[drawn(0)] * 4, log_metric=logged.__setitem__)
    assert logged == {"clip_s_undefined": 0.0, "clip_s_cut": 0.5}


def test_references_count_where_they_are_given():
    rows = {"image": [drawn(0)], "captions": [[CAPTIONS[0]]]}
    reward = caption_reward("clip_s", references="captions", profile="embedded")
    both = load("clip_s").compute(predictions=["a star"], images=rows["image"], references=rows["captions"])
    assert reward(["p"], ["a star"], **rows) == both["ref_clip_s_scores"] != both["clip_s_scores"]
    told = caption_reward("rouge_l", references="captions")(["p"], [CAPTIONS[0]], **rows)
    assert told == [1.0]


def test_sum_of_several_rewards():
    both = combined_reward({"clip_s": 1.0, "rovist_nr": 0.5}, profile="embedded")
    rows = {"image": [drawn(0), drawn(1)]}
    texts = ["A red ring. A red star.", "One sentence."]
    found = both(["p"] * 2, texts, **rows)
    terms = [caption_reward(name, profile="embedded") for name in ("clip_s", "rovist_nr")]
    (first,), (second,) = (term(["p"], texts[:1], image=rows["image"][:1]) for term in terms)
    assert found == [pytest.approx(first + 0.5 * second), None]
    assert both.__name__ == get_callable_name(both) == "clip_s_rovist_nr_reward"
    assert get_callable_name(terms[0]) == "clip_s_reward"


def test_metrics_with_settings_of_their_own_are_summed():
    cider = vlgauge.load("cider", df=DocumentFrequency({("a",): 9}, 10), keep_in_memory=True)
    rows = {"image": [drawn(0)], "captions": [[CAPTIONS[0]]]}
    both = combined_reward({load("clip_s"): 1.0, cider: 0.5}, references="captions")
    (found,) = both(["p"], [CAPTIONS[1]], **rows)
    terms = (load("clip_s"), "ref_clip_s", {"images": rows["image"]}), (cider, "cider", {})
    first, second = (
        metric.compute(predictions=[CAPTIONS[1]], references=rows["captions"], **given)[key]
        for metric, key, given in terms
    )
    assert second > 0
    assert found == pytest.approx(first + 0.5 * second)


@pytest.mark.filterwarnings("ignore:.*are empty and were scored as such")
def test_nothing_said_is_scored_as_the_metric_does():
    reward = caption_reward("clip_s", profile="embedded")
    found = reward(["p"] * 3, ["", "  ", messages("")], image=[drawn(0)] * 3)
    with pytest.warns(UserWarning, match="are empty"):
        expected = load("clip_s").compute(predictions=[""] * 3, images=[drawn(0)] * 3)["clip_s_scores"]
    assert found == expected
    assert all(map(math.isfinite, found))


def test_text_of_a_completion():
    parts = [{"type": "text", "text": "a red "}, {"type": "image"}, {"type": "text", "text": "ring"}]
    assert [completion_text(one) for one in ("a", messages("b"), messages(parts), messages(None))] == [
        "a",
        "b",
        "a red ring",
        "",
    ]
    assert completion_text([{"role": "user", "content": "c"}, *messages("d")]) == "d"
    for wrong in (3, [], ["a"], messages(3)):
        with pytest.raises(ValueError, match="`completions` must be texts or lists of messages, got"):
            completion_text(wrong)
    assert caption_reward("rovist_nr")([], []) == []


@pytest.mark.parametrize(
    ("metric", "settings", "error", "message"),
    [
        ("trm", {}, ValueError, "`metric` must score one caption at a time, got trm"),
        ("d_hm", {}, ValueError, "`metric` must score one caption at a time, got d_hm"),
        (3, {}, TypeError, "`metric` must be the name of a metric, or a metric from vlgauge.load, got 3"),
        ("clip_s", {"scale": -1}, ValueError, "`scale` must be positive for clip_s, or the reward leads away"),
        ("clip_s", {"scale": 0}, ValueError, "`scale` must be positive for clip_s"),
        ("clip_s", {"scale": "1"}, ValueError, "`scale` must be a finite number"),
        ("clip_s", {"offset": math.nan}, ValueError, "`offset` must be a finite number"),
        (
            "cider",
            {"references": "told"},
            ValueError,
            "in every batch, got cider, which counts words in it",
        ),
        ("rouge_l", {}, ValueError, "^`references` must be a column of the data for rouge_l, got None$"),
        ("onlystyle", {}, ValueError, "no column but images and references, onlystyle needs styles"),
    ],
)
def test_what_is_no_reward_is_refused(metric, settings, error, message):
    with pytest.raises(error, match=message):
        caption_reward(metric, **settings)


def test_columns_that_the_data_lack_and_weights_that_are_none():
    reward = caption_reward("clip_s", column="picture", references="told", profile="embedded")
    with pytest.raises(ValueError, match=r"clip_s_reward must find picture, told among the columns .*got image"):
        reward(["p"], ["a"], image=[drawn(0)])
    for weights in ({}, ["clip_s"]):
        with pytest.raises(ValueError, match="`weights` must be a mapping from metrics to numbers, got"):
            combined_reward(weights)


def test_trainer_of_trl_passes_what_the_rewards_take():
    source = inspect.getsource(GRPOTrainer._calculate_rewards)
    assert "prompts=prompts, completions=completions, completion_ids=completion_ids_list, **reward_kwargs" in source
    assert '"log_metric"' in source


@pytest.mark.filterwarnings("ignore")
def test_two_steps_of_the_trainer_of_trl(tmp_path):
    words = tiny_captioner.tokenizer()
    words.padding_side = "left"
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(words), n_positions=32, n_embd=16, n_layer=1, n_head=2, eos_token_id=1, bos_token_id=0
        )
    )
    data = datasets.Dataset.from_dict({"prompt": ["a small red circle"] * 4, "picture": [drawn(i) for i in range(4)]})
    data = data.cast_column("picture", datasets.Image())
    arguments = GRPOConfig(
        str(tmp_path),
        max_steps=2,
        per_device_train_batch_size=4,
        num_generations=2,
        max_completion_length=5,
        use_cpu=True,
        bf16=False,
        report_to=[],
        logging_steps=1,
        save_strategy="steps",
        save_steps=2,
        disable_tqdm=True,
        gradient_checkpointing=False,
    )
    rewards = [
        caption_reward("clip_s", column="picture", profile="embedded"),
        combined_reward({"clip_s": 1.0, "pac_s": 0.5}, column="picture", profile="embedded"),
    ]
    trainer = GRPOTrainer(model, rewards, args=arguments, train_dataset=data, processing_class=words)
    trainer.train()
    first, second = [line for line in trainer.state.log_history if "rewards/clip_s_reward/mean" in line]
    for line in (first, second):
        assert 0 <= line["rewards/clip_s_reward/mean"] <= 2.5
        assert line["clip_s_cut"] == 0
    json.dumps(trainer.state.log_history, allow_nan=False)
