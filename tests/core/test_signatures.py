"""Signatures: one ASCII word that describes the computation of a score and can be parsed."""

import dataclasses
import json
import re
import string
import sys
from functools import partial

import numpy as np
import pytest
from folders import HELPERS
from hypothesis import example, given
from hypothesis import strategies as st
from own_cases import own
from signature_cases import UNSIGNED, Files, changes, here, rows_of

import vlgauge
from vlgauge.core import catalog
from vlgauge.core.pool import pool
from vlgauge.core.signatures import format_signature, local_name, parse_signature, signature_value
from vlgauge.core.validation import setting_names
from vlgauge.families.base import metric as metric_base
from vlgauge.families.grounding import metric as grounding_metric
from vlgauge.families.style import StyleTable
from vlgauge.inputs.text import concreteness
from vlgauge.models import detectors

METRICS = sorted(catalog.metric_names())
# Surrogates too, which no encoding holds.
TEXTS = st.text(st.characters(codec=None), max_size=12)
ODD = "%|: \n\t\x00%20\u00a0\u2028é😀\ud800"


@given(TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=4))
@example("", {"": ""})
@example(ODD, {ODD: ODD, "%7C": "%25", "a:b": "c:d"})
def test_what_was_written_is_read(name, fields):
    text = format_signature(name, fields)
    assert parse_signature(text) == (name, fields)
    assert set(text) <= set(string.printable) - set(string.whitespace)
    assert text.count("|") == len(fields)


def test_example():
    fields = {"v": "0.1.0", "w": 2.0, "prompt": "A photo depicts", "n": 4, "table": "mine|a%b", "at": "x:y"}
    text = "pac_s|v:0.1.0|w:2|prompt:A%20photo%20depicts|n:4|table:mine%7Ca%25b|at:x:y"
    assert format_signature("pac_s", fields) == text
    assert parse_signature(text) == ("pac_s", {key: str(signature_value(value)) for key, value in fields.items()})


@pytest.mark.parametrize(("text", "part"), [("m|0.1.0", "0.1.0"), ("m|v:1|", ""), ("m|v:1|v:2", "v:2")])
def test_other_text_is_refused(text, part):
    with pytest.raises(ValueError, match=rf"^`text`.*NAME.*got '{part}'"):
        parse_signature(text)


def test_functions_have_their_names_only():
    assert signature_value(test_local_name) == f"custom({__name__}.test_local_name)"


def test_lambdas_and_local_functions_are_told_apart_by_their_code():
    def local(word):
        return sorted({"one", "two", word})

    functions = [
        *(lambda a, b: len(a), lambda a, b: len(b), lambda a: 1, lambda a: 1.0, lambda a: True, lambda a: str(a)),
        *(lambda a: repr(a), lambda a: [b for b in a], lambda a: [b for b in a if b], lambda a: "x\ud800", local),
    ]
    names = [signature_value(one) for one in functions]
    assert len(set(names)) == len(names)
    place = f"custom({__name__}.test_lambdas_and_local_functions_are_told_apart_by_their_code.<locals>."
    assert all(re.fullmatch(rf"{re.escape(place)}(<lambda>|local)@[0-9a-f]{{8}}\)", name) for name in names)


def test_the_name_of_a_lambda_is_that_of_its_code_wherever_it_stands(run_python, tmp_path):
    source = "lambda a: a in {'s', 't', 'u', 'v', 'w', 'x', 'y', 'z'} or [b for b in a if b > 1.5]"
    here, there = {}, {}
    exec(compile(f"f = {source}", "one.py", "exec"), {"__name__": "__main__"}, here)
    exec(compile(f"\n\n\nf = {source}", "two.py", "exec"), {"__name__": "__mp_main__"}, there)
    for _ in range(100):  # Python rewrites code that often runs
        here["f"]((2, 3))
    assert signature_value(here["f"]) == signature_value(there["f"])
    assert signature_value(here["f"]).startswith("custom(__main__.<lambda>@")
    code = f"from vlgauge.core.signatures import signature_value\nprint(signature_value({source}))"
    assert run_python(code, cwd=tmp_path, PYTHONHASHSEED="11").strip() == signature_value(here["f"])


