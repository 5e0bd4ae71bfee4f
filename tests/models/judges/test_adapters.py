"""Adapters of LLaVA: all tensors are added by the definition, and any deviation raises an error."""

import json

import pytest
import tiny_judges
import torch
from safetensors.torch import load_file, save_file

from vlgauge.core.errors import WeightsNotFoundError
from vlgauge.models.judges.adapters import own_name, scale_of
from vlgauge.models.judges.loading import judge_of


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_judges.llava(tmp_path_factory.mktemp("model"))


def refusal(model, adapter, **settings):
    with pytest.raises(ValueError, match=r"`(adapter|device_map)`") as caught:
        judge_of(model, adapter=adapter, device="cpu", **settings)
    return str(caught.value)


def weights(judge):
    return {name: value.detach().clone() for name, value in judge.model.named_parameters()}


@pytest.mark.parametrize("pickled", [False, True])
def test_every_matrix_gets_its_product(model, tmp_path, pickled):
    folder = tiny_judges.adapter(tmp_path / "adapter", rank=4, alpha=6, pickled=pickled)
    before, after = weights(judge_of(model, device="cpu")), weights(judge_of(model, adapter=folder, device="cpu"))
    plain = folder / "adapter_model.safetensors"
    thin = torch.load(folder / "adapter_model.bin") if pickled else load_file(plain)
    whole = torch.load(folder / "non_lora_trainables.bin")
    expected = dict(before)
    for layer in range(2):
        for part in (*(f"self_attn.{name}_proj" for name in "qkvo"), "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"):
            one, other = (thin[f"base_model.model.model.layers.{layer}.{part}.lora_{side}.weight"] for side in "BA")
            expected[f"model.language_model.layers.{layer}.{part}.weight"] += 1.5 * one @ other
    for theirs, ours in (("0", "linear_1"), ("2", "linear_2")):
        for part in ("weight", "bias"):
            value = whole[f"base_model.model.model.mm_projector.{theirs}.{part}"]
            expected[f"model.multi_modal_projector.{ours}.{part}"] = value
    assert sum(not torch.equal(before[name], after[name]) for name in before) == 2 * 7 + 4
    for name, value in expected.items():
        assert after[name].numpy() == pytest.approx(value.numpy(), abs=1e-5), name


def test_the_adapter_is_in_the_name_and_loaded_apart(model, tmp_path):
    folder = tiny_judges.adapter(tmp_path / "adapter")
    bare, judge = judge_of(model, device="cpu"), judge_of(model, adapter=str(folder), device="cpu")
    assert judge.identity.startswith(f"{bare.identity}+local@sha256-")
    assert judge_of(model, adapter=folder, device="cpu") is judge
    assert bare is not judge
    settings = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps({**settings, "lora_alpha": 16}))
    assert judge_of(model, adapter=folder, device="cpu").identity != judge.identity


def test_half_types_are_rounded_once(model, tmp_path):
    """Check that the product is computed in float32, as in peft."""
    folder = tiny_judges.adapter(tmp_path / "adapter")
    name, key = "model.language_model.layers.1.mlp.down_proj.weight", "base_model.model.model.layers.1.mlp.down_proj"
    before = weights(judge_of(model, device="cpu", dtype="bfloat16"))[name]
    after = weights(judge_of(model, adapter=folder, device="cpu", dtype="bfloat16"))[name]
    thin = load_file(folder / "adapter_model.safetensors")
    product = 2 * thin[f"{key}.lora_B.weight"] @ thin[f"{key}.lora_A.weight"]
    assert torch.equal(after, before + product.to(torch.bfloat16))


def test_the_scale():
    plain = {"peft_type": "LORA", "r": 128, "lora_alpha": 256, "bias": "none"}
    assert scale_of(plain) == 2
    assert scale_of({**plain, "use_rslora": True}) == pytest.approx(256 / 128**0.5)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("base_model.model.model.layers.3.mlp.up_proj", "model.language_model.layers.3.mlp.up_proj"),
        ("model.layers.3.mlp.up_proj", "model.language_model.layers.3.mlp.up_proj"),
        ("base_model.model.model.mm_projector.2.bias", "model.multi_modal_projector.linear_2.bias"),
        ("model.mm_projector.0.weight", "model.multi_modal_projector.linear_1.weight"),
        ("base_model.model.lm_head", "model.lm_head"),
    ],
)
def test_names_of_layers(theirs, ours):
    assert own_name(theirs) == ours


# -- errors ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"peft_type": "IA3"}, r"^`adapter`.*got peft_type"),
        ({"use_dora": True}, "got use_dora: True"),
        ({"bias": "all"}, "got bias: 'all'"),
        ({"fan_in_fan_out": True}, "got fan_in_fan_out: True"),
        ({"modules_to_save": ["lm_head"]}, r"got modules_to_save: \['lm_head'\]"),
        ({"rank_pattern": {"q_proj": 2}}, "got rank_pattern: {'q_proj': 2}"),
        ({"layer_replication": [[0, 1]]}, "got layer_replication: "),
        ({"lora_alpha": float("inf")}, "got inf"),
        ({"lora_alpha": None}, r"^`adapter`.*got None"),
        ({"r": 0}, "got 8"),
        ({"r": 8}, r"^`adapter`.*lora_A.*lora_B.*model"),
    ],
)
def test_settings_of_another_arithmetic(model, tmp_path, settings, told):
    folder = tiny_judges.adapter(tmp_path / "adapter", **settings)
    with pytest.raises(ValueError, match=told):
        judge_of(model, adapter=folder, device="cpu")


