"""The stored scores of examples: only those that change are written."""

import json

import pytest
from script_modules import script_module

score_examples = script_module("make/score_examples.py")


@pytest.fixture
def root(tmp_path):
    for name in ("rouge_l", "bleu"):
        path = score_examples.stored_path(name, tmp_path)
        path.parent.mkdir()
        path.write_text(json.dumps(score_examples.read_scores(name)))
    return tmp_path


def test_only_scores_that_differ_by_more_than_rounding_change(root, capsys):
    scores = score_examples.read_scores("rouge_l")
    first, second, *_ = scores[""]
    noisy = scores[""][first] + 1e-7
    score_examples.stored_path("rouge_l", root).write_text(json.dumps({"": {**scores[""], first: noisy, second: 0.1}}))
    bleu = score_examples.stored_path("bleu", root)
    bleu.write_text("{}")
    assert score_examples.main(["rouge_l"], root=root) == 0
    assert score_examples.read_scores("rouge_l", root) == {"": {**scores[""], first: noisy}}
    assert bleu.read_text() == "{}"
    assert capsys.readouterr().out == f"{score_examples.stored_path('rouge_l', root)}\n"


def test_a_new_metric_gets_its_file_and_an_agreeing_file_is_left(root, capsys):
    score_examples.stored_path("rouge_l", root).unlink()
    before = score_examples.stored_path("bleu", root).read_text()
    assert score_examples.main(["rouge_l", "bleu"], root=root) == 0
    assert score_examples.read_scores("rouge_l", root) == score_examples.read_scores("rouge_l")
    assert score_examples.stored_path("bleu", root).read_text() == before


@pytest.mark.parametrize(("arguments", "code"), [(["--help"], 0), (["rouge"], 2)])
def test_help_and_unknown_names_score_nothing(root, monkeypatch, capsys, arguments, code):
    monkeypatch.setattr(score_examples, "compute_scores", None)
    with pytest.raises(SystemExit) as ended:
        score_examples.main(arguments, root=root)
    assert ended.value.code == code
    assert code == 0 or "got 'rouge'" in capsys.readouterr().err
