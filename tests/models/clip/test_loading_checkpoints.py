"""Heads and checkpoints on top of CLIP: shared encoders, separate encoders, and requested files."""

import numpy as np
import pytest
from tiny_clip import INPUTS, PROMPT, TINY, golden_json, lazy_images_of, rand_clip, tiny_state, write_tiny

from vlgauge.checkpoints.files import sha256_of
from vlgauge.core.errors import WeightsNotFoundError
from vlgauge.core.pool import pool
from vlgauge.models.clip import demo, model
from vlgauge.models.clip.files import paper_adapter_path
from vlgauge.models.clip.heads import adapter_of, heads_digest, write_adapter
from vlgauge.models.clip.loading import clip_encoder, clip_with_checkpoint


@pytest.fixture(autouse=True)
def empty_pool():
    pool.unload()
    yield
    pool.unload()


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    return write_tiny(tmp_path_factory.mktemp("weights"))


@pytest.fixture(scope="module")
def adapter():
    about = {"kind": "pac_s", "architecture": TINY.architecture, "base_projections_sha256": heads_digest(tiny_state())}
    return adapter_of(rand_clip().make_adapter("tiny", 0, 0.8), about)


@pytest.fixture
def demo_files(tmp_path, monkeypatch):
    """The tiny CLIP replaces the demo model, so that these tests do not depend on its training."""
    state = model.empty_model(demo.DEMO_ROW, "cpu").state_dict()
    (tmp_path / "demo_clip.safetensors").write_bytes(b"demo")
    monkeypatch.setattr(demo, "demo_file", lambda name="demo_clip.safetensors": tmp_path / name)
    monkeypatch.setattr(demo, "demo_state", lambda: state)
    return tmp_path, state


def pac_s(encoder, adapter, case):
    """Compute Eq. 1 of the paper with the released prompt."""
    hidden = encoder.text_hidden(INPUTS[case]["candidates"], prompt=PROMPT)
    image = encoder.project(encoder.image_hidden(lazy_images_of(case)), "image", adapter)
    text = encoder.project(hidden.end, "text", adapter)
    norms = np.linalg.norm(image, axis=1) * np.linalg.norm(text, axis=1)
    return 2 * np.maximum((image * text).sum(axis=1) / norms, 0)


def test_an_adapter_shares_the_encoder(tmp_path, weights, adapter):
    write_adapter(tmp_path / "a.safetensors", adapter)
    plain = clip_encoder(TINY, weights=weights, device="cpu")
    wanted = golden_json("adapter_tiny_s0_a0.8.json")
    for given in (adapter, tmp_path / "a.safetensors", str(tmp_path / "a.safetensors")):
        encoder, head = clip_with_checkpoint(TINY, given, weights=weights, device="cpu")
        assert encoder is plain
        assert head.digest == adapter.digest
        for case in ("edge", "multi"):
            np.testing.assert_allclose(pac_s(encoder, head, case), wanted[case]["pac_s"], rtol=0, atol=1e-5)
    assert plain.forwards["image"] == 8


def test_a_whole_checkpoint_with_other_heads_becomes_an_adapter(tmp_path, weights):
    heads = rand_clip().to_torch(rand_clip().make_adapter("tiny", 0, 0.8))
    path = write_tiny(tmp_path, suffix=".pth", extra=heads)
    encoder, head = clip_with_checkpoint(TINY, path, weights=weights, device="cpu")
    assert encoder is clip_encoder(TINY, weights=weights, device="cpu")
    wanted = golden_json("adapter_tiny_s0_a0.8.json")["edge"]["pac_s"]
    np.testing.assert_allclose(pac_s(encoder, head, "edge"), wanted, rtol=0, atol=1e-5)


def test_a_checkpoint_with_another_backbone_is_an_encoder_of_its_own(tmp_path, weights):
    lora = rand_clip().to_torch(rand_clip().make_lora("tiny"))
    path = write_tiny(tmp_path, suffix=".pth", extra=lora)
    encoder, head = clip_with_checkpoint(TINY, path, weights=weights, device="cpu")
    assert head is None
    assert encoder.verified
    assert encoder.identity == f"tiny-quickgelu@{sha256_of(path)[:8]}"
    assert encoder is clip_with_checkpoint(TINY, path, weights=weights, device="cpu")[0]
    wanted = golden_json("lora_tiny_s0_a0.8.json")["edge"]["pac_spp"]
    np.testing.assert_allclose(pac_s(encoder, None, "edge"), wanted, rtol=0, atol=1e-5)


def test_a_whole_checkpoint_without_its_backbone_is_unverified(tmp_path, weights, adapter):
    path = write_tiny(tmp_path, 3, 0.3, suffix=".pth")
    with pytest.warns(UserWarning, match=r"compared.*CLIP"):
        encoder, head = clip_with_checkpoint(TINY, path, device="cpu")
    assert (head, encoder.verified) == (None, False)
    encoder, head = clip_with_checkpoint(TINY, path, weights=weights, device="cpu")
    assert (head, encoder.verified) == (None, True)
    with pytest.raises(WeightsNotFoundError, match=r"^`weights`.*'tiny'"):
        clip_with_checkpoint(TINY, adapter, device="cpu")
    with pytest.raises(WeightsNotFoundError, match=r"^`weights`.*existing"):
        clip_with_checkpoint(TINY, path, weights=tmp_path / "none", device="cpu")


def test_plain_clip_is_no_checkpoint(weights):
    with pytest.raises(ValueError, match=r"CLIP.*clip_s"):
        clip_with_checkpoint(TINY, weights, weights=weights, device="cpu")


def test_without_a_checkpoint_clip_s_is_plain_and_pac_s_asks(tmp_path, weights, monkeypatch, adapter):
    monkeypatch.setenv("VLGAUGE_HOME", str(tmp_path))
    encoder, head = clip_with_checkpoint(TINY, kind="clip_s", weights=weights, device="cpu")
    assert (encoder, head) == (clip_encoder(TINY, weights=weights, device="cpu"), None)
    with pytest.raises(WeightsNotFoundError, match=r'PAC.*tiny.*profile="embedded"'):
        clip_with_checkpoint(TINY, weights=weights)
    with pytest.raises(WeightsNotFoundError, match=r"605 MB.*1F-0Pma-vfJPAiDzeyl-iEdSXZIO1cDae.*vlgauge convert"):
        clip_with_checkpoint()
    ours = paper_adapter_path(TINY)
    ours.parent.mkdir()
    write_adapter(ours, adapter)
    assert clip_with_checkpoint(TINY, weights=weights, device="cpu")[1].digest == adapter.digest


def test_the_embedded_checkpoint_is_the_demo_models(demo_files):
    folder, state = demo_files
    about = {"kind": "pac_s", "architecture": demo.DEMO_NAME, "base_projections_sha256": heads_digest(state)}
    trained = adapter_of({name: tensor + 0.1 for name, tensor in state.items()}, about)
    write_adapter(folder / "demo_pac_s.safetensors", trained)
    encoder, head = clip_with_checkpoint(profile="embedded", device="cpu")
    assert encoder is clip_encoder(profile="embedded", device="cpu")
    assert head.digest == trained.digest


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"kind": "pac"}, r"^`kind`.*'pac_s'.*pac_s"), ({"dtype": "half"}, r"^`dtype`")],
)
def test_words_that_are_no_choice(settings, message):
    with pytest.raises(ValueError, match=message):
        clip_with_checkpoint(**settings)


def test_a_missing_checkpoint_is_told(weights, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^`checkpoint`.*none\.pth"):
        clip_with_checkpoint(TINY, tmp_path / "none.pth", weights=weights)
