"""polos: the definition as plain loops, invariance of scores, settings, and input errors."""

import inspect
import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import tiny_polos
import torch
from folders import METRICS
from PIL import Image
from safetensors.numpy import load_file, save_file
from tiny_clip import TINY, write_tiny

import vlgauge
from vlgauge.core.pool import pool
from vlgauge.models.clip.loading import clip_encoder
from vlgauge.models.features.memory import process_memory
from vlgauge.models.rated import files as polos_head
from vlgauge.models.rated import head as polos
from vlgauge.models.rated import models as polos_models

CAPTIONS = ["a dog", "two cats on grass", "a dog", "red bus", "a"]
REFERENCES = [
    ["a cat", "the dog runs", "dog"],
    ["cats"],
    ["a cat", "a dog"],
    ["the red bus stops here", "a bus"],
    ["b"],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    yield tmp_path_factory.mktemp("polos")
    pool.unload()


@pytest.fixture(scope="module")
def settings(folder):
    return {**tiny_polos.settings(folder, write_tiny(folder)), "device": "cpu", "keep_in_memory": True}


def images(n):
    return [np.random.default_rng(i).integers(0, 255, (30, 40, 3)).astype(np.uint8) for i in range(n)]


ROWS = {"predictions": CAPTIONS, "references": REFERENCES, "images": images(3) + images(2)}


def models_of(settings):
    names = ("backbone", "weights", "text_encoder", "checkpoint")
    return polos_models.polos_models(
        **{name: settings[name] for name in names}, profile="paper", device="cpu", dtype="float32", feature_cache=None
    )


# -- the definition, written out -------------------------------------------------------------------------------------
def hidden(models, text):
    """Return every layer of every token of one text, shape (layers, tokens, width)."""
    ids = models.text.token_ids([text])[0]
    found, _ = models.text.hidden([np.array(ids[0])])
    return found[:, 0].double().numpy()


def mixed(models, stacks):
    """Return the embeddings of texts that are normalized together."""
    head = models.head
    shares = [math.exp(x) for x in head.scalars]
    out = 0
    for number, share in enumerate(shares):
        every = np.concatenate([stack[number] for stack in stacks]).ravel()
        mean, variance = every.mean(), every.var()
        firsts = np.stack([stack[number][0] for stack in stacks])
        out = out + share / sum(shares) * (firsts - mean) / math.sqrt(variance + 1e-12)
    return head.gamma * out


def head_value(head, x):
    for matrix, bias in zip(head.matrices[:2], head.biases[:2], strict=True):
        x = np.tanh(matrix.astype(float) @ x + bias)
    return 1 / (1 + math.exp(-(head.matrices[2].astype(float) @ x + head.biases[2])[0]))


def clip_vectors(models, rows):
    from vlgauge.inputs.images.cells import image_cell
    from vlgauge.inputs.images.lazy_images import WholeImage

    seen = [WholeImage(image_cell(image, "i"), "i") for image in rows["images"]]
    v = models.clip.project(models.clip.image_hidden(seen), "image")
    texts = sorted({*rows["predictions"], *(text for row in rows["references"] for text in row)})
    return v, dict(zip(texts, polos_models.clip_texts(models.clip, texts), strict=True))


def brute_force(models, rows, size):
    v, c = clip_vectors(models, rows)
    scores = []
    for start in range(0, len(rows["predictions"]), size):
        block = range(start, min(start + size, len(rows["predictions"])))
        t = mixed(models, [hidden(models, rows["predictions"][i]) for i in block])
        values = []
        for j in range(min(len(rows["references"][i]) for i in block)):
            r = mixed(models, [hidden(models, rows["references"][i][j]) for i in block])
            found = []
            for place, i in enumerate(block):
                own, ref = c[rows["predictions"][i]], c[rows["references"][i][j]]
                a, b = t[place], r[place]
                parts = [b, a, abs(a - b), a * b, v[i], own, abs(v[i] - own), v[i] * own, abs(ref - own), ref * own]
                found.append(head_value(models.head, np.concatenate(parts)))
            values.append(found)
        scores += np.max(values, axis=0).tolist()
    return scores


def test_itemwise_is_the_definition_with_batches_of_one(settings):
    found = vlgauge.load("polos", **settings).compute(**ROWS)
    np.testing.assert_allclose(found["polos_scores"], brute_force(models_of(settings), ROWS, 1), rtol=0, atol=2e-6)
    assert found["polos_undefined"] == 0
    assert "|variant:itemwise|long:truncate|" in found["polos_signature"]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 64, 10**30])
def test_released_is_the_definition(settings, size):
    metric = vlgauge.load("polos", **settings, variant="released", released_batch_size=size)
    found = metric.compute(**ROWS)
    np.testing.assert_allclose(found["polos_scores"], brute_force(models_of(settings), ROWS, size), rtol=0, atol=2e-6)
    assert f"|variant:released|released_batch:{size}|" in found["polos_signature"]


