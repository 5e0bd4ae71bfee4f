"""CLIP files of every published layout are read as the same state, and states that do not fit raise an error."""

import warnings

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_clip import IMAGES, TINY, golden_arrays, golden_json, rand_clip, tiny_state

from vlgauge.checkpoints.files import sha256_of
from vlgauge.checkpoints.reading import read_tensors
from vlgauge.models.clip import checkpoints
from vlgauge.models.clip.architectures import OPENAI_ARCHIVES, OPENAI_MEAN, OPENAI_STD, TABLE
from vlgauge.models.clip.checkpoints import clip_state, read_state
from vlgauge.models.clip.lora import merge_lora
from vlgauge.models.clip.model import build_model

EXTRAS = {name: torch.tensor(value) for name, value in (("input_resolution", 224), ("context_length", 77))}


@pytest.fixture(scope="module")
def base():
    return tiny_state()


@pytest.fixture(scope="module")
def seen():
    """Pixels and tokens of the difficult case of the oracle."""
    from open_clip.transform import image_transform
    from PIL import Image

    transform = image_transform(224, is_train=False, mean=OPENAI_MEAN, std=OPENAI_STD)
    pixels = [transform(Image.open(IMAGES / name)) for name in golden_json("inputs.json")["edge"]["images"]]
    tokens = torch.from_numpy(golden_arrays("image_tiny_s0_a0.8.npz")["edge/tokens"]).long()
    return torch.stack(pixels), tokens


def pac_s(state, seen):
    """Compute 2 max(cos, 0) of each pair with open_clip's forward pass."""
    model = build_model(TINY, state)
    with torch.no_grad():
        cosines = (model.encode_image(seen[0], normalize=True) * model.encode_text(seen[1], normalize=True)).sum(1)
    return (2 * cosines.clamp(min=0)).tolist()


def assert_same(state, other):
    assert sorted(state) == sorted(other)
    for name, tensor in state.items():
        assert tensor.dtype == torch.float32
        assert tensor.equal(other[name]), name


def saved(content, path):
    torch.save(content, path)
    return path


def read(path):
    return clip_state(read_tensors(path), TINY, source=str(path))


# -- layouts ----------------------------------------------------------------------------------------------------------
def prefixed(state):
    return {f"module.{name}": tensor for name, tensor in {**state, **EXTRAS}.items()}


def other_text_layout(state):
    """Rename the tensors of the text tower as in open_clip's CustomTextCLIP."""
    kept = ("visual.", "logit_scale")
    return {name if name.startswith(kept) else f"text.{name}": tensor for name, tensor in state.items()}


