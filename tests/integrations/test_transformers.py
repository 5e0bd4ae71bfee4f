"""Metrics within a real trainer of a tiny model: equal to scoring by hand, and only numbers in its logs."""

import io
import json
import math
import re
import warnings
from pathlib import Path

import datasets
import numpy as np
import pytest
import tiny_captioner
import torch
from folders import ROOT
from transformers import EvalPrediction, Seq2SeqTrainingArguments

import vlgauge
from vlgauge.families.ngram.cider import DocumentFrequency
from vlgauge.integrations.transformers import CaptionEvaluation, GenerationMetrics, decode_texts, without_repeated

# Random models sometimes generate empty captions.
pytestmark = pytest.mark.filterwarnings("ignore:.*are empty and were scored as such")

COLUMNS = {"images": "image", "references": "captions"}


def metrics_of(rows, names=("pac_s", "rouge_l"), **settings):
    return GenerationMetrics(
        list(names), tokenizer=tiny_captioner.tokenizer(), rows=rows, columns=COLUMNS, profile="embedded", **settings
    )


def by_hand(rows, texts, name):
    columns = {"images": [row["image"] for row in rows], "references": [row["captions"] for row in rows]}
    return vlgauge.load(name, profile="embedded", keep_in_memory=True).compute(predictions=texts, **columns)


def finite_numbers(value):
    """Return whether a log contains only finite numbers and strings at any depth."""
    if isinstance(value, dict):
        return all(map(finite_numbers, value.values()))
    return isinstance(value, str) or (isinstance(value, (int, float)) and math.isfinite(value))


# -- GenerationMetrics ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("batch_eval", [False, True], ids=["whole", "batches"])
def test_trainer_scores_what_is_scored_by_hand(tmp_path, batch_eval):
    rows = tiny_captioner.rows(11)  # the last batch has three
    trainer = tiny_captioner.trainer(tmp_path, rows, metrics_of(rows), batch_eval=batch_eval)
    found = trainer.evaluate()
    texts = tiny_captioner.captions_of(trainer.model.eval(), rows)
    assert len(set(texts)) > 1
    for name in ("pac_s", "rouge_l"):
        expected = by_hand(rows, texts, name)
        assert found[f"eval_{name}"] == pytest.approx(expected[name], rel=1e-6)
        assert found[f"eval_{name}_undefined"] == 0
    assert found["eval_ref_pac_s"] == pytest.approx(by_hand(rows, texts, "pac_s")["ref_pac_s"], rel=1e-6)
    assert finite_numbers(found)


def test_second_evaluation_encodes_captions_only():
    rows = tiny_captioner.rows(5, size=47)  # a size that no other test uses
    pac_s = vlgauge.load("pac_s", profile="embedded", keep_in_memory=True)
    forwards = pac_s.clip.encoder_and_adapter()[0].forwards
    metrics = GenerationMetrics([pac_s], tokenizer=tiny_captioner.tokenizer(), rows=rows, columns=COLUMNS)
    counts = [forwards["image"]]
    for texts in (["a red circle"] * 5, ["a blue square"] * 5):
        ids = tiny_captioner.tokenizer()(texts)["input_ids"]
        metrics(EvalPrediction(predictions=np.array([[0, *row] for row in ids]), label_ids=None))
        counts.append(forwards["image"])
    assert np.diff(counts).tolist() == [5, 0]


def test_rows_of_a_dataset_stay_undecoded_and_score_alike(tmp_path):
    rows = tiny_captioner.rows(5)
    features = datasets.Features(
        {
            "image": datasets.Image(),
            "captions": datasets.Sequence(datasets.Value("string")),
        }
    )
    stored = datasets.Dataset.from_list([{name: row[name] for name in features} for row in rows], features=features)
    given = stored.with_transform(lambda batch: {"other": batch["captions"]})
    texts = ["a red circle", "a blue square", "a red circle", "", "a green star"]
    ids = tiny_captioner.tokenizer()(texts, padding=True)["input_ids"]
    prediction = EvalPrediction(predictions=np.array([[0, *row] for row in ids]), label_ids=None)
    with pytest.warns(UserWarning, match=r"1.*empty"):
        found = [metrics_of(data, ["pac_s"], device="cpu")(prediction) for data in (rows, given)]
    assert found[0] == found[1]


