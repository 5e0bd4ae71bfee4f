"""SigLIP 2: the ids, pixels and vectors of the two reference libraries, on generated weights."""

import json
import shutil
from dataclasses import replace

import numpy as np
import PIL
import pytest
from oracle_backbones import TURNED, arrays, inputs, maker, oracle_images, unit, unpacked

import vlgauge
from vlgauge.models.clip.architectures import TABLE
from vlgauge.models.clip.backbones import architecture_of
from vlgauge.models.clip.checkpoints import read_state
from vlgauge.models.clip.loading import clip_encoder
from vlgauge.models.clip.model import list_expected_shapes
from vlgauge.models.clip.own_tokens import SiglipTokenizer
from vlgauge.models.clip.pixels import prepare_image

KINDS = {"B16": "siglip2-base-patch16-224", "so400m14": "siglip2-so400m-patch14-224"}


@pytest.fixture
def oracle(shared_folder):
    return shared_folder / "oracles" / "siglip2"


@pytest.fixture
def model(oracle, tmp_path, monkeypatch):
    """Folder and row of a generated SigLIP 2, in the layout of the published ones."""
    timm = pytest.importorskip("timm")

    def written(kind="B16", **changes):
        shape = maker(oracle, "tinysiglip").CONFIGS[f"siglip2-{kind}-tiny"]
        published = TABLE[KINDS[kind]]

        def tiny_trunk(pretrained=False, **keywords):
            from timm.models.vision_transformer import VisionTransformer

            keywords = {key: value for key, value in keywords.items() if not key.startswith(("cache", "pretrained"))}
            width, depth, heads = shape["width"], shape["layers"], shape["heads"]
            return VisionTransformer(
                img_size=shape["image"],
                patch_size=shape["patch"],
                embed_dim=width,
                depth=depth,
                num_heads=heads,
                mlp_ratio=shape["mlp"] / width,
                class_token=False,
                **keywords,
            )

        name = f"tiny_siglip_{kind.lower()}"
        monkeypatch.setitem(timm.models._registry._model_entrypoints, name, tiny_trunk)
        text = dict(published.config["text_cfg"])
        text |= {"vocab_size": shape["vocab"], "width": shape["width"], "heads": shape["heads"]}
        text |= {"layers": shape["layers"], "mlp_ratio": shape["mlp"] / shape["width"]}
        image = published.config["vision_cfg"] | {"timm_model_name": name, "image_size": shape["image"]}
        config = {**published.config, "embed_dim": shape["width"], "text_cfg": text, "vision_cfg": image}
        folder = tmp_path / kind
        if not folder.is_dir():
            shutil.copytree(oracle / f"siglip2-{kind}-tiny", folder)
            folder.chmod(0o755)
            unpacked(oracle / f"siglip2-{kind}-tiny" / "model.safetensors.xz", folder / "model.safetensors")
            for path in folder.iterdir():
                path.chmod(0o644)
        return folder, replace(published, embed_width=shape["width"], size=shape["image"], config=config, **changes)

    return written


def plain(oracle):
    """Return the indices and names of upright images that convert to RGB without loss.

    One is resized to a larger width and a smaller height. Pillow 13, which made the oracle, begins with the other side
    than Pillow 12, which changes pixels by up to two gray levels.
    """
    other_order = () if int(PIL.__version__.split(".")[0]) >= 13 else ("02_rgb_37x101.png",)
    left_out = (TURNED, *other_order)
    return [(i, name) for i, name in enumerate(inputs(oracle)[1]) if "_rgb_" in name and name not in left_out]


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_those_of_both_libraries(oracle, model, kind):
    folder, row = model(kind)
    encoder = clip_encoder(row, weights=folder, device="cpu")
    wanted = arrays(oracle / f"siglip2-{kind}-tiny.npz")
    texts, _ = inputs(oracle)
    text = encoder.project(encoder.text_hidden(list(texts.values())).end, "text")
    np.testing.assert_allclose(text, wanted["text_features_lower"], rtol=0, atol=2e-5)
    rows, names = zip(*plain(oracle), strict=True)
    image = encoder.image_hidden(oracle_images(oracle, names))
    # The filter is bilinear, as in the configuration file next to the weights.
    np.testing.assert_allclose(image, wanted["image_features_transformers_pil_bilinear"][list(rows)], rtol=0, atol=2e-5)
    settings = {"resample": 3, "size": {"height": row.size, "width": row.size}}
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    bicubic = clip_encoder(row, weights=folder, device="cpu").image_hidden(oracle_images(oracle, names))
    np.testing.assert_allclose(bicubic, wanted["image_features"][list(rows)], rtol=0, atol=2e-5)
    assert abs(bicubic - image).max() > 1e-3
    cosines = unit(text) @ unit(bicubic).T
    np.testing.assert_allclose(cosines, wanted["cosine_lower"][:, list(rows)], rtol=0, atol=1e-5)
    np.testing.assert_allclose(2.5 * np.maximum(cosines, 0), wanted["clip_s_w2_5"][:, list(rows)], rtol=0, atol=1e-5)