LAYOUTS = {
    "released": lambda state, path: saved({"state_dict": state}, path),
    "bare": lambda state, path: saved(state, path),
    "extras": lambda state, path: saved({**state, **EXTRAS, "vocab_size": 49408}, path),
    "data parallel": lambda state, path: saved({"state_dict": prefixed(state), "epoch": 3}, path),
    "half precision": lambda state, path: saved({name: tensor.half() for name, tensor in state.items()}, path),
    "parameters": lambda state, path: saved({n: torch.nn.Parameter(tensor) for n, tensor in state.items()}, path),
    "old torch file": lambda state, path: (
        torch.save(state, path, _use_new_zipfile_serialization=False) or path  # the format before torch 1.6
    ),
    "safetensors": lambda state, path: save_file(state, path) or path,
    "other text layout": lambda state, path: save_file(other_text_layout(state), path) or path,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_state(tmp_path, base, layout):
    assert_same(read(LAYOUTS[layout](base, tmp_path / "weights.bin")), base)


def test_the_state_scores_as_the_oracle_says(base, seen):
    state = clip_state(prefixed(base), TINY, source="memory")
    assert pac_s(state, seen) == pytest.approx(golden_json("image_tiny_s0_a0.8.json")["edge"]["pac_s"], abs=1e-5)
    state |= rand_clip().to_torch(rand_clip().make_adapter("tiny", 0, 0.8))
    assert pac_s(state, seen) == pytest.approx(golden_json("adapter_tiny_s0_a0.8.json")["edge"]["pac_s"], abs=1e-5)


def test_hugging_face_names(tmp_path, seen):
    from transformers import CLIPConfig, CLIPModel

    sizes = {"hidden_size": 64, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 1}
    text = {**sizes, "vocab_size": 49408, "eos_token_id": 49407, "hidden_act": "quick_gelu"}
    vision = {**sizes, "hidden_size": 128, "intermediate_size": 512, "num_attention_heads": 2, "patch_size": 32}
    torch.manual_seed(0)
    theirs = CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=32)).eval()
    for parameter in theirs.parameters():
        # Attention must be sharp, or a mistaken order of query and key would not show.
        torch.nn.init.normal_(parameter, std=0.2)
    state = dict(theirs.state_dict())
    # Older versions saved these counters.
    state["vision_model.embeddings.position_ids"] = torch.arange(50)
    ours = read(
        saved({"state_dict": {f"module.{name}": tensor for name, tensor in state.items()}}, tmp_path / "hf.pth")
    )
    model = build_model(TINY, ours)
    with torch.no_grad():
        image = theirs.get_image_features(pixel_values=seen[0])
        words = theirs.get_text_features(input_ids=seen[1])
        for found, expected in ((model.encode_image(seen[0]), image), (model.encode_text(seen[1]), words)):
            torch.testing.assert_close(found, getattr(expected, "pooler_output", expected), rtol=1e-4, atol=1e-4)


def test_hugging_face_names_without_a_key_projection():
    names = [f"text_model.encoder.layers.0.self_attn.{part}_proj.weight" for part in "qv"]
    with pytest.raises(ValueError, match=r"missing: ln_final\.bias.*and \d+ more$"):
        clip_state(dict.fromkeys(names, torch.zeros(64, 64)), TINY, source="x")


def archive(state, path):
    """Write a TorchScript archive with these tensors, the format of OpenAI's published files."""
    root = torch.nn.Module()
    for name, tensor in {**state, **EXTRAS}.items():
        *parents, leaf = name.split(".")
        module = root
        for parent in parents:
            if not hasattr(module, parent):
                module.add_module(parent, torch.nn.Module())
            module = getattr(module, parent)
        module.register_buffer(leaf, tensor)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(root), str(path))
    return path


def test_torchscript_archives_are_opened_only_if_they_are_known(tmp_path, base, monkeypatch):
    path = archive(base, tmp_path / "ViT.pt")
    with pytest.raises(ValueError, match=r"got an unknown TorchScript archive .sha256 [0-9a-f]{16}. in .*ViT.pt"):
        read_tensors(path)
    assert_same(clip_state(read_tensors(path, archives={sha256_of(path)}), TINY, source="x"), base)
    with pytest.raises(ValueError, match=r"^`weights`"):
        read_state(path, TINY)
    monkeypatch.setattr(checkpoints, "OPENAI_ARCHIVES", {sha256_of(path)})
    assert_same(read_state(path, TINY), base)


def test_openais_archives_are_those_of_the_table():
    assert "40d365715913c9da98579312b702a82c18be219cc2a73407c4526f58eba950af" in OPENAI_ARCHIVES
    assert len(OPENAI_ARCHIVES) == 7


# -- PAC-S++ ----------------------------------------------------------------------------------------------------------
def test_lora_is_merged_as_the_released_code_behaves(tmp_path, base, seen):
    lora = rand_clip().to_torch(rand_clip().make_lora("tiny"))
    state = read(saved({"state_dict": {**base, **lora}}, tmp_path / "lora.pth"))
    assert sorted(state) == sorted(base)
    assert pac_s(state, seen) == pytest.approx(golden_json("lora_tiny_s0_a0.8.json")["edge"]["pac_spp"], abs=1e-5)
    block = "visual.transformer.resblocks.0."
    name = f"{block}attn.out_proj."
    merged = base[f"{name}weight"] + lora[f"{name}lora_B"] @ lora[f"{name}lora_A"] / 4
    torch.testing.assert_close(state[f"{name}weight"], merged)
    assert state[f"{block}mlp.c_fc.weight"].equal(base[f"{block}mlp.c_fc.weight"])