@pytest.mark.parametrize(("best", "groups"), [("pac_s", None), ("trm", "scene")])
def test_best_checkpoint_is_the_best_by_the_direction_of_the_metric(tmp_path, best, groups):
    rows = tiny_captioner.rows(4, repeated=3)
    metrics = metrics_of(rows, [best], groups=groups)
    trainer = tiny_captioner.trainer(
        tmp_path,
        rows,
        metrics,
        train=rows,
        num_train_epochs=5,
        learning_rate=0.03,
        **metrics.arguments(best=best),
    )
    trainer.model.generation_config.do_sample = groups is not None
    trainer.train()
    logged = trainer.state.log_history
    scores = {line["step"]: line[f"eval_{best}"] for line in logged if f"eval_{best}" in line}
    assert len(set(scores.values())) > 2
    wanted = (min if best == "trm" else max)(scores, key=scores.get)
    assert Path(trainer.state.best_model_checkpoint).name == f"checkpoint-{wanted}"
    assert scores.keys() == {line["step"] for line in logged if "eval_loss" in line}
    written = [json.loads(path.read_text()) for path in tmp_path.glob("*/trainer_state.json")]
    assert len(written) == len(scores)
    assert all(map(finite_numbers, [*logged, *(line for state in written for line in state["log_history"])]))


def test_sets_are_the_captions_of_one_group():
    rows = tiny_captioner.rows(2, repeated=3)
    words = ["a red circle", "a red ring", "a blue star", "a green square", "a pink cross", "a cross above a star"]
    ids = tiny_captioner.tokenizer()(words, padding=True)["input_ids"]
    prediction = EvalPrediction(predictions=np.array([[0, *row] for row in ids]), label_ids=None)
    diversity = vlgauge.load("diversity", df=DocumentFrequency({("a",): 90}, 100), keep_in_memory=True)
    found = metrics_of(rows, ["trm", diversity], groups="scene")(prediction)
    sets = [words[:3], words[3:]]
    expected = vlgauge.load("trm", keep_in_memory=True).compute(
        predictions=sets, references=[rows[0]["captions"], rows[3]["captions"]]
    )
    assert found["trm"] == expected["trm"]
    expected = diversity.compute(predictions=sets)
    assert found["diversity"] == expected["diversity"] > 0
    assert found["diversity_mbleu_4"] == expected["diversity_mbleu_4"]


def test_undefined_metric_gives_no_number_and_one_warning(tmp_path):
    rows = tiny_captioner.rows(3)
    metrics = metrics_of(rows, ["trm"], groups="scene")  # sets of one caption
    prediction = EvalPrediction(predictions=np.array([[0, 5, 1]] * 3), label_ids=None)
    with pytest.warns(UserWarning, match="trm") as told:
        first, second = metrics(prediction), metrics(prediction)
    assert first == second == {"trm_undefined": 3}
    assert sum("is not logged" in str(warning.message) for warning in told) == 1


@pytest.mark.filterwarnings("ignore:.*trm. is undefined")
def test_training_goes_on_while_the_metric_of_the_best_checkpoint_is_undefined(tmp_path):
    rows = tiny_captioner.rows(3)
    metrics = metrics_of(rows, ["trm"], groups="scene")
    trainer = tiny_captioner.trainer(
        tmp_path,
        rows,
        metrics,
        callbacks=[metrics],
        train=rows,
        num_train_epochs=2,
        **metrics.arguments(best="trm"),
    )
    trainer.train()
    texts = [path.read_text() for path in tmp_path.glob("*/trainer_state.json")]
    assert len(texts) == 2
    assert not any("Infinity" in text or "NaN" in text for text in texts)
    assert "eval_trm" not in trainer.evaluate()


def test_end_of_a_caption_and_what_fills_it_up():
    words = tiny_captioner.tokenizer()
    one, two, end = *words("red circle")["input_ids"], words.eos_token_id
    ids = np.array(
        [[0, one, two, end, -100], [end, one, end, two, two], [0, end, one, one, one], [0, one, one, two, two]]
    )
    expected = ["red circle", "red", "", "red red circle circle"]
    assert decode_texts(np.array(ids), words) == decode_texts(torch.tensor(ids), words) == expected


def test_captions_that_fill_up_the_last_batches_are_known_by_their_labels():
    texts = ["a", "b", "c", "drawn anew", "e"]
    assert without_repeated(texts, ["x", "y", "z", "x", "y"], 3) == ["a", "b", "c"]
    assert without_repeated(texts, ["x", "y", "x", "y", "x"], 2) == ["a", "b"]
    for labels in (["x", "y", "z", "x", "other"], ["x", "y", "z", "y", "x"], []):
        assert without_repeated(texts, labels, 3) == texts
    assert without_repeated(texts, list("vwxyz"), 5) == texts


@pytest.mark.parametrize("predictions", [np.zeros((2, 3, 4)), np.zeros((2, 3)), (np.zeros((2, 3)), np.zeros(2))])
def test_logits_are_refused(predictions):
    with pytest.raises(ValueError, match=r"^`predictions`.*`predict_with_generate=True`"):
        decode_texts(predictions, tiny_captioner.tokenizer())


