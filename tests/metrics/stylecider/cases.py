"""Cases of this metric for the tests of all metrics."""

from signature_cases import style_changes

changes = style_changes


def named(files):
    return {"config_name": "demo"}