def test_settings_are_looked_at_before_a_model_is_loaded(model, tmp_path, monkeypatch):
    monkeypatch.setattr("vlgauge.models.judges.loading._load_judge", lambda *_: pytest.fail("loaded"))
    assert "got bias: 'all'" in refusal(model, tiny_judges.adapter(tmp_path / "adapter", bias="all"))


def changed(folder, change):
    thin = load_file(folder / "adapter_model.safetensors")
    change(thin)
    save_file(thin, folder / "adapter_model.safetensors")


FIRST = "base_model.model.model.layers.0.self_attn.q_proj.lora_"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda thin: thin.pop(f"{FIRST}A.weight"),
            "the matrices lora_A and lora_B of rank 4 for each layer, got other ones for",
        ),
        (
            lambda thin: thin.update({f"{FIRST}B.weight": torch.zeros(5, 4)}),
            "`adapter` must be an adapter of this model, got "
            "model.language_model.layers.0.self_attn.q_proj.weight of shape (5, 16) in 'adapter', where the model has "
            "(16, 16)",
        ),
        (
            lambda thin: thin.update(
                {f"base_model.model.model.layers.9.x.lora_{s}.weight": torch.zeros(4, 4) for s in "AB"}
            ),
            "of shape (4, 4) in 'adapter', where the model has no such layer",
        ),
        (lambda thin: thin.clear(), "`adapter` must have the matrices of at least one layer, got none in 'adapter'"),
        (
            lambda thin: [value.fill_(1e30) for value in thin.values()],
            "`adapter` must add finite numbers, got lora_alpha 8 in 'adapter', which makes model.language_model.",
        ),
        (lambda thin: thin.update({"strange": torch.zeros(4, 4)}), "got other ones for strange in 'adapter'"),
        (lambda thin: thin[f"{FIRST}A.weight"].fill_(torch.nan), "`adapter` must be finite, got NaN or infinity in"),
    ],
)
def test_tensors_must_be_those_of_the_model(model, tmp_path, change, told):
    folder = tiny_judges.adapter(tmp_path / "adapter")
    changed(folder, change)
    assert told in refusal(model, folder)


def test_a_matrix_stands_once(model, tmp_path):
    folder = tiny_judges.adapter(tmp_path / "adapter")
    file = folder / "adapter_model.safetensors"
    thin = load_file(file)
    name = next(name for name in thin if "lora_A" in name)
    save_file({**thin, name.removeprefix("base_model.model."): 2 * thin[name]}, file)
    assert "`adapter` must contain each layer once, got one twice in 'adapter'" in refusal(model, folder)


def test_a_layer_stands_once(model, tmp_path):
    folder = tiny_judges.adapter(tmp_path / "adapter")
    whole = torch.load(folder / "non_lora_trainables.bin")
    torch.save({**whole, "model.mm_projector.0.bias": torch.zeros(16)}, folder / "non_lora_trainables.bin")
    assert "`adapter` must contain each layer once, got one twice in 'adapter'" in refusal(model, folder)


class Evil:
    def __reduce__(self):
        return (print, ("ran",))


@pytest.mark.parametrize("file", ["adapter_model.bin", "non_lora_trainables.bin"])
def test_code_in_pickles_does_not_run(model, tmp_path, file, capsys):
    folder = tiny_judges.adapter(tmp_path / "adapter", pickled=True)
    torch.save({"base_model.model.model.layers.0.x": Evil()}, folder / file)
    assert "`adapter` must contain only tensors, got a pickle that refers to" in refusal(model, folder)
    assert "ran" not in capsys.readouterr().out


def test_what_is_no_adapter_is_refused(model, tmp_path, monkeypatch):
    assert "`adapter` must be a folder with adapter_config.json and adapter_model" in refusal(model, tmp_path)
    (tmp_path / "adapter_config.json").write_text("[]")
    (tmp_path / "adapter_model.bin").write_bytes(b"x")
    assert "`adapter` must have settings in adapter_config.json, got a file without them" in refusal(model, tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(WeightsNotFoundError, match=r"o/n.*--revision.*hjkim811/EXPERT-llava-13b"):
        judge_of(model, adapter=f"o/n@{'0' * 40}", device="cpu")
    with pytest.raises(WeightsNotFoundError, match=r"^`adapter`.*commit"):
        judge_of(model, adapter="o/n", device="cpu")


def test_other_models_take_no_adapter(tmp_path):
    folder = tiny_judges.adapter(tmp_path / "adapter")
    text = tiny_judges.text_model(tmp_path / "text")
    assert "`adapter` is only supported for LLaVA, got" in refusal(text, folder)
    assert "`adapter` is not supported for the demo judge, got" in refusal(None, folder, profile="embedded")


def test_parts_that_are_not_in_memory_are_refused(model, tmp_path, monkeypatch):
    from vlgauge.models.judges import loading

    folder = tiny_judges.adapter(tmp_path / "adapter", seed=7)  # none that is in the pool
    parts = loading._parts

    def offloaded(*arguments):
        found = parts(*arguments)
        found.model.to("meta")
        return found

    monkeypatch.setattr(loading, "_parts", offloaded)
    assert "`device_map` must keep a model with an `adapter` in memory" in refusal(model, folder)
