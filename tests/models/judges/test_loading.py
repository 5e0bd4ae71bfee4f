"""Judge models: located, described, loaded once, and validated."""

import json

import pytest
import tiny_judges
import torch
from safetensors.torch import load_file, save_file

from vlgauge.core.errors import WeightsNotFoundError
from vlgauge.core.pool import pool
from vlgauge.models.judges import loading, sources
from vlgauge.models.judges.loading import check_model_size, judge_of

COMMIT = "0" * 40


@pytest.fixture
def model(tmp_path):
    return tiny_judges.text_model(tmp_path / "model")


def refusal(folder, **settings):
    with pytest.raises(ValueError, match=r"`(model|dtype|tower)`") as caught:
        judge_of(folder, device="cpu", **settings)
    return str(caught.value)


def test_a_model_is_loaded_once(model):
    first, second = judge_of(model, device="cpu"), judge_of(str(model), device="cpu")
    assert first is second
    half = judge_of(model, device="cpu", dtype="bfloat16")
    assert [judge.model.dtype for judge in (first, half)] == [torch.float32, torch.bfloat16]
    assert sum(first.identity in key for key in pool.encoders) == 2


def test_it_is_named_by_all_its_files(model):
    first = judge_of(model, device="cpu").identity
    settings = json.loads((model / "tokenizer_config.json").read_text())
    (model / "tokenizer_config.json").write_text(json.dumps({**settings, "note": 1}))
    assert first.startswith("local@sha256-")
    assert judge_of(model, device="cpu").identity != first


def test_code_of_a_model_is_refused(model):
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "auto_map": {"AutoModel": "evil.Model"}}))
    (model / "evil.py").write_text("raise SystemExit")
    assert "`model` must be a folder with the config.json of a model without custom code, got" in refusal(model)


def test_adapters_are_to_be_merged_first(model):
    (model / "adapter_config.json").write_text('{"base_model_name_or_path": "elsewhere"}')
    assert "`model` must be a complete model, got one with an adapter" in refusal(model)


def test_code_of_a_processor_does_not_run(tmp_path):
    folder = tiny_judges.qwen(tmp_path)
    file = folder / "processor_config.json"
    told = json.loads(file.read_text())
    told |= {"auto_map": {"AutoProcessor": "evil.Reader"}, "processor_class": "Reader"}
    file.write_text(json.dumps(told))
    (folder / "evil.py").write_text("raise SystemExit('ran')")
    # The library either uses its built-in class or raises an error. Nothing from the folder is imported in both cases.
    try:
        judge_of(folder, device="cpu")
    except ValueError as error:
        assert "ran" not in str(error)  # noqa: PT017


def test_pickles_are_refused(model):
    torch.save(load_file(model / "model.safetensors"), model / "pytorch_model.bin")
    (model / "model.safetensors").unlink()
    assert "`model` must be a model that loads, got 'model', which fails with" in refusal(model)


@pytest.mark.parametrize(("change", "told"), [("lack", "no weights for"), ("more", "unknown weights strange")])
def test_weights_must_be_those_of_the_configuration(model, change, told):
    state = load_file(model / "model.safetensors")
    if change == "lack":
        state.pop("model.layers.0.mlp.up_proj.weight")
    else:
        state["strange"] = torch.zeros(1)
    save_file(state, model / "model.safetensors", metadata={"format": "pt"})
    assert told in refusal(model)


@pytest.mark.parametrize("kept", [0, 7, 2000])
def test_a_file_that_is_cut_short_is_refused(model, kept):
    (model / "model.safetensors").write_bytes((model / "model.safetensors").read_bytes()[:kept])
    told = refusal(model)
    assert told.startswith(f"`model` must be a model that loads, got '{model.name}', which fails with: ")


def test_nan_in_weights_is_refused(model):
    state = load_file(model / "model.safetensors")
    state["model.norm.weight"][0] = torch.nan
    save_file(state, model / "model.safetensors", metadata={"format": "pt"})
    assert "`model` must be finite, got NaN or infinity in 'model': model.norm.weight" in refusal(model)


def test_a_model_without_end_token_is_refused(model):
    (model / "generation_config.json").unlink(missing_ok=True)
    for name in ("config.json", "tokenizer_config.json"):
        told = json.loads((model / name).read_text())
        (model / name).write_text(json.dumps({**told, "eos_token_id": None, "eos_token": None}))
    assert "`model` must have an end token, got none" in refusal(model)


def test_half_precision_needs_a_gpu(model):
    assert "`dtype` must be 'float32' or 'bfloat16' on cpu, got 'float16'" in refusal(model, dtype="float16")


def test_old_versions_are_refused(model, monkeypatch):
    monkeypatch.setattr(loading, "LEAST", "99")
    with pytest.raises(ImportError, match="99"):
        judge_of(model, device="cpu")