def test_partial_functions_are_told_apart_by_what_they_hold(run_python, tmp_path):
    held = [1, 1.0, True, "1", b"1", None, [1], (1,), {1}, {"a": 1}, {"a": 2}, np.arange(2), np.arange(3), len, max]
    made = [partial(sorted, one) for one in held] + [partial(sorted), partial(sorted, reverse=True), partial(repr, 1)]
    names = [signature_value(one) for one in made]
    assert len(set(names)) == len(names)
    assert all(
        re.fullmatch(r"custom\(functools\.partial\(builtins\.(sorted|repr)\)@[0-9a-f]{8}\)", one) for one in names
    )
    assert signature_value(partial(sorted, a=1, b=2)) == signature_value(partial(sorted, b=2, a=1))
    assert signature_value(partial(sorted, object())) == signature_value(partial(sorted, object()))  # no address
    assert signature_value(partial(sorted, np.float64(0.5))) == signature_value(partial(sorted, 0.5))
    letters = "functools.partial(sorted, set('stuvwxyz'), sep=lambda a: a)"
    code = f"import functools\nfrom vlgauge.core.signatures import signature_value\nprint(signature_value({letters}))"
    assert len({run_python(code, cwd=tmp_path, PYTHONHASHSEED=seed) for seed in ("1", "2")}) == 1


def test_objects_and_their_methods_have_the_name_of_the_class():
    metric = string.Formatter(), string.Formatter()
    assert {signature_value(one.format) for one in metric} == {"custom(string.Formatter.format)"}
    assert signature_value(metric[0]) == "custom(string.Formatter)"
    assert signature_value(np.maximum) == "custom(numpy.maximum)"
    assert (
        signature_value(np.frompyfunc(max, 2, 1)) == "custom(numpy.ufunc(max (vectorized)))"
    )  # like SciPy's, not NumPy's


def test_local_name():
    assert local_name("0123456789abcdef" * 4) == "local@sha256-0123456789ab"


# -- settings ---------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def files(tmp_path_factory):
    yield Files(tmp_path_factory.mktemp("files"))
    pool.unload()


@pytest.fixture
def sources(monkeypatch, files):
    """Replacements of sources that are large or not installed, with names that follow from the settings."""
    table = {revision * 40: files.table("a dog", caption) for revision, caption in (("1", "a cat"), ("2", "the sea"))}
    real = StyleTable.load
    monkeypatch.setattr(StyleTable, "load", lambda source, revision=None: table.get(revision) or real(source))
    monkeypatch.setattr(detectors, "detector", lambda name, weights, **_: Detector(f"{name}@{weights}"))
    monkeypatch.setattr(concreteness, "wordnet_lemmas", lambda: lambda word: [word])


class Detector:
    """Detector that returns the whole image as its only region."""

    def __init__(self, identity):
        self.identity, self.known = identity, {}

    def __call__(self, image):
        return [[0, 0, *image.size]], [0.9]


class Phrases:
    """Every word is a phrase and a noun."""

    language = "en"

    def __init__(self, setting):
        self.identity = f"words-{setting}"

    def nouns(self, sentences, **_):
        return [sentence.rstrip(".").lower().split() for sentence in sentences]

    noun_phrases = nouns


def published(choose, *arguments, **settings):
    return dataclasses.replace(choose(*arguments, **settings), is_published=True)


