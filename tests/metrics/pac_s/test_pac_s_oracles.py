"""pac_s and clip_s on random weights: the numbers of the authors' code, through every kind of checkpoint."""

import dataclasses
import json

import numpy as np
import pytest
from tiny_clip import IMAGES, PAC_S, TINY, TINY_CONFIG, check_vectors, golden_arrays, golden_json, rand_clip, write_tiny

import vlgauge
from vlgauge.checkpoints.files import sha256_of
from vlgauge.core.signatures import local_name
from vlgauge.models.clip.architectures import HALF
from vlgauge.models.clip.heads import heads_digest
from vlgauge.models.clip.loading import clip_encoder

CASES = json.loads((PAC_S / "inputs.json").read_text("utf-8"))

pytestmark = pytest.mark.filterwarnings("ignore:[0-9]+ of 19 captions and references")


@pytest.fixture(autouse=True)
def blank_references_count(monkeypatch):
    """Empty references are kept, because the oracle contains some that the authors' code counts."""
    monkeypatch.setattr("vlgauge.families.base.columns.without_blanks", list)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tiny")


@pytest.fixture(scope="module")
def base(folder):
    return write_tiny(folder, 0, 0.8)


@pytest.fixture(scope="module")
def adapter(folder):
    from safetensors.numpy import save_file

    about = {"format": "vlgauge-clip-adapter-1", "kind": "pac_s", "architecture": TINY.architecture}
    about["base_projections_sha256"] = heads_digest(rand_clip().make("tiny", 0, 0.8))
    save_file(rand_clip().make_adapter("tiny", 0, 0.8), folder / "adapter.safetensors", metadata=about)
    return folder / "adapter.safetensors"


def scored(name, case, **settings):
    """Return the result on a case of the golden inputs, whose dictionary is converted to arrays."""
    metric = vlgauge.load(name, keep_in_memory=True, device="cpu", **{"backbone": TINY, **settings})
    rows = CASES[case]
    images = [str(IMAGES / file) for file in rows["images"]]
    return metric.compute(
        predictions=rows["candidates"], images=images, references=rows["references"], return_details=True
    )


def check(result, name, gold, scores, references):
    assert result[f"{name}_scores"] == pytest.approx(gold[scores], abs=1e-5)
    assert result[f"ref_{name}_scores"] == pytest.approx(gold[references], abs=1e-5)
    assert result[name] == pytest.approx(np.mean(gold[scores]), abs=1e-5)
    assert result[f"ref_{name}"] == pytest.approx(np.mean(gold[references]), abs=1e-5)
    if "ref_text_sim" in gold:
        found = [note["reference_cosine"] for note in result[f"{name}_details"]]
        assert found == pytest.approx(gold["ref_text_sim"], abs=1e-5)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("seed", "align"), [(0, 0.8), (3, 0.3)])
def test_released_variant(folder, seed, align, case):
    gold = golden_json(f"image_tiny_s{seed}_a{align}.json").get(case)
    if gold is None:
        pytest.skip("the oracle has no such case")
    weights = write_tiny(folder, seed, align)
    check(scored("clip_s", case, weights=weights), "clip_s", gold, "clip_s", "ref_clip_s")
    # Only the factor differs if the projections are equal.
    check(scored("clip_s", case, weights=weights, w=2), "clip_s", gold, "pac_s", "ref_pac_s")


@pytest.mark.parametrize("case", CASES)
def test_whole_checkpoint_of_the_released_layout(folder, case):
    base, checkpoint = write_tiny(folder, 3, 0.3), write_tiny(folder, 0, 0.8, suffix=".pth")
    result = scored("pac_s", case, weights=base, checkpoint=checkpoint)
    check(result, "pac_s", golden_json("image_tiny_s0_a0.8.json")[case], "pac_s", "ref_pac_s")
    assert f"|enc:{local_name(sha256_of(checkpoint))}|" in result["pac_s_signature"]
    assert "|proj:own|" in result["pac_s_signature"]


@pytest.mark.parametrize("case", CASES)
def test_paper_variant(folder, base, case):
    gold = golden_json("image_paper_tiny_s0_a0.8.json")[case]
    other = write_tiny(folder, 3, 0.3)
    result = scored("pac_s", case, weights=other, checkpoint=base, variant="paper")
    check(result, "pac_s", gold, "pac_s", "ref_pac_s")
    assert "|prompt:none|" in result["pac_s_signature"]


@pytest.mark.parametrize("case", CASES)
def test_adapter(base, adapter, case):
    result = scored("pac_s", case, weights=base, checkpoint=adapter)
    check(result, "pac_s", golden_json("adapter_tiny_s0_a0.8.json")[case], "pac_s", "ref_pac_s")


@pytest.mark.parametrize("case", CASES)
def test_low_rank_checkpoint(folder, base, case):
    extra = rand_clip().to_torch(rand_clip().make_lora("tiny"))
    (folder / "lora").mkdir(exist_ok=True)
    checkpoint = write_tiny(folder / "lora", 0, 0.8, suffix=".pth", extra=extra)
    result = scored("pac_s", case, weights=base, checkpoint=checkpoint)
    check(result, "pac_s", golden_json("lora_tiny_s0_a0.8.json")[case], "pac_spp", "ref_pac_spp")


@pytest.mark.parametrize("case", CASES)
def test_plain_gelu_and_another_normalisation(base, case):
    row = dataclasses.replace(TINY, architecture="tiny", quick_gelu=False, mean=HALF, std=HALF)
    row = dataclasses.replace(row, config={**TINY_CONFIG, "quick_gelu": False})
    result = scored("clip_s", case, weights=base, backbone=row, w=2)
    check(result, "clip_s", golden_json("gelu_mean05_tiny_s0_a0.8.json")[case], "pac_s", "ref_pac_s")


@pytest.mark.slow
def test_real_shape(folder):
    weights = write_tiny(folder, 0, 0.8, config="vitb32")
    result = scored("clip_s", "multi", backbone="ViT-B/32", weights=weights)
    check(result, "clip_s", golden_json("image_vitb32_s0_a0.8.json")["multi"], "clip_s", "ref_clip_s")
    # The embeddings are compared here because creating, writing and hashing 600 MB of weights takes most of the time.
    encoder = clip_encoder("ViT-B/32", weights=weights, device="cpu")
    check_vectors(encoder, golden_arrays("image_vitb32_s0_a0.8.npz"), "edge")
    assert f"|enc:{local_name(sha256_of(weights))}|" in result["clip_s_signature"]
    assert "|arch:ViT-B-32-quickgelu|" in result["clip_s_signature"]