# -- size --------------------------------------------------------------------------------------------------------------
def test_numbers_are_counted_without_reading_them(model):
    counted = sum(value.numel() for value in load_file(model / "model.safetensors").values())
    assert sources.count_stored_numbers(model) == counted


def test_what_does_not_fit_is_refused_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(loading, "free_bytes", lambda device: 20_000_000_000)
    check_model_size("m", 5_000_000_000, "float32", "cpu")
    with pytest.raises(ValueError, match=r"20\.0.*got 'm'.*float32") as e:
        check_model_size("m", 5_000_000_001, "float32", "cpu")
    assert "(10.0 GB)" in str(e.value)
    with pytest.raises(ValueError, match=r"in bfloat16; pass device_map='auto'"):
        check_model_size("m", 10_000_000_001, "bfloat16", "cpu")
    monkeypatch.setattr(loading, "free_bytes", lambda device: 0)
    assert "`model` must fit into the memory of cpu, of which 0.0 GB are free" in refusal(
        tiny_judges.text_model(tmp_path, seed=9)
    )


def test_size_and_free_memory_are_told_before_loading(tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(loading, "announce", lambda text, logged=True: told.append(text))
    monkeypatch.setattr(loading, "free_bytes", lambda device: 20_000_000_000)
    judge_of(tiny_judges.text_model(tmp_path, seed=11), device="cpu")
    assert told == [f"{tmp_path.name} requires 0.0 GB in float32 of 20.0 GB free on cpu"]


def test_free_memory_is_told_or_unknown():
    free = loading.free_bytes("cpu")
    assert free is None or free > 0


def test_a_model_can_be_spread_over_devices(model):
    pytest.importorskip("accelerate")
    spread = judge_of(model, device="cpu", device_map={"": "cpu"})
    assert spread.model.device.type == "cpu"


# -- location of the model ---------------------------------------------------------------------------------------------
def test_a_name_must_be_pinned():
    with pytest.raises(WeightsNotFoundError, match=r"^`model`.*commit"):
        judge_of("owner/name", device="cpu")
    with pytest.raises(WeightsNotFoundError, match=r"got 'http://127\.0\.0\.1:1/v1'.*ServedJudge"):
        judge_of("http://127.0.0.1:1/v1", device="cpu")


def test_a_pinned_name_that_is_not_here_says_how_to_get_it(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(WeightsNotFoundError, match=rf"--revision.*{COMMIT}.*Apache-2\.0"):
        judge_of(f"owner/name@{COMMIT}", device="cpu")


def test_licence_and_size_are_told_before_the_first_byte(monkeypatch):
    told = []
    monkeypatch.setattr(sources, "announce", lambda text, always=False: told.append((text, always)))
    monkeypatch.setattr(sources.FolderSource, "look", lambda source: None)
    sources.tell_licence(sources.LLAVA)
    sources.tell_licence(f"Qwen/Qwen3-VL-2B-Instruct@{COMMIT}")
    assert told == [
        (
            "llava-hf/llava-1.5-13b-hf, 26.7 GB, is under the Llama 2 Community License, to which you agree by using "
            "it",
            True,
        )
    ]
    monkeypatch.setattr(sources.FolderSource, "look", lambda source: "here")
    sources.tell_licence(sources.LLAVA)
    assert len(told) == 1


def test_a_tower_is_for_clip_t5_alone(model, tmp_path):
    assert "`tower` is not supported for a model that includes an image tower" in refusal(model, tower="x")
    folder, tower, _ = tiny_judges.clip_t5(tmp_path / "clip")
    assert "`tower` is missing: CLIP-FlanT5 requires the folder or pinned id of its image tower, tower" in refusal(
        folder
    )
    assert judge_of(folder, tower=tower, device="cpu").identity.startswith("local@")


@pytest.mark.parametrize("own", ["embeddings.class_embedding", "pre_layrnorm.weight"])
def test_no_tensor_of_the_image_tower_is_made_up(tmp_path, own):
    folder, tower, _ = tiny_judges.clip_t5(tmp_path)
    state = load_file(tower / "model.safetensors")
    (name,) = [one for one in state if one.endswith(own)]  # transformers 5.0 puts "vision_model." before it
    del state[name]
    save_file(state, tower / "model.safetensors", metadata={"format": "pt"})
    assert f"the image tower must have the tensors of its configuration, got no {name}" in refusal(folder, tower=tower)


def test_pickles_of_clip_t5_are_read_without_running_them(tmp_path):
    folder, tower, _ = tiny_judges.clip_t5(tmp_path)
    state = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(state, folder / "pytorch_model.bin")
    assert judge_of(folder, tower=tower, device="cpu")
    state.pop("mm_projector.2.bias")
    torch.save(state, folder / "pytorch_model.bin")
    assert "which fails with" in refusal(folder, tower=tower)
