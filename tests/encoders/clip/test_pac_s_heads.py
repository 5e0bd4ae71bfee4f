"""Where the converted weights of PAC-S are looked for."""

import pytest
from tiny_clip import TINY

from vlgauge.encoders import WeightsNotFound
from vlgauge.encoders.clip import checkpoints
from vlgauge.encoders.clip.pac_s_heads import paper_adapter, paper_adapter_path


@pytest.fixture(autouse=True)
def forget_warnings(monkeypatch):
    monkeypatch.setattr(checkpoints, "_warned", set())


# -- the weights of the paper -----------------------------------------------------------------------------------------
def test_the_papers_weights_are_looked_for_in_the_users_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VLGAUGE_HOME", str(tmp_path))
    path = tmp_path / "adapters" / "pac_s-ViT-B-32-quickgelu.safetensors"
    assert paper_adapter_path("ViT-B/32") == path
    path.parent.mkdir()
    path.write_bytes(b"")
    assert paper_adapter("ViT-B/32") == path
    monkeypatch.delenv("VLGAUGE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert paper_adapter_path(TINY) == tmp_path / "home/.cache/vlgauge/adapters/pac_s-tiny-quickgelu.safetensors"


@pytest.mark.parametrize(
    ("backbone", "parts"),
    [
        (
            "ViT-B/32",
            ["1F-0Pma-vfJPAiDzeyl-iEdSXZIO1cDae", "605 MB", "vlgauge convert clip_ViT-B-32.pth --backbone ViT-B/32"],
        ),
        (
            "laion/ViT-L-14",
            ["1G1DAGQf5fW2U3u7K3Dn-eCC6koMDyvsU", "1.6 GB", "openClip_ViT-L-14.pth --backbone laion/ViT-L-14"],
        ),
        (
            "RN50",
            ["were released for ViT-B/32 and laion/ViT-L-14 only; train others with vlgauge train pac_s"],
        ),
    ],
)
def test_missing_weights_of_the_paper_say_what_to_do(tmp_path, monkeypatch, backbone, parts):
    monkeypatch.setenv("VLGAUGE_HOME", str(tmp_path))
    with pytest.raises(WeightsNotFound) as raised:
        paper_adapter(backbone)
    for part in (*parts, str(tmp_path), "`checkpoint`", "profile='embedded'"):
        assert part in str(raised.value)


def test_unknown_backbones_are_refused():
    with pytest.raises(ValueError, match="`backbone` must be one of"):
        paper_adapter("ViT-B/33")
