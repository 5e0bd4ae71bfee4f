"""Tokens of the metrics of captions: COCO's, the setting, document frequencies, and scripts without spaces."""

import gzip
import re
import warnings

import pytest

import vlgauge
from vlgauge.families.ngram.cider import DocumentFrequency
from vlgauge.inputs.text.ptb.tokens import PTB, coco_tokens

METRICS = ["bleu", "cider", "meteor", "rouge_l"]
SETTINGS = {"meteor": {"version": "2007"}}  # 1.5 requires files, and splits its input again
CAPTIONS = ["5 7/8 (555) 123-4567", "A half-full glass.", "the dog's"] * 20  # fewer documents are warned of


def computed(name, captions, **settings):
    """Return the result of each caption against itself, with details."""
    metric = vlgauge.load(name, keep_in_memory=True, progress=False, **SETTINGS.get(name, {}), **settings)
    return metric.compute(predictions=captions, references=[[one] for one in captions], return_details=True)


# -- which tokens -----------------------------------------------------------------------------------------------------
def test_tokens_with_hard_spaces_are_split_but_not_by_rouge_l():
    words = ["5", "7/8", "-lrb-555-rrb-", "123-4567"]
    assert coco_tokens(CAPTIONS[0]) == words
    for name in METRICS:
        tokens = computed(name, CAPTIONS)[f"{name}_details"][0]["tokens"]
        assert list(tokens) == (["5\xa07/8", "-lrb-555-rrb-\xa0123-4567"] if name == "rouge_l" else words)


@pytest.mark.parametrize("name", METRICS)
def test_signatures_name_the_tokens(name):
    by_default, by_name, custom = (
        computed(name, CAPTIONS, **settings)[f"{name}_signature"]
        for settings in ({}, {"tokenizer": "ptb"}, {"tokenizer": str.split})
    )
    assert f"|tokenizer:{PTB}" in by_default
    assert by_name == by_default
    assert "|tokenizer:custom(builtins.str.split)" in custom


@pytest.mark.parametrize("name", [*METRICS, "trm"])
def test_other_names_are_refused(name):
    message = r"^`tokenizer`.*'ptb'.*got 'words'"
    with pytest.raises(ValueError, match=message):
        vlgauge.load(name, tokenizer="words")


def test_trm_has_the_tokens_of_its_authors_unless_asked():
    rows = {"predictions": [["a half-full cup", "a cup"]], "references": [["a half full cup", "halffull cups"]]}
    plain, ptb, function = (
        vlgauge.load("trm", distance="rouge_l", **settings).compute(**rows)
        for settings in ({}, {"tokenizer": "ptb"}, {"tokenizer": coco_tokens})
    )
    assert "|tokenizer:treebank-1" in plain["trm_signature"]
    assert f"|tokenizer:{PTB}" in ptb["trm_signature"]
    assert ptb["trm_scores"] == function["trm_scores"] != plain["trm_scores"]


# -- document frequencies ---------------------------------------------------------------------------------------------
def frequencies_warnings(name, df, **settings):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        metric = vlgauge.load(name, df=df, progress=False, **settings)
        texts = [CAPTIONS] if name == "trm" else CAPTIONS[:1]
        metric.compute(predictions=texts, references=[CAPTIONS])
    return [str(one.message) for one in caught if "`df`" in str(one.message)]


