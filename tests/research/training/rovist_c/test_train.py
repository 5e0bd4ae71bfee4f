"""Training of classifiers of sentence order, and the small bundled classifier."""

import json
import re

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file

import vlgauge
from vlgauge.cli import build_parser, main
from vlgauge.research.training import loop, report
from vlgauge.research.training.options import Recipe

NO_WORDS = {"hidden_size": 16, "embedding_size": 8, "num_hidden_layers": 1, "intermediate_size": 16}
NAMES = [a + b for a in ("Ann", "Bo", "Cleo", "Dan", "Eve", "Flo", "Gus", "Hal") for b in ("", "a", "ette", "ka", "y")]
STORIES = [[f"First came {name}.", f"Then {name} left.", "Finally all was still."] for name in NAMES]


@pytest.fixture
def script(monkeypatch):
    """The script as a module, with an even smaller fresh model."""
    from vlgauge.research.training.rovist_c import command

    monkeypatch.setattr(command.classifier, "FRESH", {**command.classifier.FRESH, **NO_WORDS})
    monkeypatch.setattr(command, "N_TEST_STORIES", 10)
    return command


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "stories.jsonl"
    path.write_text("".join(json.dumps({"story": story}) + "\n" for story in STORIES), "utf-8")
    return path


def train(words):
    return main(["train", "rovist_c", *words])


def options(corpus, *more):
    common = ["--jsonl", corpus, "--fresh", "--learning-rate", "0.003", "--epochs", "3", "--device", "cpu", *more]
    return [str(word) for word in [*common, "--no-progress", "--no-plot"]]


# -- corpora ----------------------------------------------------------------------------------------------------------
def test_vist_stories_come_in_the_order_of_their_photos(script, tmp_path):
    def record(story, place, text, **more):
        return [{"story_id": story, "worker_arranged_photo_order": place, "text": text, **more}]

    annotations = [
        record("7", 1, "b ."),
        record("7", 0, "a .", original_text="A."),
        record("8", 0, " "),
        record("8", 1, "c"),
    ]
    (tmp_path / "sis.json").write_text(json.dumps({"images": [], "annotations": annotations}))
    assert script.stories.read_vist(tmp_path / "sis.json") == [["A.", "b ."]]


def test_rocstories_and_jsonl(script, tmp_path):
    titles = ["storyid", "storytitle", *script.stories.ROC_SENTENCES]
    (tmp_path / "roc.csv").write_text(",".join(titles) + '\n1,T,"A, b.",C.,D.,E.,F.\n')
    assert script.stories.read_rocstories(tmp_path / "roc.csv") == [["A, b.", "C.", "D.", "E.", "F."]]
    (tmp_path / "x.jsonl").write_text('["A.", "B."]\n\n{"sentences": ["C.", "", "D."]}\n{"story": ["alone"]}\n')
    assert script.stories.read_jsonl(tmp_path / "x.jsonl") == [["A.", "B."], ["C.", "D."]]


@pytest.mark.parametrize(
    ("reader", "content", "message"),
    [
        ("read_vist", "[]", r"VIST.*story_id.*got TypeError"),
        ("read_vist", '{"annotations": [[{"story_id": 1}]]}', "got KeyError: 'worker_arranged_photo_order'"),
        ("read_rocstories", "a,b\n1,2\n", "must have the column 'sentence1' in every row"),
        ("read_jsonl", '["a", "b"]\n{', r"JSON.*line 2"),
        (
            "read_jsonl",
            '{"story": "A. B."}',
            r"list of sentences.*line 1",
        ),
    ],
)
def test_broken_corpora_are_refused(script, tmp_path, reader, content, message):
    (tmp_path / "file").write_text(content)
    with pytest.raises(ValueError, match=message):
        getattr(script.stories, reader)(tmp_path / "file")


# -- samples ----------------------------------------------------------------------------------------------------------
def test_samples_are_balanced_and_without_identical_pairs(script):
    found = script.stories.samples([["A.", "B.", " B. ", "C."]])
    assert [(s.first, s.second, s.label) for s in found] == [
        ("A.", "B.", 1),
        ("B.", "A.", 0),
        (" B. ", "C.", 1),
        ("C.", " B. ", 0),
    ]


def test_the_split_is_by_story_seeded_and_85_to_15(script):
    stories = [[f"a{i}", "b"] for i in range(200)] * 2
    training, validation = script.stories.split_stories(stories, seed=3)
    assert (len(training), len(validation)) == (170, 30)
    assert not {tuple(story) for story in training} & {tuple(story) for story in validation}
    assert script.stories.split_stories(stories, seed=3) == (training, validation)
    assert script.stories.split_stories(stories, seed=4) != (training, validation)
    with pytest.raises(ValueError, match=r"^`stories`.*85%.*got 2"):
        script.stories.split_stories(stories[:2], seed=0)


