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

import vlgauge
from vlgauge import scenes
from vlgauge.cli import main
from vlgauge.core.errors import UsageError
from vlgauge.core.signatures import parse_signature
from vlgauge.families.ngram.cider import DocumentFrequency
from vlgauge.integrations.trl import caption_reward, combined_reward, completion_text

SCENES = scenes.scenes(8, seed=0, split="test")
CAPTIONS = [scenes.captions(scene, seed=0)[0] for scene in SCENES]


def drawn(i):
    """Draw the image again, as a data loader decodes it again."""
    return scenes.draw_scene(SCENES[i], size=48).image


def load(name):
    return vlgauge.load(name, profile="embedded", keep_in_memory=True)


def images_encoded(reward):
    return reward.metric.clip.encoder_and_adapter()[0].forwards["image"]


def messages(text):
    return [{"role": "assistant", "content": text}]


def test_one_pass_per_distinct_image_and_the_scores_of_the_metric():
    reward = caption_reward("pac_s", profile="embedded", scale=2.0, offset=-1.0)
    of_image = [i for i in range(8) for _ in range(8)]
    texts = [CAPTIONS[(i + number % 2) % 8] for number, i in enumerate(of_image)]
    before = images_encoded(reward)
    asked = {"prompts": ["Describe."] * 64, "completion_ids": [[1]] * 64, "image": [drawn(i) for i in of_image]}
    rewards = reward(completions=[messages(text) for text in texts], trainer_state=None, **asked)
    passes = images_encoded(reward) - before
    assert passes <= 8  # fewer if another test of this process has encoded them
    assert reward(completions=texts, **asked) == rewards
    assert images_encoded(reward) - before == passes
    expected = load("pac_s").compute(predictions=texts, images=asked["image"])["pac_s_scores"]
    np.testing.assert_allclose(rewards, [2 * score - 1 for score in expected], rtol=1e-6)
    right, wrong = rewards[0::8], rewards[1::8]
    assert all(a > b for a, b in zip(right, wrong, strict=True))


def test_what_clip_reads_a_caption_behind_pays_nothing():
    for name in ("clip_s", "polos"):
        reward = caption_reward(name, profile="embedded", references="references")
        columns = {"prompts": [""] * 2, "image": [drawn(0)] * 2, "references": [[CAPTIONS[1]]] * 2}
        plain, behind = reward(completions=[CAPTIONS[0], f"A photo depicts a photo depicts: {CAPTIONS[0]}"], **columns)
        assert behind == pytest.approx(plain, abs=1e-6)


def test_a_score_that_depends_on_the_batch_is_no_reward():
    with pytest.raises(ValueError, match="variant='released'"):
        caption_reward("polos", profile="embedded", references="references", variant="released")


def test_images_are_encoded_once_each():
    reward = caption_reward("clip_s", profile="embedded")
    fresh = [scenes.draw_scene(SCENES[i % 3], size=40, seed=77).image for i in range(12)]
    before = images_encoded(reward)
    reward(["p"] * 12, ["a star"] * 12, image=fresh)
    assert images_encoded(reward) - before == 3


def test_a_text_that_makes_its_score_undefined_gets_the_lowest_and_a_row_without_a_score_none():
    logged = {}
    reward = caption_reward("rovist_nr")
    told = "A red ring. A red star."
    rewards = reward(["p"] * 2, [told, "One sentence."], log_metric=logged.__setitem__)
    assert rewards == [vlgauge.load("rovist_nr", variant="paper").compute(predictions=[told])["rovist_nr"], 0.0]
    shares = {"wordless": 0, "markup": 0, "repetition": 0, "unfinished": 0, "undefined": 0.5, "unscored": 0}
    assert logged == {f"rovist_nr_{name}": share for name, share in shares.items()}
    reward = caption_reward("rouge_l", references="captions")
    rows = {"captions": [[told], [], []]}
    assert reward(["p"] * 3, ["A blue cat.", "A blue cat.", ""], log_metric=logged.__setitem__, **rows) == [
        pytest.approx(load("rouge_l").compute(predictions=["A blue cat."], references=[[told]])["rouge_l"]),
        None,
        0.0,
    ]
    assert (logged["rouge_l_undefined"], logged["rouge_l_unscored"]) == (0, pytest.approx(1 / 3))