def test_the_parts_in_their_order():
    t, r, v, c, c_r = (np.array([[float(x)]]) for x in (2, 5, 7, 11, 13))
    assert np.concatenate(polos.features(t, r, v, c, c_r), 1).tolist() == [[5, 2, 3, 10, 7, 11, 4, 77, 2, 143]]


def test_normalised_layers_of_batches_are_those_of_all_their_tokens(settings):
    texts = models_of(settings).text.layers(CAPTIONS)
    batch = np.array([0, 1, 0, 1, 1])
    found = polos.normalize_layers(texts, batch)
    stacks = [hidden(models_of(settings), text) for text in CAPTIONS]
    for row, number in enumerate(batch):
        every = [stack for stack, other in zip(stacks, batch, strict=True) if other == number]
        for layer in range(found.shape[1]):
            values = np.concatenate([stack[layer] for stack in every]).ravel()
            wanted = (stacks[row][layer][0] - values.mean()) / math.sqrt(values.var() + 1e-12)
            np.testing.assert_allclose(found[row, layer], wanted, rtol=0, atol=1e-5)


# -- invariance of scores --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("batch_size", [1, 2, 64])
def test_itemwise_does_not_move_with_batch_size_and_order(settings, batch_size):
    whole = vlgauge.load("polos", **settings).compute(**ROWS)["polos_scores"]
    process_memory.clear()
    models_of(settings).text.store.clear()
    turned = {name: rows[::-1] for name, rows in ROWS.items()}
    found = vlgauge.load("polos", **settings, batch_size=batch_size).compute(**turned)["polos_scores"]
    np.testing.assert_allclose(found[::-1], whole, rtol=0, atol=1e-6)
    alone = vlgauge.load("polos", **settings).compute(**{name: rows[1:2] for name, rows in ROWS.items()})
    assert alone["polos_scores"][0] == pytest.approx(whole[1], abs=1e-6)


def test_released_depends_on_the_neighbours(settings):
    metric = vlgauge.load("polos", **settings, variant="released")
    whole = metric.compute(**ROWS)["polos_scores"]
    alone = metric.compute(**{name: rows[:1] for name, rows in ROWS.items()})["polos_scores"]
    assert abs(alone[0] - whole[0]) > 1e-4
    with pytest.raises(ValueError, match="other rows"):
        metric.count({})
    assert vlgauge.load("polos", **settings).count({}) is None


def test_details(settings):
    found = vlgauge.load("polos", **settings).compute(**ROWS, return_details=True)
    for note, score, references in zip(found["polos_details"], found["polos_scores"], REFERENCES, strict=True):
        assert len(note["values"]) == len(references)
        assert max(note["values"]) == score == note["values"][note["best_reference"]]
    metric = vlgauge.load("polos", **settings, variant="released", details=True)
    assert [len(note["values"]) for note in metric.compute(**ROWS)["polos_details"]] == [1] * 5


def test_half_is_near(settings):
    whole = vlgauge.load("polos", **settings).compute(**ROWS)["polos_scores"]
    found = vlgauge.load("polos", **settings, dtype="released_half").compute(**ROWS)
    np.testing.assert_allclose(found["polos_scores"], whole, rtol=0, atol=2e-2)
    assert found["polos_scores"] != whole
    assert "|dtype:released_half|" in found["polos_signature"]


# -- rows that have no score -----------------------------------------------------------------------------------------
def test_rows_without_references(settings):
    rows = ROWS | {"references": [*REFERENCES[:4], []]}
    found = vlgauge.load("polos", **settings).compute(**rows, return_details=True)
    assert found["polos_undefined"] == 1
    assert math.isnan(found["polos_scores"][4])
    assert found["polos_details"][4]["best_reference"] is None
    with pytest.raises(ValueError, match=r"^`references\[4\]`.*variant='released'"):
        vlgauge.load("polos", **settings, variant="released").compute(**rows)


def test_images_that_cannot_be_read(settings, tmp_path):
    (tmp_path / "broken.png").write_bytes(b"none")
    rows = ROWS | {"images": [*ROWS["images"][:4], str(tmp_path / "broken.png")]}
    with pytest.warns(UserWarning, match="1 of 5 images could"):
        found = vlgauge.load("polos", **settings, on_error="nan").compute(**rows)
    assert [math.isnan(score) for score in found["polos_scores"]] == [False] * 4 + [True]
    with pytest.raises(ValueError, match=r"^`images\[4\]`"):
        vlgauge.load("polos", **settings).compute(**rows)


