"""Tokenizers by name: their tokens, signatures, missing packages, other processes, and metrics of English only."""

import json
import logging
import multiprocessing
import pickle
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import pytest

import vlgauge
from vlgauge.core.errors import MissingExtraError
from vlgauge.core.pool import pool
from vlgauge.families.ngram.cider import DocumentFrequency
from vlgauge.inputs.text.tokenizers import (
    NAMES,
    WORD_TOKENIZERS,
    check_installed,
    open_tokenizer,
    tokens_name,
    warn_of_unparted,
)

MODULES = {
    **dict.fromkeys(("13a", "intl"), "sacrebleu"),
    **{"zh": "jieba", "ja": "fugashi", "th": "pythainlp", "ko": "kiwipiepy"},
}
LANGUAGES = ("zh", "ja", "th", "ko")
METRICS = ("bleu", "cider", "rouge_l")
CAPTIONS = {
    "zh": ["一只棕色的狗在草地上奔跑。", "两只猫睡在红色的沙发上", "一只狗在草地上睡觉。"],
    "ja": ["茶色の犬が芝生の上を走っている。", "猫が赤いソファで寝ている", "犬が芝生の上で寝ている。"],
    "th": ["สุนัขสีน้ำตาลวิ่งบนหญ้าสีเขียว", "แมวสองตัวนอนบนโซฟาสีแดง", "สุนัขนอนบนหญ้า"],
    "ko": [
        "갈색 개가 초록 잔디 위를 달리고 있다.",
        "고양이 두 마리가 빨간 소파에서 잔다",
        "개가 잔디 위에서 자고 있다.",
    ],
    "13a": ["A dog's ball, e.g. 3.5 cm.", "two cats; one &amp; two", "it's a dog."],
    "intl": ["A dog's “ball”, 3,5$", "two cats", "it's a dog."],
    "char": ["一只狗。", "a dog", "犬"],
    "ptb": ["A dog's ball.", "two cats", "it's a dog."],
    "treebank": ["A dog's ball.", "two cats", "it's a dog."],
}
# Words that every segmenter finds in the first caption.
WORDS = {
    "zh": {"棕色", "狗", "草地"},
    "ja": {"茶色", "犬", "芝生"},
    "th": {"สุนัข", "วิ่ง", "หญ้า"},
    "ko": {"갈색", "잔디", "달리"},
}


def needed(name):
    """Return the name as a case that is skipped if its package is not installed."""
    module = MODULES.get(name)
    missing = module is not None and find_spec(module) is None
    return pytest.param(name, marks=pytest.mark.skipif(missing, reason=f"needs {module}"))


ALL = [needed(name) for name in NAMES]
OF_PACKAGES = [needed(name) for name in MODULES]
SEGMENTERS = [needed(name) for name in LANGUAGES]


def computed(name, captions, **settings):
    metric = vlgauge.load(name, keep_in_memory=True, progress=False, **settings)
    return metric.compute(predictions=captions, references=[[one] for one in reversed(captions)])


# -- tokens -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", SEGMENTERS)
def test_words_of_a_language_are_lowercase_and_without_punctuation(name):
    split = open_tokenizer(name)
    words = split(f"  {CAPTIONS[name][0]} (OK)!\u3000\n \u200b「T-shirt」…")
    assert WORDS[name] <= {*words}
    assert "ok" in words
    assert all(word and word == word.lower() and not re.search(r"[\s\u200b。.()「」…!]", word) for word in words)
    assert split(" \t\u3000。、…!?") == split("") == []


@pytest.mark.parametrize("name", SEGMENTERS)
def test_words_after_a_zero_byte_count(name):
    split = open_tokenizer(name)
    text = CAPTIONS[name][0]
    assert split(f"{text}\0{text}") == split(text) * 2


def test_characters():
    split = open_tokenizer("char")
    assert split("一只狗, A か\u3099!\n") == ["一", "只", "狗", "a", "が"]
    assert split("") == []


