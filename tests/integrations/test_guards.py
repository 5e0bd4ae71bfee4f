"""Guards of rewards: texts that they catch, and texts that they leave alone."""

import csv
import json

import pytest
from folders import TESTS
from foreign_captions import FOREIGN_CAPTIONS

from vlgauge import scenes
from vlgauge.integrations.guards import (
    GUARDS,
    breaks_off,
    check_guards,
    is_marked_up,
    is_wordless,
    repeats_itself,
    without_prompts,
)

EXAMPLES = TESTS.parent / "examples"
STYLES = TESTS.parent / "shared" / "vlgauge" / "data" / "style_demo.csv"
PROMPT = "A photo depicts "


def hits(text):
    asked = {"wordless": is_wordless(text, [PROMPT]), "markup": is_marked_up(text), "repetition": repeats_itself(text)}
    return [name for name, hit in asked.items() if hit]


def bundled():
    """Yield all human captions, all captions of synthetic scenes, and the stories that do not repeat themselves."""
    for name in ("caption_sets", "captioned_scenes", "captioned_clips"):
        for line in (EXAMPLES / f"{name}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            own = row["predictions"]
            yield from [own] if isinstance(own, str) else own
            yield from row["references"]
    for line in (EXAMPLES / "stories.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["kind"] == "good":
            yield from row["story"]
            yield " ".join(row["story"])
    for path in (STYLES, EXAMPLES / "styled_captions.csv"):
        with path.open(encoding="utf-8", newline="") as rows:
            yield from (row["caption"] for row in csv.DictReader(rows))
    for scene in scenes.scenes(500, seed=0, split="train"):
        yield from scenes.captions(scene, seed=0, n=4)


# -- texts that pass every guard --------------------------------------------------------------------------------------
def test_no_guard_hits_a_bundled_caption():
    captions = list(bundled())
    assert len(captions) > 2500
    assert {caption: hits(caption) for caption in captions if hits(caption)} == {}


@pytest.mark.parametrize("language", sorted(FOREIGN_CAPTIONS))
def test_no_guard_hits_other_languages(language):
    captions = FOREIGN_CAPTIONS[language]
    assert len(set(captions)) == 200
    assert {caption: hits(caption) for caption in captions if hits(caption)} == {}


@pytest.mark.parametrize(
    "text",
    [
        "किताब पढ़ती हुई एक छोटी लड़की",  # vowel marks are between the letters
        "สุนัขสีน้ำตาลวิ่งอยู่บนสนามหญ้า",
        "茶色い犬が芝生の上を走っている。",
        "Коричневая собака бежит по траве.",
        "They stand side by side by the sea.",
        "A man with a dog with a ball.",
        "Row after row after row of red seats...",
        "I <3 this dog, 5 < 6",
        "Salt &amp; pepper on a table",
        "A sign that says [male] #1 in the U.S.A.",
        "他们一步一步地往上走\uff0c哈哈哈。",
        "a picture of a very, very small boat",
        "犬",
    ],
)
def test_captions_of_other_kinds_are_left_alone(text):
    assert hits(text) == []


def test_few_bundled_captions_end_in_a_word_such_as_in():
    captions = set(bundled())
    ended = [caption for caption in captions if breaks_off(caption)]
    assert len(ended) / len(captions) < 0.005
    assert {caption.rstrip(".").split()[-1] for caption in ended} == {"in", "on", "over", "to", "by"}
    foreign = [caption for own in FOREIGN_CAPTIONS.values() for caption in own]
    assert list(filter(breaks_off, foreign)) == []


# -- texts that each guard catches ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text",
    [
        *("", "   ", "!" * 50, ". , ;", "123 4", "🙂🙂", "\u200b\u200d", "ـــ", "The of and.", "It is."),
        *(
            "A photo depicts",
            "a PHOTO depicts a",
            "A photo depicts. A photo depicts",
            "photo",
            "\uff21 photo \uff44epicts",
        ),
    ],
)
def test_no_word_that_says_anything(text):
    assert "wordless" in hits(text)


def test_the_words_of_a_prompt_are_words_elsewhere():
    assert not is_wordless("A photo depicts")
    assert not is_wordless("A photo depicts a dog", [PROMPT])
    assert not is_wordless("A photo depicts 狗", [PROMPT])


@pytest.mark.parametrize(
    "text",
    [
        *(
            "<b>a red ring</b>",
            "a red ring<br>",
            "a ring </s>",
            "a ring <!-- x -->",
            "&lt;b&gt;a ring",
            "\uff1cb\uff1ea ring",
        ),
        *(
            "&amp;lt;b&amp;gt;a ring",
            "<\u200bb>a ring",
            "a ring<|endoftext|>a star",
            "<|im_start|> a ring",
            "< i >ring",
        ),
        *("[INST] a ring [/INST]", "a ring [SEP]", "▁a▁ring", "<0x0A> a ring", "<<SYS>> a ring"),
        *("**a red ring**", "__a ring__", "`a ring`", "# A ring", "[a ring](ring)", r"\textbf{a ring}", "$$ring$$"),
        *('{"caption": "a ring"}', "{{caption}}"),
    ],
)
def test_markup_and_special_tokens(text):
    assert is_marked_up(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "red red red",
            "Red, red! RED",
            "a red ring a red ring",
            "A red ring. A red ring.",
            "ring star ring star ring star",
        ),
        "a ring red a red ring ring a red star red a ring a red star ring red",
        "a red ring on a blue field, and a dog; now a red ring on a blue field, and a cat",
        *("ringringring", "loooooooooong", "a ring" + "!" * 50, "a ring ! ! ! ! ! ! ! ! ! !", "réd réd re\u0301d"),
        *("红色红色红色红色", "一个红色的圆环一个红色的圆环", "哈哈哈哈哈哈哈哈", "狗狗狗狗狗狗狗"),
        "r\u200bed red r\u200ded",
    ],
)
def test_the_same_again_and_again(text):
    assert repeats_itself(text)


