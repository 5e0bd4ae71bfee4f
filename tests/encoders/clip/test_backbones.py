"""A name stands for a row of the table or for a published tag of open_clip, and any other is refused."""

import pytest

from vlgauge.encoders.clip.architectures import HALF, TABLE
from vlgauge.encoders.clip.backbones import architecture_of


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ViT-B-32", "must be one of 'ViT-B/32', .* got 'ViT-B-32'; did you mean 'ViT-B/32'"),
        ("ViT-B-32:openai", "must have the activation of its weights, .* use 'ViT-B-32-quickgelu:openai'"),
        ("ViT-B-16:mine", "must be 'ViT-B-16:TAG' with one of the tags openai, .* got 'ViT-B-16:mine'"),
        ("nothing:openai", "must be an architecture that open_clip has weights for, got 'nothing'"),
        ("coca_ViT-B-32:laion2b_s13b_b90k", "must be a CLIP with plain preprocessing"),
    ],
)
def test_unknown_backbones(name, message):
    with pytest.raises(ValueError, match=f"`backbone` {message}"):
        architecture_of(name)


def test_any_other_backbone_takes_its_settings_from_its_tag():
    row = architecture_of("ViT-H-14-378-quickgelu:dfn5b")
    assert (row.resize, row.size, row.image_width, row.text_width, row.embed_width) == ("squash", 378, 1280, 1024, 1024)
    row = architecture_of("ViT-L-14:laion2b_s32b_b82k")
    assert (row.mean, row.std, row.repository) == (HALF, HALF, TABLE["laion/ViT-L-14"].repository)
    assert architecture_of("RN50-quickgelu:yfcc15m").resnet