def texts(n):
    parts = [*"aA1 .,'\u2019&<>;-+$€%()[]\"“”!?:\t\n", "&amp;", "&quot;", "3.5", "e.g.", "<skipped>", "-\n", "né"]
    parts += ["狗", "\u0661"]
    draw = random.Random(0)
    return ["".join(draw.choices(parts, k=draw.randrange(1, 30))) for _ in range(n)]


@pytest.mark.parametrize("name", [needed("13a"), needed("intl")])
def test_mteval_is_as_sacrebleu_tokenizes(name):
    from sacrebleu.metrics import BLEU

    lines = texts(3_000)
    scorer = BLEU(tokenize=name, lowercase=True, smooth_method="none", effective_order=False)
    assert [" ".join(open_tokenizer(name)(line)) for line in lines] == [
        " ".join(scorer.tokenizer(line.rstrip().lower()).split()) for line in lines
    ]
    words = ["a", "dog's", "cat,", "3.5", "runs", "on", "the", "(green)", "grass", "&", "sleeps!"]
    draw = random.Random(1)
    captions = [" ".join(draw.choices(words, k=draw.randrange(5, 12))) for _ in range(200)]
    ours = computed("bleu", captions, tokenizer=name)
    theirs = scorer.corpus_score(captions, [captions[::-1]]).score / 100
    assert ours["bleu"] == pytest.approx(theirs, rel=1e-9)


# -- metrics ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", OF_PACKAGES)
def test_signatures_have_the_version_of_the_package(name):
    text = tokens_name(name)
    assert re.fullmatch(rf"{name}(\+[a-z-]+-\d[\w.]+)+", text)
    for metric in METRICS:
        assert f"|tokenizer:{text}" in computed(metric, CAPTIONS[name] * 20, tokenizer=name)[f"{metric}_signature"]


@pytest.mark.parametrize("name", ALL)
def test_a_name_scores_like_its_function(name):
    captions = CAPTIONS[name] * 20
    for metric in ("bleu", "cider", *(["rouge_l"] if name != "ptb" else [])):
        by_name = computed(metric, captions, tokenizer=name)
        function = computed(metric, captions, tokenizer=lambda text: list(open_tokenizer(name)(text)))
        assert by_name[f"{metric}_scores"] == function[f"{metric}_scores"]
        assert len({*by_name[f"{metric}_scores"]}) > 1


@pytest.mark.parametrize("name", ALL)
def test_diversity_of_a_name(name):
    """Check each place where the metric splits captions: scores, vocabulary, frequencies and training captions."""
    captions, split = CAPTIONS[name], open_tokenizer(name)
    rows = {"predictions": [captions, captions[::-1]]}
    by_name, function = (
        vlgauge.load("diversity", tokenizer=tokenizer, training_captions=captions[:1], progress=False).compute(**rows)
        for tokenizer in (name, lambda text: list(split(text)))
    )
    assert f"|tokenizer:{tokens_name(name)}" in by_name["diversity_signature"]
    assert {key: value for key, value in by_name.items() if not key.endswith("_signature")} == {
        key: value for key, value in function.items() if not key.endswith("_signature")
    }
    assert by_name["diversity_vocabulary"] == len({word for caption in captions for word in split(caption)})
    table = DocumentFrequency.from_references([captions] * 20, tokenizer="treebank" if name == "char" else "char")
    with pytest.raises(ValueError, match=r"^`df` must be counted in the tokens of the captions"):
        vlgauge.load("diversity", tokenizer=name, df=table, progress=False).compute(**rows)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("distance", ["meteor", "cider_d", "rouge_l", "bleu_4"])
def test_distances_of_trm(name, distance):
    """Check that equal captions have the smallest distance, so every language has words for every distance."""
    captions = CAPTIONS[name]
    split = open_tokenizer(name)
    spaced = [" ".join(split(caption)) for caption in captions]
    df = DocumentFrequency.from_references([[one] for one in captions] * 20, tokenizer=name)
    options = {"df": df} if distance == "cider_d" else {}
    metric = vlgauge.load("trm", distance=distance, tokenizer=name, progress=False, **options)
    result = metric.compute(predictions=[captions[:2]], references=[captions[1:]], return_details=True)
    assert result["trm_details"][0]["n_empty"] == 0
    assert f"|tokenizer:{tokens_name(name)}" in result["trm_signature"]
    if name in LANGUAGES and distance != "cider_d":
        other = vlgauge.load("trm", distance=distance, tokenizer="char", progress=False)
        rows = {"predictions": [spaced[:2]], "references": [spaced[1:]]}
        assert result["trm_scores"] != [float("nan")]
        assert other.compute(**rows)["trm_undefined"] == 0


