"""Which captions a table was fitted on."""

import pytest
from style_definition import (
    GOLDEN,
)

from vlgauge.families.style.counts import caption_keys


@pytest.mark.parametrize("case", GOLDEN["caption_key"], ids=lambda case: case["key"])
def test_golden_caption_keys(case):
    assert f"{caption_keys([case['tokens']])[0]:016x}" == case["key"]
