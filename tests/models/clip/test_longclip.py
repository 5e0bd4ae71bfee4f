"""Long-CLIP: two position tables read as one, and the values of the authors' code on generated weights."""

import json

import numpy as np
import pytest
from oracle_backbones import TURNED, arrays, inputs, maker, oracle_images, tiny_clip_row, unit, unpacked

import vlgauge
from vlgauge.models.clip.architectures import TABLE
from vlgauge.models.clip.loading import clip_encoder
from vlgauge.models.clip.model import list_expected_shapes
from vlgauge.models.clip.tensor_names import join_positions

WORDS = ["dog", "cat", "tree", "house", "river", "stone", "bird", "cloud"]
CAPTION = " ".join(WORDS[i % 8] for i in range(200))


@pytest.fixture
def oracle(shared_folder):
    return shared_folder / "oracles" / "longclip"


@pytest.fixture
def weights(oracle, tmp_path):
    """Function that returns path and row of a generated Long-CLIP with a name of the table."""

    def written(name="longclip-b"):
        kind = name[-1].upper()
        row = tiny_clip_row(name, maker(oracle, "tinyweights").CONFIGS[f"longclip-{kind}-tiny"])
        return unpacked(oracle / "checkpoints" / f"longclip-{kind}.pt.xz", tmp_path / f"longclip-{kind}.pt"), row

    return written


@pytest.mark.parametrize("name", ["longclip-b", "longclip-l"])
def test_numbers_are_those_of_the_authors(oracle, weights, name):
    path, row = weights(name)
    encoder = clip_encoder(row, weights=path, device="cpu")
    texts, images = inputs(oracle)
    wanted = arrays(oracle / f"longclip-{name[-1].upper()}-tiny.npz")
    tokens = json.loads((oracle / "tokens.json").read_text("utf-8"))
    read = encoder.text_hidden(list(texts.values()))
    assert [ids.tolist() for ids in read.ids] == [tokens["ids"][key] for key in texts]
    assert [key for key, cut in zip(texts, read.truncated, strict=True) if cut] == tokens["default_raises"]
    text = encoder.project(read.end, "text")
    np.testing.assert_allclose(text, wanted["text_features"], rtol=0, atol=2e-5)
    kept = [i for i, image in enumerate(images) if image != TURNED]
    image = encoder.project(encoder.image_hidden(oracle_images(oracle, [images[i] for i in kept])), "image")
    np.testing.assert_allclose(image, wanted["image_features"][kept], rtol=0, atol=2e-5)
    np.testing.assert_allclose(unit(image) @ unit(text).T, wanted["cosine"][kept], rtol=0, atol=1e-5)


@pytest.mark.parametrize("first", [0, 19, 21, 248])
def test_another_boundary_of_the_tables_is_seen(oracle, first):
    module = maker(oracle, "tinyweights")
    state = module.to_torch(module.make("longclip-B-tiny", 1, 0.125))
    right, wrong = join_positions(state, 20, "x"), join_positions(state, first, "x")
    assert not right["positional_embedding"].equal(wrong["positional_embedding"])
    assert "positional_embedding_res" not in right


@pytest.mark.parametrize(("name", "of"), [("longclip-b", "LongCLIP-B (B/16)"), ("longclip-l", "LongCLIP-L (L/14)")])
def test_the_real_sizes_fit(oracle, name, of):
    layouts = json.loads((oracle / "layout_real_size.json").read_text("utf-8"))
    layout = next(value for key, value in layouts.items() if name[-1].upper() in key.upper().replace("LONGCLIP", ""))
    shapes = list_expected_shapes(TABLE[name])
    for key, shape in layout["shapes"].items():
        if key != "positional_embedding_res":
            assert list(shapes[key]) == shape, (key, of)


@pytest.mark.filterwarnings("ignore:.*of the cosines are below 0")
def test_a_caption_of_200_words_is_scored_by_all_of_them(weights, recwarn):
    path, row = weights()
    grey = np.full((64, 64, 3), 90, np.uint8)
    metric = vlgauge.load("clip_s", backbone=row, weights=path, device="cpu", w=1)
    changed = CAPTION.rsplit(" ", 1)[0] + " aeroplane"
    found = metric.compute(predictions=[CAPTION, changed, "a dog"], images=[grey] * 3, return_details=True)
    assert not [warning for warning in recwarn if "tokens" in str(warning.message)]
    assert [note["truncated"] for note in found["clip_s_details"]] == [False] * 3
    cosines = [note["cosine"] for note in found["clip_s_details"]]
    assert abs(cosines[0] - cosines[1]) > 1e-4
    assert vlgauge.load("clip_s").clip.tokens().too_long([CAPTION]).tolist() == [True]
    assert vlgauge.load("clip_s", backbone="longclip-b").clip.tokens().too_long([CAPTION]).tolist() == [False]


def test_files_of_the_other_kind_are_refused(weights, tmp_path):
    import torch

    path, row = weights()
    state = torch.load(path, weights_only=True)
    plain = {name: tensor for name, tensor in state.items() if name != "positional_embedding_res"}
    torch.save(plain, tmp_path / "plain.pt")
    with pytest.raises(ValueError, match=r"^`weights`.*CLIP.*positional_embedding_res"):
        clip_encoder(row, weights=tmp_path / "plain.pt", device="cpu")
    with pytest.raises(ValueError, match=r"^`weights`.*ViT-B/16.*CLIP"):
        clip_encoder("ViT-B/16", weights=path, device="cpu")


def test_a_folder_has_the_published_name(weights):
    path, row = weights()
    assert path.name == row.files[0]
    assert (
        clip_encoder(row, weights=path.parent, device="cpu").digest
        == clip_encoder(row, weights=path, device="cpu").digest
    )