@pytest.mark.parametrize("name", SEGMENTERS)
def test_metrics_of_a_suite_share_tokens_by_tokenizer(name):
    captions = CAPTIONS[name] * 20
    rows = [{"predictions": one, "references": [other]} for one, other in zip(captions, captions[::-1], strict=True)]
    settings = {"bleu": {"tokenizer": name}, "cider": {"tokenizer": name}, "rouge_l": {"tokenizer": "char"}}
    metrics = [vlgauge.load(metric, progress=False, **own) for metric, own in settings.items()]
    scored = vlgauge.score(rows, metrics, progress=False)
    for metric, own in settings.items():
        alone = computed(metric, captions, **own)
        assert scored.results[metric][f"{metric}_scores"] == alone[f"{metric}_scores"]


def test_the_warning_of_a_metric_of_english_only_names_others():
    message = r"pass a function .*, or choose chrf, or bleu, cider or rouge_l with tokenizer=\"zh\"$"
    with pytest.warns(UserWarning, match=message):
        warn_of_unparted(["一只狗在草地上跑"], WORD_TOKENIZERS)


# -- document frequencies ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", SEGMENTERS)
def test_document_frequencies_of_a_name(name, tmp_path):
    from vlgauge.cli import main

    rows = [{"references": [one]} for one in CAPTIONS[name] * 20]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    out = tmp_path / "df.gz"
    assert main(["idf", str(out), "--references", str(tmp_path / "rows.jsonl"), "--tokenizer", name]) == 0
    table = DocumentFrequency.load(out)
    assert table.tokens == tokens_name(name)
    assert (
        table.counts
        == DocumentFrequency.from_references([row["references"] for row in rows], tokenizer=open_tokenizer(name)).counts
    )
    assert computed("cider", CAPTIONS[name], df=out, tokenizer=name)["cider"] > 0
    with pytest.raises(
        ValueError, match=rf"^`df` must be counted .* 'char-1', got .*'{name}\+.*set tokenizer=\"{name}\""
    ):
        computed("cider", CAPTIONS[name], df=out, tokenizer="char")
    older = DocumentFrequency(table.counts, table.n_documents, f"{name}+other-0.1")
    with pytest.warns(UserWarning, match=r"^`df` was counted with the tokenizer '.*other-0\.1'"):
        computed("cider", CAPTIONS[name], df=older, tokenizer=name)


# -- missing packages -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", MODULES)
def test_missing_packages_have_a_command(name, monkeypatch):
    monkeypatch.setattr("vlgauge.checkpoints.torch_runtime.find_spec", lambda module: None)
    extra = "mteval" if name in ("13a", "intl") else name
    message = rf'^tokenizer="{name}" requires .*{MODULES[name]}.*; run: pip install "vlgauge\[{extra}\]"$'
    with pytest.raises(MissingExtraError, match=message):
        check_installed(name)
    for metric in METRICS:
        with pytest.raises(MissingExtraError, match=message):
            vlgauge.load(metric, tokenizer=name).check_sources().end()
        with pytest.raises(MissingExtraError, match=message):
            computed(metric, CAPTIONS[name], tokenizer=name)
    with pytest.raises(MissingExtraError, match=message):
        vlgauge.load("trm", tokenizer=name).compute(predictions=[CAPTIONS[name]], references=[CAPTIONS[name]])
    rows = [{"predictions": "a", "references": ["b"]}]
    metrics = [vlgauge.load("bleu", tokenizer=name), vlgauge.load("cider", tokenizer="th" if name != "th" else "zh")]
    with pytest.raises(MissingExtraError, match=r"vlgauge\[.*vlgauge\["):
        vlgauge.score(rows, metrics)