def test_number_of_captions_must_be_that_of_the_rows():
    metrics = metrics_of(tiny_captioner.rows(3), ["rouge_l"])
    prediction = EvalPrediction(predictions=np.array([[0, 5, 1]] * 2), label_ids=None)
    for _ in range(2):  # the remainder is forgotten
        with pytest.raises(ValueError, match=r"must be 3.*`rows`.*got 2"):
            metrics(prediction)


ROWS = [{"image": "a.png", "captions": ["one"], "scene": 0}]


@pytest.mark.parametrize(
    ("metrics", "given", "error", "message"),
    [
        (["rouge_l"], {"rows": iter(ROWS)}, TypeError, r"^`rows`.*got list_iterator"),
        (
            ["rouge_l"],
            {"rows": datasets.Dataset.from_list(ROWS).to_iterable_dataset()},
            TypeError,
            "got IterableDataset",
        ),
        (["rouge_l"], {"rows": []}, ValueError, r"^`rows`.*least"),
        (["rouge_l"], {"columns": {"image": "image"}}, ValueError, r"^`columns`.*got 'image'.*`images`"),
        (["rouge_l"], {"columns": {"predictions": "image"}}, ValueError, r"^`columns`.*metrics"),
        (["rouge_l", "pac_s"], {"columns": {}}, ValueError, r"rouge_l.*images.*pac_s"),
        (["trm"], {}, ValueError, r"^`groups`"),
        (
            ["rouge_l"],
            {"groups": "no", "columns": {"references": "none"}},
            ValueError,
            "columns none",
        ),
        ("rouge_l", {}, ValueError, r"^`metrics`.*list"),
        ([3], {}, TypeError, r"^`metrics`.*got 3"),
        (["d_hm"], {}, ValueError, r"^`metrics`.*got d_hm"),
    ],
)
def test_what_cannot_be_scored_is_refused_before_the_training(metrics, given, error, message):
    with pytest.raises(error, match=message):
        GenerationMetrics(metrics, tokenizer=None, **{"rows": ROWS, "columns": COLUMNS, **given})


def test_metric_of_several_processes_is_refused(rows_folder):
    metric = vlgauge.load("rouge_l", num_process=2, process_id=0, experiment_id="e", cache_dir=str(rows_folder))
    with pytest.raises(ValueError, match=r"^`num_process`.*rouge_l.*must be 1"):
        GenerationMetrics([metric], tokenizer=None, rows=ROWS, columns=COLUMNS)


def test_best_must_be_one_of_the_metrics():
    metrics = metrics_of(ROWS, ["rouge_l"])
    assert metrics.arguments() == {"predict_with_generate": True, "eval_strategy": "epoch"}
    with pytest.raises(ValueError, match=r"^`best`.*got 'loss'"):
        metrics.arguments(best="loss")
    metrics = metrics_of(ROWS, ["rouge_l", "pac_s"])
    assert metrics.arguments(best="ref_pac_s")["metric_for_best_model"] == "ref_pac_s"
    with pytest.raises(ValueError, match=r"^`best`.*got 'ref_rouge_l'"):
        metrics.arguments(best="ref_rouge_l")
    alone = GenerationMetrics(["pac_s"], tokenizer=None, rows=ROWS, columns={"images": "image"}, profile="embedded")
    with pytest.raises(ValueError, match=r"^`best`.*got 'ref_pac_s'"):
        alone.arguments(best="ref_pac_s")


def test_arguments_are_those_that_a_trainer_needs_to_keep_the_best_checkpoint(tmp_path):
    metrics = metrics_of(ROWS, ["rouge_l"])
    steps = metrics.arguments(best="rouge_l", eval_strategy="steps", eval_steps=7, output_dir=str(tmp_path))
    assert (steps["save_strategy"], steps["save_steps"]) == ("steps", 7)
    for given in (metrics.arguments(best="rouge_l", output_dir=str(tmp_path)), steps):
        arguments = Seq2SeqTrainingArguments(**given, use_cpu=True, report_to=[])  # raises on invalid combinations
        assert arguments.load_best_model_at_end
    with pytest.raises(ValueError, match=r'^`eval_strategy`.*`best`.*got "no"'):
        metrics.arguments(best="rouge_l", eval_strategy="no")


@pytest.mark.parametrize(("name", "is_told"), [("chair", True), ("rouge_l", False)])
def test_a_metric_that_rewards_silence_chooses_the_best_checkpoint_with_a_warning(name, is_told):
    metrics = metrics_of(ROWS, [name])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        arguments = metrics.arguments(best=name)
    assert arguments["greater_is_better"] == (name == "rouge_l")
    assert ["should be a metric that penalizes omissions" in str(one.message) for one in told] == [True] * is_told