def test_batches_are_padded_to_their_longest_sample(script):
    data = script.stories.Encoded([[5], [6, 7, 8], [9, 9]], [[0], [0, 1, 1], [0, 1]], np.array([1, 0, 1]), pad=3)
    (rows, first), (others, _) = script.stories.batches(data, 2, np.array([2, 0, 1]))
    assert first["input_ids"].tolist() == [[9, 9], [5, 3]]
    assert first["attention_mask"].tolist() == [[1, 1], [1, 0]]
    assert first["token_type_ids"].tolist() == [[0, 1], [0, 0]]
    assert (rows.tolist(), others.tolist()) == ([2, 0], [1])


def test_the_fresh_tokenizer_takes_any_text(script):
    tokenizer = script.classifier.fresh_tokenizer(sentence for story in STORIES for sentence in story)
    found = tokenizer("Finally all", "Zoë 😀 \u2028", return_token_type_ids=True)
    assert tokenizer.unk_token_id not in found["input_ids"]
    assert tokenizer.decode(found["input_ids"], skip_special_tokens=True).split() == ["finally", "all", "zoë", "😀"]
    assert tokenizer.convert_ids_to_tokens(found["input_ids"])[0] == "[CLS]"
    assert found["token_type_ids"] == sorted(found["token_type_ids"])


def test_defaults_are_those_of_the_paper(script):
    recipe = Recipe()
    assert (recipe.learning_rate, recipe.weight_decay, recipe.decay) == (1e-5, 1e-5, 0.95)
    assert (recipe.batch_size, recipe.epochs, recipe.patience) == (32, 50, 5)
    assert build_parser().parse_args(["train", "rovist_c", "out"]).base == "albert/albert-large-v1"


# -- training ---------------------------------------------------------------------------------------------------------
def tensors_of(folder):
    return load_file(folder / "model.safetensors")


def losses_of(folder):
    epochs = json.loads((folder / "training.json").read_text())["epochs"]
    return [{name: value for name, value in epoch.items() if name != "seconds"} for epoch in epochs]


def test_it_learns_writes_and_the_metric_takes_it(script, corpus, tmp_path, capsys):
    out = tmp_path / "out"
    assert train([str(out), *options(corpus, "--epochs", "12", "--half", "--about", "For a test.")]) == 0
    assert {path.name for path in out.iterdir()} == {
        *("README.md", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "training.json")
    }
    record = json.loads((out / "training.json").read_text())
    assert record["validation_ordered_above_swapped"] == 1.0
    assert (record["training_stories"], record["validation_stories"], record["training_samples"]) == (34, 6, 34 * 4)
    losses = [epoch["validation_loss"] for epoch in record["epochs"]]
    assert losses[record["kept_epoch"] - 1] == min(losses)
    assert record["epochs"][-1]["training_loss"] < 0.5 < record["epochs"][0]["training_loss"]
    assert {value.dtype for value in tensors_of(out).values()} == {torch.float16}
    card = (out / "README.md").read_text("utf-8")
    assert "For a test." in card
    assert f"| {record['kept_epoch']} (kept) |" in card
    metric = vlgauge.load("rovist_c", model=str(out), coherent_label="in order", keep_in_memory=True)
    good, bad = metric.compute(predictions=[STORIES[0], STORIES[0][::-1]])["rovist_c_scores"]
    assert good > 0.5 > bad


def test_runs_repeat_and_an_interrupted_one_ends_in_the_same_weights(script, corpus, tmp_path, monkeypatch):
    whole, again, parts = (tmp_path / name for name in ("whole", "again", "parts"))
    for out in (whole, again):
        assert train([str(out), *options(corpus)]) == 0
    real = script.classifier.run_epoch

    def stop_at_the_third(*arguments, **keywords):
        if arguments[4] == 2:
            raise KeyboardInterrupt
        return real(*arguments, **keywords)

    monkeypatch.setattr(script.classifier, "run_epoch", stop_at_the_third)
    assert train([str(parts), *options(corpus)]) == 130
    assert [path.name for path in (parts / "interrupted").iterdir()] == ["state.pt"]
    monkeypatch.setattr(script.classifier, "run_epoch", real)
    assert train([str(parts), *options(corpus)]) == 0
    assert not (parts / "interrupted").exists()
    for out in (again, parts):
        assert all(torch.equal(value, tensors_of(whole)[name]) for name, value in tensors_of(out).items())
        assert losses_of(out) == losses_of(whole)


def test_a_finished_run_is_replaced_only_when_asked(script, corpus, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    assert train([str(out), *options(corpus, "--epochs", "1")]) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    for more in ((), ("--restart",)):
        assert train([str(out), *options(corpus, "--seed", "9", *more)]) == 2
        assert capsys.readouterr().err == (
            "vlgauge train: error: `OUT` must be a new path, got "
            f"{str(out / 'model.safetensors')!r}, which exists; choose another name, or pass --overwrite to "
            "replace it\n"
        )
        assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    with monkeypatch.context() as patch:
        patch.setattr(script.classifier, "run_epoch", interrupt)
        assert train([str(out), *options(corpus, "--seed", "9", "--overwrite")]) == 130
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()} == before
    assert train([str(out), *options(corpus, "--seed", "9")]) == 0
    assert (out / "model.safetensors").read_bytes() != before["model.safetensors"]