def test_the_exact_gelu_of_timm_is_another_number(oracle, model):
    folder, row = model(tanh_gelu=False, interpolation="bicubic")
    (folder / "preprocessor_config.json").unlink()
    rows, names = zip(*plain(oracle), strict=True)
    image = clip_encoder(row, weights=folder, device="cpu").image_hidden(oracle_images(oracle, names))
    wanted = arrays(oracle / "siglip2-B16-tiny.npz")
    np.testing.assert_allclose(image, wanted["image_features_erf_gelu"][list(rows)], rtol=0, atol=2e-5)
    assert abs(image - wanted["image_features"][list(rows)]).max() > 1e-4


@pytest.mark.parametrize(("interpolation", "key"), [("bicubic", "bicubic"), ("bilinear", "transformers_pil_bilinear")])
def test_pixels_are_equal(oracle, model, interpolation, key):
    _, row = model(interpolation=interpolation)
    wanted = arrays(oracle / "siglip2-B16-tiny.npz")[f"pixels_u8_{key}"]
    for number, name in plain(oracle):
        (image,) = oracle_images(oracle, [name])
        np.testing.assert_array_equal(prepare_image(image, row).transpose(2, 0, 1), wanted[number], err_msg=name)


def test_an_image_is_rgb_before_the_squash(oracle, model):
    _, row = model()
    for name in inputs(oracle)[1]:
        (image,) = oracle_images(oracle, [name])
        first = image.open()
        first.info.pop("transparency", None)
        first = np.asarray(first.convert("RGB").resize((64, 64), 2))
        np.testing.assert_array_equal(prepare_image(image, row), first, err_msg=name)


@pytest.mark.parametrize(
    ("canonical", "key"), [(False, "lower (Siglip2Tokenizer)"), (True, "open_clip (canonicalize)")]
)
def test_ids(oracle, canonical, key):
    texts, _ = inputs(oracle)
    tokens = SiglipTokenizer(oracle / "siglip2-B16-tiny" / "tokenizer.json", 64, 797, canonical=canonical)
    wanted = json.loads((oracle / "tokens.json").read_text("utf-8"))[key]
    ids, cut = tokens(list(texts.values()))
    assert {row.shape for row in ids} == {(64,)}
    assert [np.trim_zeros(row, "b").tolist() for row in ids] == [wanted[name] for name in texts]
    np.testing.assert_array_equal(tokens.too_long(list(texts.values())), cut)
    assert 0 < cut.sum() < len(texts)
    assert tokens(["half \ud83d"])[0][0].tolist() == tokens(["half \ufffd"])[0][0].tolist()


