"""Settings of the encoder of texts."""

import pytest

from vlgauge.families.base.encoding import EncoderSettings


def test_other_objects_are_no_encoder():
    with pytest.raises(ValueError, match=r"^`encoder`.*`encode`"):
        EncoderSettings(encoder=3)


@pytest.mark.parametrize(
    ("encoder", "fields"),
    [
        ("some/model", {"dtype": "float32", "pooling": "cls"}),
        ("clip:ViT-B/32", {"dtype": "float32"}),
        (len, {}),
    ],
)
def test_pooling_is_signed_for_sentence_encoders_only(encoder, fields):
    assert EncoderSettings(encoder=encoder, pooling="cls").signature_fields() == fields
