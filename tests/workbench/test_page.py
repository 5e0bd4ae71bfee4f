"""The page before a metric is selected, and during the selection."""

import gradio as gr
import pytest
from starlette.requests import Request

from vlgauge.core.catalog import metric_names
from vlgauge.inputs.text import tokenizers
from vlgauge_workbench import picker, score_tab, scoring
from vlgauge_workbench.app import _open_address, _pick_metric, _set_values


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("stylecider", ["Caption", "References", "Style"]),
        ("clip_s", ["Caption", "References (optional)", "Image"]),
    ],
)
def test_the_page_begins_with_an_example_that_is_scored(built, metric, expected):
    blocks = list(built(metric=metric).blocks.values())
    form = next(one for one in blocks if one.elem_id == "form")
    fields = [one for one in blocks if isinstance(one, (gr.Textbox, gr.Gallery, gr.Video)) and one.visible]
    own = [one for one in fields if form in (one.parent, one.parent.parent)]
    assert [one.label for one in own] == expected
    assert all(one.value for one in own)
    shown = next(one for one in blocks if one.elem_id == "shown").value
    assert "Subtle example" in shown
    assert f"{metric}|v:" in shown


def test_the_list_has_every_metric_with_its_question():
    listed = picker.sheet()
    assert listed.count('role="option"') == len(metric_names())
    assert "How grounded, coherent and non-redundant is a story?" in listed
    assert 'aria-label="reads a text and images"' in listed


def asked(query):
    return gr.Request(Request({"type": "http", "headers": [], "query_string": query}))


@pytest.mark.parametrize("query", [b"", b"metric=rovist_nr", b"metric=nobody", b"metric=rovist_nr&example=subtle"])
def test_an_address_that_names_nothing_else_changes_nothing(query):
    assert _open_address("rovist_nr", "", "embedded", asked(query)) == gr.skip()


def test_an_address_names_metric_example_and_text():
    changed = _open_address(
        "rovist_nr", "", "embedded", asked(b"metric=clip_s&config=video&example=wrong&profile=nonsense")
    )
    assert changed[:4] == ["clip_s", "video", "embedded", ("clip_s", "video")]
    assert "One color is wrong" in changed[4 + 2 + 6]
    changed = _open_address("rovist_nr", "", "embedded", asked(b"metric=rouge_l&predictions=A+dog+ran.&images=x"))
    _, predictions, *_, shown, _ = changed[6 : 6 + 8]
    assert (predictions.value, shown) == ("A dog ran.", "")


def test_a_metric_that_was_chosen_before_changes_nothing():
    before = ("clip_s", "video", "embedded", ("clip_s", "video"))
    assert _pick_metric(*before, gr.EventData(None, {"metric": "clip_s"})) == gr.skip()
    assert ("rouge_l", "") in _pick_metric(*before, gr.EventData(None, {"metric": "rouge_l"}))


@pytest.mark.parametrize("told", [None, [], {}, {"metric": ["clip_s"]}, {"metric": "nobody"}])
def test_what_the_page_does_not_offer_is_refused(told):
    event = gr.EventData(None, told)
    with pytest.raises(gr.Error, match="`metric`"):
        _pick_metric("clip_s", "image", "embedded", ("clip_s", "image"), event)


@pytest.mark.parametrize("told", [{"config": "mine"}, {"config": 1}, {"profile": "mine"}, {"profile": ["paper"]}])
def test_other_settings_than_those_offered_are_refused(told):
    with pytest.raises(gr.Error, match="must be one of"):
        _set_values("clip_s", "image", "embedded", "", gr.EventData(None, told))


@pytest.mark.parametrize(
    ("name", "tokenizer", "message"),
    [
        ("bleu", "mine", "`tokenizer` must be one of"),
        ("bleu", ["zh"], "`tokenizer` must be one of"),
        ("meteor", "char", "`tokenizer` must be one of"),
        ("spider", "char", "`tokenizer` must be one of"),
        ("chrf", "char", "`tokenizer` must be empty for chrf"),
    ],
)
def test_other_tokenizers_than_those_offered_are_refused(name, tokenizer, message):
    with pytest.raises(gr.Error, match=message):
        _set_values(name, "", "embedded", "", gr.EventData(None, {"tokenizer": tokenizer}))


def test_a_chosen_tokenizer_stays_until_another_metric_is_chosen():
    changed = _set_values("bleu", "", "embedded", "", gr.EventData(None, {"tokenizer": "char"}))
    assert changed[-1] == "char"
    assert '<option value="char" selected>' in changed[4]
    assert changed[4] == changed[5]
    assert "tokenizer:char-1" in changed[12]
    assert _set_values("bleu", "", "embedded", "char", gr.EventData(None, {"profile": "embedded"}))[-1] == "char"
    assert _set_values("bleu", "", "embedded", "char", gr.EventData(None, {"tokenizer": "ptb"}))[-1] == ""
    assert _pick_metric("bleu", "", "embedded", ("bleu", ""), gr.EventData(None, {"metric": "rouge_l"}))[-1] == ""
    changed = _open_address("rovist_nr", "", "embedded", asked(b"metric=bleu&tokenizer=char"))
    assert changed[-1] == "char"
    assert _open_address("bleu", "", "embedded", asked(b"metric=bleu&tokenizer=nonsense")) == gr.skip()


def test_only_installed_tokenizers_are_offered(monkeypatch):
    assert picker.picker("bleu", "", "embedded").count("<option") == len(scoring.tokenizers_of("bleu"))
    assert "<select" not in picker.picker("chrf", "", "embedded")
    monkeypatch.setattr(tokenizers, "missing_packages", lambda user, packages, extra: packages and "missing")
    assert scoring.tokenizers_of("rouge_l") == ("ptb", "treebank", "char")
    assert scoring.tokenizers_of("trm") == ("treebank", "ptb", "char")
    assert scoring.tokenizers_of("spider") == ("ptb", "treebank")
    assert scoring.tokenizers_of("bertscore") == ()


@pytest.mark.parametrize("number", [-1, 4, 1.0, True, "1", None, [0]])
def test_an_example_that_is_not_there_is_refused(number):
    with pytest.raises(gr.Error, match=r"`number`.*0 to 3"):
        score_tab.fill("rouge_l", "", "embedded", number)


def test_published_models_score_no_example_by_themselves(monkeypatch):
    monkeypatch.setattr(score_tab.result, "rank_bundled", None)
    monkeypatch.setattr(score_tab, "models_in_words", lambda name, profile: "")
    assert "press Score" in score_tab.show_first("clip_s", "paper", "image", 0)


def test_nobody_is_told_to_score_by_models_that_are_missing(monkeypatch):
    monkeypatch.setattr(score_tab, "models_in_words", lambda name, profile: "Two are missing")
    page = score_tab.show_first("clip_s", "paper", "image", 0)
    assert "press Score" not in page
    assert "Two are missing. Or choose Embedded" in page