# -- processes and threads --------------------------------------------------------------------------------------------
def tokens_of(name, captions):
    return [open_tokenizer(name)(caption) for caption in captions]


@pytest.mark.parametrize("name", SEGMENTERS)
def test_the_name_travels_to_other_processes(name):
    metric = vlgauge.load("bleu", tokenizer=name, keep_in_memory=True, progress=False)
    rows = {"predictions": CAPTIONS[name], "references": CAPTIONS[name][::-1]}
    expected = metric.compute(**rows)  # opens the tokenizer
    copy = pickle.loads(pickle.dumps(metric))
    assert copy.tokenizer == name
    assert copy.compute(**rows) == expected


def tokens_by_threads(name, captions):
    before = list(pool.encoders)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda text: open_tokenizer(name)(text), captions))
    return before, found, ("tokenizer", name) in pool.encoders


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
@pytest.mark.parametrize("name", SEGMENTERS)
def test_threads_of_a_forked_process_open_it_again_once(name):
    captions = [f"{one} {i}" for i in range(40) for one in CAPTIONS[name]]
    expected = tokens_of(name, captions)
    with multiprocessing.get_context("fork").Pool(1) as workers:
        assert workers.apply_async(tokens_by_threads, (name, captions)).get(60) == ([], expected, 1)


@pytest.mark.skipif(find_spec("jieba") is None, reason="needs jieba")
def test_jieba_writes_no_files_logs_nothing_and_ignores_words_of_the_user(tmp_path, monkeypatch):
    code = (
        "import jieba; jieba.add_word('在草地上奔跑'); from vlgauge.inputs.text.tokenizers import open_tokenizer;"
        "print('在草地上奔跑' in open_tokenizer('zh')('一只棕色的狗在草地上奔跑'))"
    )
    environment = {"TMPDIR": str(tmp_path), "PYTHONIOENCODING": "utf-8", "HOME": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", code.replace("jieba.add_word('在草地上奔跑'); ", "")],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (ran.stdout, ran.stderr) == ("False\n", "")
    assert not [path for path in tmp_path.iterdir() if "jieba" in path.name]
    import jieba

    level = logging.getLogger("jieba").level
    monkeypatch.setattr(pool, "encoders", {})
    jieba.add_word("在草地上奔跑")
    assert "在草地上奔跑" not in open_tokenizer("zh")("一只棕色的狗在草地上奔跑")
    assert logging.getLogger("jieba").level == level


# -- English only -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [*LANGUAGES, "char"])
def test_metrics_of_english_only_refuse_other_languages(name):
    names = r"'ptb', 'treebank', '13a', 'intl' or a function"
    with pytest.raises(
        ValueError, match=rf"^`tokenizer` .*{names} for METEOR 1\.5, .* English only, got '{name}'; .*2007"
    ):
        vlgauge.load("meteor", tokenizer=name)
    with pytest.raises(ValueError, match=rf"^`tokenizer` .*{names} for distance 'meteor_1\.5'.*'{name}'; .*'meteor'"):
        vlgauge.load("trm", tokenizer=name, distance="meteor_1.5")
    spider = vlgauge.load("spider", tokenizer=name)
    with pytest.raises(ValueError, match=rf"^`tokenizer` .*{names} for the parser of SPICE.*'{name}'; pass `graphs`"):
        spider.compute(predictions=CAPTIONS[name], references=CAPTIONS[name])


@pytest.mark.parametrize("name", SEGMENTERS)
def test_what_they_can_do_in_other_languages(name):
    captions = CAPTIONS[name]
    assert computed("meteor", captions, version="2007", tokenizer=name)["meteor"] > 0
    graphs = {"predictions": ["( dog , run )"], "references": [["( dog , run )"]]}
    df = DocumentFrequency.from_references(captions * 20, tokenizer=name)
    spider = vlgauge.load("spider", tokenizer=name, df=df, progress=False)
    result = spider.compute(predictions=captions[:1], references=[captions[1:2]], graphs=graphs)
    assert result["spider_spice"] == 1
    assert f"|tokenizer:{tokens_name(name)}" in result["spider_signature"]