def test_long_texts(settings):
    rows = {name: column[:1] for name, column in ROWS.items()} | {"predictions": ["dog " * 100]}
    with pytest.warns(UserWarning, match=r"1 of 4 captions.*than 77 tokens"):
        vlgauge.load("polos", **settings).compute(**rows)
    with pytest.raises(ValueError, match=r"^`predictions\[0\]`.*at most 77 tokens"):
        vlgauge.load("polos", **settings, long_text="error").compute(**rows)


@pytest.mark.parametrize("variant", ["itemwise", "released"])
def test_texts_that_only_the_text_encoder_cannot_read(settings, variant):
    lengthy = "dog" * 15  # few tokens in CLIP, and one per letter in the text encoder, whose limit is 40
    rows = {name: column[:2] for name, column in ROWS.items()} | {"predictions": ["a dog", lengthy]}
    assert not vlgauge.load("clip_s", profile="embedded").clip.tokens().too_long([lengthy]).any()
    chosen = settings | {"variant": variant}
    with pytest.warns(UserWarning, match=r"1 of 6 captions.*than 40 tokens"):
        found = vlgauge.load("polos", **chosen).compute(**rows, return_details=True)
    assert [note["truncated"] for note in found["polos_details"]] == [False, True]
    strict = vlgauge.load("polos", **chosen, long_text="error")
    with pytest.raises(ValueError, match=r"^`predictions\[1\]`.*at most 40 tokens.*`long_text`"):
        strict.compute(**rows)
    rows = {name: column[:2] for name, column in ROWS.items()} | {"references": [["a", "b"], ["c", lengthy]]}
    with pytest.raises(ValueError, match=r"^`references\[1\]\[1\]`.*at most 40 tokens"):
        strict.compute(**rows)


@pytest.mark.parametrize("mode", ["P", "RGBA", "CMYK", "L", "RGB"])
def test_images_turn_to_rgb_first(settings, tmp_path, mode):
    noise = Image.fromarray(images(1)[0])
    if mode == "RGBA":
        noise.putalpha(Image.fromarray(images(2)[1][:, :, 0]))
    path = tmp_path / f"picture.{'jpg' if mode == 'CMYK' else 'png'}"
    noise.convert(mode).save(path)
    metric = vlgauge.load("polos", **settings)
    with Image.open(path) as opened:
        plain = opened.convert("RGB")
    rows = {"predictions": ["a dog"] * 2, "references": [["a cat"]] * 2, "images": [str(path), plain]}
    first, second = metric.compute(**rows)["polos_scores"]
    assert first == pytest.approx(second, abs=1e-7)


# -- one pass --------------------------------------------------------------------------------------------------------
def test_one_pass_serves_all_metrics_of_a_tower(folder, settings):
    pool.unload()
    encoder = clip_encoder(TINY, weights=settings["weights"], device="cpu")
    named = {"backbone": TINY, "weights": settings["weights"], "device": "cpu", "keep_in_memory": True}
    rows = {"predictions": CAPTIONS * 4, "images": images(20), "references": REFERENCES * 4}
    vlgauge.load("clip_s", **named).compute(**rows)
    assert encoder.forwards["image"] == 20
    vlgauge.load("polos", **settings).compute(**rows)
    vlgauge.load("polos", **settings, variant="released").compute(**rows)
    assert encoder.forwards["image"] == 20
    assert encoder.forwards["text"] == len({*CAPTIONS, *(text for row in REFERENCES for text in row)})


def test_one_pass_serves_clip_s_pac_s_and_polos(monkeypatch):
    pool.unload()
    encoder = clip_encoder(None, profile="embedded", device="cpu")
    text = polos_models.text_encoder_of(None, profile="embedded", device="cpu")
    read, once = [], text.hidden
    monkeypatch.setattr(text, "hidden", lambda batch: read.extend(map(bytes, batch)) or once(batch))
    rows = {"predictions": CAPTIONS * 4, "images": images(20), "references": REFERENCES * 4}
    for name in ("clip_s", "pac_s", "polos"):
        vlgauge.load(name, profile="embedded", device="cpu", keep_in_memory=True).compute(**rows)
    texts = {*CAPTIONS, *(reference for row in REFERENCES for reference in row)}
    assert encoder.forwards == {"image": 20, "text": len(texts)}
    assert len(read) == len(set(read)) == len(texts)


# -- input errors ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"variant": "paper"}, r"^`variant`.*'itemwise'.*'released'"),
        ({"released_batch_size": 0}, "`released_batch_size` must be"),
        ({"long_text": "split"}, r"^`long_text`.*'truncate'.*'error'"),
        ({"dtype": "float64"}, r"^`dtype`"),
        ({"checkpoint": 5}, r"^`checkpoint`.*got 5"),
        ({"checkpoint": True}, r"^`checkpoint`.*got True"),
    ],
)
def test_settings_that_are_refused(wrong, told):
    with pytest.raises(ValueError, match=told.replace("(", r"\(")):
        vlgauge.load("polos", **wrong).check_sources().end()


