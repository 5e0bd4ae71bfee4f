"""PAC-S++: the numbers of the authors' code on generated weights of both sizes, how it comes to its place, refusals."""

import json
import math

import numpy as np
import pytest
from oracle_backbones import TURNED, arrays, inputs, maker, oracle_images, tiny_clip_row, unit, unpacked
from safetensors.torch import save_file

import vlgauge
from vlgauge.cli import main
from vlgauge.core.pool import pool
from vlgauge.core.signatures import parse_signature
from vlgauge.models.clip.architectures import TABLE
from vlgauge.models.clip.files import paper_adapter_path
from vlgauge.models.clip.lora import merge_lora
from vlgauge.research.studies.published import find_published_rows

SIZES = {
    "ViT-B/32": ("pac-B32-tiny", "PAC++_clip_ViT-B-32.pth"),
    "ViT-L/14": ("pac-L14-tiny", "PAC++_clip_ViT-L-14.pth"),
}

COMPOSITE = {"references": "all", "ratings": "rows"}


@pytest.fixture(autouse=True)
def blank_references_count(monkeypatch):
    """Empty references are kept, because the oracle contains some that the authors' code counts."""
    monkeypatch.setattr("vlgauge.families.base.columns.without_blanks", list)


@pytest.fixture
def oracle(shared_folder):
    return shared_folder / "oracles" / "pac_s_plus"


@pytest.fixture
def released(oracle, tmp_path, monkeypatch):
    """`released(name)` puts the generated base and checkpoint of a size in files, and its row into the table."""
    monkeypatch.setenv("VLGAUGE_HOME", str(tmp_path / "home"))

    def write(name):
        config, file = SIZES[name]
        module = maker(oracle, "tinyweights")
        seeds = json.loads((oracle / "meta.json").read_text("utf-8"))[config]
        monkeypatch.setitem(TABLE, name, tiny_clip_row(name, module.CONFIGS[config]))
        base = module.to_torch(module.make(config, seeds["seed"] + 1, seeds["align"]))
        save_file({key: tensor.contiguous() for key, tensor in base.items()}, tmp_path / "base.safetensors")
        return unpacked(oracle / "checkpoints" / f"{file}.xz", tmp_path / file), tmp_path / "base.safetensors"

    yield write
    pool.unload()


def rows_of(oracle, wanted):
    """Return the columns and indices of the oracle rows whose image is not rotated here."""
    texts, _ = inputs(oracle)
    rows = [(i, row) for i, row in enumerate(wanted["rows"]) if row["image"] != TURNED]
    columns = {
        "predictions": [texts[row["candidate"]] for _, row in rows],
        "images": [str(oracle / "images" / row["image"]) for _, row in rows],
        "references": [[texts[name] for name in row["references"]] for _, row in rows],
    }
    return columns, [i for i, _ in rows]


def numbers(values, rows):
    return [math.nan if values[i] is None else values[i] for i in rows]


@pytest.mark.filterwarnings("ignore:.*captions and references", "ignore:.* lie beyond", "ignore:.* ref_pac_s are 0")
@pytest.mark.filterwarnings("ignore:.* cosines are negative")
@pytest.mark.parametrize(("name", "way"), [("ViT-B/32", "converted"), ("ViT-L/14", "as released")])
def test_numbers_are_those_of_the_authors(oracle, released, name, way, capsys):
    file, base = released(name)
    settings = {"checkpoint": file, "weights": base}
    if way == "converted":
        assert main(["convert", str(file), "--backbone", name, "--base", str(base)]) == 0
        assert str(paper_adapter_path(name, "pac_s++")) in capsys.readouterr().out
        settings = {}
    wanted = json.loads((oracle / "scores.json").read_text("utf-8"))
    columns, rows = rows_of(oracle, wanted)
    metric = vlgauge.load("pac_s", backbone=name, version="++", device="cpu", **settings)
    found = metric.compute(**columns, return_details=True)
    scores = wanted[SIZES[name][0]]
    np.testing.assert_allclose(found["pac_s_scores"], numbers(scores["pac_s"], rows), rtol=0, atol=1e-5)
    alike = [note["reference_cosine"] for note in found["pac_s_details"]]
    np.testing.assert_allclose(alike, numbers(scores["text_text"], rows), rtol=0, atol=1e-5)
    expected = np.array(numbers(scores["ref_pac_s"], rows))
    kept = np.isfinite(expected)
    np.testing.assert_allclose(np.array(found["ref_pac_s_scores"])[kept], expected[kept], rtol=1e-4, atol=1e-5)
    signed = parse_signature(found["pac_s_signature"])[1]
    assert (signed["version"], signed["w"], signed["proj"]) == ("++", "2", "own")
    # The weights differ from the plain CLIP.
    assert signed["enc"].startswith("local@sha256-")
    label = "PAC-S++, ViT-B/32"
    told = [row.row for row in find_published_rows("composite", COMPOSITE, "pac_s", found["pac_s_signature"])]
    assert told == ([label] if name == "ViT-B/32" else [])


