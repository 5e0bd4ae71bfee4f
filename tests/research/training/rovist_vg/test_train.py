"""Training of rovist_vg: readers of pairs, the loss of the authors, the loop, and the output files."""

import argparse
import json

import folders
import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from tiny_vit import old_names, tiny_vit

from vlgauge.cli import main
from vlgauge.cli import train as cli_train
from vlgauge.inputs.images.cells import image_cell
from vlgauge.inputs.images.lazy_images import WholeImage
from vlgauge.inputs.text.word_vectors import word_vector_file
from vlgauge.models.grounding.model import grounding_model
from vlgauge.research.training import loop
from vlgauge.research.training.rovist_vg import command, heads
from vlgauge.research.training.rovist_vg.options import DEFAULTS

GOLDEN = json.loads((folders.GOLDEN / "rovist_vg.json").read_text("utf-8"))
GLOVE = "dog 1 0 0\ncat 0 1 0\na 0 0 1\nred 1 1 0\nunk 0 0 0\n"


def write_table(folder):
    """Write a CSV with its crops, word vectors, and the weights of a tiny vision transformer."""
    rng = np.random.default_rng(0)
    (folder / "crops").mkdir()
    rows = ["image_id,noun_phrase,bbox"]
    for image in range(8):
        for box, phrase in (("[0, 0, 9, 9]", "a dog"), ("[1, 2, 8, 9]", "red cat")):
            crop = Image.fromarray(rng.integers(0, 256, (9, 7, 3), dtype=np.uint8))
            crop.save(folder / "crops" / f"{image}_{box}.jpg")
            rows += [f'{image},{phrase},"{box}"'] * 2
    (folder / "pairs.csv").write_text("\n".join(rows))
    (folder / "glove.txt").write_text(GLOVE)
    vit = {f"vit.{k}": v.contiguous() for k, v in old_names(tiny_vit().state_dict()).items()}
    save_file(vit | {"classifier.weight": torch.ones(1)}, folder / "vit.safetensors")
    return folder


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """Return losses and weights of a training of two epochs."""
    folder = write_table(tmp_path_factory.mktemp("uninterrupted"))
    assert train(options(folder, "out", "--epochs", 2)) == 0
    record = json.loads((folder / "out" / "training.json").read_text())
    losses = [(epoch["training_loss"], epoch["validation_loss"]) for epoch in record["epochs"]]
    return {"losses": losses, "weights": load_file(folder / "out" / "model.safetensors")}


def train(words):
    return main(["train", "rovist_vg", *words])


def options(folder, out, *more):
    names = {"csv": "pairs.csv", "crops": "crops", "glove": "glove.txt", "vit": "vit.safetensors"}
    given = [text for name, file in names.items() for text in (f"--{name}", str(folder / file))]
    rest = ["--width", "6", "--batch-size", "4", "--no-progress", "--no-plot"]
    return [str(folder / out), *given, *rest, *map(str, more)]


@pytest.mark.parametrize("case", GOLDEN["symmetric_loss"])
def test_loss_and_gradients_of_the_authors(case):
    image, text = (torch.tensor(case[name], dtype=torch.float64, requires_grad=True) for name in ("image", "text"))
    loss = heads.symmetric_loss(image, text)
    loss.backward()
    assert loss.item() == pytest.approx(case["loss"], abs=1e-6)
    assert image.grad.numpy() == pytest.approx(np.array(case["grad_image"]), abs=1e-6)
    assert text.grad.numpy() == pytest.approx(np.array(case["grad_text"]), abs=1e-6)


def test_loss_by_plain_loops():
    rng = np.random.default_rng(2)
    image, text = np.tanh(rng.normal(size=(2, 4, 3)))

    def softmax(row):
        return np.exp(row) / np.exp(row).sum()

    targets = np.array([softmax([(image[i] @ image[j] + text[i] @ text[j]) / 2 for j in range(4)]) for i in range(4)])
    of_text = of_image = 0.0
    for i in range(4):
        rows = softmax([text[i] @ image[j] for j in range(4)])
        columns = softmax([text[j] @ image[i] for j in range(4)])
        of_text -= sum(targets[i, j] * np.log(rows[j]) for j in range(4)) / 4
        of_image -= sum(targets[j, i] * np.log(columns[j]) for j in range(4)) / 4
    found = heads.symmetric_loss(torch.from_numpy(image), torch.from_numpy(text))
    assert found.item() == pytest.approx((of_text + of_image) / 2, rel=1e-12)


