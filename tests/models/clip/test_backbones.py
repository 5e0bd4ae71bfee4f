"""Names of table rows and of published open_clip weights, which are both listed in the error for other names."""

import pytest

from vlgauge.models.clip.architectures import HALF, TABLE
from vlgauge.models.clip.backbones import architecture_of


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ViT-B-32", "'ViT-B-32' must name the weights of open_clip, one of .*'ViT-B-32:laion2b_s34b_b79k'"),
        ("ViT-B-32", ".*, or 'ViT-B/32' for OpenAI's$"),
        ("ViT-B/33", "must be a name that `vlgauge backbones` lists, .* got 'ViT-B/33'; did you mean 'ViT-B/32'"),
        ("hf-hub:nobody/longclip-x", "must be a name .* got 'hf-hub:nobody/longclip-x'; did you mean 'longclip-"),
        ("ViT-B-32:openai", "must have the activation of its weights, .* use 'ViT-B-32-quickgelu:openai'"),
        ("ViT-B-16:mine", "must be 'ViT-B-16:TAG' with one of the tags openai, .* got 'ViT-B-16:mine'"),
        ("nothing:openai", "must be an architecture that open_clip has weights for, got 'nothing'"),
        ("coca_ViT-B-32:laion2b_s13b_b90k", "must be a CLIP with plain preprocessing"),
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