@pytest.mark.parametrize("name", SIZES)
def test_features(oracle, released, name):
    file, base = released(name)
    metric = vlgauge.load("pac_s", backbone=name, version="++", checkpoint=file, weights=base, device="cpu")
    encoder, adapter = metric.clip.encoder_and_adapter()
    assert adapter is None
    texts, images = inputs(oracle)
    wanted = arrays(oracle / f"{SIZES[name][0]}.npz")
    for prompt, key in (("A photo depicts ", "text_features"), ("", "text_features_no_prefix")):
        text = encoder.project(encoder.text_hidden(list(texts.values()), prompt=prompt).end, "text")
        np.testing.assert_allclose(text, wanted[key], rtol=0, atol=5e-5)
        if prompt:
            told = text
    kept = [i for i, image in enumerate(images) if image != TURNED]
    image = encoder.project(encoder.image_hidden(oracle_images(oracle, [images[i] for i in kept])), "image")
    np.testing.assert_allclose(image, wanted["image_features"][kept], rtol=0, atol=5e-5)
    np.testing.assert_allclose(unit(image) @ unit(told).T, wanted["cosine"][kept], rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["pac-B32-tiny", "pac-L14-tiny"])
def test_the_merge_is_in_float32(oracle, name):
    import torch

    module = maker(oracle, "tinyweights")
    # Numbers that float16 would round.
    state = {key: values + np.float32(1e-4) for key, values in module.make(name, 3, 0.0).items()}
    state |= module.make_lora(name)
    ours = merge_lora(module.to_torch(state), source="x")
    for key, values in module.merge_lora(state).items():
        torch.testing.assert_close(ours[key], torch.from_numpy(np.array(values)), rtol=1e-6, atol=1e-7)
    assert any((tensor != tensor.half().float()).any() for tensor in ours.values())


# -- refusals ---------------------------------------------------------------------------------------------------------
def test_projections_alone_are_no_version_of_it(released, tmp_path):
    import torch

    _, base = released("ViT-B/32")
    from safetensors.torch import load_file

    state = load_file(base)
    state["visual.proj"] = state["visual.proj"] + 0.25
    torch.save({"state_dict": state}, tmp_path / "pac.pth")
    metric = vlgauge.load("pac_s", version="++", checkpoint=tmp_path / "pac.pth", weights=base, device="cpu")
    rows = {"predictions": ["a dog"], "images": [np.zeros((9, 9, 3), np.uint8)]}
    with pytest.raises(ValueError, match=r"^`checkpoint`.*PAC"):
        metric.compute(**rows)


def test_what_is_missing_is_told(released, capsys):
    told = r"PAC.*ViT-L/14.*PAC\+\+_clip_ViT-L-14"
    with pytest.raises(FileNotFoundError, match=told):
        vlgauge.load("pac_s", version="++", backbone="ViT-L/14").compute(
            predictions=["a dog"], images=[np.zeros((9, 9, 3), np.uint8)]
        )
    assert main(["prefetch", "--list", "pac_s++:ViT-L/14"]) == 0
    listed = capsys.readouterr().out
    assert "weights of PAC-S++ for ViT-L/14: they have no license, so download PAC++_clip_ViT-L-14.pth" in listed
    with pytest.raises(ValueError, match=r"^`version`"):
        vlgauge.load("pac_s", version="+")
    with pytest.raises(ValueError, match=r"`version='\+\+'` requires profile='paper' or a `checkpoint`"):
        vlgauge.load("pac_s", version="++", profile="embedded")
