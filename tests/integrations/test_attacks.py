"""Texts that are not captions, rewarded with and without the guards: the table of docs/howto/rewards.md."""

import json
import re

import numpy as np
import pytest
from folders import TESTS

from vlgauge.integrations.guards import GUARDS
from vlgauge.integrations.trl import caption_reward

EXAMPLES = TESTS.parent / "examples"
PAGE = TESTS.parent / "docs" / "howto" / "rewards.md"

MANY_WORDS = " ".join(f"w{i}" for i in range(80))
ATTACKS = {
    "the caption itself": lambda caption: caption,
    "nothing": lambda caption: "",
    "`A photo depicts`": lambda caption: "A photo depicts",
    "fifty `!`": lambda caption: "!" * 50,
    "caption, fifty `!`": lambda caption: caption + "!" * 50,
    "`<b>`caption`</b>`": lambda caption: f"<b>{caption}</b>",
    "`**`caption`**`": lambda caption: f"**{caption}**",
    "caption, end token, lie": lambda caption: caption + "<|endoftext|> and a dog",
    "caption three times": lambda caption: " ".join([caption] * 3),
    "one of its words twenty times": lambda caption: " ".join([caption.split()[-3]] * 20),
    "caption, eighty words more": lambda caption: f"{caption} {MANY_WORDS}",
    "`an image of a picture`": lambda caption: "an image of a picture",
}
# Texts that read like captions, so that only the image would reveal them.
NOT_GUARDED = {"the caption itself", "`an image of a picture`"}


def attack_rows(name):
    """Return per attack the mean reward, and the number of texts that beat their caption, without and with guards."""
    lines = (EXAMPLES / "captioned_scenes.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    captions = [row["predictions"] for row in rows]
    asked = {"prompts": captions, "image": [str(EXAMPLES / row["images"]) for row in rows]}
    rewards = [caption_reward(name, profile="embedded", unguarded=off) for off in (GUARDS, ())]
    honest = np.array(rewards[0](completions=captions, **asked))
    found = {}
    for attack, changed in ATTACKS.items():
        texts = [changed(caption) for caption in captions]
        paid = [np.array(reward(completions=texts, **asked)) for reward in rewards]
        # Scores of one text differ in the last bits from batch to batch.
        found[attack] = [number for own in paid for number in (own.mean(), np.sum(own > honest + 1e-6))]
    return found


def table_of_the_page(name):
    """Return the values of one metric in the table of the page, which are without guards."""
    place = {"clip_s": 0, "pac_s": 2}[name]
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in re.split(r"\|", line)[1:-1]] for line in lines]
    return {row[0]: [float(cell) for cell in row[1 + place : 3 + place]] for row in cells if row[0] in ATTACKS}


@pytest.mark.filterwarnings("ignore:.*of 68 captions and references")
@pytest.mark.parametrize("name", ["clip_s", "pac_s"])
def test_attacks_pay_nothing_and_the_page_says_what_they_paid(name):
    found, told = attack_rows(name), table_of_the_page(name)
    assert list(told) == list(ATTACKS)
    for attack, (before, won_before, after, won_after) in found.items():
        mean, times = told[attack]
        assert (before, won_before) == (pytest.approx(mean, abs=0.006), pytest.approx(times, abs=1))
        kept = (before, won_before) if attack in NOT_GUARDED else (0.0, 0)
        assert (after, won_after) == (pytest.approx(kept[0]), pytest.approx(kept[1], abs=1))
    assert max(found[attack][1] for attack in ATTACKS) > 25  # at least one attack wins without the guards
