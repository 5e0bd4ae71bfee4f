"""An encoder that the user brings."""

import numpy as np
import pytest

from vlgauge.models.sentences import given


def test_a_function_can_be_the_encoder():
    seen = []

    def lengths(texts):
        seen.extend(texts)
        return np.array([[len(text), 1.0] for text in texts])

    encoder = given.text_encoder(lengths, profile="paper", pooling="model", device="cpu")
    assert encoder.encode(["bbb", "a", "bbb"], batch_size=1).tolist() == [[3.0, 1.0], [1.0, 1.0], [3.0, 1.0]]
    assert sorted(seen) == ["a", "bbb"]
    assert encoder.identity.startswith("custom(")


@pytest.mark.parametrize("output", [np.zeros(2), np.zeros((3, 2)), np.zeros((2, 2), dtype=int)])
def test_a_wrong_shape_of_the_users_encoder_is_refused(output):
    encoder = given.GivenEncoder(lambda texts: output)
    with pytest.raises(ValueError, match=r"^`encoder`.*floats"):
        encoder.encode(["a", "b"])