def test_long_repetitions_are_found_at_once():
    words = [f"w{i}" for i in range(60)]
    assert not repeats_itself(" ".join(words))
    assert repeats_itself(" ".join(words * 2))
    assert repeats_itself(" ".join(words[:30] + words[:30]))
    assert not repeats_itself(" ".join(f"w{i}" for i in range(5000)))


# -- the prompt -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("A photo depicts a dog", "a dog"),
        (" a  PHOTO\ndepicts: A photo depicts a dog.", "a dog."),
        ("A photo depictsx", "A photo depictsx"),
        ("a dog. A photo depicts a cat", "a dog. A photo depicts a cat"),
        ("A photo depicts", ""),
    ],
)
def test_prompts_are_taken_off_the_beginning(text, left):
    assert without_prompts(text, (PROMPT, "")) == left
    assert without_prompts(text, ("",)) == text


@pytest.mark.parametrize(
    "text",
    [
        *(
            "a man with a",
            "A man with A ...",
            "a man holding (the)",
            "a dog and\n",
            "a dog near \u2026",
            "a dog on an_",
        ),
        *("a man with \uff41", "a man with a\u200b", "a man sitting on, !"),
    ],
)
def test_texts_that_break_off(text):
    assert breaks_off(text)


@pytest.mark.parametrize(
    "text",
    ["", "...", "a dog", "a man sits down.", "a flag of the U.S.A.", "with a dog", "he is in and out", "salt and/or"],
)
def test_texts_that_do_not_break_off(text):
    assert not breaks_off(text)


# -- names ------------------------------------------------------------------------------------------------------------
def test_guards_are_switched_off_by_name():
    assert check_guards(()) == GUARDS == ("wordless", "markup", "repetition", "unfinished", "context")
    assert check_guards("unfinished") == ("wordless", "markup", "repetition", "context")
    assert check_guards(["context", "wordless"]) == ("markup", "repetition", "unfinished")
    for wrong, shown in (("markups", "'markups'"), (["markup", "x"], "'x'"), (3, "3"), ([None], r"\[None\]")):
        with pytest.raises(ValueError, match=rf"^`unguarded`.*got {shown}"):
            check_guards(wrong)