@pytest.mark.parametrize("metric", ["rouge_l", "clip_s", "polos"])
def test_row_whose_references_are_none_has_no_reward(metric):
    settings = {} if metric == "rouge_l" else {"profile": "embedded"}
    reward = caption_reward(metric, references="captions", **settings)
    rows = {"captions": [CAPTIONS[:1], None, [], CAPTIONS[:1]], "image": [drawn(0)] * 4}
    found = reward(["p"] * 4, ["A red ring."] * 4, **rows)
    assert [one is None for one in found] == [False, True, True, False]
    assert found[0] == found[3]
    both = combined_reward({reward.metric: 1.0, "rouge_l": 1.0}, references="captions")
    assert [one is None for one in both(["p"] * 4, ["A red ring."] * 4, **rows)] == [False, True, True, False]


@pytest.mark.parametrize("n_rows", [1, 3])
def test_column_of_another_length_is_refused(n_rows):
    reward = caption_reward("rouge_l", references="captions")
    message = rf"^`captions`.*got {n_rows}.*2 completions"
    for texts in (["a dog", "a cat"], ["", ""]):  # also if guards stop all of them
        with pytest.raises(UsageError, match=message):
            reward(["p"] * 2, texts, captions=[["a dog"]] * n_rows)
    by_image = caption_reward("clip_s", profile="embedded")
    with pytest.raises(UsageError, match=message.replace("captions", "image")):
        by_image(["p"] * 2, ["a dog", "a cat"], image=[drawn(0)] * n_rows)
    with pytest.raises(UsageError, match=r"^`captions`.*got str"):
        reward(["p"] * 2, ["a dog", "a cat"], captions="a dog")


@pytest.mark.filterwarnings("ignore:.*could not be read")
def test_an_image_that_cannot_be_read_is_not_the_fault_of_the_text(tmp_path):
    (tmp_path / "broken.png").write_bytes(b"no picture")
    reward = caption_reward("clip_s", profile="embedded", on_error="nan")
    found = reward(["p"] * 3, ["a star", "a star", "!"], image=[str(tmp_path / "broken.png"), drawn(0), drawn(0)])
    assert found[0] is None
    assert found[1] > 0
    assert found[2] == 0.0


LONG = " ".join(f"w{i}" for i in range(80))


@pytest.mark.filterwarnings("ignore:.*have more than 77 tokens")
def test_captions_that_clip_cannot_read_to_the_end_are_guarded_or_logged():
    logged = {}
    given = {"image": [drawn(0)] * 2, "log_metric": logged.__setitem__}
    assert caption_reward("clip_s", profile="embedded")(["p"] * 2, [LONG, "a red circle"], **given)[0] == 0.0
    assert logged["clip_s_context"] == 0.5
    assert "clip_s_cut" not in logged
    free = caption_reward("clip_s", profile="embedded", unguarded="context")
    assert free(["p"] * 2, [LONG, "a red circle"], **given)[0] > 0.0
    assert logged["clip_s_cut"] == 0.5
    split = caption_reward("clip_s", profile="embedded", long_text="split")
    assert split.guards == ("wordless", "markup", "repetition", "unfinished")  # it reads all


def test_guarded_texts_get_the_lowest_and_are_named():
    logged, extra = {}, {}
    texts = ["", "<b>a red circle</b>", "red red red", "a red circle on the", LONG, "a red circle"]
    reward = caption_reward("pac_s", profile="embedded", scale=2.0, offset=-1.0)
    given = {"image": [drawn(0)] * 6, "log_metric": logged.__setitem__, "log_extra": extra.__setitem__}
    found = reward(["p"] * 6, texts, **given)
    assert reward.range == (-1.0, 3.0)
    assert found[:5] == [-1.0] * 5
    assert found[5] > -1.0
    guards = ("wordless", "markup", "repetition", "unfinished", "context")
    assert {name: logged[f"pac_s_{name}"] for name in guards} == dict.fromkeys(guards, 1 / 6)
    assert extra == {"pac_s_guard": [*guards, ""]}
    assert reward.metric_signature.startswith("pac_s|")
    name, fields = parse_signature(reward.signature)
    assert (name, fields["range"], fields["guards"]) == ("pac_s_reward", "-1..3", "+".join(guards))
    for guard in guards:
        others = caption_reward("pac_s", profile="embedded", unguarded=[guard])
        assert guard not in others.guards
        assert parse_signature(others.signature)[1]["guards"] == "+".join(one for one in guards if one != guard)
    none = caption_reward("pac_s", profile="embedded", unguarded=guards)
    assert parse_signature(none.signature)[1]["guards"] == "none"


