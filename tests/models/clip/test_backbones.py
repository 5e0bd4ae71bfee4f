"""Names of table rows and of published open_clip weights, which are both listed in the error for other names."""

import pytest

from vlgauge.models.clip.architectures import HALF, TABLE
from vlgauge.models.clip.backbones import architecture_of


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ViT-B-32", r"'ViT-B-32'.*open_clip.*'ViT-B-32:laion2b_s34b_b79k'"),
        ("ViT-B-32", ".*, or 'ViT-B/32' for OpenAI's$"),
        ("ViT-B/33", r".*`vlgauge backbones`.*got 'ViT-B/33'.*'ViT-B/32'"),
        ("hf-hub:nobody/longclip-x", r".*got 'hf-hub:nobody/longclip-x'"),
        ("ViT-B-32:openai", r".*'ViT-B-32-quickgelu:openai'"),
        ("ViT-B-16:mine", r".*'ViT-B-16:TAG'.*got 'ViT-B-16:mine'"),
        ("nothing:openai", r".*open_clip.*got 'nothing'"),
        ("coca_ViT-B-32:laion2b_s13b_b90k", r".*CLIP"),
        ("", "must be a name that"),
    ],
)
def test_unknown_backbones(name, message):
    with pytest.raises(ValueError, match=f"`backbone` {message}"):
        architecture_of(name)


def test_any_other_backbone_takes_its_settings_from_its_tag():
    row = architecture_of("ViT-H-14-378-quickgelu:dfn5b")
    assert (row.resize, row.size, row.embed_width) == ("squash", 378, 1024)
    row = architecture_of("ViT-L-14:datacomp_xl_s13b_b90k")
    assert (row.tokens, row.context) == ("clip", 77)
    assert architecture_of("RN50-quickgelu:yfcc15m").resnet


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("siglip2", "siglip2-base-patch16-224"),
        ("google/siglip2-base-patch16-224", "siglip2-base-patch16-224"),
        ("hf-hub:google/siglip2-large-patch16-256", "siglip2-large-patch16-256"),
        ("ViT-L/14@336px", "ViT-L/14@336px"),
        ("ViT-L-14-336-quickgelu", "ViT-L/14@336px"),
        ("vit-b/32", "ViT-B/32"),
        ("ViT-B-32-quickgelu:openai", "ViT-B/32"),
        ("ViT-L-14:laion2b_s32b_b82k", "laion/ViT-L-14"),
        ("hf-hub:laion/CLIP-ViT-B-32-laion2B-s34B-b79K", "laion/ViT-B-32"),
        ("LongCLIP-B", "longclip-b"),
        ("BeichenZhang/LongCLIP-L", "longclip-l"),
    ],
)
def test_aliases(name, wanted):
    assert architecture_of(name) is TABLE[wanted]


def test_a_name_of_open_clip_with_one_tag_needs_none():
    row = architecture_of("ViT-B-16-SigLIP2")
    assert (row.name, row.tokens, row.context) == ("ViT-B-16-SigLIP2:webli", "open_clip", 64)
    assert (row.interpolation, row.tanh_gelu, row.mean) == ("bicubic", False, HALF)
    assert architecture_of("hf-hub:timm/ViT-B-16-SigLIP2") == row


def test_no_two_rows_share_a_name():
    names = [name.lower() for row in TABLE.values() for name in (row.name, *row.aliases, row.repository)]
    assert len(names) == len(set(names))