def test_training_on_a_table(table, capsys):
    assert train(options(table, "out", "--epochs", 2, "--device", "cpu")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "pairs.csv: 14 training pairs, 2 validation pairs, on cpu"
    assert [line.split(":")[0] for line in lines[1:3]] == ["epoch 1", "epoch 2"]
    record = json.loads((table / "out" / "training.json").read_text())
    assert record["kept_epoch"] in (1, 2)
    assert "## Limitations" in (table / "out" / "README.md").read_text()
    grounding = grounding_model(table / "out")
    assert grounding.vectors == {"file": "glove.txt", "sha256": word_vector_file(table / "glove.txt").sha256}
    crop = next(iter((table / "crops").iterdir()))
    assert grounding.regions([WholeImage(image_cell(str(crop), "x"), "x", "early")]).shape == (1, 6)
    assert grounding.words(np.eye(3)).shape == (3, 6)
    before = tiny_vit().state_dict()["pooler.dense.weight"]
    after = load_file(table / "out" / "model.safetensors")["image_encoder.pooler.dense.weight"]
    assert not torch.equal(before, after)


# Functions that the training calls in this order, with the number of the call in which it is interrupted.
MOMENTS = [
    (cli_train, "say", 2),  # after the first epoch
    (heads, "symmetric_loss", 3),  # in the first epoch
    (loop.TrainingCheckpoint, "save", 1),
    (loop.TrainingCheckpoint, "save", 2),
    (heads, "write", 2),  # the weights of an epoch are written, the configuration is not
    (command, "write_report", 1),  # all epochs are done
]


@pytest.mark.parametrize(
    ("module", "name", "number"), MOMENTS, ids=lambda value: getattr(value, "__name__", str(value))
)
def test_an_interrupted_training_goes_on(table, uninterrupted, monkeypatch, module, name, number):
    real, calls = getattr(module, name), []

    def interrupted(*args, **kwargs):
        calls.append(name)
        if len(calls) == number:
            raise KeyboardInterrupt
        return real(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(module, name, interrupted)
        assert train(options(table, "out", "--epochs", 2)) == 130
    assert train(options(table, "out", "--epochs", 2)) == 0
    record = json.loads((table / "out" / "training.json").read_text())
    losses = [(epoch["training_loss"], epoch["validation_loss"]) for epoch in record["epochs"]]
    assert losses == uninterrupted["losses"]
    weights = load_file(table / "out" / "model.safetensors")
    assert all(torch.equal(weights[name], value) for name, value in uninterrupted["weights"].items())
    there = {path.name for path in (table / "out").iterdir()}
    assert there == {"model.safetensors", "config.json", "training.json", "README.md"}


def test_an_interrupted_training_goes_on_with_its_own_pairs_only(table, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setattr(command, "measure_training", interrupt)
        assert train(options(table, "out", "--epochs", 1)) == 130
    text = (table / "pairs.csv").read_text()
    (table / "pairs.csv").write_text(text.replace("red cat", "red dog"))
    assert train(options(table, "out", "--epochs", 1)) == 2
    assert "state of this training" in capsys.readouterr().err
    (table / "pairs.csv").write_text(text)
    crop = table / "crops" / "3_[0, 0, 9, 9].jpg"
    before = crop.read_bytes()
    Image.new("RGB", (7, 9)).save(crop)
    assert train(options(table, "out", "--epochs", 1)) == 2
    assert "state of this training" in capsys.readouterr().err
    assert train(options(table, "out", "--epochs", 1, "--restart")) == 0
    crop.write_bytes(before)
    assert train(options(table, "other", "--epochs", 1)) == 0


def test_a_finished_training_is_replaced_only_when_asked(table, capsys):
    out = table / "out"
    assert train(options(table, "out", "--epochs", 1)) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    for more in ((), ("--restart",)):
        assert train(options(table, "out", "--epochs", 2, *more)) == 2
        assert capsys.readouterr().err == (
            "vlgauge train: error: `OUT` must be a new path, got "
            f"{str(out / 'model.safetensors')!r}, which exists; choose another name, or pass --overwrite to "
            "replace it\n"
        )
        assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert train(options(table, "out", "--epochs", 2, "--overwrite")) == 0
    assert len(json.loads((out / "training.json").read_text())["epochs"]) == 2


def interrupt(*_):
    raise KeyboardInterrupt


def test_an_epoch_that_is_interrupted_leaves_the_checkpoint_of_an_earlier_one(table, monkeypatch):
    assert train(options(table, "out", "--epochs", 1)) == 0
    before = (table / "out" / "model.safetensors").read_bytes()
    import safetensors.numpy

    def half_written(tensors, path, metadata):
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(safetensors.numpy, "save_file", half_written)
    assert train(options(table, "out", "--epochs", 1, "--overwrite")) == 130
    assert (table / "out" / "model.safetensors").read_bytes() == before


def test_pairs_without_a_known_word_are_left_out_and_told(table, capsys):
    text = (table / "pairs.csv").read_text()
    (table / "pairs.csv").write_text(text.replace("0,a dog", "0,Zebra").replace("red cat", "Red CAT"))
    assert train(options(table, "out", "--epochs", 1)) == 0
    assert capsys.readouterr().out.startswith("1 of 16 pairs have no word in glove.txt: left out\n")
    (table / "pairs.csv").write_text(text.replace("a dog", "Zebra").replace("red cat", "Zebra"))
    assert train(options(table, "other", "--epochs", 1)) == 2
    assert "glove.txt" in capsys.readouterr().err


def trained(net, training, validation, recipe, folder, keep=lambda: None):
    return loop.train_epochs(
        net,
        recipe,
        lambda optimizer, epoch: {"training_loss": heads.run_epoch(net, training, optimizer, recipe, epoch, "cpu")},
        lambda: {"validation_loss": heads.validation_loss(net, validation, recipe, "cpu")},
        argparse.Namespace(output=folder, restart=False),
        data="",
        device="cpu",
        keep=keep,
        say=lambda text: None,
    )


def test_training_stops_early_and_keeps_the_best(tmp_path):
    generator = torch.Generator().manual_seed(0)
    images, vectors = (torch.randn(40, width, generator=generator) for width in (6, 3))
    parts = [heads.PairSide(images, vectors, rows) for rows in (np.arange(30), np.arange(30, 40))]
    torch.manual_seed(0)
    net, kept = heads.grounding_net(None, 6, 3, 4), []
    state = trained(
        net,
        *parts,
        loop.Recipe(learning_rate=0.05, batch_size=10, patience=3),
        tmp_path,
        keep=lambda: kept.append(net.image_head.weight.detach().clone()),
    )
    losses = [epoch["validation_loss"] for epoch in state.rounds]
    assert len(losses) == state.best + 1 + 3 < 50
    assert losses[state.best] == min(losses)
    assert len(kept) == sum(loss < min(losses[:i], default=9e9) for i, loss in enumerate(losses))
    assert not torch.equal(kept[-1], net.image_head.weight)


def test_the_learning_rate_falls_by_a_twentieth_per_epoch(tmp_path, monkeypatch):
    rates = []

    class Watched(torch.optim.Adam):
        def step(self, *args, **kwargs):
            rates.extend((group["lr"], group["weight_decay"]) for group in self.param_groups)
            return super().step(*args, **kwargs)

    monkeypatch.setattr(torch.optim, "Adam", Watched)
    side = heads.PairSide(torch.ones(4, 6), torch.ones(4, 3), np.arange(4))
    recipe = loop.Recipe(learning_rate=0.1, batch_size=2, epochs=3, patience=5)
    trained(heads.grounding_net(None, 6, 3, 4), side, side, recipe, tmp_path)
    assert rates == [pytest.approx((0.1 * 0.95**epoch, 1e-5)) for epoch in (0, 0, 1, 1, 2, 2)]
    assert (DEFAULTS.learning_rate, DEFAULTS.batch_size, DEFAULTS.patience) == (5e-5, 64, 3)


def test_a_plot_is_drawn(table):
    pytest.importorskip("matplotlib")
    arguments = [text for text in options(table, "out", "--epochs", 1) if text != "--no-plot"]
    assert train(arguments) == 0
    assert (table / "out" / "training.svg").read_text().startswith("<?xml")


FILES = ["--csv", "{0}/pairs.csv", "--crops", "{0}/crops", "--glove", "{0}/glove.txt", "--vit", "{0}/vit.safetensors"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "pairs are required; pass --csv, --flickr30k or --scenes"),
        (["--csv", "{0}/pairs.csv"], "--crops is required"),
        (["--flickr30k", "{0}"], "--images is required"),
        (["--csv", "{0}/pairs.csv", "--crops", "{0}/crops"], "--glove is required"),
        ([*FILES, "--glove", "{0}/none"], "`--glove` must name an existing"),
        ([*FILES, "--vit", "{0}/none"], "`--vit` must be a file or folder"),
        (
            [*FILES, "--csv", "{0}/few.csv"],
            "the validation split must have at least two pairs, got 1; pass more images",
        ),
        ([*FILES, "--batch-size", "1"], "a batch must have at least two pairs, got 1"),
    ],
)
def test_errors(table, capsys, arguments, message):
    rows = (table / "pairs.csv").read_text().splitlines()
    (table / "few.csv").write_text("\n".join([*rows[:5], rows[5]]))
    assert train([str(table / "out"), *(text.format(table) for text in arguments)]) == 2
    assert capsys.readouterr().err.startswith(f"vlgauge train: error: {message}")


def test_pairs_of_one_image_cannot_be_split():
    split = heads.split_by_image
    with pytest.raises(ValueError, match="got 1"):
        split(["a", "a"], 0)
    names = [f"i{k % 20}" for k in range(100)]
    training, validation = split(names, 0)
    assert sorted([*training, *validation]) == list(range(100))
    assert not {names[i] for i in training} & {names[i] for i in validation}
    assert len({names[i] for i in training}) == 17
