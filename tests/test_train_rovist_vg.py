"""Training of rovist_vg: readers of pairs, the loss of the authors, the loop, and the files that come out."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from safetensors.torch import save_file
from tiny_vit import old_names
from tiny_vit import tiny_vit

from vlgauge.encoders.grounding import grounding_model
from vlgauge.images import image_cell
from vlgauge.pictures import ImagePicture
from vlgauge.word_vectors import word_vector_file

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE.parent / "scripts"
GOLDEN = json.loads((HERE / "golden" / "rovist_vg.json").read_text("utf-8"))
GLOVE = "dog 1 0 0\ncat 0 1 0\na 0 0 1\nred 1 1 0\nunk 0 0 0\n"
XML = """<annotation><filename>7.jpg</filename>
<object><name>11</name><name>12</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>9</xmax><ymax>8</ymax></bndbox></object>
<object><name>11</name><bndbox><xmin>3</xmin><ymin>3</ymin><xmax>99</xmax><ymax>9</ymax></bndbox></object>
<object><name>13</name><nobox>1</nobox></object></annotation>"""


@pytest.fixture(scope="module")
def scripts():
    sys.path.insert(0, str(SCRIPTS))
    before = set(sys.modules)
    import train_rovist_vg

    yield train_rovist_vg
    sys.path.remove(str(SCRIPTS))
    for name in set(sys.modules) - before:
        if name.startswith(("region_phrases", "sentence_order", "train_rovist_vg")):
            del sys.modules[name]


@pytest.fixture
def table(tmp_path):
    """A CSV with its crops, word vectors, and the weights of a tiny vision transformer."""
    rng = np.random.default_rng(0)
    (tmp_path / "crops").mkdir()
    rows = ["image_id,noun_phrase,bbox"]
    for image in range(8):
        for box, phrase in (("[0, 0, 9, 9]", "a dog"), ("[1, 2, 8, 9]", "red cat")):
            crop = Image.fromarray(rng.integers(0, 256, (9, 7, 3), dtype=np.uint8))
            crop.save(tmp_path / "crops" / f"{image}_{box}.jpg")
            rows += [f'{image},{phrase},"{box}"'] * 2
    (tmp_path / "pairs.csv").write_text("\n".join(rows))
    (tmp_path / "glove.txt").write_text(GLOVE)
    vit = {f"vit.{k}": v.contiguous() for k, v in old_names(tiny_vit().state_dict()).items()}
    save_file(vit | {"classifier.weight": torch.ones(1)}, tmp_path / "vit.safetensors")
    return tmp_path


def options(folder, out, *more):
    names = {"csv": "pairs.csv", "crops": "crops", "glove": "glove.txt", "vit": "vit.safetensors"}
    given = [text for name, file in names.items() for text in (f"--{name}", str(folder / file))]
    rest = ["--width", "6", "--batch-size", "4", "--no-progress", "--no-plot"]
    return [str(folder / out), *given, *rest, *map(str, more)]


@pytest.mark.parametrize("case", GOLDEN["symmetric_loss"])
def test_loss_and_gradients_of_the_authors(scripts, case):
    image, text = (torch.tensor(case[name], dtype=torch.float64, requires_grad=True) for name in ("image", "text"))
    loss = sys.modules["region_phrases.loop"].symmetric_loss(image, text)
    loss.backward()
    assert loss.item() == pytest.approx(case["loss"], abs=1e-6)
    assert image.grad.numpy() == pytest.approx(np.array(case["grad_image"]), abs=1e-6)
    assert text.grad.numpy() == pytest.approx(np.array(case["grad_text"]), abs=1e-6)


def test_loss_by_plain_loops(scripts):
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
    found = sys.modules["region_phrases.loop"].symmetric_loss(torch.from_numpy(image), torch.from_numpy(text))
    assert found.item() == pytest.approx((of_text + of_image) / 2, rel=1e-12)


def test_pairs_of_a_table(scripts, table):
    found = sys.modules["region_phrases.pairs"].read_csv(table / "pairs.csv", table / "crops")
    assert len(found) == 16
    assert (found[0].image, found[0].phrase, found[0].picture.convert) == ("0", "a dog", "early")
    assert found[1].picture.open().size == (7, 9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("image_id,bbox\n1,2\n", "must have the columns image_id, noun_phrase, bbox, got none named 'noun_phrase'"),
        ('image_id,noun_phrase,bbox\n9,a dog,"[0, 0, 9, 9]"\n', r"got none named '9_\[0, 0, 9, 9\].jpg'"),
        ('image_id,noun_phrase,bbox\n0,,"[0, 0, 9, 9]"\n', "must have a phrase in each row, got none in pair 1"),
    ],
)
def test_broken_tables(scripts, table, text, message):
    (table / "pairs.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        sys.modules["region_phrases.pairs"].read_csv(table / "pairs.csv", table / "crops")


@pytest.fixture
def flickr(tmp_path):
    for name in ("Annotations", "Sentences", "images"):
        (tmp_path / name).mkdir()
    (tmp_path / "Annotations" / "7.xml").write_text(XML)
    (tmp_path / "Sentences" / "7.txt").write_text(
        "[/EN#11/people Two men] hold [/EN#12/other a ball] near [/EN#13/scene a lake] .\n"
        "[/EN#11/people Two men] and [/EN#12/other/toys a red ball] .\n"
    )
    Image.new("RGB", (20, 10)).save(tmp_path / "images" / "7.jpg")
    return tmp_path


def test_pairs_of_flickr30k_entities(scripts, flickr):
    read = sys.modules["region_phrases.pairs"].read_flickr30k
    found = read(flickr / "Annotations", flickr / "Sentences", flickr / "images")
    assert [(pair.image, pair.phrase, pair.picture.box) for pair in found] == [
        ("7", "Two men", (1, 2, 9, 8)),
        ("7", "Two men", (3, 3, 20, 9)),
        ("7", "a ball", (1, 2, 9, 8)),
        ("7", "a red ball", (1, 2, 9, 8)),
    ]
    assert found[1].picture.open().size == (17, 6)
    (flickr / "images" / "7.jpg").unlink()
    with pytest.raises(ValueError, match=r"7.txt must have its image and its annotation, got none named '7.jpg'"):
        read(flickr / "Annotations", flickr / "Sentences", flickr / "images")


def test_pairs_of_drawn_scenes(scripts):
    drawn = sys.modules["region_phrases.drawn"]
    found = list(drawn.drawn_pairs(3, 0, "train"))
    phrases = [pair.phrase for pair in found]
    assert phrases == [pair.phrase for pair in drawn.drawn_pairs(3, 0, "train")]
    assert any(phrase.endswith(("background", "backdrop")) for phrase in phrases)
    assert len({pair.image for pair in found}) == 3
    assert all(pair.picture.open().size[0] > 4 for pair in found)
    table = dict(drawn.indexed_words(phrases, 0))
    assert set(table) == {word for phrase in phrases for word in phrase.split()} | {"unk"}
    assert table["unk"] == pytest.approx(np.mean([table[word] for word in table if word != "unk"], axis=0))
    left, top, right, bottom = drawn.widened((10, 10, 20, 30), (25, 64), np.random.default_rng(0))
    assert 7 <= left <= 10
    assert 4 <= top <= 10
    assert 20 <= right <= 23
    assert 30 <= bottom <= 36


def test_training_on_a_table(scripts, table, capsys):
    assert scripts.main(options(table, "out", "--epochs", 2)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "pairs.csv: 14 pairs to train on, 2 to validate with, on cpu"
    assert [line.split(":")[0] for line in lines[1:3]] == ["epoch 1", "epoch 2"]
    record = json.loads((table / "out" / "training.json").read_text())
    assert record["kept_epoch"] in (1, 2)
    assert "## Limitations" in (table / "out" / "README.md").read_text()
    model = grounding_model(table / "out")
    assert model.vectors == {"file": "glove.txt", "sha256": word_vector_file(table / "glove.txt").sha256}
    crop = next(iter((table / "crops").iterdir()))
    assert model.regions([ImagePicture(image_cell(str(crop), "x"), "x", "early")]).shape == (1, 6)
    assert model.words(np.eye(3)).shape == (3, 6)
    before = tiny_vit().state_dict()["pooler.dense.weight"]
    after = load_file(table / "out" / "model.safetensors")["image_encoder.pooler.dense.weight"]
    assert not torch.equal(before, after)


def test_an_interrupted_training_goes_on(scripts, table, monkeypatch):
    assert scripts.main(options(table, "whole", "--epochs", 2)) == 0
    real = scripts.say

    def interrupt(text):
        if text.startswith("epoch 1"):
            raise KeyboardInterrupt
        real(text)

    monkeypatch.setattr(scripts, "say", interrupt)
    assert scripts.main(options(table, "parts", "--epochs", 2)) == 130
    monkeypatch.setattr(scripts, "say", real)
    assert scripts.main(options(table, "parts", "--epochs", 2)) == 0
    whole, parts = (json.loads((table / name / "training.json").read_text()) for name in ("whole", "parts"))
    assert [epoch["training_loss"] for epoch in whole["epochs"]] == pytest.approx(
        [epoch["training_loss"] for epoch in parts["epochs"]], abs=1e-6
    )
    assert not (table / "parts" / "interrupted").exists()


def test_training_stops_early_and_keeps_the_best(scripts, tmp_path):
    loop, recipe = sys.modules["region_phrases.loop"], sys.modules["sentence_order.loop"].Recipe
    generator = torch.Generator().manual_seed(0)
    images, vectors = (torch.randn(40, width, generator=generator) for width in (6, 3))
    sides = (loop.Side(loop.Given(images), vectors, places) for places in (np.arange(30), np.arange(30, 40)))
    torch.manual_seed(0)
    net, kept = loop.GroundingNet(None, 6, 3, 4), []
    state = loop.train(
        net,
        *sides,
        recipe(learning_rate=0.05, batch_size=10, patience=3),
        tmp_path,
        device="cpu",
        keep=lambda best: kept.append(best.image_head.weight.detach().clone()),
        say=lambda text: None,
        progress=False,
    )
    losses = [epoch["validation_loss"] for epoch in state.epochs]
    assert len(losses) == state.best + 1 + 3 < 50
    assert losses[state.best] == min(losses)
    assert len(kept) == sum(loss < min(losses[:i], default=9e9) for i, loss in enumerate(losses))
    assert not torch.equal(kept[-1], net.image_head.weight)


def test_a_plot_is_drawn(scripts, table):
    pytest.importorskip("matplotlib")
    arguments = [text for text in options(table, "out", "--epochs", 1) if text != "--no-plot"]
    assert scripts.main(arguments) == 0
    assert (table / "out" / "training.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the pairs are missing; pass --csv, --flickr30k or --scenes"),
        (["--csv", "{0}/pairs.csv"], "the option --crops is missing"),
        (["--flickr30k", "{0}"], "the option --images is missing"),
        (["--csv", "{0}/pairs.csv", "--crops", "{0}/crops"], "the option --glove is missing"),
        (["--csv", "{0}/pairs.csv", "--crops", "{0}/crops", "--glove", "{0}/none"], "`--glove` must name an existing"),
        (
            ["--csv", "{0}/pairs.csv", "--crops", "{0}/crops", "--glove", "{0}/glove.txt", "--vit", "{0}/none"],
            "`--vit` must be a file or folder",
        ),
    ],
)
def test_errors(scripts, table, capsys, arguments, message):
    assert scripts.main([str(table / "out"), *(text.format(table) for text in arguments)]) == 2
    assert capsys.readouterr().err.startswith(f"train_rovist_vg: error: {message}")


def test_pairs_of_one_image_cannot_be_split(scripts):
    split = sys.modules["region_phrases.loop"].split_by_image
    with pytest.raises(ValueError, match="must be of at least two images, got 1"):
        split(["a", "a"], 0)
    names = [f"i{k % 20}" for k in range(100)]
    training, validation = split(names, 0)
    assert sorted([*training, *validation]) == list(range(100))
    assert not {names[i] for i in training} & {names[i] for i in validation}
    assert len({names[i] for i in training}) == 17