@pytest.mark.parametrize("saved", [False, True])
def test_document_frequencies_of_other_tokens_are_told(saved, tmp_path):
    def table(**settings):
        counted = DocumentFrequency.from_references([CAPTIONS] * 60, **settings)
        if not saved:
            return counted
        counted.save(tmp_path / f"{len(settings)}.gz")
        assert DocumentFrequency.load(tmp_path / f"{len(settings)}.gz").tokens == counted.tokens
        return tmp_path / f"{len(settings)}.gz"

    trm = {"name": "trm", "distance": "cider_d"}
    (message,) = frequencies_warnings("cider", table(tokenizer=str.split))
    assert message.startswith("`df` was counted with the tokenizer 'custom(builtins.str.split)', but")
    assert "`vlgauge idf --references`" in message
    (message,) = frequencies_warnings("cider", table(), tokenizer=str.split)
    assert message.startswith(f"`df` was counted with the tokenizer '{PTB}', but")
    assert 'pass tokenizer="ptb"' in message
    with pytest.raises(ValueError, match=rf"^`df` must .* 'treebank-1', got .* '{PTB}'; set tokenizer=\"ptb\", or"):
        frequencies_warnings(df=table(), **trm)
    with pytest.raises(ValueError, match=rf"^`df` must .* '{PTB}', got .* 'char-1'; .*--tokenizer ptb"):
        frequencies_warnings("cider", table(tokenizer="char"))
    assert frequencies_warnings("cider", table(tokenizer="char"), tokenizer="char") == []
    assert frequencies_warnings("cider", table()) == []
    assert frequencies_warnings("cider", table(tokenizer=str.split), tokenizer=str.split) == []
    assert frequencies_warnings(df=table(), tokenizer="ptb", **trm) == []
    assert frequencies_warnings(df=table(tokenizer="treebank"), **trm) == []
    assert frequencies_warnings("cider", DocumentFrequency({("a",): 2}, 60)) == []


def test_files_of_version_1_have_other_tokens(tmp_path):
    header = '{"format":"vlgauge document frequencies","version":1,"documents":60,"entries":1}'
    (tmp_path / "df").write_bytes(gzip.compress(f'{header}\n["a",3]\n'.encode()))
    assert DocumentFrequency.load(tmp_path / "df").counts == {("a",): 3}
    (message,) = frequencies_warnings("cider", tmp_path / "df")
    assert message.startswith("`df` was counted with the tokenizer 'other', but")


# -- scripts without spaces between words ------------------------------------------------------------------------------
UNPARTED = {
    "一只狗在草地上跑": 'set tokenizer="zh", ',
    "犬が芝生の上を走っている": 'set tokenizer="ja", ',
    "สุนัขวิ่งบนสนามหญ้า": 'set tokenizer="th", ',
    "မြက်ခင်းပေါ်မှာခွေးပြေး": "",
}
PARTED = [
    "一只 狗 在 草地 上 跑",
    "개가 풀밭 위를 달린다",
    "الكلب يركض على العشب",
    "собака бежит по траве",
    "インターネット で 見た 犬",
    "狗在跑",
]


def told(name, captions, **settings):
    """Return the warnings of a call in which each caption is scored against itself."""
    rows = {"predictions": captions, "references": [[caption] for caption in captions]}
    if name == "trm":
        rows = {column: [texts if column == "references" else [texts] for texts in rows[column]] for column in rows}
        rows = {column: [[text, f"{text} ."] for (text,) in texts] for column, texts in rows.items()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        vlgauge.load(name, **SETTINGS.get(name, {}), **settings).compute(**rows)
    return [str(one.message) for one in caught if "spaces" in str(one.message)]


@pytest.mark.parametrize("name", ["bleu", "cider", "meteor", "rouge_l", "trm"])
def test_captions_without_spaces_between_words_are_told(name):
    for caption, setting in UNPARTED.items():
        (message,) = told(name, [caption, "a dog runs"])
        assert re.match(r"\d of \d captions have no spaces between their words, such as '", message)
        assert caption[:20] in message
        assert f"count as one word each; {setting}insert spaces, pass a function" in message
    assert told(name, PARTED) == []
    assert (
        told(
            name,
            [next(iter(UNPARTED)), *("a dog", "two dogs", "a cat runs", "no cat", "one", "cats", "a", "b c", "d", "e")],
        )
        == []
    )
    assert told(name, [*UNPARTED], tokenizer=list) == []
    assert told(name, [*UNPARTED], tokenizer="char") == []
    assert told(name, [*UNPARTED], tokenizer="treebank") != []
