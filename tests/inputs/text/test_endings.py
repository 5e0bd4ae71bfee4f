"""Endings of unfinished captions: the list of the card, and how often they end human captions."""

import re
from collections import Counter

from coco_captions import coco, needs_coco
from folders import METRICS

from vlgauge.inputs.text.endings import CONJUNCTIONS, DETERMINERS, PREPOSITIONS, is_unfinished

WORDS = {"determiners": DETERMINERS, "prepositions": PREPOSITIONS, "conjunctions": CONJUNCTIONS}


def test_the_card_lists_the_words():
    card = " ".join((METRICS / "cider" / "README.md").read_text("utf-8").split())
    for name, words in WORDS.items():
        assert f"* {name}: {', '.join(words)}." in card
    assert len({word for words in WORDS.values() for word in words}) == sum(map(len, WORDS.values()))


def test_the_last_word_decides():
    assert is_unfinished("a man with a")
    assert is_unfinished("A man with THE.")
    assert not is_unfinished("the man with a dog")
    assert not is_unfinished("")
    assert not is_unfinished("!" * 200_000 + "x" * 200_000)


@needs_coco
def test_few_human_captions_end_in_them():
    captions = [one for own in coco()["tokenized_references"] for one in own]
    raw = [one for own in coco()["references"] for one in own]
    assert (sum(map(is_unfinished, captions)), sum(map(is_unfinished, raw)), len(raw)) == (24, 24, 5005)
    last = Counter(caption.split()[-1] for caption in captions)
    every = Counter(word for caption in captions for word in re.findall(r"\S+", caption))
    for word in (word for words in WORDS.values() for word in words):
        assert last[word] <= 0.03 * every[word]