def test_canonicalize_is_a_backbone_of_its_own(oracle, model):
    row = architecture_of("google/siglip2-base-patch16-224/canonicalize")
    assert (row.tokens, row.architecture) == ("canonicalize", "siglip2-base-patch16-224/canonicalize")
    with pytest.raises(ValueError, match=r"^`backbone`.*name"):
        architecture_of("longclip-b/canonicalize")
    folder, tiny = model(tokens="canonicalize", architecture="tiny/canonicalize")
    texts = list(inputs(oracle)[0].values())
    found = clip_encoder(tiny, weights=folder, device="cpu").text_hidden(texts).end
    wanted = arrays(oracle / "siglip2-B16-tiny.npz")
    np.testing.assert_allclose(found, wanted["text_features_open_clip"], rtol=0, atol=2e-5)
    assert (abs(found - wanted["text_features_lower"]).max(axis=1) > 1e-3).sum() == 20


@pytest.mark.parametrize(
    "name", json.loads('["base-patch16-224", "base-patch32-256", "large-patch16-256", "so400m-patch14-224"]')
)
def test_the_real_sizes_fit(oracle, name):
    import torch

    from vlgauge.models.clip.tensor_names import from_siglip

    layout = json.loads((oracle / "layout_real_size.json").read_text("utf-8"))[f"siglip2-{name}"]["shapes"]
    state = {key: torch.empty(shape, device="meta") for key, shape in layout.items()}
    shapes = list_expected_shapes(TABLE[f"siglip2-{name}"])
    for key, tensor in from_siglip(state).items():
        assert tuple(tensor.shape) == shapes[key], key


def test_a_text_does_not_depend_on_its_batch(model):
    folder, row = model()
    encoder = clip_encoder(row, weights=folder, device="cpu")
    (alone,) = encoder.text_hidden(["a dog"]).end
    vlgauge.core.pool.pool.unload()
    among = clip_encoder(row, weights=folder, device="cpu").text_hidden(["a dog", "word " * 90]).end[0]
    np.testing.assert_allclose(alone, among, rtol=0, atol=1e-5)


def test_metric_on_siglip(model):
    folder, row = model()
    metric = vlgauge.load("clip_s", backbone=row, weights=folder, device="cpu")
    grey = np.full((64, 64, 3), 90, np.uint8)
    with pytest.warns(UserWarning, match=r"1 of 2 captions.*than 64 tokens"):
        found = metric.compute(predictions=["A dog <|endoftext|>.", "word " * 200], images=[grey] * 2)
    assert all(0 <= score <= 2.5 for score in found["clip_s_scores"])


def test_videos_need_vectors_of_words():
    with pytest.raises(ValueError, match=r"^`backbone`.*got 'siglip2-base-patch16-224'"):
        vlgauge.load("clip_s", "video", backbone="siglip2")


# -- files of other models --------------------------------------------------------------------------------------------
def test_other_files_are_refused_before_an_image(model, monkeypatch):
    folder, row = model()
    metric = vlgauge.load("clip_s", backbone=row, weights=folder, device="cpu")
    rows = {"predictions": ["a dog"], "images": [np.zeros((9, 9, 3), np.uint8)]}
    monkeypatch.setattr("vlgauge.models.clip.encoder.distinct_images", None)
    own = (folder / "tokenizer.json").read_text("utf-8")
    other = json.loads(own)
    vocabulary, (_, end, *_, mask) = other["model"]["vocab"], other["added_tokens"]
    vocabulary["<eos>"], vocabulary["<mask>"], end["id"], mask["id"] = 4, 1, 4, 1
    (folder / "tokenizer.json").write_text(json.dumps(other), "utf-8")
    with pytest.raises(ValueError, match="797 tokens"):
        metric.compute(**rows)
    (folder / "tokenizer.json").write_text("{}", "utf-8")
    with pytest.raises(ValueError, match=r"^`weights`.*fails"):
        metric.compute(**rows)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"^`weights`.*tokenizer\.json.*next"):
        metric.compute(**rows)
    (folder / "tokenizer.json").write_text(own, "utf-8")
    (folder / "preprocessor_config.json").write_text('{"size": {"height": 32, "width": 32}, "resample": 2}', "utf-8")
    with pytest.raises(ValueError, match=r"preprocessor_config\.json.*64 pixels"):
        metric.compute(**rows)
    with pytest.raises(ValueError, match="text_projection"):
        read_state(folder / "model.safetensors", replace(row, config={**row.config, "embed_dim": 32}, architecture="x"))