def test_all_that_is_missing_is_told_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("VLGAUGE_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"(?s)sources.*--kind"):
        vlgauge.load("polos", keep_in_memory=True).compute(**ROWS)


def test_a_head_of_other_encoders(folder, settings):
    other = tiny_polos.text_encoder(folder / "stranger", seed=9)
    with pytest.raises(ValueError, match=r"^`checkpoint`.*head.*text"):
        vlgauge.load("polos", **(settings | {"text_encoder": str(other)})).compute(**ROWS)
    with pytest.raises(ValueError, match=r"^`checkpoint`.*CLIP"):
        vlgauge.load("polos", **(settings | {"weights": write_tiny(folder, 5)})).compute(**ROWS)


def test_encoders_that_differ_in_a_part_are_told_before_an_image_is_read(settings, tmp_path):
    def refused(told, **changed):
        rows = ROWS | {"images": [str(tmp_path / "broken.png")] * 5}
        with pytest.raises(ValueError, match=rf"^`checkpoint`.*{told}"):
            vlgauge.load("polos", **(settings | changed)).compute(**rows)

    (tmp_path / "broken.png").write_bytes(b"none")
    state = load_file(settings["weights"])
    name = next(name for name in state if name.endswith("resblocks.0.mlp.c_fc.bias"))
    save_file({**state, name: state[name] + np.float32(0.1)}, tmp_path / "clip.safetensors")
    refused("CLIP tiny", weights=tmp_path / "clip.safetensors")

    def copied(name):
        return Path(shutil.copytree(settings["text_encoder"], tmp_path / name))

    text = copied("trained") / "model.safetensors"
    state, name = load_file(text), "embeddings.position_embeddings.weight"
    save_file({**state, name: state[name] * np.float32(2)}, text)
    refused("text encoder local@", text_encoder=str(text.parent))

    words = (copied("tokens") / "vocab.txt").read_text("utf-8").split()
    (tmp_path / "tokens" / "tokenizer.json").unlink(missing_ok=True)
    (tmp_path / "tokens" / "vocab.txt").write_text("\n".join([*words[:5], *words[:4:-1]]) + "\n", "utf-8")
    refused("tokenizer of local@", text_encoder=str(tmp_path / "tokens"))


def test_a_head_knows_its_encoders_in_every_kind_of_file(settings, tmp_path):
    text = Path(shutil.copytree(settings["text_encoder"], tmp_path / "text"))
    torch.save({name: torch.from_numpy(x) for name, x in load_file(text / "model.safetensors").items()}, text / "a.bin")
    (text / "model.safetensors").unlink()
    (text / "a.bin").rename(text / "pytorch_model.bin")
    found = vlgauge.load("polos", **(settings | {"text_encoder": str(text)})).compute(**ROWS)
    assert found["polos_scores"] == vlgauge.load("polos", **settings).compute(**ROWS)["polos_scores"]
    assert polos_head.tensors_digest({"a": torch.zeros(2)}) != polos_head.tensors_digest({"a": torch.zeros(2, 1)})


def test_a_head_of_another_width(folder, settings):
    models = models_of(settings)
    head = polos_head.head_of(tiny_polos.tensors(100), models.head.metadata, "the test")
    path = folder / "narrow.safetensors"
    polos_head.write_head(path, head)
    wanted = r"3 layers.*4 x.*16"
    with pytest.raises(ValueError, match=wanted):
        vlgauge.load("polos", **(settings | {"checkpoint": path})).compute(**ROWS)


def test_what_is_no_head(settings):
    wrong = settings | {"checkpoint": settings["weights"]}
    with pytest.raises(ValueError, match="format=vlgauge-polos-1"):
        vlgauge.load("polos", **wrong).compute(**ROWS)
    with pytest.raises(FileNotFoundError, match=r"^`checkpoint`.*Polos"):
        vlgauge.load("polos", **(settings | {"checkpoint": "nowhere"})).compute(**ROWS)


def test_the_formula_stands_next_to_the_script():
    module = inspect.getmodule(type(vlgauge.load("polos")))
    assert module.best_of([0.1, 0.4, 0.4]) == 1
    assert module.best_of([]) is None


def test_the_demo_model_is_that_of_its_record():
    record = json.loads(polos_models.DEMO_HEAD.with_suffix(".json").read_text("utf-8"))
    head = polos_head.read_head(polos_models.DEMO_HEAD)
    assert head.digest == record["head"]
    card = (METRICS / "polos" / "README.md").read_text("utf-8")
    assert f"ratings of {record['training_rows']:,} captions" in card
    assert f"On {record['test_rows']:,} captions of other scenes" in card
    assert f"its tau-c is {record['test_tau_c']:.2f} and its mean squared error {record['test_loss']:.3f}" in card