def test_a_card_of_something_else_is_kept(script, corpus, tmp_path, capsys):
    (tmp_path / "README.md").write_text("mine")
    assert train([str(tmp_path), *options(corpus)]) == 2
    assert "README.md', which exists" in capsys.readouterr().err
    assert (tmp_path / "README.md").read_text() == "mine"


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_the_learning_rate_falls_by_five_percent_per_epoch(script, corpus, tmp_path, monkeypatch):
    rates = []
    real = script.classifier.run_epoch

    def watched(model, data, optimizer, *arguments, **keywords):
        rates.append([(group["lr"], group["weight_decay"]) for group in optimizer.param_groups])
        return real(model, data, optimizer, *arguments, **keywords)

    monkeypatch.setattr(script.classifier, "run_epoch", watched)
    assert train([str(tmp_path / "out"), *options(corpus)]) == 0
    assert rates == [[(pytest.approx(0.003 * 0.95**epoch), 1e-5)] for epoch in range(3)]


def test_another_recipe_does_not_go_on(script, corpus, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(script, "write_report", lambda *arguments: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train([str(out), *options(corpus)])
    told = f"`{out / 'interrupted' / 'state.pt'}` must be the state of this training, got a state with other"
    assert train([str(out), *options(corpus, "--seed", "9")]) == 2
    assert told in capsys.readouterr().err
    other = corpus.with_name("other.jsonl")
    other.write_text(corpus.read_text("utf-8").replace("still", "quiet"), "utf-8")
    assert train([str(out), *options(other)]) == 2
    assert told in capsys.readouterr().err
    assert train([str(out), *options(corpus)]) == 0


@pytest.mark.parametrize(
    ("losses", "epochs"), [([3, 2, 1, 2, 2, 2], 5), ([1, 1, 1, 1], 3), ([3, 2, 1, 0.5, 0.4, 0.3], 6), ([1, 2, 2], 3)]
)
def test_it_stops_when_no_epoch_was_better_for_too_long(losses, epochs):
    state = loop.Progressed()
    for loss in losses:
        if state.is_finished(rounds=6, patience=2):
            break
        state.add({"validation_loss": loss}, "validation_loss")
    assert len(state.rounds) == epochs


def test_a_published_base_gets_a_new_head(script, corpus, tmp_path):
    base = tmp_path / "base"
    assert train([str(base), *options(corpus, "--epochs", "1")]) == 0
    settings = ["--jsonl", str(corpus), "--epochs", "1", "--device", "cpu", "--no-progress", "--no-plot"]
    assert train([str(tmp_path / "tuned"), "--base", str(base), *settings]) == 0
    record = json.loads((tmp_path / "tuned" / "training.json").read_text())
    assert (record["base"], record["recipe"]["learning_rate"]) == ("base", 1e-5)


def test_a_base_without_segments(script, corpus, tmp_path):
    made = tmp_path / "made"
    assert train([str(made), *options(corpus, "--epochs", "1")]) == 0
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(made))
    config = transformers.DistilBertConfig(vocab_size=len(tokenizer), dim=32, hidden_dim=32, n_layers=1, n_heads=2)
    base, tuned = tmp_path / "base", tmp_path / "tuned"
    transformers.DistilBertForSequenceClassification(config).save_pretrained(str(base))
    tokenizer.save_pretrained(str(base))
    settings = ["--jsonl", str(corpus), "--epochs", "1", "--device", "cpu", "--no-progress", "--no-plot"]
    assert train([str(tuned), "--base", str(base), *settings]) == 0
    metric = vlgauge.load("rovist_c", model=str(tuned), device="cpu", keep_in_memory=True)
    assert 0 <= metric.compute(predictions=[["A dog ran.", "It stopped."]])["rovist_c"] <= 1


def test_the_image(tmp_path):
    plots = {
        what: {side: [0.5, float("nan"), 0.4] for side in ("training", "validation")} for what in ("loss", "share")
    }
    report.draw_losses(tmp_path / report.IMAGE, [1, 2, 3], plots, 2, "epoch")
    assert (tmp_path / report.IMAGE).read_text("utf-8").count("<svg") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["out"], "a corpus is required; pass --vist, --rocstories, --jsonl or --scenes"),
        (["out", "--jsonl", "nowhere.jsonl"], "No such file"),
        (["out", "--scenes", "30", "--base", "owner/nothing"], "owner/nothing .revision newest"),
    ],
)
def test_errors_are_one_line(script, capsys, monkeypatch, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert train(arguments) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert re.search(message, err)
