"""Adapters, and the checks that prevent plain CLIP scores from being reported as PAC-S."""

import warnings

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from tiny_clip import TINY, golden_arrays, golden_json, rand_clip, tiny_state

from vlgauge.models.clip import checkpoints
from vlgauge.models.clip.architectures import TABLE
from vlgauge.models.clip.checkpoints import Checkpoint, load_checkpoint, read_state
from vlgauge.models.clip.heads import FORMAT, adapter_of, heads_digest, read_adapter, write_adapter


@pytest.fixture(scope="module")
def base():
    return tiny_state()


@pytest.fixture(scope="module")
def heads():
    """Projections of the oracle's adapter, which replace those of `base`."""
    return rand_clip().to_torch(rand_clip().make_adapter("tiny", 0, 0.8))


@pytest.fixture(autouse=True)
def forget_warnings(monkeypatch):
    monkeypatch.setattr(checkpoints, "_warned", set())


def about(base, **changed):
    return {
        "kind": "pac_s",
        "architecture": TINY.architecture,
        "base_projections_sha256": heads_digest(base),
        **changed,
    }


def whole(base, heads, path):
    torch.save({"state_dict": {**base, **heads}}, path)
    return path


# -- files ------------------------------------------------------------------------------------------------------------
def test_an_adapter_comes_back_as_it_was_written(tmp_path, base, heads):
    adapter = adapter_of({**base, **heads}, about(base, w="2.0"))
    write_adapter(tmp_path / "a.safetensors", adapter)
    again = read_adapter(tmp_path / "a.safetensors")
    assert again.metadata == {**about(base, w="2.0"), "format": FORMAT}
    assert (again.tensors["visual.proj"].shape, again.tensors["text_projection"].shape) == ((128, 32), (64, 32))
    np.testing.assert_array_equal(again.tensors["visual.proj"], heads["visual.proj"].numpy())
    np.testing.assert_array_equal(again.tensors["text_projection"], heads["text_projection"].numpy())
    assert (again.tensors["visual.proj"].dtype, again.digest) == (np.float32, heads_digest(heads))
    assert [path.name for path in tmp_path.iterdir()] == ["a.safetensors"]
    assert sorted(load_file(tmp_path / "a.safetensors")) == ["text_projection", "visual.proj"]


def test_an_adapter_may_be_read_by_whom_any_new_file_may(tmp_path, base, heads):
    (tmp_path / "usual").touch()
    write_adapter(tmp_path / "a.safetensors", adapter_of(heads, about(base)))
    assert (tmp_path / "a.safetensors").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_an_adapter_that_cannot_be_written_leaves_the_old_one(tmp_path, base, heads, monkeypatch):
    path = tmp_path / "a.safetensors"
    path.write_bytes(b"old")

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="disk is full"):
        write_adapter(path, adapter_of(heads, about(base)))
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("a.safetensors", b"old")]


def test_the_digest_is_of_names_shapes_and_float32_values(heads):
    arrays = {name: tensor.numpy() for name, tensor in heads.items()}
    digest = heads_digest(arrays)
    assert heads_digest({**heads, "ln_final.bias": torch.ones(3)}) == digest
    assert heads_digest({name: array.astype(np.float64) for name, array in arrays.items()}) == digest
    assert heads_digest({name: array.T for name, array in arrays.items()}) != digest
    assert heads_digest({**arrays, "visual.proj": arrays["visual.proj"] * np.float32(1 + 1e-6)}) != digest
    assert heads_digest({"visual.proj": arrays["visual.proj"]}) != digest


def test_resnets_have_their_attention_pool_as_head(tmp_path):
    pool = {f"visual.attnpool.{name}": np.ones((3, 3), np.float32) for name in ("k_proj.weight", "c_proj.weight")}
    state = {**pool, "text_projection": np.ones((5, 3), np.float32), "visual.layer1.0.conv1.weight": np.ones(1)}
    adapter = adapter_of(state, about(state, architecture="RN50-quickgelu"))
    write_adapter(tmp_path / "rn.safetensors", adapter)
    again = read_adapter(tmp_path / "rn.safetensors")
    assert sorted(again.tensors) == sorted([*pool, "text_projection"])
    assert again.digest == heads_digest(state) != heads_digest({**state, "visual.attnpool.c_proj.weight": np.ones(1)})