def test_a_guarded_text_gets_the_lowest_sum_whichever_term_guards_it():
    both = combined_reward({"clip_s": 1.0, "rouge_l": 0.5}, references="captions", profile="embedded")
    rows = {"image": [drawn(0)] * 3, "captions": [[CAPTIONS[0]], [LONG], []]}
    assert both.range == (0.0, pytest.approx(5 / 3.5 + 0.5))
    # The second has all of its words in the reference, but is too long for CLIP. ROUGE-L cannot score the third,
    # which still counts as a guarded text.
    found = both(["p"] * 3, [CAPTIONS[0], LONG, "!!"], **rows)
    assert found[0] > 0.5
    assert found[1:] == [0.0, 0.0]
    assert both(["p"], ["a star"], image=[drawn(0)], captions=[[]]) == [None]
    name, fields = parse_signature(both.signature)
    assert (name, fields["guards"]) == ("clip_s_rouge_l_reward", "wordless+markup+repetition+unfinished+context")
    assert fields["term2"] == both.rewards[1].signature
    off = combined_reward({"clip_s": 1.0}, unguarded="markup", profile="embedded")
    assert off.rewards[0].guards == ("wordless", "repetition", "unfinished", "context")


def test_a_caption_behind_the_prompt_of_the_metric_is_scored_without_it():
    rows = {"image": [drawn(0)] * 3}
    for name in ("clip_s", "pac_s"):
        texts = [CAPTIONS[0], f"A photo depicts {CAPTIONS[0]}", f"a  photo depicts: A photo depicts {CAPTIONS[0]}"]
        found = caption_reward(name, profile="embedded")(["p"] * 3, texts, **rows)
        assert found == [found[0]] * 3
    assert caption_reward("clip_s", profile="embedded")(["p"], ["A photo depicts a"], image=[drawn(0)]) == [0.0]


@pytest.mark.parametrize(
    ("name", "settings", "ends"),
    [
        ("clip_s", {}, (0.0, 2.5)),
        ("clip_s", {"w": 1}, (0.0, 1.0)),
        ("clip_s", {"references": "told"}, (0.0, 5 / 3.5)),
        ("pac_s", {"references": "told"}, (0.0, 4 / 3)),
        ("pac_s", {"references": "told", "w": 1, "scale": 3, "offset": 1}, (1.0, 4.0)),
        ("pac_s", {"references": "told", "variant": "released", "lowest": -2}, (-2.0, None)),
        ("rouge_l", {"references": "told", "scale": 2.0}, (0.0, 2.0)),
        ("rovist_nr", {}, (0.0, 1.0)),
        ("rovist_nr", {"variant": "released", "lowest": -1, "scale": 0.5}, (-0.5, 0.5)),
        ("groovist", {}, (-1.0, 1.0)),
        ("rovist_vg", {}, (-1.0, 1.0)),
        ("rovist", {}, (-1.0, 3.0)),
    ],
)
def test_ranges_of_rewards(name, settings, ends):
    reward = caption_reward(name, profile="embedded", **settings)
    assert reward.range == pytest.approx(ends) if None not in ends else reward.range == ends


@pytest.mark.parametrize("seed", range(3))
def test_refpac_s_stays_within_its_range_for_junk(seed):
    rng = np.random.default_rng(seed)
    junk = ["".join(map(chr, rng.integers(97, 123, 9))) + " " + chr(rng.integers(97, 123)) for _ in range(40)]
    rows = {"image": [drawn(0)] * 40, "captions": [[CAPTIONS[0]]] * 40}
    reward = caption_reward("pac_s", references="captions", profile="embedded")
    found = reward(["p"] * 40, junk, **rows)
    assert None not in found
    assert 0.0 <= min(found) <= max(found) <= 4 / 3
    (honest,) = reward(["p"], [CAPTIONS[0]], image=rows["image"][:1], captions=rows["captions"][:1])
    assert honest > max(found)