def test_lora_of_a_convolution_by_hand():
    weight, a, b = torch.zeros(1, 1, 2, 2), torch.zeros(8, 2), torch.zeros(2, 8)
    a[0], b[:, 0] = torch.tensor([1.0, 2.0]), torch.tensor([4.0, 8.0])
    tensors = {"visual.conv1.weight": weight, "visual.conv1.lora_A": a, "visual.conv1.lora_B": b}
    merged = merge_lora(tensors, source="x")
    assert list(merged) == ["visual.conv1.weight"]
    assert merged["visual.conv1.weight"].tolist() == [[[[1.0, 2.0], [2.0, 4.0]]]]


@pytest.mark.parametrize("missing", ["attn.in_proj_weight_lora_A", "attn.in_proj_weight_lora_B", "attn.in_proj_weight"])
def test_half_an_update_is_refused(missing):
    names = ("attn.in_proj_weight", "attn.in_proj_weight_lora_A", "attn.in_proj_weight_lora_B")
    tensors = {name: torch.zeros(4, 4) for name in names if name != missing}
    with pytest.raises(ValueError, match=rf"LoRA.*'{missing}'.*'x'"):
        merge_lora(tensors, source="x")


def test_another_rank_is_refused():
    tensors = {"p.weight": torch.zeros(6, 6), "p.lora_A": torch.zeros(8, 6), "p.lora_B": torch.zeros(6, 8)}
    with pytest.raises(ValueError, match=r"LoRA.*'p\.weight'"):
        merge_lora(tensors, source="x")


# -- states that do not fit -------------------------------------------------------------------------------------------
def without(name):
    return lambda state: {other: tensor for other, tensor in state.items() if other != name}


def adding(name, tensor):
    return lambda state: {**state, name: tensor}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            without("visual.proj"),
            "must have the tensors of tiny-quickgelu, got others in 'file': missing: visual.proj$",
        ),
        (adding("visual.bias", torch.zeros(2)), r"'file'.*visual\.bias"),
        (adding("ema.logit_scale", torch.ones(1)), "not known: ema.logit_scale$"),
        (
            lambda state: {**without("visual.proj")(state), "module.visual.proj": state["visual.proj"]},
            "missing: visual",
        ),
        (adding("visual.proj", torch.zeros(128, 16)), r"128.*16.*32"),
        (adding("visual.proj", torch.ones(128, 32, dtype=torch.int8)), r"floats.*visual\.proj"),
        (adding("visual.proj", torch.ones(128, 32).to_sparse()), r"floats.*visual\.proj"),
        (adding("ln_final.bias", torch.full((64,), torch.nan)), r"got NaN.*'file'.*ln_final\.bias"),
        (adding("ln_final.bias", torch.full((64,), torch.inf)), r"finite.*ln_final\.bias"),
    ],
)
def test_states_that_do_not_fit_are_refused_with_a_list(base, change, message):
    with pytest.raises(ValueError, match=message):
        clip_state(change(base), TINY, source="file")


def test_another_architecture_is_refused_with_a_list(base):
    with pytest.raises(ValueError, match="ViT-B-32-quickgelu"):
        clip_state(base, TABLE["ViT-B/32"], source="file")


def test_tensors_of_safetensors_are_as_they_are_in_the_file(tmp_path, base):
    save_file(base, tmp_path / "a.safetensors")
    found = read_tensors(tmp_path / "a.safetensors")
    expected = load_file(tmp_path / "a.safetensors")
    assert all(found[name].equal(tensor) for name, tensor in expected.items())