@pytest.mark.parametrize(
    ("tensors", "changed", "message"),
    [
        (
            {},
            {"format": "vlgauge-clip-adapter-0"},
            "format=vlgauge-clip-adapter-1",
        ),
        ({}, {"kind": ""}, r"base_projections_sha256.*kind"),
        ({}, {"architecture": ""}, "none for architecture"),
        ({"text_projection": None}, {}, r"visual\.proj.*text_projection.*got visual\.proj"),
        ({"logit_scale": np.ones(1)}, {}, "got logit_scale, text_projection, visual.proj in"),
        ({"visual.proj": np.full((4, 2), np.nan)}, {}, r"^`adapter`.*floats.*visual\.proj"),
        ({"visual.proj": np.ones((4, 2), np.int32)}, {}, r"^`adapter`.*floats.*visual\.proj"),
        ({"visual.proj": np.ones((4, 3))}, {}, r"got \[\(4, 3\), \(3, 2\)\]"),
        ({"visual.proj": np.ones(2)}, {}, r"got \[\(2,\), \(3, 2\)\]"),
    ],
)
def test_files_that_are_no_adapters_are_refused(tmp_path, tensors, changed, message):
    content = {"visual.proj": np.ones((4, 2)), "text_projection": np.ones((3, 2)), **tensors}
    metadata = {"format": FORMAT, "kind": "pac_s", "architecture": "x", "base_projections_sha256": "0", **changed}
    path = tmp_path / "a.safetensors"
    save_file({name: array for name, array in content.items() if array is not None}, path, metadata=metadata)
    with pytest.raises(ValueError, match=message):
        read_adapter(path)


def test_cut_and_other_files_are_no_adapters(tmp_path, base, heads):
    path = tmp_path / "a.safetensors"
    write_adapter(path, adapter_of(heads, about(base)))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"^`checkpoint`.*complete"):
        read_adapter(path)
    with pytest.raises(ValueError, match="got None"):
        read_adapter(whole(base, heads, tmp_path / "a.pth"))
    with pytest.raises(FileNotFoundError):
        read_adapter(tmp_path / "none")


# -- checkpoints ------------------------------------------------------------------------------------------------------
def test_a_whole_clip_with_the_backbone_of_the_base_becomes_an_adapter(tmp_path, base, heads):
    path = whole({**base, "logit_scale": torch.tensor(4.6)}, heads, tmp_path / "pac_s.pth")
    found = load_checkpoint(path, TINY, base)
    assert (found.verified, found.adapter.digest) == (True, heads_digest(heads))
    write_adapter(tmp_path / "a.safetensors", found.adapter)
    again = load_checkpoint(tmp_path / "a.safetensors", TINY, base)
    assert again.adapter.digest == found.adapter.digest
    assert again.adapter.tensors.keys() == found.adapter.tensors.keys()


def test_adapter_and_whole_clip_project_as_the_oracle(tmp_path, base, heads):
    adapter = load_checkpoint(whole(base, heads, tmp_path / "pac_s.pth"), TINY, base).adapter
    arrays = golden_arrays("image_tiny_s0_a0.8.npz")
    image, text = (
        arrays["edge/image_hidden"] @ adapter.tensors["visual.proj"],
        arrays["edge/text_hidden"] @ adapter.tensors["text_projection"],
    )
    cosines = (image * text).sum(1) / np.linalg.norm(image, axis=1) / np.linalg.norm(text, axis=1)
    expected = golden_json("adapter_tiny_s0_a0.8.json")["edge"]["pac_s"]
    assert (2 * np.maximum(cosines, 0)).tolist() == pytest.approx(expected, abs=1e-5)