def test_scores_below_the_lowest_count_as_the_lowest():
    told = "A red ring and a red ring. A red ring and a red ring on a red field."
    below = load("rovist_nr").compute(predictions=[told])["rovist_nr"]
    assert below < 0.5
    free = {"variant": "released", "unguarded": "repetition"}
    assert caption_reward("rovist_nr", lowest=0.5, **free)(["p"], [told]) == [0.5]
    assert caption_reward("rovist_nr", lowest=-9, **free)(["p"], [told]) == [below]


def test_references_count_where_they_are_given():
    rows = {"image": [drawn(0)], "captions": [[CAPTIONS[0]]]}
    reward = caption_reward("clip_s", references="captions", profile="embedded")
    bounded = vlgauge.load("clip_s", profile="embedded", variant="paper")
    both = bounded.compute(predictions=["a star"], images=rows["image"], references=rows["captions"])
    assert reward(["p"], ["a star"], **rows) == both["ref_clip_s_scores"] != both["clip_s_scores"]
    told = caption_reward("rouge_l", references="captions")(["p"], [CAPTIONS[0]], **rows)
    assert told == [1.0]


def test_sum_of_several_rewards():
    both = combined_reward({"clip_s": 1.0, "rovist_nr": 0.5}, profile="embedded")
    rows = {"image": [drawn(0), drawn(1)]}
    texts = ["A red ring. A red star.", "One sentence."]
    found = both(["p"] * 2, texts, **rows)
    terms = [caption_reward(name, profile="embedded") for name in ("clip_s", "rovist_nr")]
    (first, clip_s), (second, _) = (term(["p"] * 2, texts, **rows) for term in terms)
    assert found == [pytest.approx(first + 0.5 * second), pytest.approx(clip_s)]  # 0 is the worst for one sentence
    # Their names in the log of trl.
    assert both.__name__ == "clip_s_rovist_nr_reward"
    assert terms[0].__name__ == "clip_s_reward"


def test_metrics_with_settings_of_their_own_are_summed():
    cider = vlgauge.load("cider", df=DocumentFrequency({("a",): 9}, 10), keep_in_memory=True)
    rows = {"image": [drawn(0)], "captions": [[CAPTIONS[0]]]}
    bounded = vlgauge.load("clip_s", profile="embedded", variant="paper", keep_in_memory=True)
    both = combined_reward({bounded: 1.0, cider: 0.5}, references="captions")
    (found,) = both(["p"], [CAPTIONS[1]], **rows)
    terms = (bounded, "ref_clip_s", {"images": rows["image"]}), (cider, "cider", {})
    first, second = (
        metric.compute(predictions=[CAPTIONS[1]], references=rows["captions"], **given)[key]
        for metric, key, given in terms
    )
    assert second > 0
    assert found == pytest.approx(first + 0.5 * second)


def test_cider_counts_the_end_token_by_default(tmp_path, capsys):
    corpus = [["a man with a dog", "a man walks a dog"], ["a red bus stops"], ["two cats sleep"]] * 20
    DocumentFrequency.from_references(corpus, eos=True).save(tmp_path / "df.gz")
    rewards = {
        eos: caption_reward("cider", references="told", df=str(tmp_path / "df.gz"), unguarded="unfinished", **settings)
        for eos, settings in ((True, {}), (False, {"eos": False}))
    }
    texts = ["a man with a dog", "a man with a"]
    found = {eos: reward(["p"] * 2, texts, told=[corpus[0]] * 2) for eos, reward in rewards.items()}
    assert found[True][0] - found[True][1] > found[False][0] - found[False][1]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps({"predictions": text, "references": corpus[0]}) + "\n" for text in texts))
    command = [
        "score",
        "cider",
        str(file),
        "--set",
        f"df={tmp_path / 'df.gz'}",
        "--set",
        "eos=true",
        "--format",
        "json",
    ]
    assert main(command) == 0
    scored = json.loads(capsys.readouterr().out)
    assert rewards[True].metric_signature == scored["cider_signature"] != rewards[False].metric_signature
    assert "|eos:True|" in scored["cider_signature"]
    assert found[True] == scored["cider_scores"]
    plain = DocumentFrequency.from_references(corpus)
    with pytest.raises(ValueError, match=r"^`df` must count the end token '<eos>' in every document with eos=True"):
        caption_reward("cider", references="told", df=plain)
    assert "eos" not in caption_reward("cider", references="told", df=plain, eos=False).metric.signature()
    spider = caption_reward("spider", references="told", df=str(tmp_path / "df.gz"), profile="embedded")
    assert spider.metric.parts["cider"].eos is spider.metric.eos is True


