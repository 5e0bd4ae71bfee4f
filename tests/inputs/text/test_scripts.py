"""Scripts of texts."""

import pytest

from vlgauge.inputs.text.scripts import count_other_scripts, is_in_other_script


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a dog runs", False),
        ("Ein Mädchen läuft über die Straße", False),
        ("cão, œuf, ﬁsh, \uff26\uff55\uff4c\uff4c, Đặng", False),
        ("", False),
        ("🐶 12:30 — !!", False),
        ("a dog at the Москва station", False),
        ("собака бежит", True),
        ("σκύλος", True),
        ("一只狗在草地上跑", True),
        ("犬が走る", True),
        ("개가 달린다", True),
        ("كلب يجري", True),
        ("कुत्ता दौड़ता है", True),
        ("หมาวิ่ง", True),
        ("ab γδ", False),
        ("ab γδε", True),
    ],
)
def test_more_than_half_of_the_letters_decide(text, expected):
    assert is_in_other_script(text) is expected


def test_texts_are_counted():
    assert count_other_scripts(iter(["a", "да", "σκύλος", ""])) == (2, 4)
    assert count_other_scripts([]) == (0, 0)