def test_a_whole_clip_with_another_backbone_stays_whole(tmp_path, base, heads):
    other = {**base, "ln_final.bias": base["ln_final.bias"] + 1e-6}
    found = load_checkpoint(whole(other, heads, tmp_path / "other.pth"), TINY, base)
    assert (found.adapter, found.verified) == (None, True)


def test_a_lora_checkpoint_is_no_plain_clip_although_its_projections_are(tmp_path, base):
    lora = rand_clip().to_torch(rand_clip().make_lora("tiny"))
    path = whole(base, lora, tmp_path / "lora.pth")
    for known in (base, None):
        assert load_checkpoint(path, TINY, known) == Checkpoint(None, True)
    state = read_state(path, TINY, setting="checkpoint")
    assert heads_digest(state) == heads_digest(base)
    assert not state["visual.conv1.weight"].equal(base["visual.conv1.weight"])


# -- guards -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("rounded", [torch.float32, torch.float16, torch.bfloat16])
def test_the_weights_of_clip_are_refused(tmp_path, base, rounded):
    saved = {name: tensor.to(rounded) for name, tensor in base.items()} | {"logit_scale": torch.tensor(1.0)}
    torch.save(saved, tmp_path / "clip.pt")
    with pytest.raises(ValueError, match=r"CLIP.*clip_s"):
        load_checkpoint(tmp_path / "clip.pt", TINY, base)


@pytest.mark.parametrize("step", [0.0, 1e-9])
def test_an_adapter_with_the_heads_of_clip_is_refused(tmp_path, base, step):
    adapter = adapter_of({name: tensor + step for name, tensor in base.items()}, about(base))
    write_adapter(tmp_path / "a.safetensors", adapter)
    with pytest.raises(ValueError, match=r"CLIP.*clip_s"):
        load_checkpoint(tmp_path / "a.safetensors", TINY, base)


def test_one_changed_head_is_enough(tmp_path, base, heads):
    write_adapter(tmp_path / "a.safetensors", adapter_of({**base, "visual.proj": heads["visual.proj"]}, about(base)))
    assert load_checkpoint(tmp_path / "a.safetensors", TINY, base).adapter is not None


def test_without_the_base_one_warning_says_that_nothing_was_compared(tmp_path, base, heads):
    path = whole(base, heads, tmp_path / "pac_s.pth")
    with pytest.warns(UserWarning, match=r"compared.*CLIP") as caught:
        found = load_checkpoint(path, TINY, None)
    assert (found.verified, found.adapter, len(caught)) == (False, None, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not load_checkpoint(path, TINY, None).verified


def test_an_adapter_without_its_base_is_refused(tmp_path, base, heads):
    write_adapter(tmp_path / "a.safetensors", adapter_of(heads, about(base)))
    with pytest.raises(ValueError, match="adapter, which requires"):
        load_checkpoint(tmp_path / "a.safetensors", TINY, None)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"architecture": "tiny"}, r"tiny-quickgelu.*tiny"),
        ({"base_projections_sha256": "f" * 64}, "adapter for these"),
    ],
)
def test_an_adapter_for_another_backbone_is_refused(tmp_path, base, heads, changed, message):
    write_adapter(tmp_path / "a.safetensors", adapter_of(heads, about(base, **changed)))
    with pytest.raises(ValueError, match=message):
        load_checkpoint(tmp_path / "a.safetensors", TINY, base)


def test_an_adapter_of_another_shape_is_refused(tmp_path, base, heads):
    narrow = {name: tensor[:, :16] for name, tensor in heads.items()}
    write_adapter(tmp_path / "a.safetensors", adapter_of(narrow, about(base)))
    with pytest.raises(ValueError, match="heads of shapes"):
        load_checkpoint(tmp_path / "a.safetensors", TINY, base)


def test_a_checkpoint_of_another_architecture_is_refused(tmp_path, base, heads):
    with pytest.raises(ValueError, match="ViT-B-32-quickgelu"):
        load_checkpoint(whole(base, heads, tmp_path / "x.pth"), TABLE["ViT-B/32"], None)
