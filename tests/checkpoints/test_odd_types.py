"""Data types that not every operation of torch supports."""

import json
import struct

import pytest

from vlgauge.checkpoints.reading import read_tensors


@pytest.mark.parametrize(("kind", "n_bytes"), [("F4", 2), ("F8_E4M3", 4), ("C64", 32), ("U16", 8)])
def test_safetensors_of_an_odd_type_are_refused_in_a_sentence(tmp_path, kind, n_bytes):
    header = json.dumps({"a.weight": {"dtype": kind, "shape": [4], "data_offsets": [0, n_bytes]}}).encode()
    path = tmp_path / "odd.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(n_bytes))
    # Older versions of safetensors do not support all of them.
    unknown = rf"^`checkpoint`.*`{kind}`"
    with pytest.raises(ValueError, match=rf"^`checkpoint`.*got {kind}.*'a\.weight'|{unknown}"):
        read_tensors(path)