def png(image):
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


@pytest.mark.filterwarnings("ignore:'pin_memory' argument is set")
def test_the_trainer_of_the_how_to_runs_as_it_is_pasted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VLGAUGE_PROFILE", "embedded")
    page = (ROOT / "docs" / "howto" / "training_loop.md").read_text("utf-8")
    (block,) = re.findall(r'```python notest="needs a model, .*?"\n(.*?)```', page, re.DOTALL)
    rows = [row | {"input_ids": [3, 4, 5], "labels": [6, 7, 1]} for row in tiny_captioner.rows(3)]
    data = datasets.Dataset.from_list([{key: row[key] for key in ("input_ids", "labels", "captions")} for row in rows])
    images = [{"bytes": png(row["image"]), "path": None} for row in rows]
    data = data.add_column("image", images).cast_column("image", datasets.Image())
    names = {"model": tiny_captioner.model(), "processor": tiny_captioner.tokenizer()}
    names["model"].generation_config.max_new_tokens = 4
    exec(compile(block, "training_loop.md", "exec"), names | {"train_set": data, "eval_set": data})
    (state,) = [json.loads(path.read_text()) for path in tmp_path.glob("out/checkpoint-3/trainer_state.json")]
    assert sum("eval_pac_s" in line for line in state["log_history"]) == 3
    assert state["best_model_checkpoint"] is not None


# -- CaptionEvaluation ------------------------------------------------------------------------------------------------
def evaluation_of(rows, generate, **settings):
    return CaptionEvaluation(["rouge_l"], rows=rows, generate=generate, columns=COLUMNS, **settings)


def test_own_captions_are_scored_every_so_many_steps_and_choose_the_best(tmp_path):
    rows = tiny_captioner.rows(8)
    seen = []

    def generate(model, given):
        seen.append((model.training, torch.is_grad_enabled(), given is rows))
        return [given[0]["captions"][0]] * 2 + ["a star"] * (6 if len(seen) % 2 else 5) + ["a"] * (1 - len(seen) % 2)

    evaluation = evaluation_of(rows, generate, every=1)
    trainer = tiny_captioner.trainer(
        tmp_path,
        rows,
        None,
        train=rows,
        max_steps=4,
        per_device_train_batch_size=4,
        eval_strategy="steps",
        eval_steps=2,
        save_strategy="best",
        metric_for_best_model="rouge_l",
        greater_is_better=True,
    )
    evaluation.attach(trainer)
    trainer.train()
    scores = {line["step"]: line["eval_rouge_l"] for line in trainer.state.log_history if "eval_rouge_l" in line}
    assert list(scores) == [1, 2, 3, 4]
    assert seen == [(False, False, True)] * 4
    assert trainer.state.best_metric == max(scores[2], scores[4])
    trainer.evaluate()  # the weights may have changed since
    assert len(seen) == 5
    evaluation.on_step_end(None, trainer.state, None, model=trainer.model.train())
    assert trainer.model.training


def test_plain_trainer_scores_what_is_scored_by_hand(tmp_path):
    rows = tiny_captioner.rows(11)
    evaluation = CaptionEvaluation(
        ["pac_s", "rouge_l"], rows=rows, generate=tiny_captioner.captions_of, columns=COLUMNS, profile="embedded"
    )
    trainer = tiny_captioner.plain_trainer(
        tmp_path, rows, evaluation, num_train_epochs=1, eval_strategy="epoch", save_strategy="epoch"
    )
    trainer.train()
    found = trainer.evaluate()
    texts = tiny_captioner.captions_of(trainer.model.eval(), rows)
    for name in ("pac_s", "rouge_l"):
        assert found[f"eval_{name}"] == pytest.approx(by_hand(rows, texts, name)[name], rel=1e-6)
    (state,) = [json.loads(path.read_text()) for path in tmp_path.glob("*/trainer_state.json")]
    assert any("eval_pac_s" in line for line in state["log_history"])
    assert all(map(finite_numbers, [*state["log_history"], found]))


def test_own_captions_need_a_trainer_a_function_and_a_number_of_steps(tmp_path):
    with pytest.raises(TypeError, match=r"^`generate`.*got str"):
        evaluation_of(ROWS, "captions")
    with pytest.raises(ValueError, match=r"^`every`.*at least 1.*got 0"):
        evaluation_of(ROWS, print, every=0)
    rows = tiny_captioner.rows(2)
    trainer = tiny_captioner.trainer(tmp_path, rows, None, callbacks=[evaluation_of(rows, lambda model, rows: [])])
    with pytest.raises(RuntimeError, match=r"^`CaptionEvaluation` requires a trainer"):
        trainer.evaluate()