@pytest.mark.parametrize("name", ["column", "references"])
@pytest.mark.parametrize("title", [3, [], ""])
def test_names_of_columns(name, title):
    with pytest.raises(ValueError, match=rf"^`{name}` must be the name of a column, got"):
        caption_reward("rouge_l", **{"references": "captions", name: title})


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
        with pytest.raises(ValueError, match=r"^`completions`"):
            completion_text(wrong)
    assert caption_reward("rovist_nr")([], []) == []
    for wrong in (None, 3, "a", {"a": 1}):
        with pytest.raises(ValueError, match=r"^`completions` must be a list of rows"):
            caption_reward("rovist_nr")([], wrong)


@pytest.mark.parametrize(
    ("metric", "settings", "error", "message"),
    [
        ("trm", {}, ValueError, r"^`metric`.*trm"),
        ("d_hm", {}, ValueError, r"^`metric`.*got d_hm"),
        (3, {}, TypeError, r"^`metric`.*got 3"),
        ("clip_s", {"scale": -1}, ValueError, r"^`scale`.*clip_s"),
        ("clip_s", {"scale": 0}, ValueError, r"^`scale`.*clip_s"),
        ("clip_s", {"scale": "1"}, ValueError, r"^`scale`.*finite"),
        ("clip_s", {"offset": math.nan}, ValueError, r"^`offset`"),
        (
            "cider",
            {"references": "told"},
            ValueError,
            "batch, got cider",
        ),
        ("clip_s", {"unguarded": "empty"}, ValueError, r"^`unguarded`.*got 'empty'"),
        ("clip_s", {"lowest": math.inf}, ValueError, r"^`lowest`.*finite"),
        (
            "pac_s",
            {"references": "told", "variant": "released"},
            ValueError,
            r"^`lowest`.*ref.*got None",
        ),
        (
            "rovist_nr",
            {"variant": "released"},
            ValueError,
            r"rovist_nr.*variant='paper'",
        ),
        ("rouge_l", {}, ValueError, r"^`references` is required"),
        ("onlystyle", {}, ValueError, "references, but onlystyle"),
    ],
)
def test_what_is_no_reward_is_refused(metric, settings, error, message):
    with pytest.raises(error, match=message):
        caption_reward(metric, **settings)


def test_columns_that_the_data_lack_and_weights_that_are_none():
    reward = caption_reward("clip_s", column="picture", references="told", profile="embedded")
    with pytest.raises(ValueError, match="clip_s_reward"):
        reward(["p"], ["a"], image=[drawn(0)])
    for weights in ({}, ["clip_s"]):
        with pytest.raises(ValueError, match=r"^`weights`"):
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
        assert 0 <= line["clip_s_wordless"] <= 1
    json.dumps(trainer.state.log_history, allow_nan=False)


@pytest.mark.parametrize(("name", "sign"), [("chair", -1.0), ("aloha", 1.0), ("soft_spice", 1.0)])
def test_a_metric_that_silence_pleases_is_no_reward_by_itself(name, sign):
    with pytest.raises(ValueError, match=f"got {name}"):
        caption_reward(name, scale=sign, references="references", profile="embedded")
    reward = combined_reward({load(name): sign, load("rouge_l"): 1.0}, references="references")
    full, empty = reward(prompts=["", ""], completions=["a dog on a bed", "a"], references=[["a dog on a bed"]] * 2)
    assert full > empty


def test_capture_has_a_lowest_score_but_as_released():
    reward = caption_reward("capture", references="references", profile="embedded")
    full, empty = reward(prompts=["", ""], completions=["a dog on a bed", ""], references=[["a dog on a bed"]] * 2)
    assert full > empty == 0
    with pytest.raises(ValueError, match=r"capture has no minimum"):
        caption_reward("capture", references="references", profile="embedded", variant="released")