def signature(name, settings, monkeypatch):
    metric = vlgauge.load(name, keep_in_memory=True, **settings)
    package = f"{type(metric).__module__.rpartition('.')[0]}."
    with monkeypatch.context() as patch:
        own = [file for path, file in sys.modules.items() if path.startswith(package)]
        for file in [*own, grounding_metric]:
            if hasattr(file, "phrase_source"):
                patch.setattr(file, "phrase_source", lambda setting, **_: Phrases(setting))
            for look in ("look_for_phrases", "look_for_regions", "look_for_weights"):  # replacements require no files
                if hasattr(file, look):
                    patch.setattr(file, look, lambda *_, **__: None)
            if hasattr(file, "load_encoder") and "dataset" in settings:  # the published one
                chosen = partial(published, file.load_encoder)
                patch.setattr(file, "load_encoder", chosen)
        return metric.compute(**rows_of(name, settings))[f"{name}_signature"]


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_settings_change_the_signature_but_those_of_the_list(name, files, sources, monkeypatch, tmp_path):
    cases = changes(name, files)
    metric = type(vlgauge.load(name, keep_in_memory=True))
    listed = {*metric_base.NOT_IN_SIGNATURE, *metric.unsigned} & set(setting_names(metric))
    wanted = set(setting_names(metric)) - listed - {"profile"}
    assert set(cases) == wanted, f"`changes` in tests/metrics/{name}/cases.py must have these settings, each twice"
    usual, *_ = next(iter(cases.values()), ({},))
    others = {
        setting: value for setting, value in (UNSIGNED | {"feature_cache": tmp_path}).items() if setting in listed
    }
    assert set(others) == listed
    with_others = signature(name, usual | others, monkeypatch)
    if not cases:
        assert with_others == signature(name, usual, monkeypatch)
    for setting, pair in cases.items():
        texts = [signature(name, settings, monkeypatch) for settings in pair]
        assert pair[0] is not usual or texts[0] == with_others
        assert texts[0] != texts[1], setting
        for text in texts:
            fields = parse_signature(text)[1]
            assert list(fields)[:2] == ["v", "profile"]
            assert not any(place in text for place in (" ", str(files.folder), files.folder.name, "0x")), text
            first = [key for key in ("v", "profile", "enc", "dtype", "prep") if key in fields]
            assert list(fields)[: len(first)] == first


def profiles_told(name, **settings):
    metrics = [vlgauge.load(name, keep_in_memory=True, profile=one, **settings) for one in ("paper", "embedded")]
    return [parse_signature(metric.signature())[1]["profile"] for metric in metrics]


@pytest.mark.parametrize("name", METRICS)
def test_the_profile_is_in_every_signature_of_a_number_that_models_make(name):
    uses_models = own(name, "USES_MODELS", bool(catalog.metric_facts(name).needs))
    assert profiles_told(name) == ["paper", "embedded" if uses_models else "paper"]


def test_sentence_vectors_make_the_number_of_trm_one_of_a_profile():
    assert profiles_told("trm", distance="bert") == ["paper", "embedded"]


# Their models require transformers, whose import takes as long as the rest of this file.
OF_TRANSFORMERS = {"aloha", "bertscore", "capture", "clair", "dsg", "fleur", "polos", "rovist", "rovist_c", "rovist_vg"}
OF_TRANSFORMERS |= {"soft_spice", "vqascore"}


def test_equal_settings_give_one_signature_in_every_process_and_folder(tmp_path, monkeypatch, run_python):
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "one")
    ours = here(METRICS)
    monkeypatch.chdir(tmp_path / "two")
    pool.unload()
    assert here(METRICS) == ours
    others = [name for name in METRICS if name not in OF_TRANSFORMERS]
    path = f"import json, sys; sys.path.insert(0, {str(HELPERS)!r})"
    code = f"{path}\nfrom signature_cases import here\nprint(json.dumps(here({others})))"
    theirs = run_python(code, cwd=tmp_path / "three", PYTHONHASHSEED="7", HF_HOME=str(tmp_path / "home"))
    assert json.loads(theirs.splitlines()[-1]) == {name: ours[name] for name in others}
