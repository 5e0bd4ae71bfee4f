"""What the tests of all metrics want of this one."""

from signature_cases import style_changes

changes = style_changes


def named(files):
    return {"config_name": "demo"}
